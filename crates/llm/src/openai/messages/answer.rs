//! Puts an answer together from the events of Anthropic's Messages, or from its document.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value, json};

use crate::openai::answer::{RawCall, Turn, count};
use crate::openai::lenient::Joiner;
use crate::{StreamPart, Usage};

/// An answer in the making: its blocks by their index, since deltas of several may be mixed.
#[derive(Debug, Default)]
pub(in crate::openai) struct Answer {
    blocks: BTreeMap<u64, Block>,
    turn: Turn,
    tokens: Tokens,
    halves: Joiner,
    any: bool,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Block {
    fields: Map<String, Value>,
    /// The arguments of a call, as JSON that arrives in pieces.
    input: String,
}

/// Token counts of an answer. They are cumulative: a later one replaces an earlier one. The input count excludes
/// tokens read from or written to the cache.
#[derive(Debug, Default)]
struct Tokens {
    fresh: Option<u64>,
    read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
}

impl Answer {
    /// Takes in an event or document and adds the parts that can be passed on at once to `out`. Events are identified
    /// by their `type`, because their names may be lost.
    pub(in crate::openai) fn absorb(&mut self, event: &Value, out: &mut VecDeque<StreamPart>) {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match kind {
            "message_start" => self.absorb_message(event.get("message").unwrap_or(&Value::Null), out),
            "message" => {
                self.absorb_message(event, out);
                self.is_over = true;
            }
            "content_block_start" => self.begin(index, event.get("content_block").unwrap_or(&Value::Null), out),
            "content_block_delta" => self.grow(index, event.get("delta").unwrap_or(&Value::Null), out),
            "message_delta" => {
                self.any = true;
                self.end(event.get("delta").unwrap_or(&Value::Null));
                self.count(event.get("usage"));
            }
            "message_stop" => self.is_over = true,
            _ => {}
        }
    }

    fn absorb_message(&mut self, message: &Value, out: &mut VecDeque<StreamPart>) {
        self.any = true;
        if let Some(model) = message.get("model").and_then(Value::as_str) {
            model.clone_into(&mut self.turn.model);
        }
        self.count(message.get("usage"));
        self.end(message);
        for (index, block) in (0_u64..).zip(message.get("content").and_then(Value::as_array).into_iter().flatten()) {
            self.begin(index, block, out);
        }
    }

    fn end(&mut self, delta: &Value) {
        if let Some(reason) = delta.get("stop_reason").and_then(Value::as_str) {
            self.turn.finish = Some(reason.to_owned());
        }
    }

    fn count(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage.and_then(Value::as_object) else { return };
        let tokens = &mut self.tokens;
        for (known, name) in [
            (&mut tokens.fresh, "input_tokens"),
            (&mut tokens.read, "cache_read_input_tokens"),
            (&mut tokens.cache_write, "cache_creation_input_tokens"),
            (&mut tokens.output, "output_tokens"),
        ] {
            *known = count(usage, &[name]).or(*known);
        }
        let searches = usage.get("server_tool_use").and_then(|used| used.get("web_search_requests")).and_then(Value::as_u64);
        self.turn.searches = searches.and_then(|count| u32::try_from(count).ok()).unwrap_or(self.turn.searches);
    }

    /// Begins a block; in a document it is complete at once.
    fn begin(&mut self, index: u64, block: &Value, out: &mut VecDeque<StreamPart>) {
        self.any = true;
        let fields = block.as_object().cloned().unwrap_or_default();
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match text("type").as_str() {
            "text" => pass(out, text("text"), StreamPart::Text),
            "thinking" => pass(out, text("thinking"), StreamPart::Reasoning),
            "tool_use" => out.push_back(StreamPart::ToolCallBegun { name: text("name") }),
            _ => {}
        }
        self.blocks.insert(index, Block { fields, input: String::new() });
    }

    fn grow(&mut self, index: u64, delta: &Value, out: &mut VecDeque<StreamPart>) {
        let block = self.blocks.entry(index).or_default();
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text_delta" => {
                let more = self.halves.join(text("text"));
                block.append("text", &more);
                pass(out, more, StreamPart::Text);
            }
            "thinking_delta" => {
                let more = self.halves.join(text("thinking"));
                block.append("thinking", &more);
                pass(out, more, StreamPart::Reasoning);
            }
            "citations_delta" => {
                if let Some(source) = delta.get("citation") {
                    match block.fields.get_mut("citations") {
                        Some(Value::Array(sources)) => sources.push(source.clone()),
                        _ => drop(block.fields.insert("citations".to_owned(), json!([source]))),
                    }
                }
            }
            "signature_delta" => block.append("signature", text("signature")),
            "input_json_delta" => block.input.push_str(text("partial_json")),
            _ => {}
        }
    }

    /// Returns true if the server has given a stop reason; token counts may still follow.
    pub(in crate::openai) const fn has_finish(&self) -> bool {
        self.turn.finish.is_some()
    }

    /// Returns true if nothing more can follow.
    pub(in crate::openai) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns true if any part of an answer has arrived.
    pub(in crate::openai) const fn has_begun(&self) -> bool {
        self.any
    }

    /// Returns the content of the answer after its last event.
    pub(in crate::openai) fn into_turn(self) -> Turn {
        let mut turn = self.turn;
        for block in self.blocks.into_values() {
            let text = |name: &str| block.fields.get(name).and_then(Value::as_str).unwrap_or_default();
            match text("type") {
                "text" => {
                    turn.content.push_str(text("text"));
                    for source in block.fields.get("citations").and_then(Value::as_array).into_iter().flatten() {
                        turn.cite(source.get("url"), source.get("title"));
                    }
                }
                "tool_use" => {
                    turn.calls.push(RawCall { id: text("id").to_owned(), name: text("name").to_owned(), arguments: block.arguments() })
                }
                "thinking" => turn.reasoning.push_str(text("thinking")),
                _ => {}
            }
            turn.items.push(block.whole());
        }
        turn.usage = self.tokens.usage();
        turn
    }
}

fn pass(out: &mut VecDeque<StreamPart>, text: String, part: fn(String) -> StreamPart) {
    if !text.is_empty() {
        out.push_back(part(text));
    }
}

impl Block {
    fn append(&mut self, name: &str, more: &str) {
        match self.fields.get_mut(name) {
            Some(Value::String(text)) => text.push_str(more),
            _ => drop(self.fields.insert(name.to_owned(), json!(more))),
        }
    }

    fn arguments(&self) -> String {
        if self.input.is_empty() { self.fields.get("input").map(ToString::to_string).unwrap_or_default() } else { self.input.clone() }
    }

    fn whole(mut self) -> Value {
        if let Ok(Value::Object(input)) = serde_json::from_str(&self.input) {
            self.fields.insert("input".to_owned(), Value::Object(input));
        }
        Value::Object(self.fields)
    }
}

impl Tokens {
    fn usage(&self) -> Option<Usage> {
        let (fresh, output) = (self.fresh?, self.output.unwrap_or(0));
        let (read, written) = (self.read.unwrap_or(0), self.cache_write.unwrap_or(0));
        let input = fresh.saturating_add(read).saturating_add(written);
        (input > 0 || output > 0).then(|| Usage { cached_input_tokens: read, cache_write_tokens: written, ..Usage::new(input, output) })
    }
}
