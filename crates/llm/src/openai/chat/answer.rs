//! Puts an answer together from what servers of chat completions send: one document, or the events of a stream. Reads every form met so far.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::native::{Opaque, repeats};
use super::think::{Piece, Splitter, closed_only};
use crate::StreamPart;
use crate::openai::answer::{RawCall, Turn, read_usage};
use crate::openai::lenient::Joiner;

/// An answer in the making.
#[derive(Debug, Default)]
pub(in crate::openai) struct Answer {
    turn: Turn,
    calls: Vec<Call>,
    opaque: Opaque,
    /// Parts reasoning in the text from the text.
    splitter: Splitter,
    /// Put halves of letters together, of the text and of the reasoning.
    text: Joiner,
    thought: Joiner,
    /// Something that belongs to an answer was seen.
    any: bool,
    /// A delta was seen, so a whole message at the end of the stream repeats it.
    deltas: bool,
}

#[derive(Debug, Default)]
struct Call {
    /// The server's place for it, where it gives one.
    index: Option<u64>,
    raw: RawCall,
    /// Gemini's signature.
    extra: Option<Value>,
    arguments: Joiner,
}

impl Answer {
    /// Takes in an event or document and adds the parts that can be passed on at once to `out`.
    pub(in crate::openai) fn absorb(&mut self, event: &Value, out: &mut VecDeque<StreamPart>) {
        if let Some(model) = event.get("model").and_then(Value::as_str) {
            model.clone_into(&mut self.turn.model);
        }
        let choice = choice(event);
        for source in event.get("search_results").and_then(Value::as_array).into_iter().flatten() {
            self.turn.cite(source.get("url"), source.get("title"));
        }
        let usages = [event.get("usage"), choice.and_then(|choice| choice.get("usage")), event.pointer("/x_groq/usage")];
        if let Some(usage) = usages.into_iter().flatten().find_map(read_usage) {
            self.turn.usage = Some(usage);
        }
        let Some(choice) = choice else {
            // Ollama's own form, and servers that leave the choices out.
            if let Some(message) = event.get("message").filter(|message| message.is_object()) {
                self.any = true;
                self.absorb_message(message, true, out);
            }
            return;
        };
        self.any = true;
        if let Some(word) = ["finish_reason", "stop_reason", "finishReason"].iter().find_map(|key| choice.get(*key)?.as_str())
            && !word.is_empty()
        {
            self.turn.finish = Some(word.to_owned());
        }
        match (choice.get("delta"), choice.get("message")) {
            (Some(delta), message) if is_filled(delta) && (message.is_none() || self.deltas || has_content(delta)) => {
                self.deltas = true;
                self.absorb_message(delta, false, out);
            }
            (_, Some(message)) if !self.deltas => self.absorb_message(message, true, out),
            _ => {
                if let Some(text) = choice.get("text").and_then(Value::as_str) {
                    self.push_text(text, out);
                }
            }
        }
    }

    /// Returns true if the server has ended the answer.
    pub(in crate::openai) fn has_finish(&self) -> bool {
        self.turn.finish.is_some()
    }

    /// Returns true if any part of an answer has arrived.
    pub(in crate::openai) fn has_begun(&self) -> bool {
        self.any
    }

    fn push_text(&mut self, text: &str, out: &mut VecDeque<StreamPart>) {
        let text = self.text.join(text);
        for piece in self.splitter.push(&text) {
            self.pass(piece, out);
        }
    }

    fn pass(&mut self, piece: Piece, out: &mut VecDeque<StreamPart>) {
        match piece {
            Piece::Text(text) => {
                self.turn.content.push_str(&text);
                out.push_back(StreamPart::Text(text));
            }
            Piece::Reasoning(text) => self.push_reasoning(&text, out),
        }
    }

    fn push_reasoning(&mut self, text: &str, out: &mut VecDeque<StreamPart>) {
        let text = self.thought.join(text);
        if !text.is_empty() {
            self.turn.reasoning.push_str(&text);
            out.push_back(StreamPart::Reasoning(text));
        }
    }

    fn refuse(&mut self, text: &str, out: &mut VecDeque<StreamPart>) {
        if !text.is_empty() {
            self.turn.refusal.push_str(text);
            out.push_back(StreamPart::Text(text.to_owned()));
        }
    }

