//! The Responses API: one document, or its events in the order of the real server.

use serde_json::{Map, Value, json};

use super::{Answer, Call, pieces_of};
use crate::memory::{SentItem, SentState};
use crate::model::{gpt_version, reasons};
use crate::provider::Provider;
use crate::reply::ServerQuirk;
use crate::view::list;

/// Renders an answer as a document or as the events of a stream.
pub(super) fn pieces(answer: &Answer<'_>, stream: bool) -> (Vec<Vec<u8>>, SentState) {
    let items = answer.items();
    let sent = SentState::items(answer.sent_items(&items));
    let pieces = if stream {
        let mut events = Events { numbered: 0, pieces: Vec::new() };
        answer.stream(&items, &mut events);
        events.pieces
    } else {
        let output = items.iter().map(|item| answer.done(item, "content")).collect();
        vec![answer.document(answer.end().1, output).to_string().into_bytes()]
    };
    (pieces, sent)
}

/// An item of the output.
struct Item {
    id: String,
    kind: Kind,
}

enum Kind {
    Reasoning(String),
    Text(String),
    Refusal(String),
    Call(Call),
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Self::Reasoning(_) => "reasoning",
            Self::Text(_) | Self::Refusal(_) => "message",
            Self::Call(_) => "function_call",
        }
    }
}

/// The events of a stream so far.
struct Events {
    numbered: usize,
    pieces: Vec<Vec<u8>>,
}

impl Events {
    fn push(&mut self, kind: &str, mut members: Value) {
        if let Some(members) = members.as_object_mut() {
            members.insert("type".into(), json!(kind));
            members.insert("sequence_number".into(), json!(self.numbered));
        }
        self.numbered += 1;
        self.pieces.push(format!("event: {kind}\ndata: {members}\n\n").into_bytes());
    }
}

