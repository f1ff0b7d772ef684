//! Identifiers. Each is a validated string, so that a value from a model can never become a path or a command.

use std::{
    borrow::{Borrow, Cow},
    fmt,
    str::FromStr,
    sync::Arc,
};

use aime_messages::{Describe, Message, message};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

/// Maximum length of an identifier, in bytes.
pub const MAX_ID_BYTES: usize = 128;

/// Error of a string that is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.describe())]
pub struct InvalidId {
    /// The refused string.
    pub text: String,
}

impl Describe for InvalidId {
    fn describe(&self) -> Message {
        message!("rule-id", text = format!("{:?}", self.text), number = MAX_ID_BYTES)
    }
}

fn check(text: &str) -> Result<(), InvalidId> {
    let fits = (1..=MAX_ID_BYTES).contains(&text.len())
        && !text.starts_with('.')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    if fits { Ok(()) } else { Err(InvalidId { text: text.to_owned() }) }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        ///
        /// A clone shares the text.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Validates `text` as an identifier.
            ///
            /// # Errors
            ///
            /// [`InvalidId`] if it is empty, too long, starts with a dot or has a character outside
            /// `A-Z a-z 0-9 _ - .`.
            pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidId> {
                let text = text.as_ref();
                check(text).map(|()| Self(text.into()))
            }

            /// Returns the identifier as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.as_str().to_owned()
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        /// Allows lookups by text in a map with identifiers as keys.
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX_ID_BYTES })
            }
        }
    )*};
}

ids! {
    /// One run, from goal to answer.
    RunId,
    /// One plan through all its versions.
    PlanId,
    /// One task of a plan.
    TaskId,
    /// One actor, made for one task.
    ActorId,
    /// One piece of evidence.
    EvidenceId,
    /// One question to a person.
    QuestionId,
}
/// Returns `plan`, the id of a plan outside any run.
impl Default for PlanId {
    fn default() -> Self {
        Self("plan".into())
    }
}

/// A run's plan has the name of the run.
impl From<&RunId> for PlanId {
    fn from(run: &RunId) -> Self {
        Self(Arc::clone(&run.0))
    }
}
