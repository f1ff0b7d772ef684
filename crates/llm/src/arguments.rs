//! Reading the arguments of a tool call.

mod coerce;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::json::{Concern, Ending, read_json_with_concern, strict, unescaped, whole_text_ending};

pub use self::coerce::coerce_to_schema;

/// Arguments as they were understood.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ReadArguments {
    /// Arguments by parameter name.
    pub values: Map<String, Value>,
    /// Descriptions of the repairs; empty for a strict JSON object that fits the schema's types.
    pub repairs: Vec<String>,
}

/// Reason why a call must not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentsError {
    /// The text ends before its JSON does, as when the answer ran into its limit of tokens.
    #[error("the arguments are cut off after {bytes} bytes; write shorter arguments, in several calls if need be")]
    Cut {
        /// The length of what arrived.
        bytes: usize,
    },
    /// The JSON is not an object.
    #[error("the arguments are {found}; they must be one JSON object with the parameters by name")]
    NotAnObject {
        /// Kind of the value that was found instead of an object.
        found: String,
    },
    /// Several different objects, and no telling which is meant.
    #[error("the arguments are {count} different JSON objects; write one")]
    SeveralObjects {
        /// Number of different objects.
        count: usize,
    },
    /// The text around the object may hold parameters.
    #[error("there may be parameters outside of the object; write one JSON object with all parameters by name")]
    Outside,
    /// A bracket closes too early, and it is uncertain what belongs to what.
    #[error("the brackets of the arguments can be read in more than one way; close each object and each list once")]
    Ambiguous,
    /// The text cannot be read.
    #[error("the arguments are not JSON: {reason}; write one JSON object with the parameters by name")]
    Unreadable {
        /// Message of the JSON reader.
        reason: String,
    },
}

/// Reads the arguments of a tool call as a model wrote them. JSON that is slightly wrong is repaired.
///
/// ```
/// let schema = serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}});
/// let arguments = aime_llm::read_arguments(r#"{"path": "a.txt", "limit": "5"}"#, Some(&schema)).unwrap();
/// assert_eq!(arguments["limit"], 5);
/// assert!(aime_llm::read_arguments(r#"{"path": "a.t"#, Some(&schema)).is_err());
/// ```
///
/// # Errors
/// [`ArgumentsError`] says why the call must not run, in words for the model.
pub fn read_arguments(raw: &str, schema: Option<&Value>) -> Result<Map<String, Value>, ArgumentsError> {
    read_arguments_with_repairs(raw, schema).map(|read| read.values)
}

/// Reads the arguments of a tool call as a model wrote them.
///
/// Nothing, `null` and `{}` are no arguments. An object inside a JSON string, and text that is nearly JSON, are read.
/// Text that is cut off is never completed, because half a command must not run. If a bracket closes the object too
/// early, the parameters behind it are read too, or the arguments are refused. With the tool's JSON Schema, a bare
/// JSON string is taken as the only required parameter if that parameter is a string, and harmless differences of
/// type are evened out ([`coerce_to_schema`]). The result is not checked against the schema otherwise.
///
/// # Errors
/// [`ArgumentsError`] gives the reason why the call must not run, in words for the model.
pub(crate) fn read_arguments_with_repairs(raw: &str, schema: Option<&Value>) -> Result<ReadArguments, ArgumentsError> {
    let text = raw.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let mut read = match strict(text) {
        _ if text.is_empty() => ReadArguments::default(),
        Ok(Value::Null) => ReadArguments::default(),
        Ok(Value::Object(values)) => ReadArguments { values, repairs: Vec::new() },
        Ok(Value::String(inner)) => from_string(inner, schema)?,
        Ok(other) => return Err(not_an_object(&other)),
        Err(_) => from_nearly_json(text)?,
    };
    if let Some(schema) = schema {
        let mut value = Value::Object(std::mem::take(&mut read.values));
        coerce_to_schema(&mut value, schema, &mut read.repairs);
        if let Value::Object(values) = value {
            read.values = values;
        }
    }
    Ok(read)
}

