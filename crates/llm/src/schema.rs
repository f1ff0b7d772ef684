//! JSON Schema: made from types, for model servers; and checked, with faults in words.

mod dialect;
mod faults;
mod from_type;

#[cfg(test)]
mod tests;

use std::fmt;

use aime_messages::{Message, message};
use serde_json::Value;

pub use self::{dialect::compile_schema, from_type::json_schema_of};

/// Maximum number of faults that are reported for one value.
const FAULTS: usize = 50;

/// One fault of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFault {
    /// Path of the fault, such as `tasks[2].id`; empty for the value as a whole.
    pub place: String,
    /// Description of the fault, and of a correct value.
    pub message: Message,
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => write!(f, "the whole value {}", self.message),
            place => write!(f, "{place} {}", self.message),
        }
    }
}

/// A schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a usable JSON Schema: {reason}")]
pub struct BadSchema {
    /// Fault of the schema.
    pub reason: String,
}

/// A JSON Schema made ready for checking many values.
#[derive(Debug, Clone)]
pub struct SchemaChecker {
    validator: jsonschema::Validator,
}

impl SchemaChecker {
    /// Makes a schema ready. References to other documents are refused, never fetched.
    ///
    /// # Errors
    /// The schema is invalid or refers to something outside of it.
    pub fn new(schema: &Value) -> Result<Self, BadSchema> {
        let validator = compile_schema(schema).map_err(|error| BadSchema { reason: error.to_string() })?;
        Ok(Self { validator })
    }

    /// Returns true if the value fits the schema.
    #[must_use]
    pub fn fits(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// Checks a value.
    ///
    /// # Errors
    /// All its faults at once, in the order of the schema, at most 50.
    pub fn check(&self, value: &Value) -> Result<(), Vec<SchemaFault>> {
        if self.fits(value) {
            return Ok(());
        }
        let mut faults = Vec::new();
        for error in self.validator.iter_errors(value) {
            faults::add(&error, &mut faults);
            if faults.len() >= FAULTS {
                break;
            }
        }
        if faults.is_empty() {
            faults.push(SchemaFault { place: String::new(), message: message!("fit-not") });
        }
        faults.truncate(FAULTS);
        Err(faults)
    }
}

/// Checks a value against a JSON Schema; for many values of one schema, keep a [`SchemaChecker`].
///
/// # Errors
/// All faults at once. A schema that cannot be used is one fault without a place.
pub fn check_schema(schema: &Value, value: &Value) -> Result<(), Vec<SchemaFault>> {
    match SchemaChecker::new(schema) {
        Ok(checker) => checker.check(value),
        Err(error) => Err(vec![SchemaFault { place: String::new(), message: message!("fit-unchecked", error) }]),
    }
}
