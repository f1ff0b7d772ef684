//! Messages: ids of the catalogues with their values.

use std::{borrow::Cow, fmt, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::{Language, Value, catalogue};

/// A message to people. `Display` gives it in English.
///
/// Serde writes the English text, because programs read it; within [`stored::with_ids`](crate::stored::with_ids) it writes the id and the
/// values. It reads both.
#[derive(Debug, Clone)]
pub struct Message(pub(crate) Arc<Kind>);

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// Text from elsewhere, the same in every language.
    Text(String),
    /// A message of the catalogues.
    Known { id: Cow<'static, str>, values: Vec<(Cow<'static, str>, Value)> },
    /// Several messages.
    List { separator: Cow<'static, str>, messages: Vec<Message> },
}

/// Something with a message for people, such as an error.
pub trait Describe {
    /// Returns the message.
    fn describe(&self) -> Message;
}

impl Message {
    /// Creates the message with this id. [`message!`](crate::message!) is shorter.
    pub fn new(id: &'static str, values: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let values = values.into_iter().map(|(name, value)| (Cow::Borrowed(name), value));
        Self(Arc::new(Kind::Known { id: Cow::Borrowed(id), values: values.collect() }))
    }

    /// Creates a message from text that is the same in every language.
    pub fn text(text: impl fmt::Display) -> Self {
        Self(Arc::new(Kind::Text(text.to_string())))
    }

    /// Creates a message that has several messages on lines of their own, indented by two columns.
    #[must_use]
    pub fn lines(messages: &[Self]) -> Self {
        Self::list("\n  ", messages)
    }

    /// Creates a message that lists others. The separator `; ` becomes that of the language; any other stays the same.
    #[must_use]
    pub fn list(separator: &'static str, messages: &[Self]) -> Self {
        Self(Arc::new(Kind::List { separator: Cow::Borrowed(separator), messages: messages.to_vec() }))
    }

    /// Returns true for a text without a character, such as that of [`Message::default`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(&*self.0, Kind::Text(text) if text.is_empty())
    }

    /// Returns the message in a language.
    #[must_use]
    pub fn render(&self, language: Language) -> String {
        self.render_with(language, &|text| Cow::Borrowed(text))
    }

    /// Returns the message in a language; `translate` translates [texts from elsewhere](Self::text).
    pub fn render_with(&self, language: Language, translate: &dyn for<'a> Fn(&'a str) -> Cow<'a, str>) -> String {
        match &*self.0 {
            Kind::Text(text) => translate(text).into_owned(),
            Kind::List { separator, messages } => {
                let messages: Vec<String> = messages.iter().map(|message| message.render_with(language, translate)).collect();
                // Sentences in a row have the punctuation of the language.
                let in_row = if separator == "; " { catalogue::format(language, "row-separator", &[]) } else { None };
                messages.join(in_row.as_deref().unwrap_or(separator))
            }
            Kind::Known { id, values } => {
                let values: Vec<(&str, Value)> = values
                    .iter()
                    .map(|(name, value)| match value {
                        Value::Message(message) => (&**name, Value::Text(message.render_with(language, translate))),
                        value => (&**name, value.clone()),
                    })
                    .collect();
                catalogue::format(language, id, &values).unwrap_or_else(|| id.clone().into_owned())
            }
        }
    }
}

/// Two messages with the same English text are equal.
impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.render(Language::English) == other.render(Language::English)
    }
}

impl Eq for Message {}

impl PartialEq<str> for Message {
    fn eq(&self, other: &str) -> bool {
        self.render(Language::English) == other
    }
}

impl PartialEq<&str> for Message {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

impl PartialEq<String> for Message {
    fn eq(&self, other: &String) -> bool {
        self == other.as_str()
    }
}

impl JsonSchema for Message {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Message".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// Returns the text of an error's last cause. In the errors of many network libraries it alone says what happened.
pub fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
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

impl From<Message> for String {
    fn from(message: Message) -> Self {
        message.to_string()
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}
