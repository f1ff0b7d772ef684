//! Chat completions.

use serde_json::{Map, Value, json};

use super::{Answer, Call, pieces_of};
use crate::memory::{SentState, turn_key};
use crate::provider::Provider;
use crate::reply::ServerQuirk;

/// Renders an answer as a document or as the events of a stream.
pub(super) fn pieces(answer: &Answer<'_>, stream: bool) -> (Vec<Vec<u8>>, SentState) {
    let calls = answer.calls();
    let pieces = if stream {
        answer.chunks(&calls)
    } else {
        vec![answer.failure().unwrap_or_else(|| answer.completion(&calls)).to_string().into_bytes()]
    };
    let first = calls.first().and_then(|call| call.id.as_deref());
    (pieces, SentState::turn(turn_key(first, &answer.text()), answer.thinking_state()))
}

impl Answer<'_> {
    fn finish(&self) -> Value {
        if self.has_quirk(ServerQuirk::NoFinish) {
            return Value::Null;
        }
        let usual = if self.reply.tool_calls.is_empty() { "stop" } else { "tool_calls" };
        json!(self.reply.finish.as_deref().unwrap_or(usual))
    }

    fn chat_usage(&self) -> Option<Value> {
        let usage = self.usage()?;
        let mut object = json!({
            "prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": usage.input.saturating_add(usage.output),
            "prompt_tokens_details": {"cached_tokens": usage.cached},
        });
        if let (true, Some(members)) = (usage.reasoning > 0, object.as_object_mut()) {
            members.insert("completion_tokens_details".into(), json!({"reasoning_tokens": usage.reasoning}));
        }
        Some(object)
    }

    fn content(&self, text: String) -> Value {
        if text.is_empty()
            && (self.has_quirk(ServerQuirk::NullContent) || !self.reply.tool_calls.is_empty() || self.reply.refusal.is_some())
        {
            Value::Null
        } else if self.has_quirk(ServerQuirk::ContentParts) {
            json!([{"type": "text", "text": text}])
        } else {
            json!(text)
        }
    }

    /// Returns the content of a whole message, with Mistral's thinking part before its text.
    fn whole_content(&self) -> Value {
        let text = self.text();
        match self.thinking_content() {
            Some(thinking) if text.is_empty() => json!([thinking]),
            Some(thinking) => json!([thinking, {"type": "text", "text": text}]),
            None => self.content(text),
        }
    }

    fn envelope(&self, object: &str) -> Map<String, Value> {
        let mut envelope = Map::new();
        if !self.has_quirk(ServerQuirk::NoIds) {
            envelope.insert("id".into(), json!(format!("chatcmpl-{}", self.number)));
            envelope.insert("object".into(), json!(object));
            envelope.insert("created".into(), json!(1_700_000_000));
            envelope.insert("model".into(), self.request.body.get("model").cloned().unwrap_or(Value::Null));
        }
        self.decorate(&mut envelope);
        envelope
    }

    /// Returns the error that is sent after HTTP 200.
    fn failure(&self) -> Option<Value> {
        let failed = self.reply.failed.as_ref()?;
        Some(json!({"error": {"message": failed.message, "type": "server_error", "param": null, "code": failed.code}}))
    }

    fn completion(&self, calls: &[Call]) -> Value {
        let mut message = Map::new();
        message.insert("role".into(), json!("assistant"));
        message.insert("content".into(), self.whole_content());
        if let Some(refusal) = &self.reply.refusal {
            message.insert("refusal".into(), json!(refusal));
        }
        message.extend(self.thinking_members());
        if !calls.is_empty() {
            let calls = calls.iter().enumerate().map(|(index, call)| {
                let mut object = self.call_head(index, call);
                object.insert("function".into(), json!({"name": call.name, "arguments": call.arguments}));
                self.decorate(&mut object);
                Value::Object(object)
            });
            message.insert("tool_calls".into(), calls.collect());
        }
        self.decorate(&mut message);
        let mut choice = Map::new();
        choice.insert("index".into(), json!(0));
        choice.insert("message".into(), Value::Object(message));
        choice.insert("finish_reason".into(), self.finish());
        self.decorate(&mut choice);
        let mut document = self.envelope("chat.completion");
        document.insert("choices".into(), json!([choice]));
        if let Some(usage) = self.chat_usage() {
            document.insert("usage".into(), usage);
        }
        Value::Object(document)
    }

    fn chunk(&self, delta: Value, finish: Value) -> Value {
        let mut choice = Map::new();
        choice.insert("index".into(), json!(0));
        choice.insert("delta".into(), delta);
        choice.insert("finish_reason".into(), finish);
        self.decorate(&mut choice);
        let mut event = self.envelope("chat.completion.chunk");
        event.insert("choices".into(), json!([choice]));
        Value::Object(event)
    }

    /// Returns the id and the type of a call, and the additions of its provider.
    fn call_head(&self, index: usize, call: &Call) -> Map<String, Value> {
        let mut head = Map::new();
        if let Some(id) = &call.id {
            head.insert("id".into(), json!(id));
            head.insert("type".into(), json!("function"));
        }
        if let Some(extra) = self.call_extra(index) {
            head.insert("extra_content".into(), extra);
        }
        head
    }

    fn call_chunks(&self, index: usize, call: &Call, out: &mut Vec<Value>) {
        let place = |mut object: Map<String, Value>| {
            if !self.has_quirk(ServerQuirk::NoIndex) {
                object.insert("index".into(), json!(index));
            }
            self.chunk(json!({"tool_calls": [object]}), Value::Null)
        };
        let mut head = self.call_head(index, call);
        match &call.arguments {
            Value::String(text) => {
                head.insert("function".into(), json!({"name": call.name, "arguments": ""}));
                out.push(place(head));
                for piece in pieces_of(text) {
                    let mut more = Map::new();
                    more.insert("function".into(), json!({"arguments": piece}));
                    out.push(place(more));
                }
            }
            object => {
                head.insert("function".into(), json!({"name": call.name, "arguments": object}));
                out.push(place(head));
            }
        }
    }

    fn chunks(&self, calls: &[Call]) -> Vec<Vec<u8>> {
        let mut events = vec![self.chunk(json!({"role": "assistant", "content": self.content(String::new())}), Value::Null)];
        events.extend(self.thinking_deltas().into_iter().map(|delta| self.chunk(delta, Value::Null)));
        for piece in pieces_of(&self.text()) {
            events.push(self.chunk(json!({"content": self.content(piece)}), Value::Null));
        }
        for piece in self.reply.refusal.iter().flat_map(|refusal| pieces_of(refusal)) {
            events.push(self.chunk(json!({"refusal": piece}), Value::Null));
        }
        for (index, call) in calls.iter().enumerate() {
            self.call_chunks(index, call, &mut events);
        }
        let failure = self.failure();
        let failed = failure.is_some();
        events.push(failure.unwrap_or_else(|| self.chunk(json!({}), self.finish())));
        // Mistral always reports usage, and refuses `stream_options`.
        let asked = self.request.body.pointer("/stream_options/include_usage").and_then(Value::as_bool).unwrap_or(false);
        let wanted = (asked || self.provider == Provider::Mistral) && !failed;
        if let (true, Some(usage)) = (wanted, self.chat_usage()) {
            let mut event = self.envelope("chat.completion.chunk");
            event.insert("choices".into(), json!([]));
            event.insert("usage".into(), usage);
            events.push(Value::Object(event));
        }
        let mut pieces: Vec<Vec<u8>> = events.iter().map(|event| format!("data: {event}\n\n").into_bytes()).collect();
        if !self.has_quirk(ServerQuirk::NoDone) && !failed {
            pieces.push(b"data: [DONE]\n\n".to_vec());
        }
        pieces
    }
}
