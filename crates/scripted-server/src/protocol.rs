//! The rules of the protocol that real servers enforce.

use serde_json::Value;

use crate::script::messages;

/// What OpenAI would refuse in this request, in its manner of words.
pub(crate) fn fault(request: &Value) -> Option<String> {
    if messages(request).is_empty() {
        return Some("messages: expected at least one message".to_owned());
    }
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages(request).iter().enumerate() {
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        if role == "tool" {
            let id = message.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
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
        let calls = message.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        open = calls.iter().filter_map(|call| call.get("id").and_then(Value::as_str)).collect();
    }
    open.first().map(|id| unanswered(messages(request).len(), id))
}

fn unanswered(index: usize, id: &str) -> String {
    format!(
        "messages[{index}]: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id' (no response to {id:?})"
    )
}
