#![doc = include_str!("../README.md")]

mod catalogue;
mod message;
mod nearest;
mod sentence;
pub mod stored;
#[cfg(test)]
mod tests;
mod value;

pub use catalogue::{counted, format, texts, word_name};
pub use message::{Describe, Message, innermost};
pub use nearest::{nearest, nearest_first};
pub use sentence::{translate_question, typed};
pub use value::Value;
#[doc(hidden)]
pub use value::{Given, GivenMessage, GivenNumber, GivenText};

/// Language of the reader of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English.
    English,
    /// Simplified Chinese.
    Chinese,
}

/// Returns the [`Message`] with this id and these values: `message!("no-plan", run = id)`, or `message!("no-plan", run)`
/// for a variable of that name. A value is a [`Message`], an integer, or anything with `Display`.
#[macro_export]
macro_rules! message {
    ($id:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {
        $crate::Message::new($id, [$((stringify!($name), $crate::value!($name $(= $value)?))),*])
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! value {
    ($name:ident) => {
        $crate::value!($name = $name)
    };
    ($name:ident = $value:expr) => {{
        #[expect(unused_imports, reason = "each value needs one of them")]
        use $crate::{GivenMessage as _, GivenNumber as _, GivenText as _};
        (&&&$crate::Given(&$value)).value()
    }};
}
