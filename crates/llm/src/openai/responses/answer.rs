//! Puts an answer together from the events of Responses, or from its document.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};

use crate::StreamPart;
use crate::openai::answer::{RawCall, Turn, read_usage};
use crate::openai::lenient::Joiner;

/// Answer under construction. Its items are kept by their place in the output. An item from
/// `response.output_item.done` takes precedence over its repetition in `response.completed`, because the two encrypt
/// the same reasoning differently and belong to different turns of the server.
#[derive(Debug, Default)]
pub(in crate::openai) struct Answer {
    items: BTreeMap<u64, Item>,
    /// The output of the last event.
    output: Vec<Value>,
    finish: Option<String>,
    turn: Turn,
    halves: Joiner,
    any: bool,
}

/// One item of the output.
#[derive(Debug, Default)]
struct Item {
    /// Item as it was announced.
    added: Option<Value>,
    /// Item as it was finished.
    done: Option<Value>,
    /// Pieces of its text or arguments.
    pieces: String,
}

impl Answer {
    /// Takes in an event or document and adds the parts that can be passed on at once to `out`.
    pub(in crate::openai) fn absorb(&mut self, event: &Value, out: &mut VecDeque<StreamPart>) {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        match kind {
            "response.output_item.added" => {
                let item = event.get("item").cloned().unwrap_or_default();
                if let ("function_call", Some(name)) = (kind_of(&item), item.get("name").and_then(Value::as_str)) {
                    out.push_back(StreamPart::ToolCallBegun { name: name.to_owned() });
                }
                self.item(event).added = Some(item);
            }
            "response.output_item.done" => self.item(event).done = event.get("item").cloned(),
            "response.output_text.delta" => {
                let text = self.halves.join(text("delta"));
                self.item(event).pieces.push_str(&text);
                if !text.is_empty() {
                    out.push_back(StreamPart::Text(text));
                }
            }
            "response.refusal.delta" => out.push_back(StreamPart::Text(text("delta").to_owned())),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let text = self.halves.join(text("delta"));
                self.turn.reasoning.push_str(&text);
                if !text.is_empty() {
                    out.push_back(StreamPart::Reasoning(text));
                }
            }
            "response.reasoning_summary_part.added" if !self.turn.reasoning.is_empty() => self.turn.reasoning.push_str("\n\n"),
            "response.function_call_arguments.delta" => self.item(event).pieces.push_str(text("delta")),
            "response.function_call_arguments.done" => text("arguments").clone_into(&mut self.item(event).pieces),
            _ => {}
        }
        match event.get("response").filter(|response| response.is_object()) {
            Some(response) => self.absorb_response(response),
            // A document.
            None if event.get("output").is_some_and(Value::is_array) => self.absorb_response(event),
            None => self.any |= kind.starts_with("response."),
        }
    }

    fn absorb_response(&mut self, response: &Value) {
        self.any = true;
        if let Some(model) = response.get("model").and_then(Value::as_str) {
            model.clone_into(&mut self.turn.model);
        }
        if let Some(usage) = response.get("usage").and_then(read_usage) {
            self.turn.usage = Some(usage);
        }
        let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        let finish = match response.get("status").and_then(Value::as_str) {
            Some("completed") => "stop",
            Some("incomplete") => reason.unwrap_or("length"),
            Some("failed" | "cancelled") => "error",
            // Gateways leave the status of a document out.
            None if response.get("output").is_some_and(Value::is_array) => "stop",
            _ => return,
        };
        self.finish = Some(finish.to_owned());
        if let Some(output) = response.get("output").and_then(Value::as_array) {
            self.output.clone_from(output);
        }
    }

    /// Returns true if the last event has arrived.
    pub(in crate::openai) const fn is_over(&self) -> bool {
        self.finish.is_some()
    }

    /// Returns true if any part of an answer has arrived.
    pub(in crate::openai) const fn has_begun(&self) -> bool {
        self.any
    }

    fn item(&mut self, event: &Value) -> &mut Item {
        self.any = true;
        let place = event.get("output_index").and_then(Value::as_u64);
        let last = self.items.keys().next_back().copied().unwrap_or(0);
        self.items.entry(place.unwrap_or(last)).or_default()
    }

    /// Returns the items of the output, each in its most complete form.
    fn output(&mut self) -> Vec<Value> {
        let mut completed: BTreeMap<u64, Value> = (0_u64..).zip(std::mem::take(&mut self.output)).collect();
        let mut whole = BTreeMap::new();
        for (place, item) in std::mem::take(&mut self.items) {
            let completed = completed.remove(&place);
            if let Some(item) = item.whole(completed) {
                whole.insert(place, item);
            }
        }
        whole.extend(completed);
        whole.into_values().collect()
    }

    /// Returns the content of the answer after its last event.
    pub(in crate::openai) fn into_turn(mut self) -> Turn {
        let items = self.output();
        let mut turn = self.turn;
        turn.finish = self.finish;
        let mut thoughts = Vec::new();
        for item in &items {
            match kind_of(item) {
                "message" => {
                    for part in list(item, "content") {
                        turn.refusal.push_str(part.get("refusal").and_then(Value::as_str).unwrap_or_default());
                    }
                    let text: String = list(item, "content").filter_map(|part| part.get("text")?.as_str()).collect();
                    if !turn.content.is_empty() && !text.is_empty() {
                        turn.content.push_str("\n\n");
                    }
                    turn.content.push_str(&text);
                    for source in list(item, "content").flat_map(|part| list(part, "annotations")) {
                        turn.cite(source.get("url"), source.get("title"));
                    }
                }
                // Pages that the model opens and reads are not billed.
                "web_search_call" if item.pointer("/action/type").is_none_or(|kind| kind == "search") => turn.searches += 1,
                "reasoning" => {
                    let texts = list(item, "summary").chain(list(item, "content"));
                    thoughts.extend(texts.filter_map(|part| part.get("text")?.as_str().map(str::to_owned)));
                }
                "function_call" => {
                    let field = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                    let arguments = match item.get("arguments") {
                        Some(Value::Object(arguments)) => Value::Object(arguments.clone()).to_string(),
                        _ => field("arguments"),
                    };
                    let id = Some(field("call_id")).filter(|id| !id.is_empty()).unwrap_or_else(|| field("id"));
                    turn.calls.push(RawCall { id, name: field("name"), arguments });
                }
                _ => {}
            }
        }
        if turn.reasoning.is_empty() {
            turn.reasoning = thoughts.join("\n\n");
        }
        turn.items = items;
        turn
    }
}

