//! Forms of reasoning in chat completions, which differ between services.

use serde_json::{Map, Value, json};

use super::{Answer, pieces_of};
use crate::provider::Provider;

/// Format name in OpenRouter for Claude's reasoning.
const CLAUDE: &str = "anthropic-claude-v1";

impl Answer<'_> {
    /// Returns the members with the reasoning in a whole message, apart from its content.
    pub(super) fn thinking_members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        match (self.provider, &self.reply.reasoning) {
            (Provider::Generic | Provider::DeepSeek, Some(reasoning)) => {
                members.insert("reasoning_content".into(), json!(reasoning));
            }
            (Provider::OpenRouter, Some(reasoning)) => {
                members.insert("reasoning".into(), json!(reasoning));
                members.insert("reasoning_details".into(), self.reasoning_details());
            }
            (Provider::Gemini, Some(_)) if self.reply.tool_calls.is_empty() => {
                members.insert("extra_content".into(), self.thought_signature());
            }
            _ => {}
        }
        members
    }

    /// Returns the deltas with the reasoning in a stream, before all text.
    pub(super) fn thinking_deltas(&self) -> Vec<Value> {
        let Some(reasoning) = &self.reply.reasoning else { return Vec::new() };
        let pieces = pieces_of(reasoning).into_iter();
        match self.provider {
            Provider::Generic | Provider::DeepSeek => pieces.map(|piece| json!({"reasoning_content": piece})).collect(),
            Provider::Mistral => pieces.map(|piece| json!({"content": [thinking_part(&piece)]})).collect(),
            Provider::OpenRouter => {
                let delta = |text: Option<&str>, detail: Value| json!({"reasoning": text, "reasoning_details": [detail]});
                let mut deltas: Vec<Value> = pieces
                    .map(|piece| delta(Some(&piece), json!({"type": "reasoning.text", "text": piece, "format": CLAUDE, "index": 0})))
                    .collect();
                deltas.push(delta(None, json!({"type": "reasoning.text", "signature": self.signature(), "format": CLAUDE, "index": 0})));
                deltas.push(delta(None, self.encrypted_detail()));
                deltas
            }
            Provider::Gemini if self.reply.tool_calls.is_empty() => vec![json!({"extra_content": self.thought_signature()})],
            Provider::Gemini | Provider::OpenAi | Provider::Anthropic => Vec::new(),
        }
    }

    /// Returns the thinking part with which Mistral begins a content.
    pub(super) fn thinking_content(&self) -> Option<Value> {
        (self.provider == Provider::Mistral).then_some(self.reply.reasoning.as_deref()).flatten().map(thinking_part)
    }

    /// Returns the addition to a call. Gemini signs the first call of each turn, whether its thoughts are shown or not.
    pub(super) fn call_extra(&self, index: usize) -> Option<Value> {
        (self.provider == Provider::Gemini && index == 0).then(|| self.thought_signature())
    }

    /// Returns the state that the client must send back unchanged with this turn.
    pub(super) fn thinking_state(&self) -> Value {
        match (self.provider, &self.reply.reasoning) {
            (Provider::DeepSeek, reasoning) => json!(reasoning.clone().unwrap_or_default()),
            (Provider::OpenRouter, Some(_)) => self.reasoning_details(),
            (Provider::Mistral, Some(reasoning)) => thinking_part(reasoning),
            (Provider::Gemini, reasoning) if reasoning.is_some() || !self.reply.tool_calls.is_empty() => {
                json!(self.opaque("CpwB", "thought", 48))
            }
            _ => Value::Null,
        }
    }

    fn reasoning_details(&self) -> Value {
        let text = json!({
            "type": "reasoning.text", "text": self.reply.reasoning, "signature": self.signature(), "format": CLAUDE, "index": 0,
        });
        json!([text, self.encrypted_detail()])
    }

    fn encrypted_detail(&self) -> Value {
        json!({"type": "reasoning.encrypted", "data": self.opaque("EmwK", "redacted", 48), "format": CLAUDE, "index": 1})
    }

    fn signature(&self) -> String {
        self.opaque("ErUB", "signature", 48)
    }

    fn thought_signature(&self) -> Value {
        json!({"google": {"thought_signature": self.opaque("CpwB", "thought", 48)}})
    }
}

fn thinking_part(text: &str) -> Value {
    json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]})
}
