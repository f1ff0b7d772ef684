//! Gemini's compatible chat completions.

use serde_json::{Value, json};

use super::{Refusal, Rule, RuleContext, assistant_messages, current_turn, has_calls, key_of};
use crate::model::is_gemini_3;
use crate::view::{list, role};

pub(super) const RULES: &[Rule] = &[missing_signature, unknown_signature];

/// Signature that Google's documentation recommends for calls of other models (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
const ANY: &str = "skip_thought_signature_validator";

/// Gemini 3 requires the signature of the first call of each message in the current turn.
///
/// Words, form and numbering of positions: <https://github.com/langroid/langroid/pull/969>.
fn missing_signature(asked: &RuleContext<'_>) -> Option<Refusal> {
    if !is_gemini_3(asked.request.model()) {
        return None;
    }
    let begins = current_turn(&asked.request);
    let mut calling = assistant_messages(&asked.request).filter(|(place, message)| *place >= begins && has_calls(message));
    let (place, message) = calling.find(|(_, message)| signature(message).is_none())?;
    let name = message.pointer("/tool_calls/0/function/name").and_then(Value::as_str).unwrap_or_default();
    let before = asked.request.entries().iter().take(place + 1);
    let position = before.filter(|message| !matches!(role(message), "system" | "developer")).count();
    Some(invalid_argument(&format!(
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing \
         thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}` , position \
         {position}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
    )))
}

/// A signature must be one that the server sent, and belong to the same call if that call is known.
///
/// Words: <https://github.com/google-gemini/gemini-cli/issues/13467>.
fn unknown_signature(asked: &RuleContext<'_>) -> Option<Refusal> {
    let unknown = |message: &Value| {
        let Some(given) = signature(message).filter(|given| *given != ANY) else { return false };
        let states = asked.memory.states(key_of(message).as_deref());
        let known = if states.is_empty() { asked.memory.has_state(given) } else { states.contains(given) };
        !known
    };
    assistant_messages(&asked.request).any(|(_, message)| unknown(message)).then(|| invalid_argument("Corrupted thought signature."))
}

/// Returns the signature of the first call, or of a message without calls.
fn signature(message: &Value) -> Option<&Value> {
    let bearer = list(message.get("tool_calls")).first().unwrap_or(message);
    bearer.pointer("/extra_content/google/thought_signature").filter(|given| given.is_string())
}

fn invalid_argument(message: &str) -> Refusal {
    Refusal { status: 400, body: json!([{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}]) }
}
