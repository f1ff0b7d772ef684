//! Checks parameters against a schema, and describes every fault.

use aime_messages::nearest;
use jsonschema::{
    ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::{Map, Value};

use crate::names::quoted;

/// Maximum characters of a wrong value in a fault.
const MAX_VALUE_CHARS: usize = 60;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Checker {
    schema: Value,
    /// `None` if the schema itself is invalid: the tool then parses the parameters unchecked.
    validator: Option<Validator>,
}

impl Checker {
    pub(crate) fn new(tool: &str, schema: &Value) -> Self {
        let validator = aime_llm::compile_schema(schema);
        if let Err(error) = &validator {
            tracing::warn!(tool, %error, "the schema of a tool cannot be used; its parameters are not checked");
        }
        Self { schema: schema.clone(), validator: validator.ok() }
    }

    /// Returns the corrected parameters, or every fault.
    #[cfg(any(feature = "mcp", test))]
    pub(crate) fn take(&self, parameters: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut parameters = Value::Object(parameters);
        aime_llm::coerce_to_schema(&mut parameters, &self.schema, &mut Vec::new());
        self.check(if let Value::Object(parameters) = parameters { parameters } else { Map::new() })
    }

    /// Returns the parameters unchanged, or every fault.
    pub(crate) fn check(&self, parameters: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let Some(validator) = &self.validator else {
            return Ok(parameters);
        };
        let value = Value::Object(parameters);
        let faults: Vec<_> = validator.iter_errors(&value).map(|error| self.fault(&error)).collect();
        if !faults.is_empty() {
            return Err(format!("The parameters do not fit: {}.", faults.join("; ")));
        }
        match value {
            Value::Object(parameters) => Ok(parameters),
            _ => Ok(Map::new()),
        }
    }

    fn fault(&self, error: &ValidationError<'_>) -> String {
        let place = place(error.instance_path().as_str());
        let here = if place.is_empty() { String::new() } else { format!("`{place}` ") };
        let given = || value_text(error.instance());
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let whole = if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
                let expected =
                    self.schema_at(error.instance_path().as_str()).and_then(|schema| expected(schema.get("properties")?.get(name)?));
                format!("`{whole}` is missing{}", expected.map(|expected| format!(" ({expected})")).unwrap_or_default())
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let schema = self.schema_at(error.instance_path().as_str());
                let known = schema.and_then(|schema| schema.get("properties")?.as_object());
                let known: Vec<_> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                let unknown = unexpected.iter().map(|name| match nearest(name, known.iter().copied()) {
                    Some(meant) => format!("there is no parameter `{name}`, did you mean `{meant}`?"),
                    None => format!("there is no parameter `{name}`"),
                });
                let known =
                    if known.is_empty() { "there are none".to_owned() } else { format!("there are {}", quoted(known.iter().copied())) };
                format!("{} ({known})", unknown.collect::<Vec<_>>().join(", "))
            }
            ValidationErrorKind::Type { kind } => format!("{here}must be {}, not {}", type_words(kind), given()),
            ValidationErrorKind::Enum { options } => format!("{here}must be one of {}, not {}", list(options), given()),
            ValidationErrorKind::Constant { expected_value } => format!("{here}must be {}, not {}", value_text(expected_value), given()),
            ValidationErrorKind::Minimum { limit } => format!("{here}must be at least {limit}, not {}", given()),
            ValidationErrorKind::Maximum { limit } => format!("{here}must be at most {limit}, not {}", given()),
            ValidationErrorKind::MinLength { limit: 1 } => format!("{here}must not be empty"),
            _ => format!("{here}does not fit: {error}"),
        }
    }

    /// Returns the part of the schema for a place in the parameters, if it contains no references or combinations on the way.
    fn schema_at(&self, pointer: &str) -> Option<&Value> {
        pointer.split('/').skip(1).try_fold(&self.schema, |schema, step| match step.parse::<usize>() {
            Ok(_) if schema.get("items").is_some() => schema.get("items"),
            _ => schema.get("properties")?.get(step),
        })
    }
}

