//! The bytes of a reply: one JSON document, or the events of a stream.

use serde_json::{Map, Value, json};

use crate::reply::{Odd, Reply, ScriptedCall};
use crate::script::turns;

/// What goes over the wire: the content type and the pieces of the body.
pub(crate) struct Rendered {
    pub(crate) content_type: &'static str,
    pub(crate) pieces: Vec<Vec<u8>>,
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const PIECE_CHARS: usize = 12;

pub(crate) fn render(reply: &Reply, request: &Value, stream: bool, number: usize) -> Rendered {
    let stream = stream && !reply.is_odd(Odd::IgnoreStream);
    let rendered = if let Some(raw) = &reply.raw {
        Rendered { content_type: if stream { EVENTS } else { JSON }, pieces: vec![raw.clone()] }
    } else if reply.body.is_some() || reply.status.is_some_and(|status| status != 200) {
        match &reply.body {
            Some(Value::String(text)) => Rendered { content_type: "text/plain", pieces: vec![text.clone().into_bytes()] },
            Some(body) => Rendered { content_type: JSON, pieces: vec![body.to_string().into_bytes()] },
            None => Rendered { content_type: JSON, pieces: Vec::new() },
        }
    } else {
        let answer = Answer { reply, turn: turns(request), model: request.get("model").cloned().unwrap_or(Value::Null), number };
        if stream {
            let usage = request.pointer("/stream_options/include_usage").and_then(Value::as_bool).unwrap_or(false);
            Rendered { content_type: EVENTS, pieces: answer.events(usage) }
        } else {
            Rendered { content_type: JSON, pieces: vec![answer.document().to_string().into_bytes()] }
        }
    };
    match reply.piece_bytes {
        Some(size) if size > 0 => {
            let whole: Vec<u8> = rendered.pieces.concat();
            Rendered { pieces: whole.chunks(size).map(<[u8]>::to_vec).collect(), ..rendered }
        }
        _ => rendered,
    }
}

struct Answer<'a> {
    reply: &'a Reply,
    turn: usize,
    model: Value,
    number: usize,
}

