//! The body of a request to Anthropic's Messages.

use serde_json::{Map, Value, json};

use super::schema;
use crate::openai::dialect::{Dialect, ForeignThinking, MessageForm, ThinkingForm};
use crate::openai::form::{Writing, call_id, sendable_arguments, tool_name, with_images};
use crate::{ChatRequest, Effort, Image, Message, ResponseFormat, ToolCall, ToolChoice};

/// The least that thinking may be allowed, in tokens.
const MIN_BUDGET: u32 = 1_024;

/// Everything but the model, the system text, the messages and the tools.
pub(in crate::openai) fn settings(request: &ChatRequest, dialect: &Dialect, writing: &Writing<'_>, tools: bool) -> Map<String, Value> {
    let optional = &dialect.optional;
    let mut body = Map::new();
    // The provider demands a bound.
    let bound = writing.bound.unwrap_or(writing.longest);
    body.insert("max_tokens".into(), json!(bound));
    let mut output = Map::new();
    let form = form_tool(request, dialect);
    // A form that is requested as a call is demanded, and a call cannot be demanded together with thinking.
    let effort = writing.effort.filter(|_| optional.effort && !(form.is_some() && optional.tool_choice));
    let thinks = match (effort, dialect.thinking) {
        (None, _) => false,
        (Some(Effort::None), _) => {
            body.insert("thinking".into(), json!({"type": "disabled"}));
            false
        }
        (Some(effort), ThinkingForm::Adaptive) => {
            let mut thinking = json!({"type": "adaptive"});
            if let (true, Some(thinking)) = (optional.summary, thinking.as_object_mut()) {
                thinking.insert("display".into(), json!("summarized"));
            }
            body.insert("thinking".into(), thinking);
            output.insert("effort".into(), json!(effort_word(effort)));
            true
        }
        (Some(effort), ThinkingForm::Budget) => {
            let budget = budget(effort).min(bound.saturating_sub(MIN_BUDGET));
            if budget >= MIN_BUDGET {
                body.insert("thinking".into(), json!({"type": "enabled", "budget_tokens": budget}));
            }
            budget >= MIN_BUDGET
        }
    };
    if let (true, ForeignThinking::LeftOut, Some(thinking)) =
        (thinks, dialect.foreign_thinking, body.get_mut("thinking").and_then(Value::as_object_mut))
    {
        thinking.insert("block_binding".into(), json!({"prefix_mismatch_behavior": "drop_block"}));
    }
    if let Some((name, _)) = form {
        // If no call can be demanded, offering only this tool is enough of a hint.
        if optional.tool_choice {
            body.insert("tool_choice".into(), json!({"type": "tool", "name": name}));
        }
    } else if tools {
        // Beside thinking no call can be demanded.
        let forced = optional.tool_choice && !thinks;
        let mut choice = match &request.tool_choice {
            ToolChoice::None => Some(json!({"type": "none"})),
            ToolChoice::Required if forced => Some(json!({"type": "any"})),
            ToolChoice::Only(name) if forced => Some(json!({"type": "tool", "name": name})),
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Only(_) => None,
        };
        if let (true, Some(false)) = (optional.parallel_calls, request.parallel_tool_calls)
            && let Some(choice) = choice.get_or_insert_with(|| json!({"type": "auto"})).as_object_mut()
            && choice.get("type") != Some(&json!("none"))
        {
            choice.insert("disable_parallel_tool_use".into(), json!(true));
        }
        if let Some(choice) = choice {
            body.insert("tool_choice".into(), choice);
        }
    }
    if let (ResponseFormat::JsonSchema { name, schema }, None) = (&request.format, form) {
        output.insert("format".into(), json!({"type": "json_schema", "schema": schema::sent(name, schema)}));
    }
    if !output.is_empty() {
        body.insert("output_config".into(), Value::Object(output));
    }
    if let (true, false, Some(temperature)) = (optional.temperature, thinks, writing.temperature(request)) {
        body.insert("temperature".into(), temperature);
    }
    body.insert("stream".into(), json!(dialect.stream));
    body
}

const fn effort_word(effort: Effort) -> &'static str {
    match effort {
        Effort::None | Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::XHigh => "xhigh",
        Effort::Max => "max",
    }
}

/// Returns the thinking budget in tokens, for models that take a number.
const fn budget(effort: Effort) -> u32 {
    match effort {
        Effort::None | Effort::Minimal => 1_024,
        Effort::Low => 2_048,
        Effort::Medium => 8_192,
        Effort::High => 16_384,
        Effort::XHigh | Effort::Max => 32_768,
    }
}

/// Returns the name and the schema of an answer that is requested as the parameters of a tool.
pub(in crate::openai) fn form_tool<'a>(request: &'a ChatRequest, dialect: &Dialect) -> Option<(&'a str, &'a Value)> {
    match &request.format {
        ResponseFormat::JsonSchema { name, schema } if dialect.schema_as_tool && request.tools.is_empty() => Some((name, schema)),
        _ => None,
    }
}

