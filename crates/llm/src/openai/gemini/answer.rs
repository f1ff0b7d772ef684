//! Puts an answer together from the documents of Gemini: one, or many of a stream.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::openai::answer::{RawCall, Turn, count};
use crate::openai::lenient::Joiner;
use crate::{StreamPart, Usage};

/// An answer in the making.
#[derive(Debug, Default)]
pub(in crate::openai) struct Answer {
    turn: Turn,
    /// Parts of the turn; parts of one text are joined unless one of them is signed.
    parts: Vec<Value>,
    halves: Joiner,
    any: bool,
}

impl Answer {
    /// Takes in a document and adds the parts that can be passed on at once to `out`. Parts may follow after the
    /// finish reason.
    pub(in crate::openai) fn absorb(&mut self, document: &Value, out: &mut VecDeque<StreamPart>) {
        // A gateway wraps it.
        let document = document.get("response").filter(|inner| inner.get("candidates").is_some()).unwrap_or(document);
        if let Some(model) = document.get("modelVersion").and_then(Value::as_str) {
            model.clone_into(&mut self.turn.model);
        }
        if let Some(usage) = document.get("usageMetadata").and_then(Value::as_object).and_then(usage) {
            self.turn.usage = Some(usage);
        }
        if let Some(reason) = document.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            self.any = true;
            self.turn.finish = Some("content_filter".to_owned());
            self.turn.refusal = format!("the prompt was blocked: {reason}");
        }
        let candidates = document.get("candidates").and_then(Value::as_array);
        let first = |candidate: &&Value| candidate.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        let Some(candidate) = candidates.and_then(|candidates| candidates.iter().find(first)) else { return };
        self.any = true;
        for part in candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten() {
            self.part(part, out);
        }
        for source in candidate.pointer("/groundingMetadata/groundingChunks").and_then(Value::as_array).into_iter().flatten() {
            self.turn.cite(source.pointer("/web/uri"), source.pointer("/web/title"));
        }
        let queries = candidate.pointer("/groundingMetadata/webSearchQueries").and_then(Value::as_array).map_or(0, Vec::len);
        self.turn.searches = self.turn.searches.max(u32::try_from(queries).unwrap_or_default());
        if let Some(reason) = candidate.get("finishReason").and_then(Value::as_str).filter(|reason| *reason != "FINISH_REASON_UNSPECIFIED")
        {
            self.turn.finish = Some(match reason {
                // The model wrote a call that its own server could not read: the next one may be right.
                "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => "error".to_owned(),
                other => other.to_owned(),
            });
        }
    }

    fn part(&mut self, part: &Value, out: &mut VecDeque<StreamPart>) {
        let mut part = part.clone();
        let thought = is_thought(&part);
        if let Some(Value::String(text)) = part.get_mut("text") {
            *text = self.halves.join(text);
            if !text.is_empty() {
                let (known, passed): (_, fn(String) -> StreamPart) =
                    if thought { (&mut self.turn.reasoning, StreamPart::Reasoning) } else { (&mut self.turn.content, StreamPart::Text) };
                known.push_str(text);
                out.push_back(passed(text.clone()));
            }
        }
        if let Some(call) = part.get("functionCall") {
            let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let arguments = call.get("args").map_or_else(|| "{}".to_owned(), ToString::to_string);
            out.push_back(StreamPart::ToolCallBegun { name: text("name") });
            self.turn.calls.push(RawCall { id: text("id"), name: text("name"), arguments });
        }
        let signed = |part: &Value| part.get("thoughtSignature").is_some();
        // The last document of a stream often has an empty text, which the provider does not take back unless it is signed.
        if part.get("text") == Some(&json!("")) && !signed(&part) {
            return;
        }
        let joins = |last: &Value| {
            let texts = last.get("text").is_some() && part.get("text").is_some();
            texts && !signed(last) && !signed(&part) && is_thought(last) == thought
        };
        match self.parts.last_mut().filter(|last| joins(last)) {
            Some(last) => {
                if let (Some(Value::String(text)), Some(Value::String(more))) = (last.get_mut("text"), part.get("text")) {
                    text.push_str(more);
                }
            }
            None => self.parts.push(part),
        }
    }

    /// Returns true if the server has given a finish reason; token counts and late parts may still follow.
    pub(in crate::openai) const fn has_finish(&self) -> bool {
        self.turn.finish.is_some()
    }

    /// Returns true if any part of an answer has arrived.
    pub(in crate::openai) const fn has_begun(&self) -> bool {
        self.any
    }

    /// Returns the content of the answer after its last document.
    pub(in crate::openai) fn into_turn(self) -> Turn {
        let mut turn = self.turn;
        let opaque = self.parts.iter().any(|part| {
            let known = ["text", "functionCall", "thought"];
            part.as_object().is_some_and(|fields| fields.keys().any(|name| !known.contains(&name.as_str())))
        });
        if opaque {
            turn.items = self.parts;
        }
        // Models before Gemini 3 are billed by the request, later ones by the query.
        if ["gemini-1", "gemini-2"].iter().any(|family| turn.model.contains(family)) {
            turn.searches = turn.searches.min(1);
        }
        turn
    }
}

fn is_thought(part: &Value) -> bool {
    part.get("thought") == Some(&json!(true))
}

/// Thoughts are counted apart from the answer, and what tools of the provider read apart from the prompt.
fn usage(counts: &Map<String, Value>) -> Option<Usage> {
    let of = |name: &str| count(counts, &[name]).unwrap_or(0);
    let input = of("promptTokenCount").saturating_add(of("toolUsePromptTokenCount"));
    let reasoning_tokens = of("thoughtsTokenCount");
    let output = of("candidatesTokenCount").saturating_add(reasoning_tokens);
    let cached = of("cachedContentTokenCount").min(input);
    (input > 0 || output > 0).then(|| Usage { cached_input_tokens: cached, reasoning_tokens, ..Usage::new(input, output) })
}