impl Answer<'_> {
    fn items(&self) -> Vec<Item> {
        let number = self.number;
        let text = self.text();
        let mut items = Vec::new();
        if let Some(reasoning) = &self.reply.reasoning {
            items.push(Item { id: format!("rs_{number}"), kind: Kind::Reasoning(reasoning.clone()) });
        }
        // A reply with only reasoning was cut off before the answer.
        let others = items.len() + self.reply.tool_calls.len();
        if !text.is_empty() || (others == 0 && self.reply.refusal.is_none() && self.reply.failed.is_none()) {
            items.push(Item { id: format!("msg_{number}"), kind: Kind::Text(text) });
        }
        if let Some(refusal) = &self.reply.refusal {
            items.push(Item { id: format!("msg_{number}_refusal"), kind: Kind::Refusal(refusal.clone()) });
        }
        for (index, call) in self.calls().into_iter().enumerate() {
            items.push(Item { id: format!("fc_{number}_{index}"), kind: Kind::Call(call) });
        }
        items
    }

    fn sent_items(&self, items: &[Item]) -> Vec<SentItem> {
        let reasoning = items.iter().find(|item| matches!(item.kind, Kind::Reasoning(_))).map(|item| item.id.clone());
        let sent = items.iter().enumerate().map(|(place, item)| {
            let thinks = matches!(item.kind, Kind::Reasoning(_));
            SentItem {
                id: item.id.clone(),
                kind: item.kind.name(),
                call_id: if let Kind::Call(call) = &item.kind { call.id.clone() } else { None },
                encrypted: thinks.then(|| self.encrypted("content")).flatten(),
                following: thinks.then(|| items.get(place + 1).map(|next| next.id.clone())).flatten(),
                reasoning: if thinks { None } else { reasoning.clone() },
                stored: self.stores(),
            }
        });
        sent.collect()
    }

    /// Returns true if the server stores the items, which is OpenAI's default.
    fn stores(&self) -> bool {
        self.request.body.get("store").and_then(Value::as_bool).unwrap_or(true)
    }

    /// Returns the encrypted reasoning, if the request asks for it.
    ///
    /// The real server encrypts anew for each event, so the texts of `output_item.added`, `output_item.done` and
    /// `completed` differ (<https://github.com/CopilotKit/aimock/pull/342>, <https://github.com/Menci/Floway/pull/119>).
    /// There all of them are valid; here only that of `output_item.done` (`purpose` "content") is accepted back.
    fn encrypted(&self, purpose: &str) -> Option<String> {
        let asked = list(self.request.body.get("include")).iter().any(|one| one == "reasoning.encrypted_content");
        asked.then(|| self.opaque("gAAAAAB", purpose, 61) + "==")
    }

    /// Returns the item as it is when it begins.
    fn started_item(&self, item: &Item) -> Value {
        match &item.kind {
            Kind::Reasoning(_) => self.reasoning_item(item, json!([]), "begun"),
            Kind::Text(_) | Kind::Refusal(_) => self.message_item(item, "in_progress", json!([])),
            Kind::Call(call) => self.call_item(item, call, "in_progress", json!("")),
        }
    }

    /// Returns the whole item. `purpose` names the event that contains it, see [`encrypted`](Self::encrypted).
    fn done(&self, item: &Item, purpose: &str) -> Value {
        let status = if self.reply.finish.as_deref() == Some("length") { "incomplete" } else { "completed" };
        match &item.kind {
            Kind::Reasoning(reasoning) if self.summarises() => {
                self.reasoning_item(item, json!([{"type": "summary_text", "text": reasoning}]), purpose)
            }
            Kind::Reasoning(_) => self.reasoning_item(item, json!([]), purpose),
            Kind::Text(_) | Kind::Refusal(_) => self.message_item(item, status, json!([part(&item.kind, true)])),
            Kind::Call(call) => self.call_item(item, call, status, call.arguments.clone()),
        }
    }

    /// Returns true if the request asks for summaries; OpenAI omits them otherwise
    /// (<https://developers.openai.com/api/docs/guides/reasoning#reasoning-summaries>).
    fn summarises(&self) -> bool {
        let asked = self.request.body.pointer("/reasoning/summary").is_some_and(|summary| !summary.is_null());
        asked || self.provider != Provider::OpenAi
    }

    fn head(&self, item: &Item) -> Map<String, Value> {
        let mut head = Map::new();
        if !self.has_quirk(ServerQuirk::NoIds) {
            head.insert("id".into(), json!(item.id));
        }
        head.insert("type".into(), json!(item.kind.name()));
        self.decorate(&mut head);
        head
    }

    fn reasoning_item(&self, item: &Item, summary: Value, purpose: &str) -> Value {
        let mut object = self.head(item);
        object.insert("summary".into(), summary);
        if let Some(encrypted) = self.encrypted(purpose) {
            object.insert("encrypted_content".into(), json!(encrypted));
        }
        Value::Object(object)
    }

    fn message_item(&self, item: &Item, status: &str, content: Value) -> Value {
        let mut object = self.head(item);
        object.insert("status".into(), json!(status));
        object.insert("role".into(), json!("assistant"));
        object.insert("content".into(), content);
        // Newer models distinguish comments beside calls from the answer.
        if gpt_version(self.request.model()).is_some_and(|version| version >= (5, 3)) {
            let phase = if self.reply.tool_calls.is_empty() { "final_answer" } else { "commentary" };
            object.insert("phase".into(), json!(phase));
        }
        Value::Object(object)
    }

    fn call_item(&self, item: &Item, call: &Call, status: &str, arguments: Value) -> Value {
        let mut object = self.head(item);
        object.insert("status".into(), json!(status));
        if let Some(id) = &call.id {
            object.insert("call_id".into(), json!(id));
        }
        object.insert("name".into(), json!(call.name));
        object.insert("arguments".into(), arguments);
        Value::Object(object)
    }

    /// Returns the last event and the status of the response.
    fn end(&self) -> (&'static str, &'static str) {
        if self.reply.failed.is_some() {
            return ("response.failed", "failed");
        }
        match self.reply.finish.as_deref() {
            Some("length" | "content_filter") => ("response.incomplete", "incomplete"),
            _ => ("response.completed", "completed"),
        }
    }

    /// Returns the response object.
    fn document(&self, status: &str, output: Vec<Value>) -> Value {
        let body = self.request.body;
        let echoed = |key: &str, usual: Value| body.get(key).cloned().unwrap_or(usual);
        let ended = status != "in_progress";
        let failed = self.reply.failed.as_ref().filter(|_| ended);
        let incomplete = (status == "incomplete").then(|| match self.reply.finish.as_deref() {
            Some("length") => json!({"reason": "max_output_tokens"}),
            _ => json!({"reason": "content_filter"}),
        });
        let usage = self.usage().filter(|_| ended && failed.is_none()).map(|usage| {
            json!({
                "input_tokens": usage.input, "input_tokens_details": {"cached_tokens": usage.cached},
                "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": usage.reasoning},
                "total_tokens": usage.input.saturating_add(usage.output),
            })
        });
        let mut document = json!({
            "id": format!("resp_{}", self.number), "object": "response", "created_at": 1_700_000_000, "status": status,
            "error": failed.map(|failed| json!({"code": failed.code, "message": failed.message})),
            "incomplete_details": incomplete, "instructions": echoed("instructions", Value::Null),
            "max_output_tokens": echoed("max_output_tokens", Value::Null), "model": echoed("model", Value::Null), "output": output,
            "parallel_tool_calls": echoed("parallel_tool_calls", json!(true)), "previous_response_id": null,
            "reasoning": {"effort": self.request.effort().or(reasons(self.request.model()).then_some("medium")), "summary": null},
            "store": self.stores(), "temperature": echoed("temperature", json!(1.0)),
            "text": echoed("text", json!({"format": {"type": "text"}})), "tool_choice": echoed("tool_choice", json!("auto")),
            "tools": echoed("tools", json!([])), "top_p": echoed("top_p", json!(1.0)), "truncation": "disabled",
            "usage": usage, "metadata": {},
        });
        if let Some(members) = document.as_object_mut() {
            if self.has_quirk(ServerQuirk::NoIds) {
                members.remove("id");
            }
            self.decorate(members);
        }
        document
    }

    fn stream(&self, items: &[Item], events: &mut Events) {
        let begun = self.document("in_progress", Vec::new());
        events.push("response.created", json!({"response": begun}));
        events.push("response.in_progress", json!({"response": begun}));
        for (index, item) in items.iter().enumerate() {
            let at = |members: Value| self.placed(index, None, members);
            events.push("response.output_item.added", at(json!({"item": self.started_item(item)})));
            self.inside(index, item, events);
            events.push("response.output_item.done", at(json!({"item": self.done(item, "content")})));
        }
        if self.has_quirk(ServerQuirk::NoFinish) {
            return;
        }
        let (event, status) = self.end();
        let output = items.iter().map(|item| self.done(item, "completed")).collect();
        events.push(event, json!({"response": self.document(status, output)}));
    }

    /// Adds the events between the beginning and the end of an item.
    fn inside(&self, index: usize, item: &Item, events: &mut Events) {
        let at = |members: Value| self.placed(index, Some(item), members);
        match &item.kind {
            Kind::Reasoning(_) if !self.summarises() => {}
            Kind::Reasoning(summary) => {
                let part = |text: &str| at(json!({"summary_index": 0, "part": {"type": "summary_text", "text": text}}));
                events.push("response.reasoning_summary_part.added", part(""));
                for piece in pieces_of(summary) {
                    events
                        .push("response.reasoning_summary_text.delta", at(json!({"summary_index": 0, "delta": piece, "obfuscation": "x"})));
                }
                events.push("response.reasoning_summary_text.done", at(json!({"summary_index": 0, "text": summary})));
                events.push("response.reasoning_summary_part.done", part(summary));
            }
            Kind::Text(text) => {
                events.push("response.content_part.added", at(json!({"content_index": 0, "part": part(&item.kind, false)})));
                for piece in pieces_of(text) {
                    let delta = json!({"content_index": 0, "delta": piece, "logprobs": [], "obfuscation": "x"});
                    events.push("response.output_text.delta", at(delta));
                }
                events.push("response.output_text.done", at(json!({"content_index": 0, "text": text, "logprobs": []})));
                events.push("response.content_part.done", at(json!({"content_index": 0, "part": part(&item.kind, true)})));
            }
            Kind::Refusal(refusal) => {
                events.push("response.content_part.added", at(json!({"content_index": 0, "part": part(&item.kind, false)})));
                for piece in pieces_of(refusal) {
                    events.push("response.refusal.delta", at(json!({"content_index": 0, "delta": piece, "obfuscation": "x"})));
                }
                events.push("response.refusal.done", at(json!({"content_index": 0, "refusal": refusal})));
                events.push("response.content_part.done", at(json!({"content_index": 0, "part": part(&item.kind, true)})));
            }
            Kind::Call(call) => {
                for piece in call.arguments.as_str().map(pieces_of).unwrap_or_default() {
                    events.push("response.function_call_arguments.delta", at(json!({"delta": piece, "obfuscation": "x"})));
                }
                events.push("response.function_call_arguments.done", at(json!({"arguments": call.arguments})));
            }
        }
    }

    /// Adds the position of an event: the indices and ids that it refers to.
    fn placed(&self, index: usize, item: Option<&Item>, mut members: Value) -> Value {
        if let Some(members) = members.as_object_mut() {
            if !self.has_quirk(ServerQuirk::NoIndex) {
                members.insert("output_index".into(), json!(index));
            }
            if let (Some(item), false) = (item, self.has_quirk(ServerQuirk::NoIds)) {
                members.insert("item_id".into(), json!(item.id));
            }
        }
        members
    }
}

/// Returns the part of a message, whole or as it begins.
fn part(kind: &Kind, whole: bool) -> Value {
    let begun = |begun: &str| if whole { begun.to_owned() } else { String::new() };
    match kind {
        Kind::Refusal(refusal) => json!({"type": "refusal", "refusal": begun(refusal)}),
        Kind::Text(text) => json!({"type": "output_text", "annotations": [], "logprobs": [], "text": begun(text)}),
        Kind::Reasoning(_) | Kind::Call(_) => Value::Null,
    }
}