/// Returns the blocks of a message. A turn without any is left out.
pub(in crate::openai) fn blocks(message: &Message, form: &MessageForm, writing: &Writing<'_>) -> Vec<Value> {
    match message {
        Message::System { content } => text(content).into_iter().collect(),
        Message::User { content, images } => {
            let (content, images) = with_images(content, images, form);
            images.iter().map(image_block).chain(text(&content)).collect()
        }
        Message::Assistant { content, tool_calls, native } => {
            let native = native.as_deref().and_then(|native| writing.native(native, content, tool_calls));
            native.and_then(|items| native_blocks(items, tool_calls, form)).unwrap_or_else(|| plain(content, tool_calls, form))
        }
        Message::Tool { call_id: id, content, is_error, images, .. } => {
            let (content, images) = with_images(content, images, form);
            let content: Value =
                if images.is_empty() { json!(content) } else { text(&content).into_iter().chain(images.iter().map(image_block)).collect() };
            let mut block = json!({"type": "tool_result", "tool_use_id": call_id(id, form.ids), "content": content});
            if let (true, Some(block)) = (*is_error, block.as_object_mut()) {
                block.insert("is_error".into(), json!(true));
            }
            vec![block]
        }
    }
}

fn image_block(image: &Image) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": image.format.media_type(), "data": image.data}})
}

/// Empty text is refused.
fn text(content: &str) -> Option<Value> {
    (!content.trim().is_empty()).then(|| json!({"type": "text", "text": content}))
}

fn plain(content: &str, calls: &[ToolCall], form: &MessageForm) -> Vec<Value> {
    let calls = calls.iter().map(|call| {
        let mut block = json!({"type": "tool_use", "input": {}});
        fill_call(&mut block, call, form);
        block
    });
    text(content).into_iter().chain(calls).collect()
}

/// Returns the blocks as they came, without empty text and without thinking that is not signed.
fn native_blocks(items: &[Value], calls: &[ToolCall], form: &MessageForm) -> Option<Vec<Value>> {
    let field = |item: &Value, name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    if items.iter().filter(|item| field(item, "type") == "tool_use").count() != calls.len() {
        return None;
    }
    let mut calls = calls.iter();
    let mut sent = Vec::with_capacity(items.len());
    for item in items {
        let mut item = item.clone();
        match field(&item, "type").as_str() {
            "text" if field(&item, "text").trim().is_empty() => continue,
            "thinking" if field(&item, "signature").is_empty() => continue,
            "tool_use" => fill_call(&mut item, calls.next()?, form),
            _ => {}
        }
        sent.push(item);
    }
    Some(sent)
}

fn fill_call(block: &mut Value, call: &ToolCall, form: &MessageForm) {
    let Some(fields) = block.as_object_mut() else { return };
    fields.insert("id".into(), json!(call_id(&call.id, form.ids)));
    fields.insert("name".into(), json!(tool_name(&call.name)));
    fields.insert("input".into(), serde_json::from_str(&sendable_arguments(&call.arguments)).unwrap_or_else(|_| json!({})));
}

/// Returns a tool as it is offered.
pub(in crate::openai) fn tool(name: &str, description: &str, parameters: Value) -> Value {
    json!({"name": name, "description": description, "input_schema": parameters})
}

/// Returns a block, or a tool, with the mark up to which the provider keeps the request in its cache.
pub(in crate::openai) fn marked(block: &Value) -> Value {
    let mut block = block.clone();
    if let Some(fields) = block.as_object_mut() {
        fields.insert("cache_control".into(), json!({"type": "ephemeral"}));
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Protocol, Provider};

    #[test]
    fn blocks_that_would_be_refused_are_left_out() {
        let form = Dialect::new(Provider::Anthropic, Protocol::Messages, "claude-5", true).form;
        let call = [ToolCall { id: "renamed:1".into(), name: "t".into(), arguments: r#"{"a":1}"#.into() }];
        let items = [
            json!({"type": "thinking", "thinking": "unsigned", "signature": ""}),
            json!({"type": "thinking", "thinking": "hm", "signature": "s"}),
            json!({"type": "text", "text": ""}),
            json!({"type": "tool_use", "id": "toolu_1", "name": "t", "input": {}}),
        ];
        let sent = native_blocks(&items, &call, &form).unwrap();
        assert_eq!((sent.len(), &sent[0]), (2, &items[1]));
        assert_eq!((&sent[1]["input"], sent[1]["id"].as_str().unwrap().contains(':')), (&json!({"a": 1}), false));
        assert_eq!(native_blocks(&items, &[], &form), None);
    }
}
