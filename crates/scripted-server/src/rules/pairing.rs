//! Pairs of tool calls and results: each call must have a result. All services require this in some form.

use serde_json::json;

use super::{Refusal, anthropic_messages, gemini_contents, openai_error};
use crate::view::{Protocol, View, item_type, list, role, text};

/// Returns the first call without a result, or result without a call.
pub(super) fn refusal(request: &View<'_>) -> Option<Refusal> {
    match request.protocol {
        Protocol::Chat => chat(request).map(|message| {
            let error = json!({"message": message, "type": "invalid_request_error", "code": "bad_messages"});
            Refusal { status: 400, body: json!({"error": error}) }
        }),
        Protocol::Responses => responses(request),
        Protocol::Messages => anthropic_messages::unpaired(request),
        Protocol::Gemini => gemini_contents::unpaired(request.body),
    }
}

/// Words and form: <https://github.com/microsoft/vscode/issues/320060> and
/// <https://github.com/tjardoo/openai-client/pull/124>. The results of a call may come anywhere after it.
fn responses(request: &View<'_>) -> Option<Refusal> {
    let refuse = |message: String| Some(openai_error(400, message, Some("input"), None));
    if request.entries().is_empty() && text(request.body, "input").is_none() {
        return Some(openai_error(400, "Missing required parameter: 'input'.", Some("input"), Some("missing_required_parameter")));
    }
    let mut open: Vec<&str> = Vec::new();
    for item in request.entries() {
        let id = text(item, "call_id").unwrap_or_default();
        match item_type(item) {
            "function_call" => open.push(id),
            "function_call_output" => match open.iter().position(|wanted| *wanted == id) {
                Some(place) => drop(open.remove(place)),
                None => return refuse(format!("No tool call found for function call output with call_id {id}.")),
            },
            _ => {}
        }
    }
    open.first().and_then(|id| refuse(format!("No tool output found for function call {id}.")))
}

/// Returns OpenAI's error for the messages of a chat, in similar words.
fn chat(request: &View<'_>) -> Option<String> {
    let messages = request.entries();
    if messages.is_empty() {
        return Some("messages: expected at least one message".to_owned());
    }
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = role(message);
        if role == "tool" {
            let id = text(message, "tool_call_id").unwrap_or_default();
            let Some(place) = open.iter().position(|wanted| *wanted == id) else {
                return Some(format!(
                    "messages[{index}]: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (id {id:?})"
                ));
            };
            open.swap_remove(place);
            continue;
        }
        if let Some(id) = open.first() {
            return Some(unanswered(index, id));
        }
        if !matches!(role, "system" | "developer" | "user" | "assistant") {
            return Some(format!("messages[{index}].role: {role:?} is not one of system, developer, user, assistant, tool"));
        }
        open = list(message.get("tool_calls")).iter().filter_map(|call| text(call, "id")).collect();
    }
    open.first().map(|id| unanswered(messages.len(), id))
}

fn unanswered(index: usize, id: &str) -> String {
    format!(
        "messages[{index}]: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id' (no response to {id:?})"
    )
}
