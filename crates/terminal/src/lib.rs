#![doc = include_str!("../README.md")]

mod draw;
mod key;
mod labels;
mod order;
mod screen;
#[cfg(test)]
mod testing;
mod text;
mod theme;
mod view;

pub use draw::render;
pub use key::Key;
pub use labels::{Help, Hint, Phrase, PhraseTranslator, english};
pub use order::tree_order;
pub use screen::{Limits, ProcessRole, Screen, UserAction};
pub use text::{clock, escaped_json, first_line, fit, plain, span, steers, summary_line, with_colors};
pub use theme::Theme;
pub use view::{ActionHandler, Tty, View, discard_typed_input};
