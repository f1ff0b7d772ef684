//! Messages: ids of the catalogues with their values.

use std::{borrow::Cow, fmt};

use crate::{Language, Value, catalogue};

/// A message to people. `Display` gives it in English.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Text from elsewhere, the same in every language.
    Text(String),
    /// A message of the catalogues.
    Known { id: &'static str, values: Vec<(&'static str, Value)> },
}

/// Something with a message for people, such as an error.
pub trait Describe {
    /// Returns the message.
    fn describe(&self) -> Message;
}

impl Message {
    /// Creates the message with this id. [`message!`](crate::message!) is shorter.
    pub fn new(id: &'static str, values: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        Self(Kind::Known { id, values: values.into_iter().collect() })
    }

    /// Creates a message from text that is the same in every language.
    pub fn text(text: impl fmt::Display) -> Self {
        Self(Kind::Text(text.to_string()))
    }

    /// Returns the message in a language.
    #[must_use]
    pub fn render(&self, language: Language) -> String {
        self.render_with(language, &|text| Cow::Borrowed(text))
    }

    /// Returns the message in a language; `translate` translates [texts from elsewhere](Self::text).
    pub fn render_with(&self, language: Language, translate: &dyn for<'a> Fn(&'a str) -> Cow<'a, str>) -> String {
        match &self.0 {
            Kind::Text(text) => translate(text).into_owned(),
            Kind::Known { id, values } => {
                let values: Vec<(&str, Value)> = values
                    .iter()
                    .map(|(name, value)| match value {
                        Value::Message(message) => (*name, Value::Text(message.render_with(language, translate))),
                        value => (*name, value.clone()),
                    })
                    .collect();
                catalogue::format(language, id, &values).unwrap_or_else(|| (*id).to_owned())
            }
        }
    }
}

impl Default for Message {
    fn default() -> Self {
        Self::text("")
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Language::English))
    }
}

impl Describe for Message {
    fn describe(&self) -> Message {
        self.clone()
    }
}

impl Describe for String {
    fn describe(&self) -> Message {
        Message::text(self)
    }
}

impl<T: Describe> From<&T> for Message {
    fn from(described: &T) -> Self {
        described.describe()
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Cow<'_, str>> for Message {
    fn from(text: Cow<'_, str>) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}