/// Formats the pointer `/items/0/text` as `items[0].text`.
fn place(pointer: &str) -> String {
    let mut place = String::new();
    for step in pointer.split('/').skip(1) {
        if step.parse::<usize>().is_ok() {
            place.push_str(&format!("[{step}]"));
        } else {
            if !place.is_empty() {
                place.push('.');
            }
            place.push_str(step);
        }
    }
    place
}

/// Describes the requirements of a schema: its type, its values, its description.
fn expected(schema: &Value) -> Option<String> {
    let kind = match (schema.get("enum"), schema.get("type").and_then(Value::as_str)) {
        (Some(options), _) => Some(format!("one of {}", list(options))),
        (None, Some(kind)) => Some(a_kind(kind)),
        (None, None) => None,
    };
    let description = schema.get("description").and_then(Value::as_str).map(str::to_owned);
    let words: Vec<_> = kind.into_iter().chain(description).collect();
    (!words.is_empty()).then(|| words.join(": "))
}

fn a_kind(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {kind}")
}

fn type_words(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => a_kind(&kind.to_string()),
        TypeKind::Multiple(kinds) => kinds.iter().map(|kind| a_kind(&kind.to_string())).collect::<Vec<_>>().join(" or "),
    }
}

fn list(options: &Value) -> String {
    options.as_array().map(|options| options.iter().map(value_text).collect::<Vec<_>>().join(", ")).unwrap_or_default()
}

/// Formats a value as JSON, cut to the maximum length.
fn value_text(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= MAX_VALUE_CHARS {
        return text;
    }
    text.chars().take(MAX_VALUE_CHARS).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checker() -> Checker {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "File to read"},
                "limit": {"type": "integer", "minimum": 1},
                "all": {"type": "boolean"},
                "mode": {"type": "string", "enum": ["fast", "slow"]},
                "items": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"text": {"type": "string"}},
                    "required": ["text"],
                }},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        Checker::new("test", &schema)
    }

    fn check(given: Value) -> Result<Value, String> {
        checker().take(given.as_object().unwrap().clone()).map(Value::Object)
    }

    #[test]
    fn takes_what_was_plainly_meant() {
        let table = [
            (json!({"path": "a", "limit": null}), json!({"path": "a"})),
            (json!({"path": 7, "limit": "5"}), json!({"path": "7", "limit": 5})),
            (json!({"path": "7", "limit": 5.0}), json!({"path": "7", "limit": 5})),
            (json!({"path": "true", "all": "True"}), json!({"path": "true", "all": true})),
            (json!({"path": "a", "items": "[{\"text\": \"Big\"}]"}), json!({"path": "a", "items": [{"text": "Big"}]})),
        ];
        for (given, expected) in table {
            assert_eq!(check(given.clone()), Ok(expected), "{given}");
        }
    }

    #[test]
    fn names_every_fault_and_what_is_expected() {
        let table = [
            (json!({}), "The parameters do not fit: `path` is missing (a string: File to read)."),
            (json!({"path": "a", "limit": "many"}), "The parameters do not fit: `limit` must be an integer, not \"many\"."),
            (json!({"path": "a", "limit": 0}), "The parameters do not fit: `limit` must be at least 1, not 0."),
            (json!({"path": "a", "mode": "x"}), "The parameters do not fit: `mode` must be one of \"fast\", \"slow\", not \"x\"."),
            (json!({"path": "a", "items": [{}]}), "The parameters do not fit: `items[0].text` is missing (a string)."),
            (
                json!({"path": "a", "limt": 1}),
                "The parameters do not fit: there is no parameter `limt`, did you mean `limit`? (there are `path`, `limit`, `all`, `mode`, `items`).",
            ),
            (json!({"path": null}), "The parameters do not fit: `path` must be a string, not null."),
        ];
        for (given, expected) in table {
            assert_eq!(check(given.clone()), Err(expected.to_owned()), "{given}");
        }
        let both = check(json!({"file": "a", "limit": 0})).unwrap_err();
        assert!(both.contains("`path` is missing") && both.contains("`limit` must") && both.contains("`file`"), "{both}");
    }

    #[test]
    fn a_broken_schema_checks_nothing() {
        let checker = Checker::new("test", &json!({"type": 5}));
        assert!(checker.check(Map::new()).is_ok());
    }
}
