//! Serde of messages: as English text for programs, or with their ids and values for a later reader in another language.

use std::{borrow::Cow, cell::Cell, collections::BTreeMap, sync::Arc};

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

thread_local! {
    static KEEPS_IDS: Cell<bool> = const { Cell::new(false) };
}

/// Restores the form of messages when a scope ends, by a panic too.
struct Scope(bool);

impl Drop for Scope {
    fn drop(&mut self) {
        KEEPS_IDS.set(self.0);
    }
}

/// Runs `write`, in which serde writes each [`Message`] with its id and values instead of its English text.
///
/// Journals are written so. Whoever reads one gets its messages in any language, and documents for programs have the English text.
pub fn with_ids<T>(write: impl FnOnce() -> T) -> T {
    let _scope = Scope(KEEPS_IDS.replace(true));
    write()
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if KEEPS_IDS.get() { Form::from(self).serialize(serializer) } else { serializer.collect_str(self) }
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Form::deserialize(deserializer).map(Self::from)
    }
}
