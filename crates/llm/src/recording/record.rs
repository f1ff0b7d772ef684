//! One line of a record.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{ChatRequest, ChatResponse, Effort, Message, ResponseFormat, ToolChoice, ToolDefinition};

/// The version of the form.
pub(super) const SCHEMA: &str = "aime.recording/v1";

/// A request as it is hashed and recorded: without what differs from run to run, the cache key and the providers' own forms of turns.
#[derive(Serialize)]
struct RecordedRequest<'a> {
    messages: Vec<Message>,
    tools: &'a [ToolDefinition],
    tool_choice: &'a ToolChoice,
    format: &'a ResponseFormat,
    temperature: Option<f32>,
    max_output_tokens: Option<u32>,
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
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
        messages: request.messages.iter().map(|message| without_native(message)).collect(),
        tools: &request.tools,
        tool_choice: &request.tool_choice,
        format: &request.format,
        temperature: request.temperature,
        max_output_tokens: request.max_output_tokens,
        seed: request.seed,
        effort: request.effort,
        parallel_tool_calls: request.parallel_tool_calls,
    };
    sorted(serde_json::to_value(recorded).unwrap_or_default())
}

fn without_native(message: &Message) -> Message {
    match message {
        Message::Assistant { content, tool_calls, .. } => Message::assistant(content, tool_calls.clone()),
        other => other.clone(),
    }
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
