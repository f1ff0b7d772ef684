//! Checks of the imitated services: rules that refuse requests with the service's error body.
//!
//! Each rule is a function from a request to a refusal. Its comment states the rule, names the public source of its wording ("Words") and
//! of its format ("Form"), and says where it is stricter than the real server.

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

/// A request, and the state that the server sent before.
pub(crate) struct RuleContext<'a> {
    pub(crate) request: View<'a>,
    /// The headers, with lower-case names.
    pub(crate) headers: &'a BTreeMap<String, String>,
    pub(crate) memory: &'a Memory,
}

/// Response that refuses a request.
#[derive(Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// One check.
type Rule = fn(&RuleContext<'_>) -> Option<Refusal>;

/// Returns the refusal of this request by the provider, if there is one.
pub(crate) fn refusal(provider: Provider, asked: &RuleContext<'_>) -> Option<Refusal> {
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

/// Returns an error in OpenAI's format, which several services use.
fn openai_error(status: u16, message: impl Into<String>, param: Option<&str>, code: Option<&str>) -> Refusal {
    let error = json!({"message": message.into(), "type": "invalid_request_error", "param": param, "code": code});
    Refusal { status, body: json!({"error": error}) }
}

/// Returns the key of an assistant message, as [`turn_key`] does for a reply.
fn key_of(message: &Value) -> Option<String> {
    let first = list(message.get("tool_calls")).first().and_then(|call| text(call, "id"));
    turn_key(first, &content_text(message.get("content")))
}

/// Returns the assistant messages with their indices.
fn assistant_messages<'a>(request: &View<'a>) -> impl Iterator<Item = (usize, &'a Value)> {
    request.entries().iter().enumerate().filter(|(_, message)| role(message) == "assistant")
}

/// Returns the index after the last message of the user, where the current turn begins.
fn current_turn(request: &View<'_>) -> usize {
    request.entries().iter().rposition(|message| role(message) == "user").map_or(0, |place| place + 1)
}

fn has_calls(message: &Value) -> bool {
    !list(message.get("tool_calls")).is_empty()
}
