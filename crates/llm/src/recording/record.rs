//! One line of a record.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{ChatRequest, ChatResponse, Message, ResponseFormat, ToolChoice, ToolDefinition};

/// The version of the form.
pub(super) const SCHEMA: &str = "aime.recording/v1";

/// A request as it is hashed and recorded.
#[derive(Serialize)]
struct RecordedRequest<'a> {
    messages: &'a [Arc<Message>],
    tools: &'a [ToolDefinition],
    tool_choice: ToolChoice,
    format: &'a ResponseFormat,
    temperature: Option<f32>,
    max_output_tokens: Option<u32>,
    seed: Option<u64>,
}

/// A line as it is read.
#[derive(Deserialize)]
pub(super) struct Recorded {
    pub(super) schema: String,
    pub(super) hash: String,
    pub(super) response: ChatResponse,
}

/// The line of one answer, without its line end. The hash is made before secrets are taken out, of the response's strings and of the
/// request's, keys included.
pub(super) fn line(request: &ChatRequest, response: &ChatResponse, secrets: &[&str]) -> String {
    let request = canonical(request);
    let hash = hash_of(&request);
    let response = serde_json::to_value(response).unwrap_or_default();
    let line = json!({"schema": SCHEMA, "hash": hash, "request": redacted(request, secrets), "response": redacted(response, secrets)});
    line.to_string()
}

/// The hash of a request, in hexadecimal.
pub(super) fn hash(request: &ChatRequest) -> String {
    hash_of(&canonical(request))
}

fn hash_of(canonical: &Value) -> String {
    blake3::hash(canonical.to_string().as_bytes()).to_hex().to_string()
}

fn canonical(request: &ChatRequest) -> Value {
    let recorded = RecordedRequest {
        messages: &request.messages,
        tools: &request.tools,
        tool_choice: request.tool_choice,
        format: &request.format,
        temperature: request.temperature,
        max_output_tokens: request.max_output_tokens,
        seed: request.seed,
    };
    sorted(serde_json::to_value(recorded).unwrap_or_default())
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<(String, Value)> = object.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(Map::from_iter(entries))
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

fn redacted(value: Value, secrets: &[&str]) -> Value {
    let clean = |text: String| secrets.iter().fold(text, |text, secret| text.replace(secret, "***"));
    match value {
        Value::String(text) => Value::String(clean(text)),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| redacted(item, secrets)).collect()),
        Value::Object(object) => Value::Object(object.into_iter().map(|(key, value)| (clean(key), redacted(value, secrets))).collect()),
        other => other,
    }
}
