//! Features of Anthropic's Messages that other protocols lack.

use serde_json::Value;

use super::{content_text, list, push_line, role, text};

/// Returns true if only this protocol has such a body.
pub(super) fn fits(body: &Value) -> bool {
    let marks = ["system", "output_config", "output_format", "stop_sequences"];
    let own_block = |message: &Value| {
        let mut types = list(message.get("content")).iter().filter_map(|block| text(block, "type"));
        types.any(|kind| matches!(kind, "tool_use" | "tool_result" | "redacted_thinking"))
    };
    marks.iter().any(|key| body.get(key).is_some())
        || list(body.get("tools")).iter().any(|tool| tool.get("input_schema").is_some())
        || list(body.get("messages")).iter().any(own_block)
}

/// Returns the format of a structured answer, under its current or its former name.
pub(crate) fn format(body: &Value) -> Option<&Value> {
    body.pointer("/output_config/format").or_else(|| body.get("output_format")).filter(|format| !format.is_null())
}

/// Returns the name of the tool that must be called: the named one, or the only one if any must be called.
pub(crate) fn forced_tool(body: &Value) -> Option<&str> {
    let choice = body.get("tool_choice")?;
    match (text(choice, "type")?, list(body.get("tools"))) {
        ("tool", _) => text(choice, "name"),
        ("any", [only]) => text(only, "name"),
        _ => None,
    }
}

/// Returns true if the request asks for thinking.
pub(crate) fn thinks(body: &Value) -> bool {
    matches!(thinking_type(body), Some("enabled" | "adaptive"))
}

pub(crate) fn thinking_type(body: &Value) -> Option<&str> {
    body.pointer("/thinking/type").and_then(Value::as_str)
}

/// Returns the blocks of a message or a system text; a plain text has none.
pub(crate) fn blocks(message: &Value) -> &[Value] {
    list(message.get("content"))
}

/// Returns the blocks of one type with their indices.
pub(crate) fn blocks_of<'a>(message: &'a Value, kind: &'a str) -> impl Iterator<Item = (usize, &'a Value)> {
    blocks(message).iter().enumerate().filter(move |(_, block)| text(block, "type") == Some(kind))
}

/// Returns true if a block is thinking, readable or not.
pub(crate) fn is_thinking(block: &Value) -> bool {
    matches!(text(block, "type"), Some("thinking" | "redacted_thinking"))
}

/// Returns the index of the last assistant message.
pub(crate) fn latest_assistant(messages: &[Value]) -> Option<usize> {
    messages.iter().rposition(|message| role(message) == "assistant")
}

/// Returns the text of a message, including its calls and results.
pub(super) fn entry_text(message: &Value) -> String {
    let mut lines = content_text(message.get("content"));
    for block in blocks(message) {
        match text(block, "type") {
            Some("tool_use") => {
                push_line(&mut lines, text(block, "name").unwrap_or_default());
                push_line(&mut lines, &block.get("input").unwrap_or(&Value::Null).to_string());
            }
            Some("tool_result") => push_line(&mut lines, &content_text(block.get("content"))),
            _ => {}
        }
    }
    lines
}