/// Reads a JSON string: the arguments encoded twice, or the only parameter.
fn from_string(inner: String, schema: Option<&Value>) -> Result<ReadArguments, ArgumentsError> {
    let only = schema.and_then(only_string_parameter);
    let text = inner.trim();
    if only.is_none() && (text.is_empty() || text == "null") {
        return Ok(ReadArguments::default());
    }
    if text.starts_with(['{', '"']) {
        let object = match strict(text) {
            Ok(Value::Object(values)) => Some(Ok(ReadArguments { values, repairs: Vec::new() })),
            Ok(Value::String(again)) if only.is_none() => Some(from_string(again, schema)),
            Ok(_) => None,
            Err(_) if only.is_none() => Some(from_nearly_json(text)),
            Err(_) => None,
        };
        match object {
            // An object without the parameter's name may itself be the text of the parameter.
            Some(Ok(read)) if only.is_some_and(|name| !read.values.contains_key(name)) => {}
            Some(read) => {
                return read.map(|mut read| {
                    read.repairs.insert(0, "read the JSON inside a JSON string".to_owned());
                    read
                });
            }
            None => {}
        }
    }
    // Half an object is no text that anybody meant.
    let is_cut = text.starts_with('{') && text.get(1..).unwrap_or_default().trim_start().starts_with('"');
    if is_cut && whole_text_ending(text).is_some_and(|ending| ending != Ending::Whole) {
        return Err(ArgumentsError::Cut { bytes: inner.len() });
    }
    match only {
        Some(name) => Ok(ReadArguments {
            repairs: vec![format!("took the bare string as {name}")],
            values: Map::from_iter([(name.to_owned(), Value::String(inner))]),
        }),
        None => Err(not_an_object(&Value::String(inner))),
    }
}

fn from_nearly_json(text: &str) -> Result<ReadArguments, ArgumentsError> {
    let cut = || ArgumentsError::Cut { bytes: text.len() };
    // A text that begins with a quote and does not end with one is cut off.
    if (!text.starts_with('"') || text.ends_with("}\""))
        && let Some(escaped) = unescaped(text).filter(|escaped| !escaped.has_members_before)
        && let Ok(Value::Object(values)) = strict(&escaped.text)
    {
        return Ok(ReadArguments { values, repairs: vec!["took away one level of escaping".to_owned()] });
    }
    if text.starts_with('"') || whole_text_ending(text).is_some_and(|ending| ending != Ending::Whole) {
        return Err(cut());
    }
    let mut objects = concatenated(text);
    if objects.len() > 1 {
        // Proxies send the arguments twice, or an empty object before them.
        objects.retain(|object| !object.is_empty());
        objects.dedup();
        return match (objects.pop(), objects.len()) {
            (None, _) => Ok(ReadArguments::default()),
            (Some(values), 0) => Ok(ReadArguments { values, repairs: vec!["left out repeated or empty objects".to_owned()] }),
            (Some(_), others) => Err(ArgumentsError::SeveralObjects { count: others + 1 }),
        };
    }
    let (read, concern) = read_json_with_concern(text).map_err(|error| ArgumentsError::Unreadable { reason: error.to_string() })?;
    match concern {
        _ if read.cut => return Err(cut()),
        Some(Concern::Several { count }) => return Err(ArgumentsError::SeveralObjects { count }),
        Some(Concern::Outside) => return Err(ArgumentsError::Outside),
        Some(Concern::Ambiguous) => return Err(ArgumentsError::Ambiguous),
        None => {}
    }
    match read.value {
        Value::Object(values) => Ok(ReadArguments { values, repairs: read.repairs }),
        other => Err(not_an_object(&other)),
    }
}

/// Strict objects written one after the other with nothing else; empty where the text is anything else.
fn concatenated(text: &str) -> Vec<Map<String, Value>> {
    let mut objects = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        match value {
            Ok(Value::Object(object)) => objects.push(object),
            _ => return Vec::new(),
        }
    }
    objects
}

/// Returns the name of the only required parameter, if it is a string.
fn only_string_parameter(schema: &Value) -> Option<&str> {
    let [name] = schema.get("required")?.as_array()?.as_slice() else { return None };
    let name = name.as_str()?;
    let property = schema.get("properties")?.get(name)?;
    (property.get("type")?.as_str()? == "string").then_some(name)
}

fn not_an_object(value: &Value) -> ArgumentsError {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    ArgumentsError::NotAnObject { found: found.to_owned() }
}
