//! Gemini's generateContent: thought signatures.
//!
//! Source: <https://ai.google.dev/gemini-api/docs/thought-signatures>.

use serde_json::Value;

use super::gemini_contents::role;
use super::gemini_native::refuse;
use super::{Refusal, RuleContext};
use crate::memory::turn_key;
use crate::model::is_gemini_3;
use crate::view::gemini::{call, content_text, parts, result, signature};
use crate::view::text;

/// Signatures that Google's documentation recommends for calls of other models.
const ANY: &[&str] = &["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/// Returns the index at which the current turn begins: after the user's last content that is not a result.
fn current_turn(contents: &[Value]) -> usize {
    let asks = |content: &Value| role(content) == "user" && parts(content).iter().all(|part| result(part).is_none());
    contents.iter().rposition(asks).map_or(0, |place| place + 1)
}

/// Gemini 3 requires the signature of the first call of each content in the current turn.
///
/// Words, form and numbering of positions: <https://github.com/RooCodeInc/Roo-Code/issues/9499>.
pub(super) fn missing(asked: &RuleContext<'_>) -> Option<Refusal> {
    if !is_gemini_3(asked.request.model()) {
        return None;
    }
    let contents = asked.request.entries();
    let begins = current_turn(contents);
    contents.iter().enumerate().skip(begins).find_map(|(place, content)| {
        let first = parts(content).iter().find(|part| call(part).is_some())?;
        let name = call(first).and_then(|call| text(call, "name")).unwrap_or_default();
        signature(first).is_none().then(|| {
            refuse(format!(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and \
                 missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}` , \
                 position {}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
                place + 1
            ))
        })
    })
}

/// A signature must be one that the server sent, and belong to the same turn if that turn is known.
///
/// Words: <https://github.com/google-gemini/gemini-cli/issues/13467>.
pub(super) fn unknown(asked: &RuleContext<'_>) -> Option<Refusal> {
    let changed = |content: &Value| {
        let states = asked.memory.states(key_of(content).as_deref());
        let mut given = parts(content).iter().filter_map(signature);
        given.any(|given| {
            let any = given.as_str().is_some_and(|given| ANY.contains(&given));
            let known = if states.is_empty() { asked.memory.has_state(given) } else { states.contains(given) };
            !any && !known
        })
    };
    asked.request.entries().iter().any(changed).then(|| refuse("Corrupted thought signature."))
}

/// Returns the key of a content of the model, as [`turn_key`] does for a reply.
fn key_of(content: &Value) -> Option<String> {
    let first = parts(content).iter().find_map(call);
    match first {
        Some(first) => turn_key(Some(text(first, "id")?), ""),
        None => turn_key(None, &content_text(content)),
    }
}
