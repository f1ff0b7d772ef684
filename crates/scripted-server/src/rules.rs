//! The checks of the imitated services: which requests they refuse, and with which body.
//!
//! Each rule is a function from a request to a refusal. It names the public source of its wording, and says so where it
//! is stricter than the real server.

mod anthropic;
mod anthropic_form;
mod anthropic_messages;
mod anthropic_schemas;
mod anthropic_thinking;
mod anthropic_tools;
mod deepseek;
mod gemini;
mod gemini_contents;
mod gemini_fields;
mod gemini_native;
mod gemini_schemas;
mod gemini_signatures;
mod images;
mod mistral;
mod openai_chat;
mod openai_form;
mod openai_input;
mod openai_items;
mod openai_responses;
mod openrouter;
mod pairing;
mod schemas;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::memory::{Memory, turn_key};
use crate::provider::Provider;
use crate::view::{Protocol, View, content_text, list, role, text};

/// A request together with what the server sent before.
pub(crate) struct Asked<'a> {
    pub(crate) request: View<'a>,
    /// The headers, with lower-case names.
    pub(crate) headers: &'a BTreeMap<String, String>,
    pub(crate) memory: &'a Memory,
}

/// An answer that refuses a request.
#[derive(Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// A check of one thing.
type Rule = fn(&Asked<'_>) -> Option<Refusal>;

/// Returns what the provider refuses in this request, if it refuses anything.
pub(crate) fn refusal(provider: Provider, asked: &Asked<'_>) -> Option<Refusal> {
    let own: &[Rule] = match (provider, asked.request.protocol) {
        (Provider::OpenAi, Protocol::Chat) => openai_chat::RULES,
        (Provider::OpenAi, Protocol::Responses) => openai_responses::RULES,
        (Provider::DeepSeek, Protocol::Chat) => deepseek::RULES,
        (Provider::OpenRouter, Protocol::Chat) => openrouter::RULES,
        (Provider::Gemini, Protocol::Chat) => gemini::RULES,
        (Provider::Gemini, Protocol::Gemini) => gemini_native::RULES,
        (Provider::Anthropic, Protocol::Messages) => anthropic::RULES,
        (Provider::Mistral, Protocol::Chat) => mistral::RULES,
        (_, _) => &[],
    };
    own.iter().find_map(|rule| rule(asked)).or_else(|| pairing::refusal(&asked.request))
}

/// Returns an error in OpenAI's form, as several services send it.
fn openai_error(status: u16, message: impl Into<String>, param: Option<&str>, code: Option<&str>) -> Refusal {
    let error = json!({"message": message.into(), "type": "invalid_request_error", "param": param, "code": code});
    Refusal { status, body: json!({"error": error}) }
}

/// Returns what tells an assistant message apart, as [`turn_key`] does for a reply.
fn key_of(message: &Value) -> Option<String> {
    let first = list(message.get("tool_calls")).first().and_then(|call| text(call, "id"));
    turn_key(first, &content_text(message.get("content")))
}

/// Returns the assistant messages with their places.
fn assistant_messages<'a>(request: &View<'a>) -> impl Iterator<Item = (usize, &'a Value)> {
    request.entries().iter().enumerate().filter(|(_, message)| role(message) == "assistant")
}

/// Returns the place after the last message of the user, where the current turn begins.
fn current_turn(request: &View<'_>) -> usize {
    request.entries().iter().rposition(|message| role(message) == "user").map_or(0, |place| place + 1)
}

fn has_calls(message: &Value) -> bool {
    !list(message.get("tool_calls")).is_empty()
}
