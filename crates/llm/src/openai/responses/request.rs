//! The body of a request to Responses.

use serde_json::{Map, Value, json};

use crate::openai::dialect::{Dialect, MessageForm};
use crate::openai::form::{Writing, call_id, is_strict, sendable_arguments, tool_name, with_images};
use crate::{ChatRequest, Image, Message, ResponseFormat, ToolCall, ToolChoice};

/// Everything but the model, the input and the tools.
pub(in crate::openai) fn settings(request: &ChatRequest, dialect: &Dialect, writing: &Writing<'_>, tools: bool) -> Map<String, Value> {
    let optional = &dialect.optional;
    let mut body = Map::new();
    if tools && optional.tool_choice {
        match &request.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::Required => drop(body.insert("tool_choice".into(), json!("required"))),
            ToolChoice::None => drop(body.insert("tool_choice".into(), json!("none"))),
            ToolChoice::Only(name) => drop(body.insert("tool_choice".into(), json!({"type": "function", "name": name}))),
        }
    }
    if let (true, true, Some(parallel)) = (tools, optional.parallel_calls, request.parallel_tool_calls) {
        body.insert("parallel_tool_calls".into(), json!(parallel));
    }
    match &request.format {
        ResponseFormat::Text => {}
        ResponseFormat::JsonObject => drop(body.insert("text".into(), json!({"format": {"type": "json_object"}}))),
        ResponseFormat::JsonSchema { name, schema } => {
            let strict = optional.strict && is_strict(schema);
            body.insert("text".into(), json!({"format": {"type": "json_schema", "name": name, "schema": schema, "strict": strict}}));
        }
    }
    if let (true, Some(temperature)) = (optional.temperature, writing.temperature(request)) {
        body.insert("temperature".into(), temperature);
    }
    if let (Some(_), Some(bound)) = (dialect.max_tokens, writing.bound) {
        body.insert("max_output_tokens".into(), json!(bound));
    }
    let mut reasoning = Map::new();
    if let (true, Some(effort)) = (optional.effort, writing.effort) {
        reasoning.insert("effort".into(), json!(effort.as_str()));
    }
    if optional.summary {
        reasoning.insert("summary".into(), json!("auto"));
    }
    if !reasoning.is_empty() {
        body.insert("reasoning".into(), Value::Object(reasoning));
    }
    // The conversation is kept here and not at the provider, so its reasoning must come along, encrypted.
    body.insert("store".into(), json!(false));
    if optional.include {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    if let (true, Some(key)) = (optional.cache_key, &request.cache_key) {
        body.insert("prompt_cache_key".into(), json!(key));
    }
    body.insert("stream".into(), json!(dialect.stream));
    body
}

/// Returns the items of a message.
pub(in crate::openai) fn items(message: &Message, form: &MessageForm, writing: &Writing<'_>) -> Vec<Value> {
    match message {
        Message::System { content } => vec![json!({"role": "system", "content": content})],
        Message::User { content, images } => vec![json!({"role": "user", "content": content_with(content, images, form)})],
        Message::Assistant { content, tool_calls, native } => {
            let native = native.as_deref().and_then(|native| writing.native(native, content, tool_calls));
            native.and_then(|items| native_items(items, tool_calls, form)).unwrap_or_else(|| plain(content, tool_calls, form))
        }
        Message::Tool { call_id: id, content, images, .. } => {
            let output = content_with(content, images, form);
            vec![json!({"type": "function_call_output", "call_id": call_id(id, form.ids), "output": output})]
        }
    }
}

/// Returns a text, or the parts of a text and its images.
fn content_with(content: &str, images: &[Image], form: &MessageForm) -> Value {
    let (content, images) = with_images(content, images, form);
    if images.is_empty() {
        return json!(content);
    }
    let text = (!content.is_empty()).then(|| json!({"type": "input_text", "text": content}));
    let images = images.iter().map(|image| json!({"type": "input_image", "image_url": image.data_url()}));
    text.into_iter().chain(images).collect()
}

