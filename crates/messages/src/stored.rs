//! Serde of messages that are kept with their ids and values, so that a later reader gets them in another language.
//!
//! Use `#[serde(with = "aime_messages::stored")]` for a [`Message`], and the inner modules for optional messages and lists.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Message, Value, catalogue, message::Kind};

/// Form of a message in a document.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    /// `text` is the English text, for a catalogue that no longer has the id.
    Known {
        text: String,
        id: String,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        values: BTreeMap<String, FormValue>,
    },
    List {
        separator: String,
        messages: Vec<Form>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum FormValue {
    Number(u64),
    Message(Form),
}

impl From<&Message> for Form {
    fn from(message: &Message) -> Self {
        match &*message.0 {
            Kind::Text(text) => Self::Text(text.clone()),
            Kind::Known { id, values } => {
                let value = |value: &Value| match value {
                    Value::Text(text) => FormValue::Message(Self::Text(text.clone())),
                    Value::Number(number) => FormValue::Number(*number),
                    Value::Message(message) => FormValue::Message((&**message).into()),
                };
                let values = values.iter().map(|(name, given)| (name.clone().into_owned(), value(given))).collect();
                Self::Known { text: message.to_string(), id: id.clone().into_owned(), values }
            }
            Kind::List { separator, messages } => {
                Self::List { separator: separator.clone().into_owned(), messages: messages.iter().map(Self::from).collect() }
            }
        }
    }
}

impl From<Form> for Message {
    fn from(form: Form) -> Self {
        match form {
            Form::Text(text) => Self::text(text),
            Form::Known { id, values, .. } if catalogue::has(&id) => {
                let value = |value: FormValue| match value {
                    FormValue::Number(number) => Value::Number(number),
                    FormValue::Message(Form::Text(text)) => Value::Text(text),
                    FormValue::Message(form) => Value::Message(Box::new(form.into())),
                };
                let values = values.into_iter().map(|(name, given)| (Cow::Owned(name), value(given))).collect();
                Self(Arc::new(Kind::Known { id: Cow::Owned(id), values }))
            }
            Form::Known { text, .. } => Self::text(text),
            Form::List { separator, messages } => {
                Self(Arc::new(Kind::List { separator: Cow::Owned(separator), messages: messages.into_iter().map(Self::from).collect() }))
            }
        }
    }
}

/// Writes a message with its id and values.
///
/// # Errors
/// Errors of the serializer.
pub fn serialize<S: Serializer>(message: &Message, serializer: S) -> Result<S::Ok, S::Error> {
    Form::from(message).serialize(serializer)
}

/// Reads a message.
///
/// # Errors
/// Errors of the deserializer.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Message, D::Error> {
    Form::deserialize(deserializer).map(Message::from)
}

/// Serde of optional messages.
pub mod optional {
    use super::{Deserialize, Deserializer, Form, Message, Serialize, Serializer};

    /// Writes an optional message with its id and values.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<S: Serializer>(message: &Option<Message>, serializer: S) -> Result<S::Ok, S::Error> {
        message.as_ref().map(Form::from).serialize(serializer)
    }

    /// Reads an optional message.
    ///
    /// # Errors
    /// Errors of the deserializer.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Message>, D::Error> {
        Ok(Option::<Form>::deserialize(deserializer)?.map(Message::from))
    }
}

/// Serde of lists of messages.
pub mod list {
    use super::{Deserialize, Deserializer, Form, Message, Serialize, Serializer};

    /// Writes messages with their ids and values.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<S: Serializer>(messages: &[Message], serializer: S) -> Result<S::Ok, S::Error> {
        messages.iter().map(Form::from).collect::<Vec<_>>().serialize(serializer)
    }

    /// Reads messages.
    ///
    /// # Errors
    /// Errors of the deserializer.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Message>, D::Error> {
        Ok(Vec::<Form>::deserialize(deserializer)?.into_iter().map(Message::from).collect())
    }
}
