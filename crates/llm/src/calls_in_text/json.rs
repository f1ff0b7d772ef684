//! Calls that are JSON objects with a name and arguments, and the arguments of other forms.

use serde_json::{Deserializer, Map, Value};

use super::{
    MAX_ENDS,
    names::{clean_tool_name, is_tool_like},
    tool_call,
};
use crate::{ToolCall, read_arguments, read_json};

/// Distance from the start of a text within which the name of a broken call is searched, in bytes.
const NAME_WITHIN: usize = 400;

/// Returns the calls that `text` holds and nothing else; `None` if it holds anything else. Text that is not quite
/// JSON must name an offered tool near its beginning: reading it is costly.
pub(super) fn calls_of(text: &str, offered: &[&str]) -> Option<Vec<ToolCall>> {
    let json = body(text)?;
    let strict: Result<Vec<Value>, _> = Deserializer::from_str(json).into_iter().collect();
    let values = match strict {
        Ok(values) => values,
        Err(_) if names_offered(json, offered) => vec![nearly(json)?],
        Err(_) => return None,
    };
    calls_in(&values, offered)
}

/// Returns true if broken JSON names an offered tool near its beginning.
pub(super) fn names_offered(json: &str, offered: &[&str]) -> bool {
    name_of(json).is_some_and(|name| clean_tool_name(name, offered).is_some())
}

/// Returns the calls at the beginning of `text` and their length in bytes. Semicolons may separate them.
pub(super) fn leading_calls(text: &str, offered: &[&str]) -> Option<(Vec<ToolCall>, usize)> {
    let mut calls = Vec::new();
    let mut length = 0;
    loop {
        let rest = text.get(length..)?;
        let json = rest.trim_start_matches(|c: char| c.is_whitespace() || (c == ';' && !calls.is_empty()));
        let mut values = Deserializer::from_str(json).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else { break };
        match calls_in(&[value], offered) {
            Some(found) => calls.extend(found),
            None if calls.is_empty() => return None,
            None => break,
        }
        length += rest.len() - json.len() + values.byte_offset();
    }
    (!calls.is_empty()).then_some((calls, length))
}

fn calls_in(values: &[Value], offered: &[&str]) -> Option<Vec<ToolCall>> {
    let mut calls = Vec::new();
    for value in values {
        match value {
            Value::Array(items) => {
                for item in items {
                    calls.push(call(item, offered)?);
                }
            }
            other => calls.push(call(other, offered)?),
        }
    }
    (!calls.is_empty()).then_some(calls)
}

/// Returns the JSON of a text; a fence may name its language before it.
fn body(text: &str) -> Option<&str> {
    let text = text.trim();
    let at = text.find(['{', '['])?;
    text.get(..at)?.trim().chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then(|| text.get(at..)).flatten()
}

/// Reads what is not quite JSON. Only the outermost bracket may be missing: behind any other, arguments may be missing too.
fn nearly(json: &str) -> Option<Value> {
    let closed = ["}", "]"].iter().find_map(|close| serde_json::from_str(&format!("{}{close}", json.trim_end())).ok());
    closed.or_else(|| {
        let read = read_json(json).ok()?;
        let partial = |repair: &String| repair == "repaired brackets" || repair.starts_with("took one of");
        (!read.cut && !read.repairs.iter().any(partial)).then_some(read.value)
    })
}

fn call(value: &Value, offered: &[&str]) -> Option<ToolCall> {
    let object = value.as_object()?;
    let object = object.get("function").and_then(Value::as_object).unwrap_or(object);
    // With a description it is the definition of a tool.
    if object.contains_key("description") {
        return None;
    }
    let name = clean_tool_name(object.get("name")?.as_str()?, offered)?;
    let arguments = match object.get("arguments").or_else(|| object.get("parameters"))? {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(tool_call(name, arguments))
}

/// Returns the JSON object of arguments at the beginning of `text`, and the length up to its end in bytes. An object
/// that is not strict JSON must be followed by one of `ends`, or by nothing. An object that is cut off is none.
pub(super) fn arguments(text: &str, ends: &[&str]) -> Option<(String, usize)> {
    let body = text.trim_start();
    let start = text.len() - body.len();
    if !body.starts_with('{') {
        return None;
    }
    let mut values = Deserializer::from_str(body).into_iter::<Map<String, Value>>();
    if let Some(Ok(object)) = values.next() {
        return Some((Value::Object(object).to_string(), start + values.byte_offset()));
    }
    let lenient = |inside: &str| read_arguments(inside, None).ok().map(|object| Value::Object(object).to_string());
    let mut stops: Vec<usize> = ends.iter().flat_map(|end| body.match_indices(end).take(MAX_ENDS)).map(|(at, _)| at).collect();
    stops.sort_unstable();
    if stops.is_empty() && body.trim_end().ends_with('}') {
        stops.push(body.len());
    }
    stops.into_iter().take(MAX_ENDS).find_map(|stop| Some((lenient(body.get(..stop)?)?, start + stop)))
}

/// Returns true if `text` is JSON that clearly was meant as a call of an offered tool but is not a valid one.
pub(super) fn is_broken_call(text: &str, offered: &[&str]) -> bool {
    let Some(json) = body(text) else { return false };
    match serde_json::from_str(json) {
        // Some element of the list is not a call of an offered tool.
        Ok(Value::Array(items)) => items.iter().any(|item| call(item, offered).is_some()),
        Ok(_) => false,
        Err(_) => names_offered(json, offered),
    }
}

pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text.trim()).is_ok()
}

/// Returns the tool name in the broken JSON of a call. A name that is nested deeper in other JSON does not count.
pub(super) fn name_of(json: &str) -> Option<&str> {
    let mut end = NAME_WITHIN.min(json.len());
    while !json.is_char_boundary(end) {
        end -= 1;
    }
    let head = json.get(..end)?;
    let quotes = ['"', '\'', '“', '”', '＂'];
    head.match_indices("name").find_map(|(at, key)| {
        let before = head.get(..at)?;
        let is_key = before.ends_with(['{', ',', ' ', '\n', '\t']) || before.ends_with(quotes);
        let is_outer = before.matches('{').count() <= 1 || before.contains("function");
        let after = head.get(at + key.len()..)?.trim_start_matches(quotes).trim_start();
        let value = after.strip_prefix([':', '：'])?.trim_start().strip_prefix(quotes)?;
        let name = value.split(quotes).next()?;
        (is_key && is_outer && is_tool_like(name)).then_some(name)
    })
}