impl Item {
    /// Returns the item: as it was finished, filled from the last event where something is missing, else from its
    /// pieces.
    fn whole(self, completed: Option<Value>) -> Option<Value> {
        let mut item = match (self.done, completed) {
            (Some(done), Some(completed)) => filled(done, &completed),
            (Some(item), None) | (None, Some(item)) => return Some(item),
            (None, None) => self.added?,
        };
        let fields = item.as_object_mut()?;
        match fields.get("type").and_then(Value::as_str) {
            Some("function_call") if !self.pieces.is_empty() && fields.get("arguments").is_none_or(|text| text == "") => {
                fields.insert("arguments".into(), json!(self.pieces));
            }
            Some("message") if !self.pieces.is_empty() && fields.get("content").and_then(Value::as_array).is_none_or(Vec::is_empty) => {
                fields.insert("content".into(), json!([{"type": "output_text", "text": self.pieces, "annotations": []}]));
            }
            _ => {}
        }
        Some(item)
    }
}

/// Returns the first item, with the fields of the second that it lacks, as long as both are the same item.
fn filled(mut item: Value, other: &Value) -> Value {
    let same = kind_of(&item) == kind_of(other) && item.get("id").is_none_or(|id| other.get("id").is_none_or(|other| id == other));
    if let (true, Some(fields), Some(others)) = (same, item.as_object_mut(), other.as_object()) {
        for (name, value) in others {
            if fields.get(name).is_none_or(Value::is_null) && !value.is_null() {
                fields.insert(name.clone(), value.clone());
            }
        }
    }
    item
}

fn kind_of(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(item: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    item.get(name).and_then(Value::as_array).into_iter().flatten()
}