impl Answer<'_> {
    fn text(&self) -> String {
        let text = self.reply.text.clone().unwrap_or_default();
        match &self.reply.json {
            Some(value) => text + &value.to_string(),
            None => text,
        }
    }

    fn finish(&self) -> Value {
        if self.reply.is_odd(Odd::NoFinish) {
            return Value::Null;
        }
        let usual = if self.reply.tool_calls.is_empty() { "stop" } else { "tool_calls" };
        json!(self.reply.finish.as_deref().unwrap_or(usual))
    }

    fn usage(&self) -> Option<Value> {
        if self.reply.is_odd(Odd::NoUsage) {
            return None;
        }
        let (input, cached, output) = self.reply.usage.map_or((100, 0, 20), |usage| (usage.input, usage.cached, usage.output));
        Some(json!({
            "prompt_tokens": input, "completion_tokens": output, "total_tokens": input.saturating_add(output),
            "prompt_tokens_details": {"cached_tokens": cached},
        }))
    }

    fn call_id(&self, index: usize, call: &ScriptedCall) -> Option<String> {
        if self.reply.is_odd(Odd::NoIds) {
            return None;
        }
        Some(call.id.clone().unwrap_or_else(|| format!("call_{}_{index}", self.turn)))
    }

    fn arguments(&self, call: &ScriptedCall) -> Value {
        match &call.arguments {
            Value::String(text) => json!(text),
            value if self.reply.is_odd(Odd::ObjectArguments) => value.clone(),
            value => json!(value.to_string()),
        }
    }

    fn content(&self, text: String) -> Value {
        if text.is_empty() && (self.reply.is_odd(Odd::NullContent) || !self.reply.tool_calls.is_empty()) {
            Value::Null
        } else if self.reply.is_odd(Odd::ContentParts) {
            json!([{"type": "text", "text": text}])
        } else {
            json!(text)
        }
    }

    fn envelope(&self, object: &str) -> Map<String, Value> {
        let mut envelope = Map::new();
        if !self.reply.is_odd(Odd::NoIds) {
            envelope.insert("id".into(), json!(format!("chatcmpl-{}", self.number)));
            envelope.insert("object".into(), json!(object));
            envelope.insert("created".into(), json!(1_700_000_000));
            envelope.insert("model".into(), self.model.clone());
        }
        self.decorate(&mut envelope);
        envelope
    }

    fn decorate(&self, object: &mut Map<String, Value>) {
        if self.reply.is_odd(Odd::ExtraFields) {
            object.insert("x_extra".into(), json!({"unknown": [1, null, "two"]}));
        }
    }

    fn document(&self) -> Value {
        let mut message = Map::new();
        message.insert("role".into(), json!("assistant"));
        message.insert("content".into(), self.content(self.text()));
        if let Some(reasoning) = &self.reply.reasoning {
            message.insert("reasoning_content".into(), json!(reasoning));
        }
        if !self.reply.tool_calls.is_empty() {
            let calls = self.reply.tool_calls.iter().enumerate().map(|(index, call)| {
                let mut object = Map::new();
                if let Some(id) = self.call_id(index, call) {
                    object.insert("id".into(), json!(id));
                    object.insert("type".into(), json!("function"));
                }
                object.insert("function".into(), json!({"name": call.name, "arguments": self.arguments(call)}));
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
        if let Some(usage) = self.usage() {
            document.insert("usage".into(), usage);
        }
        Value::Object(document)
    }

    fn event(&self, delta: Value, finish: Value) -> Value {
        let mut choice = Map::new();
        choice.insert("index".into(), json!(0));
        choice.insert("delta".into(), delta);
        choice.insert("finish_reason".into(), finish);
        self.decorate(&mut choice);
        let mut event = self.envelope("chat.completion.chunk");
        event.insert("choices".into(), json!([choice]));
        Value::Object(event)
    }

    fn call_events(&self, index: usize, call: &ScriptedCall, out: &mut Vec<Value>) {
        let place = |mut object: Map<String, Value>| {
            if !self.reply.is_odd(Odd::NoIndex) {
                object.insert("index".into(), json!(index));
            }
            self.event(json!({"tool_calls": [object]}), Value::Null)
        };
        let mut head = Map::new();
        if let Some(id) = self.call_id(index, call) {
            head.insert("id".into(), json!(id));
            head.insert("type".into(), json!("function"));
        }
        match self.arguments(call) {
            Value::String(text) => {
                head.insert("function".into(), json!({"name": call.name, "arguments": ""}));
                out.push(place(head));
                for piece in pieces(&text) {
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

    fn events(&self, usage_wanted: bool) -> Vec<Vec<u8>> {
        let mut events = vec![self.event(json!({"role": "assistant", "content": self.content(String::new())}), Value::Null)];
        for piece in self.reply.reasoning.iter().flat_map(|text| pieces(text)) {
            events.push(self.event(json!({"reasoning_content": piece}), Value::Null));
        }
        for piece in pieces(&self.text()) {
            events.push(self.event(json!({"content": self.content(piece)}), Value::Null));
        }
        for (index, call) in self.reply.tool_calls.iter().enumerate() {
            self.call_events(index, call, &mut events);
        }
        events.push(self.event(json!({}), self.finish()));
        if let (true, Some(usage)) = (usage_wanted, self.usage()) {
            let mut event = self.envelope("chat.completion.chunk");
            event.insert("choices".into(), json!([]));
            event.insert("usage".into(), usage);
            events.push(Value::Object(event));
        }
        let mut pieces: Vec<Vec<u8>> = events.iter().map(|event| format!("data: {event}\n\n").into_bytes()).collect();
        if !self.reply.is_odd(Odd::NoDone) {
            pieces.push(b"data: [DONE]\n\n".to_vec());
        }
        pieces
    }
}

fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(PIECE_CHARS).map(|piece| piece.iter().collect()).collect()
}