    /// Takes in a message, or a piece of one. The calls of a `whole` message are whole, each by itself.
    fn absorb_message(&mut self, message: &Value, whole: bool, out: &mut VecDeque<StreamPart>) {
        self.opaque.absorb(message, &self.turn.content);
        // Some servers send the same reasoning under two names, and MiniMax in the details alone.
        let named = ["reasoning_content", "reasoning", "thinking"].iter().find_map(|key| {
            let text = plain_text(message.get(*key)?);
            (!text.is_empty()).then_some(text)
        });
        let thought = named.or_else(|| {
            let text = message.get("reasoning_details").map(detailed_text)?;
            let known = if repeats(&self.turn.reasoning, &text) { self.turn.reasoning.len() } else { 0 };
            text.get(known..).map(str::to_owned)
        });
        if let Some(thought) = thought {
            self.push_reasoning(&thought, out);
        }
        match message.get("content") {
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.absorb_part(part, out);
                }
            }
            Some(content) => self.push_text(&plain_text(content), out),
            None => {}
        }
        if let Some(refusal) = message.get("refusal").and_then(Value::as_str) {
            self.refuse(refusal, out);
        }
        for source in message.get("annotations").and_then(Value::as_array).into_iter().flatten() {
            self.turn.cite(source.pointer("/url_citation/url"), source.pointer("/url_citation/title"));
        }
        match message.get("tool_calls") {
            Some(Value::Array(calls)) => calls.iter().for_each(|call| self.absorb_call(call, whole, out)),
            Some(call @ Value::Object(_)) => self.absorb_call(call, whole, out),
            _ => {}
        }
        if let Some(call) = message.get("function_call").filter(|call| call.is_object()) {
            self.absorb_call(call, whole, out);
        }
    }

    fn absorb_part(&mut self, part: &Value, out: &mut VecDeque<StreamPart>) {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
        match kind {
            "thinking" | "reasoning" => {
                let thought = ["thinking", "reasoning", "text"].iter().find_map(|key| part.get(*key)).map(plain_text);
                self.push_reasoning(&thought.unwrap_or_default(), out);
            }
            "refusal" => self.refuse(part.get("refusal").and_then(Value::as_str).unwrap_or_default(), out),
            _ => self.push_text(&plain_text(part), out),
        }
    }

    fn absorb_call(&mut self, chunk: &Value, whole: bool, out: &mut VecDeque<StreamPart>) {
        let function = chunk.get("function").filter(|function| function.is_object()).unwrap_or(chunk);
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let (id, name) = (text(chunk.get("id")), text(function.get("name")));
        let index = match chunk.get("index") {
            Some(Value::String(index)) => index.parse().ok(),
            Some(index) => index.as_u64(),
            None => None,
        };
        let arguments = match function.get("arguments").or_else(|| function.get("parameters")) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(value) => value.to_string(),
        };
        let place = match self.place_of(index, &id, &name).filter(|_| !whole) {
            Some(place) => place,
            None => {
                self.calls.push(Call { index, ..Call::default() });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(place) else { return };
        if call.raw.id.is_empty() {
            call.raw.id = id;
        }
        if call.raw.name.is_empty() && !name.is_empty() {
            call.raw.name.clone_from(&name);
            out.push_back(StreamPart::ToolCallBegun { name });
        }
        if let Some(extra) = chunk.get("extra_content").filter(|extra| extra.is_object()) {
            call.extra = Some(extra.clone());
        }
        let arguments = call.arguments.join(&arguments);
        call.raw.arguments.push_str(&arguments);
    }

    /// Returns the call that a chunk continues; `None` if it begins a new one. Servers leave the index out,
    /// give all calls the same, or repeat id and name in every chunk.
    fn place_of(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let found = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None if !id.is_empty() && self.calls.iter().any(|call| call.raw.id == id) => {
                self.calls.iter().rposition(|call| call.raw.id == id)
            }
            None => self.calls.len().checked_sub(1),
        }?;
        let call = self.calls.get(found)?;
        let another_id = !id.is_empty() && !call.raw.id.is_empty() && call.raw.id != id;
        let another_name =
            !name.is_empty() && !call.raw.name.is_empty() && (call.raw.name != name || (id.is_empty() && call.raw.is_whole()));
        let same_id = !id.is_empty() && call.raw.id == id;
        (!another_id && (same_id || !another_name)).then_some(found)
    }

    /// Returns the content of the answer after its last event.
    pub(in crate::openai) fn into_turn(mut self) -> Turn {
        let mut late = VecDeque::new();
        if let Some(half) = self.text.finish() {
            self.push_text(&half.to_string(), &mut late);
        }
        if let Some(piece) = self.splitter.finish() {
            self.pass(piece, &mut late);
        }
        // Calls beside a text of gpt-oss are read from its marks.
        if !self.turn.content.contains(" to=functions.")
            && let Some((reasoning, answer)) = closed_only(&self.turn.content)
        {
            self.turn.reasoning.push_str(&reasoning);
            self.turn.content = answer;
        }
        let named = || self.calls.iter().filter(|call| !call.raw.name.is_empty());
        let calls_are_opaque = named().any(|call| call.extra.is_some());
        let calls = named().map(|call| {
            let RawCall { id, name, arguments } = &call.raw;
            let mut item = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
            if let (Some(extra), Some(item)) = (&call.extra, item.as_object_mut()) {
                item.insert("extra_content".into(), extra.clone());
            }
            item
        });
        let calls: Vec<Value> = calls.collect();
        self.turn.items = self.opaque.into_items(&self.turn.content, calls, calls_are_opaque);
        self.turn.calls = self.calls.into_iter().map(|call| call.raw).collect();
        self.turn
    }
}

/// Returns the readable part of `reasoning_details`.
fn detailed_text(details: &Value) -> String {
    let texts = |detail: &Value| ["text", "summary"].iter().find_map(|key| detail.get(*key)?.as_str()).map(str::to_owned);
    details.as_array().into_iter().flatten().filter_map(texts).collect()
}

/// Returns the first candidate: of a list as a rule, or an object with some servers.
fn choice(event: &Value) -> Option<&Value> {
    let first = |choice: &&Value| choice.is_object() && choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
    match event.get("choices")? {
        Value::Array(choices) => choices.iter().find(first),
        choice @ Value::Object(_) => Some(choice),
        _ => None,
    }
}

/// Returns true if a piece of a message holds more than a role and empty fields.
fn has_content(delta: &Value) -> bool {
    let filled = |value: &Value| match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    };
    delta.as_object().is_some_and(|fields| fields.iter().any(|(name, value)| name != "role" && filled(value)))
}

fn is_filled(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.values().any(|field| !field.is_null()))
}

/// Returns the text of a string, of a part `{text}`, or of a list of them.
fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(plain_text).collect(),
        Value::Object(part) => match part.get("text") {
            Some(text) => plain_text(text),
            None => String::new(),
        },
        _ => String::new(),
    }
}
