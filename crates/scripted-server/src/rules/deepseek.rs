//! DeepSeek's chat completions.

use serde_json::Value;

use super::{Refusal, Rule, RuleContext, assistant_messages, has_calls, images, key_of, openai_error};
use crate::view::text;

pub(super) const RULES: &[Rule] = &[images::none_at_deepseek, missing_reasoning, changed_reasoning];

/// With thinking, each assistant message with tool calls contains `reasoning_content`, which may be empty.
///
/// Words and form: <https://github.com/deepseek-ai/DeepSeek-V3/issues/1053>; V4 uses other words:
/// <https://github.com/mnfst/modelparams.dev/issues/29>. `"thinking": {"type": "disabled"}` disables thinking
/// (<https://api-docs.deepseek.com/guides/thinking_mode>).
fn missing_reasoning(asked: &RuleContext<'_>) -> Option<Refusal> {
    if !thinks(asked) {
        return None;
    }
    let mut messages = assistant_messages(&asked.request);
    let (place, _) = messages.find(|(_, message)| has_calls(message) && text(message, "reasoning_content").is_none())?;
    if asked.request.model().contains("-v4") {
        return Some(not_passed_back());
    }
    let message = format!(
        "Missing `reasoning_content` field in the assistant message at message index {place}. For more information, please refer to \
         https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
    );
    Some(openai_error(400, message, None, Some("invalid_request_error")))
}

/// The reasoning must come back unchanged. Stricter than the real server, which is not known to compare the texts.
fn changed_reasoning(asked: &RuleContext<'_>) -> Option<Refusal> {
    let changed = |message: &Value| {
        let states = asked.memory.states(key_of(message).as_deref());
        let given = text(message, "reasoning_content");
        !states.is_empty() && given.is_some_and(|given| !states.iter().any(|state| state == given))
    };
    (thinks(asked) && assistant_messages(&asked.request).any(|(_, message)| changed(message))).then(not_passed_back)
}

fn thinks(asked: &RuleContext<'_>) -> bool {
    asked.request.body.pointer("/thinking/type").and_then(Value::as_str) != Some("disabled")
}

fn not_passed_back() -> Refusal {
    let message = "The `reasoning_content` in the thinking mode must be passed back to the API.";
    openai_error(400, message, None, Some("invalid_request_error"))
}
