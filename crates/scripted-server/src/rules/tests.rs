//! Tables of requests with their expected refusals.

mod anthropic;
mod anthropic_thinking;
mod chat;
mod gemini;
mod images;
mod openai_chat;
mod openai_responses;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{RuleContext, refusal};
use crate::memory::Memory;
use crate::provider::Provider;
use crate::render::render;
use crate::reply::Reply;
use crate::view::{Protocol, View, item_type};

/// A service with its memory of sent state.
struct Service {
    provider: Provider,
    protocol: Protocol,
    memory: Memory,
    path: &'static str,
    headers: BTreeMap<String, String>,
}

impl Service {
    fn new(provider: Provider, protocol: Protocol) -> Self {
        let headers = [("x-api-key", "k"), ("anthropic-version", "2023-06-01"), ("x-goog-api-key", "k")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Self { provider, protocol, memory: Memory::default(), path: "/v1beta/models/gemini-3.1-pro-preview:generateContent", headers }
    }

    fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    fn without_header(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    fn at(mut self, path: &'static str) -> Self {
        self.path = path;
        self
    }

    /// Answers a request, and returns the message or the items of the answer.
    fn answer(&mut self, number: usize, reply: &Reply, request: &Value) -> Value {
        let (rendered, sent) = render(reply, self.view(request), self.provider, false, number, &self.memory);
        self.memory.keep(sent);
        let document: Value = serde_json::from_slice(&rendered.pieces.concat()).unwrap();
        match self.protocol {
            Protocol::Chat => document["choices"][0]["message"].clone(),
            Protocol::Responses => document["output"].clone(),
            Protocol::Messages => json!({"role": "assistant", "content": document["content"]}),
            Protocol::Gemini => document["candidates"][0]["content"].clone(),
        }
    }

    fn view<'a>(&self, request: &'a Value) -> View<'a> {
        View { protocol: self.protocol, path: self.path, query: "", body: request }
    }

    /// Returns the status and the body of the refusal; 200 and null if there is none.
    fn refusal(&self, request: &Value) -> (u16, Value) {
        let asked = RuleContext { request: self.view(request), headers: &self.headers, memory: &self.memory };
        refusal(self.provider, &asked).map_or((200, Value::Null), |refusal| (refusal.status, refusal.body))
    }

    /// Checks that the refusal has this text, or that there is none for an empty text.
    fn check(&self, name: &str, request: &Value, expected: &str) {
        let (status, body) = self.refusal(request);
        let body = body.to_string().replace("\\\"", "\"");
        if expected.is_empty() {
            assert_eq!(status, 200, "{name}: {body}");
        } else {
            assert!(status >= 400 && body.contains(expected), "{name}: {status} {body}\nwanted {expected}");
        }
    }
}

/// Returns `value` with the member at `pointer` set, or removed for null.
fn with(mut value: Value, pointer: &str, member: Value) -> Value {
    let (outer, key) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(outer).unwrap() {
        Value::Object(object) if member.is_null() => drop(object.remove(key)),
        Value::Object(object) => drop(object.insert(key.to_owned(), member)),
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = member,
        other => panic!("{pointer} is in no object or list but in {other}"),
    }
    value
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// Returns a request with an entry added at the end of `messages` or `contents`.
fn then(mut request: Value, entry: Value) -> Value {
    let key = if request.get("contents").is_some() { "contents" } else { "messages" };
    request[key].as_array_mut().unwrap().push(entry);
    request
}

/// Returns the results of all calls of an assistant message, or of all items that are calls.
fn results(made: &Value) -> Vec<Value> {
    let chat = made["tool_calls"].as_array().into_iter().flatten();
    let chat = chat.map(|call| json!({"role": "tool", "tool_call_id": call["id"], "content": "ok"}));
    let items = made.as_array().into_iter().flatten().filter(|item| item_type(item) == "function_call");
    chat.chain(items.map(|item| json!({"type": "function_call_output", "call_id": item["call_id"], "output": "ok"}))).collect()
}
