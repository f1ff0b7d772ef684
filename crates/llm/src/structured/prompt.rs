//! Prompt texts that request a form and report faults.

use std::sync::Arc;

use serde_json::Value;

use crate::{Message, NativeTurn, ResponseFormat};

use super::{InvalidAnswer, StructuredRequest, Tier};

/// Maximum length of a refused answer that is sent back, in characters.
pub(super) const ANSWER_CHARS: usize = 4_000;
/// Maximum number of faults that are reported.
const FAULTS: usize = 20;

/// Returns the messages of a request at a tier: the conversation, the schema in words where the server does not hold
/// to it, and each refused answer followed by its faults. Grows only at its end from try to try.
///
/// A refused answer goes back in the provider's own form, unless it was cut.
pub(super) fn messages(
    request: &StructuredRequest,
    tier: Tier,
    refused: &[InvalidAnswer],
    natives: &[Option<Arc<NativeTurn>>],
) -> Vec<Arc<Message>> {
    let mut messages = request.messages.clone();
    if tier != Tier::Schema {
        append_user_text(&mut messages, &form(&request.schema));
    }
    for (refusal, native) in refused.iter().zip(natives) {
        let content = if refusal.answer.trim().is_empty() { "(no answer)".to_owned() } else { refusal.answer.clone() };
        messages.push(Arc::new(Message::Assistant { content, tool_calls: Vec::new(), native: native.clone() }));
        messages.push(Arc::new(Message::user(faults(&refusal.faults))));
    }
    messages
}

/// Returns the response format that the request sends to the server.
pub(super) fn format(request: &StructuredRequest, tier: Tier) -> ResponseFormat {
    match tier {
        Tier::Schema => ResponseFormat::JsonSchema { name: request.name.clone(), schema: request.schema.clone() },
        Tier::Json => ResponseFormat::JsonObject,
        Tier::Text => ResponseFormat::Text,
    }
}

/// Adds to the last message if it is the user's, because some chat templates require alternating roles.
fn append_user_text(messages: &mut Vec<Arc<Message>>, text: &str) {
    match messages.last_mut().map(Arc::make_mut) {
        Some(Message::User { content, .. }) => {
            content.push_str("\n\n");
            content.push_str(text);
        }
        _ => messages.push(Arc::new(Message::user(text))),
    }
}

fn form(schema: &Value) -> String {
    let kind = if schema.get("type").and_then(Value::as_str) == Some("array") { "array" } else { "object" };
    format!("Answer with one JSON {kind} and nothing else: no prose, no code fence. It must fit this JSON Schema:\n{schema}")
}

fn faults(faults: &[aime_messages::Message]) -> String {
    let mut text = String::from("Your answer was refused:\n");
    for fault in faults.iter().take(FAULTS) {
        text.push_str("- ");
        text.push_str(&fault.to_string());
        text.push('\n');
    }
    if faults.len() > FAULTS {
        text.push_str(&format!("- and {} more\n", faults.len() - FAULTS));
    }
    text.push_str("Answer again with the whole JSON, corrected, and nothing else.");
    text
}

/// Returns the first characters of an answer.
pub(super) fn cut(answer: &str) -> String {
    match answer.char_indices().nth(ANSWER_CHARS) {
        Some((at, _)) => format!("{}…", answer.get(..at).unwrap_or_default()),
        None => answer.to_owned(),
    }
}
