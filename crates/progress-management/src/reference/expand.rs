//! Replaces references by results.

use serde_json::{Map, Value};

use super::{Piece, Reference, ReferenceError, plain_text, scan};
use crate::ProgressState;

/// Returns the parameters with every reference replaced by its value.
///
/// A parameter that consists of a single reference keeps the JSON type of the result, unless `schema` (the tool's own
/// JSON Schema) requires a string: then it becomes the result's text. Inside a longer string the text is inserted.
/// Inserted text is not expanded again. `@@{` becomes `@{`.
///
/// # Errors
///
/// The first [`ReferenceError`]: a malformed reference, an unknown step, a step without a result, a path that is
/// missing.
pub fn expand(
    parameters: &Map<String, Value>,
    schema: Option<&Value>,
    state: &ProgressState,
) -> Result<Map<String, Value>, ReferenceError> {
    parameters
        .iter()
        .map(|(name, value)| Ok((name.clone(), expand_value(value, schema.and_then(|schema| member_schema(schema, name)), state)?)))
        .collect()
}

/// Returns a text with every reference replaced by its text. `@@{` becomes `@{`.
///
/// # Errors
///
/// The errors of [`expand`].
pub fn expand_text(text: &str, state: &ProgressState) -> Result<String, ReferenceError> {
    let mut expanded = String::with_capacity(text.len());
    for piece in scan(text) {
        match piece {
            Piece::Text(text) => expanded.push_str(text),
            Piece::Escape => expanded.push_str("@{"),
            Piece::Reference(reference) => expanded.push_str(&reference.text(state)?),
            Piece::Malformed(text) => return Err(ReferenceError::Malformed { text: text.to_owned() }),
        }
    }
    Ok(expanded)
}

fn expand_value(value: &Value, schema: Option<&Value>, state: &ProgressState) -> Result<Value, ReferenceError> {
    match value {
        Value::String(text) if text.contains("@{") => match sole_reference(text) {
            Some(reference) if schema.is_some_and(wants_text) => whole_text(&reference, state),
            Some(reference) => reference.value(state),
            None => expand_text(text, state).map(Value::from),
        },
        Value::Array(items) => {
            let schema = schema.and_then(|schema| schema.get("items"));
            items.iter().map(|item| expand_value(item, schema, state)).collect::<Result<_, _>>().map(Value::Array)
        }
        Value::Object(members) => expand(members, schema, state).map(Value::Object),
        other => Ok(other.clone()),
    }
}

fn whole_text(reference: &Reference, state: &ProgressState) -> Result<Value, ReferenceError> {
    match reference.value(state)? {
        Value::Null => Ok(Value::from(plain_text(&Value::Null))),
        _ => reference.text(state).map(Value::from),
    }
}

fn sole_reference(text: &str) -> Option<Reference> {
    let mut pieces = scan(text.trim()).into_iter();
    match (pieces.next(), pieces.next()) {
        (Some(Piece::Reference(reference)), None) => Some(reference),
        _ => None,
    }
}

fn member_schema<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

/// Returns true if a schema accepts only text, or text and null.
fn wants_text(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => {
            let mut others = kinds.iter().filter(|kind| *kind != "null").peekable();
            others.peek().is_some() && others.all(|kind| kind == "string")
        }
        _ => ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).any(|options| {
            let mut others = options.iter().filter(|option| option.get("type").is_none_or(|kind| kind != "null")).peekable();
            others.peek().is_some() && others.all(wants_text)
        }),
    }
}
