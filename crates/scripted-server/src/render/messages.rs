//! Anthropic's Messages: one document, or its events in the order of the real server.
//!
//! Source: <https://platform.claude.com/docs/en/build-with-claude/streaming>.

use serde_json::{Map, Value, json};

use super::{Answer, Call, pieces_of};
use crate::cache;
use crate::memory::{SentBlock, SentState, turn_key};
use crate::model::Claude;
use crate::reply::ServerQuirk;
use crate::view::messages::{is_thinking, thinks};

/// Renders an answer as a document or as the events of a stream.
pub(super) fn pieces(answer: &Answer<'_>, stream: bool) -> (Vec<Vec<u8>>, SentState) {
    let blocks = answer.blocks();
    let pieces = if stream {
        let mut events = Vec::new();
        answer.messages_stream(&blocks, &mut events);
        let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event.get("type").and_then(Value::as_str).unwrap_or_default());
        events.iter().map(|one| event(one).into_bytes()).collect()
    } else {
        let document = answer.messages_failure().unwrap_or_else(|| answer.message(&blocks));
        vec![document.to_string().into_bytes()]
    };
    (pieces, answer.sent_message(&blocks))
}

/// A block of the content.
enum Block {
    Thinking { text: String, signature: String },
    Redacted(String),
    Text(String),
    Call(Call),
}

impl Block {
    /// Returns the whole block.
    fn whole(&self) -> Value {
        match self {
            Self::Thinking { text, signature } => json!({"type": "thinking", "thinking": text, "signature": signature}),
            Self::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Call(call) => {
                let parsed = call.arguments.as_str().and_then(|text| serde_json::from_str(text).ok());
                tool_use(call, parsed.unwrap_or_else(|| call.arguments.clone()))
            }
        }
    }

    /// Returns the block as it begins in a stream.
    fn start_event(&self) -> Value {
        match self {
            Self::Thinking { .. } => json!({"type": "thinking", "thinking": "", "signature": ""}),
            Self::Text(_) => json!({"type": "text", "text": ""}),
            Self::Call(call) if call.arguments.is_string() => tool_use(call, json!({})),
            Self::Redacted(_) | Self::Call(_) => self.whole(),
        }
    }

    fn deltas(&self) -> Vec<Value> {
        match self {
            Self::Thinking { text, signature } => {
                let mut pieces = pieces_of(text);
                if pieces.is_empty() {
                    pieces.push(String::new());
                }
                let thinking = pieces.into_iter().map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
                thinking.chain([json!({"type": "signature_delta", "signature": signature})]).collect()
            }
            Self::Text(text) => pieces_of(text).into_iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect(),
            Self::Call(call) => {
                let pieces = call.arguments.as_str().map(pieces_of).unwrap_or_default();
                let first = call.arguments.is_string().then(String::new);
                first.into_iter().chain(pieces).map(|piece| json!({"type": "input_json_delta", "partial_json": piece})).collect()
            }
            Self::Redacted(_) => Vec::new(),
        }
    }
}

fn tool_use(call: &Call, input: Value) -> Value {
    let mut block = Map::new();
    block.insert("type".into(), json!("tool_use"));
    if let Some(id) = &call.id {
        block.insert("id".into(), json!(id));
    }
    block.insert("name".into(), json!(call.name));
    block.insert("input".into(), input);
    Value::Object(block)
}

