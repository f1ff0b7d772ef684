//! Values in messages, and their conversion for [`message!`](crate::message!).

use std::fmt::Display;

use crate::Message;

/// A value in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text that is the same in every language, such as a path.
    Text(String),
    /// A number, which chooses the plural form.
    Number(u64),
    /// A message within the message.
    Message(Box<Message>),
}

/// A value of any type that [`message!`](crate::message!) accepts. Method resolution prefers the trait with the most
/// references, so a message stays a message, a number stays a number, and everything else becomes text.
#[doc(hidden)]
#[derive(Debug)]
pub struct Given<'a, T: ?Sized>(pub &'a T);

#[doc(hidden)]
pub trait GivenMessage {
    fn value(&self) -> Value;
}

#[doc(hidden)]
pub trait GivenNumber {
    fn value(&self) -> Value;
}

#[doc(hidden)]
pub trait GivenText {
    fn value(&self) -> Value;
}

impl GivenMessage for &&Given<'_, Message> {
    fn value(&self) -> Value {
        Value::Message(Box::new(self.0.clone()))
    }
}

impl GivenMessage for &&Given<'_, &Message> {
    fn value(&self) -> Value {
        Value::Message(Box::new((*self.0).clone()))
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl GivenNumber for &Given<'_, $number> {
            fn value(&self) -> Value {
                u64::try_from(*self.0).map_or_else(|_| Value::Text(self.0.to_string()), Value::Number)
            }
        }

        impl GivenNumber for &Given<'_, &$number> {
            fn value(&self) -> Value {
                (&Given(*self.0)).value()
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, usize, i32, i64);

impl<T: Display + ?Sized> GivenText for Given<'_, T> {
    fn value(&self) -> Value {
        Value::Text(self.0.to_string())
    }
}
