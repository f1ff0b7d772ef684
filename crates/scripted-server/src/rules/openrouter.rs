//! OpenRouter's chat completions with Claude behind it.

use serde_json::{Value, json};

use super::{Refusal, Rule, RuleContext, assistant_messages, current_turn, has_calls, images, key_of};
use crate::cache;
use crate::view::{list, text};

pub(super) const RULES: &[Rule] = &[missing_details, changed_details, cache_marks, images::none_at_endpoints];

/// The calls of the current turn must come back with their reasoning, which begins the message at Anthropic.
///
/// Words: <https://github.com/anomalyco/opencode/issues/3077>. Turns before the last user message may omit it
/// (<https://platform.claude.com/docs/en/build-with-claude/extended-thinking>).
fn missing_details(asked: &RuleContext<'_>) -> Option<Refusal> {
    let begins = current_turn(&asked.request);
    let mut messages = assistant_messages(&asked.request).filter(|(place, message)| *place >= begins && has_calls(message));
    let (place, _) = messages.find(|(_, message)| {
        let states = asked.memory.states(key_of(message).as_deref());
        !states.is_empty() && states.iter().all(Value::is_array) && details(message).is_empty()
    })?;
    Some(from_anthropic(&format!(
        "messages.{place}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a \
         final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). \
         We recommend you include thinking blocks from previous turns."
    )))
}

/// Details must come back unchanged and in order. In an unknown turn, each detail must be one that the server sent.
///
/// Words and form: <https://github.com/can1357/oh-my-pi/issues/3399>; order and completeness:
/// <https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks>.
fn changed_details(asked: &RuleContext<'_>) -> Option<Refusal> {
    let changed = |message: &Value| {
        let given = details(message);
        let states = asked.memory.states(key_of(message).as_deref());
        let known = if states.is_empty() {
            given.iter().all(|detail| asked.memory.has_state(detail))
        } else {
            given.is_empty() || states.contains(&Value::Array(given))
        };
        !known
    };
    let (place, _) = assistant_messages(&asked.request).find(|(_, message)| changed(message))?;
    Some(from_anthropic(&format!("messages.{place}.content.0: Invalid `signature` in `thinking` block")))
}

/// At most four parts have a cache mark, and only those with a text
/// (<https://openrouter.ai/docs/guides/best-practices/prompt-caching>).
///
/// Words: those of Anthropic, see [`anthropic_messages`](super::anthropic_messages).
fn cache_marks(asked: &RuleContext<'_>) -> Option<Refusal> {
    let messages = asked.request.entries().iter().enumerate();
    let parts = messages.flat_map(|(place, message)| list(message.get("content")).iter().map(move |part| (place, part)));
    let marked: Vec<(usize, &Value)> = parts.filter(|(_, part)| cache::marks(part) > 0).collect();
    if let Some((place, _)) = marked.iter().find(|(_, part)| text(part, "text").is_none_or(str::is_empty)) {
        return Some(from_anthropic(&format!("messages.{place}.content: cache_control cannot be set for empty text blocks")));
    }
    let found = marked.len() + usize::from(asked.request.body.get("cache_control").is_some_and(Value::is_object));
    (found > 4).then(|| from_anthropic(&format!("A maximum of 4 blocks with cache_control may be provided. Found {found}.")))
}

/// Returns the details of a message without members that are null, which have no meaning.
fn details(message: &Value) -> Vec<Value> {
    let mut details = list(message.get("reasoning_details")).to_vec();
    for detail in details.iter_mut().filter_map(Value::as_object_mut) {
        detail.retain(|_, value| !value.is_null());
    }
    details
}

fn from_anthropic(message: &str) -> Refusal {
    let raw = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).to_string();
    let metadata = json!({"raw": raw, "provider_name": "Anthropic", "is_byok": false});
    Refusal { status: 400, body: json!({"error": {"message": "Provider returned error", "code": 400, "metadata": metadata}}) }
}