impl Answer<'_> {
    fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        if let (Some(reasoning), true) = (&self.reply.reasoning, thinks(self.request.body)) {
            let text = if self.shows_thinking() { reasoning.clone() } else { String::new() };
            blocks.push(Block::Thinking { text, signature: self.opaque("EqQB", "signature", 60) + "==" });
            if self.has_quirk(ServerQuirk::RedactedThinking) {
                blocks.push(Block::Redacted(self.opaque("EmwK", "redacted", 48)));
            }
        }
        let text = self.text();
        if !text.is_empty() {
            blocks.push(Block::Text(text));
        }
        blocks.extend(self.calls().into_iter().map(Block::Call));
        blocks
    }

    /// Returns true if the thinking has a text. Newer models omit it unless `display` is `summarized`
    /// (<https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking#controlling-thinking-display>).
    fn shows_thinking(&self) -> bool {
        match self.request.body.pointer("/thinking/display").and_then(Value::as_str) {
            Some(display) => display == "summarized",
            None => !Claude::named(self.request.model()).is_some_and(Claude::only_adapts),
        }
    }

    fn sent_message(&self, blocks: &[Block]) -> SentState {
        let first = blocks.iter().find_map(|block| if let Block::Call(call) = block { call.id.as_deref() } else { None });
        let thinking: Vec<Value> = blocks.iter().map(Block::whole).filter(is_thinking).collect();
        let before = self.request.entries().len();
        let block = |block: &Value| SentBlock {
            block: block.clone(),
            model: self.request.model().to_owned(),
            prompt: cache::prompt_before(self.request.body, before),
        };
        let sent = thinking.iter().map(block).collect();
        SentState::turn(turn_key(first, &self.text()), Value::Array(thinking)).with_blocks(sent).with_prompts(self.cache.stored.clone())
    }

    /// Returns the stop reason under Anthropic's name; the names of chat completions are converted.
    fn stop_reason(&self, blocks: &[Block]) -> Value {
        let calls = blocks.iter().any(|block| matches!(block, Block::Call(_)));
        let usual = if calls { "tool_use" } else { "end_turn" };
        match self.reply.finish.as_deref() {
            _ if self.has_quirk(ServerQuirk::NoFinish) => Value::Null,
            _ if self.reply.refusal.is_some() => json!("refusal"),
            None => json!(usual),
            Some("stop") => json!("end_turn"),
            Some("tool_calls") => json!("tool_use"),
            Some("length") => json!("max_tokens"),
            Some("content_filter") => json!("refusal"),
            Some(other) => json!(other),
        }
    }

    fn stop_details(&self) -> Value {
        let details = |refusal: &String| json!({"type": "refusal", "category": null, "explanation": refusal});
        self.reply.refusal.as_ref().map_or(Value::Null, details)
    }

    /// Returns the usage. `input_tokens` excludes cached tokens, whose number is a share of all by length.
    fn messages_usage(&self, output: Option<u64>) -> Option<Value> {
        let usage = self.usage()?;
        let share = |part: usize| {
            let (part, whole) = (u64::try_from(part).unwrap_or_default(), u64::try_from(self.cache.whole).unwrap_or_default());
            let share = usage.input.saturating_mul(part).checked_div(whole).unwrap_or_default();
            if part == 0 { 0 } else { share.max(1) }
        };
        let read = share(self.cache.read);
        let shares = (read, share(self.cache.read + self.cache.written).saturating_sub(read));
        let (read, written) = if usage.cached > 0 { (usage.cached, 0) } else { shares };
        let mut members = json!({
            "input_tokens": usage.input.saturating_sub(read).saturating_sub(written),
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "output_tokens": output.unwrap_or(usage.output),
        });
        if let (Some(_), Some(members)) = (output, members.as_object_mut()) {
            members.insert("cache_creation".into(), json!({"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}));
            members.insert("service_tier".into(), json!("standard"));
        }
        if let (true, Some(members)) = (usage.reasoning > 0, members.as_object_mut()) {
            members.insert("output_tokens_details".into(), json!({"thinking_tokens": usage.reasoning}));
        }
        Some(members)
    }

    fn message(&self, blocks: &[Block]) -> Value {
        let content = blocks.iter().map(|block| self.decorated(block.whole())).collect();
        self.message_of(content, self.stop_reason(blocks), self.stop_details(), self.messages_usage(None))
    }

    fn message_of(&self, content: Value, reason: Value, details: Value, usage: Option<Value>) -> Value {
        let mut message = Map::new();
        if !self.has_quirk(ServerQuirk::NoIds) {
            message.insert("id".into(), json!(format!("msg_{}", self.number)));
        }
        message.insert("type".into(), json!("message"));
        message.insert("role".into(), json!("assistant"));
        message.insert("model".into(), json!(self.request.model()));
        message.insert("content".into(), content);
        message.insert("stop_reason".into(), reason);
        message.insert("stop_sequence".into(), Value::Null);
        message.insert("stop_details".into(), details);
        if let Some(usage) = usage {
            message.insert("usage".into(), usage);
        }
        self.decorate(&mut message);
        Value::Object(message)
    }

    fn decorated(&self, mut block: Value) -> Value {
        if let Some(members) = block.as_object_mut() {
            self.decorate(members);
        }
        block
    }

    /// Returns the error that is sent after HTTP 200.
    fn messages_failure(&self) -> Option<Value> {
        let failed = self.reply.failed.as_ref()?;
        Some(crate::errors::anthropic(&failed.code, &failed.message))
    }

    fn messages_stream(&self, blocks: &[Block], events: &mut Vec<Value>) {
        let begun = self.message_of(json!([]), Value::Null, Value::Null, self.messages_usage(Some(1)));
        events.push(json!({"type": "message_start", "message": begun}));
        let ping = json!({"type": "ping"});
        if blocks.is_empty() {
            events.push(ping.clone());
        }
        for (index, block) in blocks.iter().enumerate() {
            let at = |mut event: Value| {
                if let (false, Some(members)) = (self.has_quirk(ServerQuirk::NoIndex), event.as_object_mut()) {
                    members.insert("index".into(), json!(index));
                }
                event
            };
            events.push(at(json!({"type": "content_block_start", "content_block": self.decorated(block.start_event())})));
            if index == 0 {
                events.push(ping.clone());
            }
            events.extend(block.deltas().into_iter().map(|delta| at(json!({"type": "content_block_delta", "delta": delta}))));
            events.push(at(json!({"type": "content_block_stop"})));
        }
        if let Some(failure) = self.messages_failure() {
            events.push(failure);
            return;
        }
        let mut delta = json!({"stop_reason": self.stop_reason(blocks), "stop_sequence": null});
        if let (true, Some(members)) = (self.reply.refusal.is_some(), delta.as_object_mut()) {
            members.insert("stop_details".into(), self.stop_details());
        }
        let mut last = json!({"type": "message_delta", "delta": delta});
        if let (Some(usage), Some(members)) = (self.messages_usage(None), last.as_object_mut()) {
            members.insert("usage".into(), usage);
        }
        events.push(last);
        if !self.has_quirk(ServerQuirk::NoDone) {
            events.push(json!({"type": "message_stop"}));
        }
    }
}
