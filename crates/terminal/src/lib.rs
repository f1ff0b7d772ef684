#![doc = include_str!("../README.md")]

mod draw;
mod key;
mod order;
mod screen;
#[cfg(test)]
mod testing;
mod text;
mod theme;
mod view;
mod words;

pub use draw::render;
pub use key::Key;
pub use order::tree_order;
pub use screen::{Act, Limits, Part, Screen};
pub use text::{clock, first_line, fit, plain, span, steers};
pub use theme::Theme;
pub use view::{Heard, Tty, View, forget_typed};
pub use words::{Help, Hint, Phrase, Words, english};
