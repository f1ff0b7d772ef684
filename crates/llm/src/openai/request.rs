//! The body of a request.

use std::sync::Arc;

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::dialect::Dialect;
use super::written::Written;
use crate::{ChatRequest, Message, ResponseFormat, ToolCall, ToolChoice, ToolDefinition};

/// The body for a request in the server's dialect.
#[derive(Debug)]
pub(super) struct Body {
    model: String,
    messages: Vec<Arc<RawValue>>,
    tools: Option<Arc<RawValue>>,
    settings: Map<String, Value>,
}

impl Body {
    /// What was written for requests before is taken from `written`.
    pub(super) fn new(model: &str, request: &ChatRequest, dialect: &Dialect, written: &mut Written) -> serde_json::Result<Self> {
        let messages = written.messages(&request.messages)?;
        let tools = written.tools(&request.tools)?;
        Ok(Self { model: model.to_owned(), messages, tools, settings: settings(request, dialect) })
    }

    /// Everything but the model, the messages and the tools.
    pub(super) const fn settings(&self) -> &Map<String, Value> {
        &self.settings
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let messages: Vec<&RawValue> = self.messages.iter().map(AsRef::as_ref).collect();
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", &self.model)?;
        body.serialize_entry("messages", &messages)?;
        if let Some(tools) = &self.tools {
            body.serialize_entry("tools", tools.as_ref())?;
        }
        self.settings.iter().try_for_each(|(name, value)| body.serialize_entry(name, value))?;
        body.end()
    }
}

/// A message in the form of the wire.
pub(super) struct WireMessage<'a>(pub(super) &'a Message);

impl Serialize for WireMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        message(self.0).serialize(serializer)
    }
}

/// Tools in the form of the wire.
pub(super) struct WireTools<'a>(pub(super) &'a [ToolDefinition]);

impl Serialize for WireTools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(tool))
    }
}

fn settings(request: &ChatRequest, dialect: &Dialect) -> Map<String, Value> {
    let mut body = Map::new();
    if !request.tools.is_empty() && dialect.tool_choice {
        match &request.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::Required => drop(body.insert("tool_choice".into(), json!("required"))),
            ToolChoice::None => drop(body.insert("tool_choice".into(), json!("none"))),
            ToolChoice::Only(name) => drop(body.insert("tool_choice".into(), json!({"type": "function", "function": {"name": name}}))),
        }
    }
    match &request.format {
        ResponseFormat::Text => {}
        ResponseFormat::JsonObject => drop(body.insert("response_format".into(), json!({"type": "json_object"}))),
        ResponseFormat::JsonSchema { name, schema } => {
            let mut form = json!({"name": name, "schema": schema});
            if let (true, true, Some(form)) = (dialect.strict, is_strict(schema), form.as_object_mut()) {
                form.insert("strict".into(), json!(true));
            }
            body.insert("response_format".into(), json!({"type": "json_schema", "json_schema": form}));
        }
    }
    if let (true, Some(temperature)) = (dialect.temperature, request.temperature) {
        // By way of its shortest text: 0.1, not 0.10000000149011612.
        let temperature: f64 = temperature.to_string().parse().unwrap_or_default();
        body.insert("temperature".into(), json!(temperature));
    }
    if let (Some(name), Some(bound)) = (dialect.max_tokens, request.max_output_tokens) {
        body.insert(name.field().into(), json!(bound));
    }
    if let (true, Some(seed)) = (dialect.seed, request.seed) {
        body.insert("seed".into(), json!(seed));
    }
    body.insert("stream".into(), json!(dialect.stream));
    if dialect.stream && dialect.stream_options {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    body
}

fn message(message: &Message) -> Value {
    match message {
        Message::System { content } => json!({"role": "system", "content": content}),
        Message::User { content } => json!({"role": "user", "content": content}),
        Message::Assistant { content, tool_calls, .. } if tool_calls.is_empty() => json!({"role": "assistant", "content": content}),
        Message::Assistant { content, tool_calls, .. } => {
            // Beside calls, some servers refuse an empty text and none refuses null.
            let content = if content.is_empty() { Value::Null } else { json!(content) };
            json!({"role": "assistant", "content": content, "tool_calls": tool_calls.iter().map(call).collect::<Vec<_>>()})
        }
        Message::Tool { call_id, content, .. } => json!({"role": "tool", "tool_call_id": call_id, "content": content}),
    }
}

fn call(call: &ToolCall) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": sendable_arguments(&call.arguments)}})
}

/// Arguments that every server takes back. Many parse them again, and would answer each later request of the conversation
/// with an error if the model once wrote broken JSON.
fn sendable_arguments(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => arguments.to_owned(),
        _ if arguments.trim().is_empty() => "{}".to_owned(),
        _ => json!({"unreadable_arguments": arguments}).to_string(),
    }
}

fn tool(tool: &ToolDefinition) -> Value {
    let mut parameters = tool.parameters.as_object().cloned().unwrap_or_default();
    if !parameters.contains_key("type") {
        parameters.insert("type".into(), json!("object"));
    }
    if !parameters.contains_key("properties") {
        parameters.insert("properties".into(), json!({}));
    }
    json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": parameters}})
}

/// Whether OpenAI takes the schema as a strict one: every object closed, with all its properties required.
fn is_strict(schema: &Value) -> bool {
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
mod tests {
    use super::*;

    #[test]
    fn only_closed_schemas_are_strict() {
        let cases = [
            (json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}), true),
            (json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": [], "additionalProperties": false}), false),
            (json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}), false),
            (json!({"type": "object"}), false),
            (
                json!({"type": "object", "required": ["a"], "additionalProperties": false,
                "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {}}}}}),
                false,
            ),
            (
                json!({"type": "object", "required": ["a"], "additionalProperties": false,
                "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "string"}]}}}),
                true,
            ),
            (json!({"oneOf": [{"type": "string"}]}), false),
        ];
        for (schema, expected) in cases {
            assert_eq!(is_strict(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn broken_arguments_are_not_sent_back() {
        let cases = [
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            ("", "{}"),
            (" ", "{}"),
            ("[1]", r#"{"unreadable_arguments":"[1]"}"#),
            (r#"{"a": "#, r#"{"unreadable_arguments":"{\"a\": "}"#),
        ];
        for (arguments, expected) in cases {
            assert_eq!(sendable_arguments(arguments), expected);
        }
    }
}
