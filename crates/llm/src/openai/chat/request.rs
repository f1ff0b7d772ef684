//! The body of a request for a chat completion.

use serde_json::{Map, Value, json};

use crate::openai::dialect::{Dialect, EmptyContent, MessageForm, ReasoningForm};
use crate::openai::form::{Writing, call_id, is_strict, sendable_arguments, tool_name, with_images};
use crate::openai::messages;
use crate::{ChatRequest, Image, Message, NativeTurn, ResponseFormat, ToolCall, ToolChoice};

/// Everything but the model, the messages and the tools.
pub(in crate::openai) fn settings(request: &ChatRequest, dialect: &Dialect, writing: &Writing<'_>, tools: bool) -> Map<String, Value> {
    let optional = &dialect.optional;
    let mut body = Map::new();
    if tools && optional.tool_choice {
        match &request.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::Required => drop(body.insert("tool_choice".into(), json!("required"))),
            ToolChoice::None => drop(body.insert("tool_choice".into(), json!("none"))),
            ToolChoice::Only(name) => drop(body.insert("tool_choice".into(), json!({"type": "function", "function": {"name": name}}))),
        }
    }
    if let (true, true, Some(parallel)) = (tools, optional.parallel_calls, request.parallel_tool_calls) {
        body.insert("parallel_tool_calls".into(), json!(parallel));
    }
    match &request.format {
        ResponseFormat::Text => {}
        ResponseFormat::JsonObject => drop(body.insert("response_format".into(), json!({"type": "json_object"}))),
        ResponseFormat::JsonSchema { name, schema } => {
            let mut form = json!({"name": name, "schema": schema});
            if let (true, true, Some(form)) = (optional.strict, is_strict(schema), form.as_object_mut()) {
                form.insert("strict".into(), json!(true));
            }
            body.insert("response_format".into(), json!({"type": "json_schema", "json_schema": form}));
        }
    }
    if let (true, Some(temperature)) = (optional.temperature, writing.temperature(request)) {
        body.insert("temperature".into(), temperature);
    }
    if let (Some(name), Some(bound)) = (dialect.max_tokens, writing.bound) {
        body.insert(name.field().into(), json!(bound));
    }
    if let (true, Some(seed)) = (optional.seed, request.seed) {
        body.insert(writing.provider.seed_field().into(), json!(seed));
    }
    if let (true, Some(effort)) = (optional.effort, writing.effort) {
        let (name, value) = writing.provider.effort_field(effort);
        body.insert(name.into(), value);
    }
    if optional.reasoning_split {
        body.insert("reasoning_split".into(), json!(true));
    }
    if let (true, Some(key)) = (optional.cache_key, &request.cache_key) {
        body.insert("prompt_cache_key".into(), json!(key));
    }
    body.insert("stream".into(), json!(dialect.stream));
    if dialect.stream && optional.stream_options {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    body
}

/// Returns a message as it goes over the wire.
pub(in crate::openai) fn message(message: &Message, form: &MessageForm, writing: &Writing<'_>) -> Value {
    match message {
        Message::System { content } => json!({"role": "system", "content": content}),
        Message::User { content, images } => json!({"role": "user", "content": content_with(content, images, form)}),
        Message::Assistant { content, tool_calls, native } => {
            let item = native.as_deref().and_then(|native| native_item(native, content, tool_calls, writing));
            assistant(item.unwrap_or_else(|| plain(content, tool_calls)), tool_calls, form)
        }
        Message::Tool { call_id: id, content, images, .. } => {
            json!({"role": "tool", "tool_call_id": call_id(id, form.ids), "content": content_with(content, images, form)})
        }
    }
}

/// Returns a text, or the parts of a text and its images.
fn content_with(content: &str, images: &[Image], form: &MessageForm) -> Value {
    let (content, images) = with_images(content, images, form);
    if images.is_empty() {
        return json!(content);
    }
    let text = (!content.is_empty()).then(|| json!({"type": "text", "text": content}));
    let images = images.iter().map(|image| json!({"type": "image_url", "image_url": {"url": image.data_url()}}));
    text.into_iter().chain(images).collect()
}

/// Returns the turn as this server wrote it.
fn native_item(native: &NativeTurn, content: &str, calls: &[ToolCall], writing: &Writing<'_>) -> Option<Map<String, Value>> {
    let item = writing.native(native, content, calls)?.first()?.as_object()?.clone();
    let written = item.get("tool_calls").and_then(Value::as_array).map_or(0, Vec::len);
    (written == calls.len()).then_some(item)
}

fn plain(content: &str, calls: &[ToolCall]) -> Map<String, Value> {
    let mut message = Map::from_iter([("role".to_owned(), json!("assistant")), ("content".to_owned(), json!(content))]);
    if !calls.is_empty() {
        message.insert("tool_calls".into(), calls.iter().map(|_| json!({})).collect());
    }
    message
}

/// Returns a turn of the model in the form that the server takes; the calls get their names, ids and arguments here.
fn assistant(mut message: Map<String, Value>, calls: &[ToolCall], form: &MessageForm) -> Value {
    if let Some(Value::Array(items)) = message.get_mut("tool_calls") {
        for (at, (item, call)) in items.iter_mut().zip(calls).enumerate() {
            fill_call(item, call, form, at == 0);
        }
    }
    if form.reasoning == ReasoningForm::Refused {
        for name in ["reasoning_content", "reasoning", "reasoning_details"] {
            message.remove(name);
        }
        if let Some(Value::Array(parts)) = message.get("content") {
            let text: String = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            message.insert("content".into(), json!(text));
        }
    }
    if !calls.is_empty() {
        if form.reasoning == ReasoningForm::Demanded && !message.contains_key("reasoning_content") {
            message.insert("reasoning_content".into(), json!(""));
        }
        // Beside calls, some servers refuse an empty text, some null, and some a missing field.
        if message.get("content").and_then(Value::as_str) == Some("") {
            match form.empty_content {
                EmptyContent::Null => drop(message.insert("content".into(), Value::Null)),
                EmptyContent::Empty => {}
                EmptyContent::Absent => drop(message.remove("content")),
            }
        }
    }
    Value::Object(message)
}

fn fill_call(item: &mut Value, call: &ToolCall, form: &MessageForm, first: bool) {
    let Some(fields) = item.as_object_mut() else { return };
    fields.insert("id".into(), json!(call_id(&call.id, form.ids)));
    fields.insert("type".into(), json!("function"));
    fields.insert("function".into(), json!({"name": tool_name(&call.name), "arguments": sendable_arguments(&call.arguments)}));
    if form.skip_signature && first && !fields.contains_key("extra_content") {
        // Gemini's own word for calls that it did not make.
        fields.insert("extra_content".into(), json!({"google": {"thought_signature": "skip_thought_signature_validator"}}));
    }
}

/// Returns a message with the mark up to which the provider keeps the request in its cache. OpenRouter accepts marks on texts
/// alone, and Anthropic none on an empty text: a message without a text gets no mark.
pub(in crate::openai) fn marked(mut message: Value) -> Value {
    let is_text = |part: &Value| part.get("text").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    match message.get_mut("content") {
        Some(Value::Array(parts)) => {
            if let Some(part) = parts.iter_mut().rev().find(|part| is_text(part)) {
                *part = messages::marked(part);
            }
        }
        Some(content) => {
            let part = json!({"type": "text", "text": &*content});
            if is_text(&part) {
                *content = json!([messages::marked(&part)]);
            }
        }
        None => {}
    }
    message
}

/// Returns a tool as it is offered.
pub(in crate::openai) fn tool(name: &str, description: &str, parameters: Value) -> Value {
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
}