fn plain(content: &str, calls: &[ToolCall], form: &MessageForm) -> Vec<Value> {
    let text = (!content.is_empty()).then(|| assistant_item(content));
    let calls = calls.iter().map(|call| {
        let mut item = json!({"type": "function_call"});
        fill_call(&mut item, call, form);
        item
    });
    text.into_iter().chain(calls).collect()
}

fn assistant_item(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

/// Returns the items of a turn as they came, with what makes a server refuse them left out: the `status` of
/// reasoning, and reasoning behind which nothing follows. `None` where the server could not find the reasoning again:
/// nothing is stored there, and it was not sent encrypted.
fn native_items(items: &[Value], calls: &[ToolCall], form: &MessageForm) -> Option<Vec<Value>> {
    let kind = |item: &Value| item.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let found =
        items.iter().filter(|item| kind(item) == "reasoning").all(|item| item.get("encrypted_content").is_some_and(Value::is_string));
    if !found || items.iter().filter(|item| kind(item) == "function_call").count() != calls.len() {
        return None;
    }
    let end = items.iter().rposition(|item| kind(item) != "reasoning").map_or(0, |at| at + 1);
    let mut calls = calls.iter();
    let mut sent = Vec::with_capacity(end);
    for item in items.iter().take(end) {
        let mut item = item.clone();
        match (kind(&item).as_str(), item.as_object_mut()) {
            ("reasoning", Some(fields)) => drop(fields.remove("status")),
            ("function_call", _) => fill_call(&mut item, calls.next()?, form),
            _ => {}
        }
        sent.push(item);
    }
    Some(sent)
}

fn fill_call(item: &mut Value, call: &ToolCall, form: &MessageForm) {
    let Some(fields) = item.as_object_mut() else { return };
    fields.insert("call_id".into(), json!(call_id(&call.id, form.ids)));
    fields.insert("name".into(), json!(tool_name(&call.name)));
    fields.insert("arguments".into(), json!(sendable_arguments(&call.arguments)));
}

/// Returns a tool as it is offered. Left open, `strict` would be true here, and the provider would change the schema.
pub(in crate::openai) fn tool(name: &str, description: &str, parameters: Value) -> Value {
    json!({"type": "function", "name": name, "description": description, "parameters": parameters, "strict": false})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openai::dialect::Dialect;
    use crate::{Protocol, Provider};

    fn sent(items: &[Value], calls: &[ToolCall]) -> Option<Vec<Value>> {
        let form = Dialect::new(Provider::OpenAi, Protocol::Responses, "gpt-5.6-terra", true).form;
        native_items(items, calls, &form)
    }

    #[test]
    fn items_that_would_be_refused_are_left_out() {
        let reasoning = |id: &str, secret: Value| json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": secret, "status": "completed"});
        let clean = |id: &str| json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gA"});
        let message = json!({"type": "message", "id": "msg_1", "status": "completed", "phase": "final_answer", "content": []});
        let call = json!({"type": "function_call", "id": "fc_1", "call_id": "a", "name": "t", "arguments": "{"});
        let calls = [ToolCall { id: "renamed".into(), name: "t".into(), arguments: "{\"x\":1}".into() }];
        let filled = json!({"type": "function_call", "id": "fc_1", "call_id": "renamed", "name": "t", "arguments": "{\"x\":1}"});
        type Row<'a> = (Vec<Value>, &'a [ToolCall], Option<Vec<Value>>);
        let cases: Vec<Row<'_>> = vec![
            (vec![reasoning("rs_1", json!("gA")), message.clone()], &[], Some(vec![clean("rs_1"), message.clone()])),
            (
                vec![reasoning("rs_1", json!("gA")), message.clone(), reasoning("rs_2", json!("gA"))],
                &[],
                Some(vec![clean("rs_1"), message.clone()]),
            ),
            (vec![reasoning("rs_1", Value::Null), message], &[], None),
            (vec![reasoning("rs_1", json!("gA")), call.clone()], &calls, Some(vec![clean("rs_1"), filled])),
            (vec![call], &[], None),
        ];
        for (items, calls, expected) in cases {
            assert_eq!(sent(&items, calls), expected, "{items:?}");
        }
    }
}
