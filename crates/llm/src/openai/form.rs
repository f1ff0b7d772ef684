//! The parts of a request that are written alike in all protocols: ids, names, arguments, schemas.

mod arrange;
mod simplify;

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Value, json};

use super::dialect::{IdForm, ImagesForm, MessageForm};
use super::provider::Provider;
use crate::{ChatRequest, Effort, Image, NativeTurn, ToolCall, TurnSource};

pub(super) use arrange::arranged;
pub(super) use simplify::{simplified, without_references};

/// Inputs for writing one request, besides the dialect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writing<'a> {
    pub(super) source: TurnSource<'a>,
    pub(super) provider: Provider,
    pub(super) effort: Option<Effort>,
    /// The bound on the answer, as far as the server allows it.
    pub(super) bound: Option<u32>,
    /// The longest answer of the model, in tokens.
    pub(super) longest: u32,
    /// The ids of turns in the provider's own form that the server refused to take back.
    pub(super) refused: &'a HashSet<String>,
}

impl Writing<'_> {
    /// Returns a turn in the provider's own form, if it may be sent.
    pub(super) fn native<'n>(&self, native: &'n NativeTurn, content: &str, calls: &[ToolCall]) -> Option<&'n [Value]> {
        native.items_for(self.source, content, calls).filter(|_| !self.refused.contains(native.id()))
    }

    /// Returns the temperature by way of its shortest text: 0.1, not 0.10000000149011612.
    pub(super) fn temperature(&self, request: &ChatRequest) -> Option<Value> {
        let temperature: f64 = request.temperature?.to_string().parse().ok()?;
        Some(json!(temperature))
    }
}

/// Returns the text of a message and the images that go beside it. A server without images gets words for them, in the text.
pub(super) fn with_images<'a>(content: &'a str, images: &'a [Image], form: &MessageForm) -> (Cow<'a, str>, &'a [Image]) {
    if images.is_empty() || form.images != ImagesForm::InWords {
        return (Cow::Borrowed(content), images);
    }
    let words: Vec<String> = images.iter().map(Image::omission_note).collect();
    let content = if content.is_empty() { words.join("\n") } else { format!("{content}\n{}", words.join("\n")) };
    (Cow::Owned(content), &[])
}

/// Returns the id of a call in the form that the server takes.
pub(super) fn call_id(id: &str, form: IdForm) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric();
    let fits = match form {
        IdForm::Any => true,
        IdForm::Forty => !id.is_empty() && id.len() <= 40 && id.chars().all(|c| plain(c) || matches!(c, '_' | '-')),
        IdForm::Nine => id.len() == 9 && id.chars().all(plain),
    };
    if fits {
        return id.to_owned();
    }
    let hash = blake3::hash(id.as_bytes()).to_hex();
    match form {
        IdForm::Nine => hash.chars().take(9).collect(),
        IdForm::Any | IdForm::Forty => format!("call_{}", hash.chars().take(24).collect::<String>()),
    }
}

/// Returns the name of a called tool in letters that every server takes back: 1 to 64 of `A-Z a-z 0-9 _ -`.
pub(super) fn tool_name(name: &str) -> String {
    let letters = name.chars().take(64).map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' });
    let name: String = letters.collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// Arguments that every server takes back. Many parse them again, and would answer each later request of the conversation
/// with an error if the model once wrote broken JSON.
pub(super) fn sendable_arguments(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => arguments.to_owned(),
        _ if arguments.trim().is_empty() => "{}".to_owned(),
        _ => json!({"unreadable_arguments": arguments}).to_string(),
    }
}

/// Returns the schema of a tool's parameters, with the members that servers insist on.
pub(super) fn parameters(schema: &Value) -> Value {
    let mut parameters = schema.as_object().cloned().unwrap_or_default();
    if !parameters.contains_key("type") {
        parameters.insert("type".into(), json!("object"));
    }
    if !parameters.contains_key("properties") {
        parameters.insert("properties".into(), json!({}));
    }
    Value::Object(parameters)
}
/// Returns true if OpenAI accepts the schema as a strict one: every object closed, with all its properties required.
pub(super) fn is_strict(schema: &Value) -> bool {
    let Value::Object(object) = schema else { return matches!(schema, Value::Bool(_)) };
    let is_object = match object.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => object.contains_key("properties"),
    };
    if is_object {
        let closed = object.get("additionalProperties") == Some(&Value::Bool(false));
        let required: Vec<&str> =
            object.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = object.get("properties").and_then(Value::as_object);
        if !closed || !properties.is_some_and(|all| all.keys().all(|name| required.contains(&name.as_str()))) {
            return false;
        }
    }
    let unsupported = ["oneOf", "allOf", "not", "if", "patternProperties", "prefixItems", "dependentSchemas", "uniqueItems"];
    if unsupported.iter().any(|key| object.contains_key(*key)) {
        return false;
    }
    let named = ["properties", "$defs", "definitions"];
    let children = named.iter().filter_map(|key| object.get(*key)?.as_object()).flat_map(|map| map.values());
    let choices = object.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    children.chain(choices).chain(object.get("items")).all(is_strict)
}

#[cfg(test)]
mod tests;
