//! Mistral's chat completions.

use serde_json::{Value, json};

use super::{Refusal, Rule, RuleContext, assistant_messages, key_of};
use crate::view::{list, role, text};

pub(super) const RULES: &[Rule] = &[unknown_fields, call_ids, order, last_role, changed_thinking];

/// The members of a request (<https://docs.mistral.ai/api/endpoint/chat>).
const BODY: &[&str] = &[
    "model",
    "messages",
    "temperature",
    "top_p",
    "max_tokens",
    "stream",
    "stop",
    "random_seed",
    "metadata",
    "response_format",
    "tools",
    "tool_choice",
    "presence_penalty",
    "frequency_penalty",
    "n",
    "prediction",
    "parallel_tool_calls",
    "prompt_mode",
    "reasoning_effort",
    "guardrails",
    "safe_prompt",
];

/// The body, its messages and their calls have only Mistral's own members.
///
/// Form: <https://github.com/zeroclaw-labs/zeroclaw/issues/2693>. Known cases: `reasoning_content`
/// (<https://github.com/charmbracelet/crush/issues/1590>), `max_completion_tokens`
/// (<https://github.com/editor-code-assistant/eca/issues/231>), `stream_options` (<https://github.com/vybestack/llxprt-code/issues/114>), a
/// call's `name`, and a user's `name` (<https://github.com/nomtek/mistralai_client_dart/issues/44>).
fn unknown_fields(asked: &RuleContext<'_>) -> Option<Refusal> {
    let mut faults = Vec::new();
    let mut check = |object: &Value, known: &[&str], place: &[Value]| {
        for (key, value) in object.as_object().into_iter().flatten().filter(|(key, _)| !known.contains(&key.as_str())) {
            let loc: Vec<&Value> = place.iter().collect();
            let mut loc = json!(loc);
            if let Some(loc) = loc.as_array_mut() {
                loc.push(json!(key));
            }
            faults.push(json!({"type": "extra_forbidden", "loc": loc, "msg": "Extra inputs are not permitted", "input": value}));
        }
    };
    check(asked.request.body, BODY, &[json!("body")]);
    for (place, message) in asked.request.entries().iter().enumerate() {
        let role = role(message);
        let known: &[&str] = match role {
            "assistant" => &["role", "content", "tool_calls", "prefix"],
            "tool" => &["role", "content", "tool_call_id", "name"],
            _ => &["role", "content"],
        };
        let at = [json!("body"), json!("messages"), json!(place), json!(role)];
        check(message, known, &at);
        for (index, call) in list(message.get("tool_calls")).iter().enumerate() {
            let mut at = at.to_vec();
            at.extend([json!("tool_calls"), json!(index)]);
            check(call, &["id", "type", "function", "index"], &at);
        }
    }
    (!faults.is_empty()).then(|| Refusal { status: 422, body: json!({"detail": faults}) })
}

/// Words and form: <https://github.com/editor-code-assistant/eca/issues/233>.
fn call_ids(asked: &RuleContext<'_>) -> Option<Refusal> {
    let messages = asked.request.entries().iter();
    let mut ids = messages.flat_map(|message| {
        let calls = list(message.get("tool_calls")).iter().filter_map(|call| text(call, "id"));
        calls.chain(text(message, "tool_call_id"))
    });
    let bad = ids.find(|id| id.len() != 9 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()))?;
    let message = format!("Tool call id was {bad} but must be a-z, A-Z, 0-9, with a length of 9.");
    Some(error(&message, "invalid_function_call", Some("3280")))
}

/// Words and form: <https://github.com/datapizza-labs/datapizza-ai/issues/98>.
fn order(asked: &RuleContext<'_>) -> Option<Refusal> {
    let after_tool = |pair: &[Value]| matches!(pair, [one, next] if role(one) == "tool" && role(next) == "user");
    asked.request.entries().windows(2).any(after_tool).then(|| {
        let message = "Unexpected role 'user' after role 'tool'";
        error(message, "invalid_request_message_order", Some("3230"))
    })
}

/// Words: <https://github.com/NEKOparapa/AiNiee/issues/641>.
fn last_role(asked: &RuleContext<'_>) -> Option<Refusal> {
    let last = asked.request.entries().last()?;
    let prefix = last.get("prefix") == Some(&Value::Bool(true));
    (!matches!(role(last), "user" | "tool") && !prefix).then(|| {
        let message = format!("Expected last role User or Tool (or Assistant with prefix True) for serving but got {}", role(last));
        error(&message, "invalid_request_message_order", Some("3230"))
    })
}

/// A known turn must come back with its thinking part. Stricter than the real server, which accepts any; the documentation asks for it
/// (<https://docs.mistral.ai/capabilities/reasoning>), and a model without its thoughts answers worse.
fn changed_thinking(asked: &RuleContext<'_>) -> Option<Refusal> {
    let changed = |message: &Value| {
        let states = asked.memory.states(key_of(message).as_deref());
        let given: Vec<&Value> = list(message.get("content")).iter().filter(|part| text(part, "type") == Some("thinking")).collect();
        let fits = |state: &Value| if state.is_null() { given.is_empty() } else { given == [state] };
        !states.is_empty() && !states.iter().any(fits)
    };
    let (place, _) = assistant_messages(&asked.request).find(|(_, message)| changed(message))?;
    let message = format!("The thinking of the assistant message at index {place} is not the one that was sent");
    Some(error(&message, "invalid_request_error", None))
}

fn error(message: &str, kind: &str, code: Option<&str>) -> Refusal {
    Refusal { status: 400, body: json!({"object": "error", "message": message, "type": kind, "param": null, "code": code}) }
}
