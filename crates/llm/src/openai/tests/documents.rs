//! Whole answers, in every form that a server was seen to send.

use aime_scripted_server::Reply;
use serde_json::{Value, json};

use super::{ask, client, line, serve};
use crate::ChatModel;

/// A usual answer with something changed.
fn with(pointer: &str, value: Value) -> String {
    let mut answer = json!({
        "id": "x", "object": "chat.completion", "created": 1, "model": "srv",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    });
    if pointer.is_empty() {
        return answer.to_string();
    }
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    answer.pointer_mut(parent).unwrap()[key] = value;
    answer.to_string()
}

fn without(pointer: &str) -> String {
    let mut answer: Value = serde_json::from_str(&with("", Value::Null)).unwrap();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    answer.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key).unwrap();
    answer.to_string()
}

fn with_message(message: Value, finish: &str) -> String {
    json!({"model": "srv", "choices": [{"message": message, "finish_reason": finish}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
        .to_string()
}

fn with_calls(calls: Value) -> String {
    with_message(json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
}

const HI: &str = r#""hi" stop 3+0/2 by srv"#;

fn table() -> Vec<(&'static str, String, &'static str)> {
    vec![
        ("as OpenAI says", with("", Value::Null), HI),
        ("no id", without("/id"), HI),
        ("no object", without("/object"), HI),
        ("no created", without("/created"), HI),
        ("created with a fraction", with("/created", json!(1.5)), HI),
        ("created in milliseconds", with("/created", json!(1_763_000_000_000_u64)), HI),
        ("no model", without("/model"), r#""hi" stop 3+0/2 by m"#),
        ("no index", without("/choices/0/index"), HI),
        ("no role", without("/choices/0/message/role"), HI),
        ("role model", with("/choices/0/message/role", json!("model")), HI),
        ("extra fields", with("/choices/0/message/annotations", json!([])), HI),
        ("logprobs an empty object", with("/choices/0/logprobs", json!({})), HI),
        ("another service tier", with("/service_tier", json!("on_demand")), HI),
        ("error null", with("/error", Value::Null), HI),
        ("white space before", format!("\n\n  {}", with("", Value::Null)), HI),
        ("a byte order mark", format!("\u{feff}{}", with("", Value::Null)), HI),
        ("pretty printed", serde_json::to_string_pretty(&serde_json::from_str::<Value>(&with("", Value::Null)).unwrap()).unwrap(), HI),
        ("choices an object", with("/choices", json!({"message": {"content": "hi"}, "finish_reason": "stop"})), HI),
        ("content null", with("/choices/0/message/content", Value::Null), r#""" stop 3+0/2 by srv"#),
        ("no content", without("/choices/0/message/content"), r#""" stop 3+0/2 by srv"#),
        ("content parts", with("/choices/0/message/content", json!([{"type": "text", "text": "h"}, {"type": "text", "text": "i"}])), HI),
        (
            "thinking parts",
            with("/choices/0/message/content", json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "hi"}])),
            r#""hi" thinks "hm" stop 3+0/2 by srv"#,
        ),
        ("reasoning_content", with("/choices/0/message/reasoning_content", json!("hm")), r#""hi" thinks "hm" stop 3+0/2 by srv"#),
        ("reasoning twice", with_message(json!({"content": "hi", "reasoning": "hm", "reasoning_content": "hm"}), "stop"), r#""hi" thinks "hm" stop 3+0/2 by srv"#),
        ("reasoning null", with("/choices/0/message/reasoning", Value::Null), HI),
        ("text instead of a message", with("/choices", json!([{"text": "hi", "finish_reason": "stop"}])), HI),
        ("finish eos", with("/choices/0/finish_reason", json!("eos")), HI),
        ("finish STOP", with("/choices/0/finish_reason", json!("STOP")), HI),
        ("finish null", with("/choices/0/finish_reason", Value::Null), r#""hi" other "" 3+0/2 by srv"#),
        ("finish unknown", with("/choices/0/finish_reason", json!("bored")), r#""hi" other "bored" 3+0/2 by srv"#),
        ("finish length", with("/choices/0/finish_reason", json!("length")), r#""hi" length 3+0/2 by srv"#),
        ("a refusal", with_message(json!({"content": null, "refusal": "I will not"}), "stop"), r#""I will not" contentfilter 3+0/2 by srv"#),
        ("no usage", without("/usage"), r#""hi" stop estimated by srv"#),
        ("usage null", with("/usage", Value::Null), r#""hi" stop estimated by srv"#),
        ("usage all zero", with("/usage", json!({"prompt_tokens": 0, "completion_tokens": 0})), r#""hi" stop estimated by srv"#),
        ("usage without the answer's", with("/usage", json!({"prompt_tokens": 3, "total_tokens": 5})), HI),
        ("usage in floats", with("/usage", json!({"prompt_tokens": 3.0, "completion_tokens": 2.0})), HI),
        ("usage in texts", with("/usage", json!({"prompt_tokens": "3", "completion_tokens": "2"})), HI),
        ("usage negative", with("/usage", json!({"prompt_tokens": -1, "completion_tokens": 2})), r#""hi" stop 0+0/2 by srv"#),
        ("usage in other words", with("/usage", json!({"input_tokens": 3, "output_tokens": 2})), HI),
        ("cached tokens", with("/usage/prompt_tokens_details", json!({"cached_tokens": 1})), r#""hi" stop 2+1/2 by srv"#),
        ("cached tokens of DeepSeek", with("/usage/prompt_cache_hit_tokens", json!(1)), r#""hi" stop 2+1/2 by srv"#),
        ("cached details null", with("/usage/prompt_tokens_details", Value::Null), HI),
        ("tool calls null", with("/choices/0/message/tool_calls", Value::Null), HI),
        ("tool calls empty", with("/choices/0/message/tool_calls", json!([])), HI),
        (
            "a call as OpenAI says",
            with_calls(json!([{"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}])),
            r#""" a=ls({}) toolcalls 3+0/2 by srv"#,
        ),
        (
            "calls without ids",
            with_calls(json!([{"function": {"name": "ls", "arguments": "{}"}}, {"function": {"name": "ls", "arguments": "{\"a\":1}"}}])),
            r#""" call_0=ls({}) call_1=ls({"a":1}) toolcalls 3+0/2 by srv"#,
        ),
        (
            "calls with the same id",
            with_calls(json!([
                {"id": "a", "function": {"name": "ls", "arguments": "{}"}}, {"id": "a", "function": {"name": "cat", "arguments": "{}"}}])),
            r#""" a=ls({}) call_0=cat({}) toolcalls 3+0/2 by srv"#,
        ),
        (
            "an id that is a number, empty, null",
            with_calls(json!([
                {"id": 7, "function": {"name": "a", "arguments": "{}"}}, {"id": "", "function": {"name": "b", "arguments": "{}"}},
                {"id": null, "function": {"name": "c", "arguments": "{}"}}])),
            r#""" 7=a({}) call_0=b({}) call_1=c({}) toolcalls 3+0/2 by srv"#,
        ),
        (
            "arguments an object",
            with_calls(json!([{"id": "a", "function": {"name": "ls", "arguments": {"path": "."}}}])),
            r#""" a=ls({"path":"."}) toolcalls 3+0/2 by srv"#,
        ),
        ("arguments null", with_calls(json!([{"id": "a", "function": {"name": "ls", "arguments": null}}])), r#""" a=ls() toolcalls 3+0/2 by srv"#),
        ("no arguments", with_calls(json!([{"id": "a", "function": {"name": "ls"}}])), r#""" a=ls() toolcalls 3+0/2 by srv"#),
        ("a call without a function", with_calls(json!([{"id": "a", "name": "ls", "arguments": "{}"}])), r#""" a=ls({}) toolcalls 3+0/2 by srv"#),
        ("one call, no list", with_calls(json!({"id": "a", "function": {"name": "ls", "arguments": "{}"}})), r#""" a=ls({}) toolcalls 3+0/2 by srv"#),
        ("a call without a name", with_calls(json!([{"id": "a", "function": {"arguments": "{}"}}])), r#""" stop 3+0/2 by srv"#),
        (
            "the old function call",
            with_message(json!({"content": null, "function_call": {"name": "ls", "arguments": "{}"}}), "function_call"),
            r#""" call_0=ls({}) toolcalls 3+0/2 by srv"#,
        ),
        (
            "finish stop with calls",
            with_message(json!({"content": "", "tool_calls": [{"id": "a", "function": {"name": "ls", "arguments": "{}"}}]}), "stop"),
            r#""" a=ls({}) toolcalls 3+0/2 by srv"#,
        ),
        (
            "finish length with calls",
            with_message(json!({"content": "", "tool_calls": [{"id": "a", "function": {"name": "ls", "arguments": "{\"pa"}}]}), "length"),
            r#""" a=ls({"pa) length 3+0/2 by srv"#,
        ),
        ("Ollama's own form", json!({"model": "srv", "message": {"role": "assistant", "content": "hi"}, "done": true, "usage": {"prompt_tokens": 3, "completion_tokens": 2}}).to_string(), r#""hi" other "" 3+0/2 by srv"#),
        ("a stream although a document was asked for", format!("data: {}\n\ndata: [DONE]\n\n", with("", Value::Null)), HI),
        // What cannot be read is said.
        ("no choices", r#"{"model":"srv","choices":[]}"#.to_owned(), "error: cannot read the answer of m: the answer holds no choices"),
        ("choices null", r#"{"choices":null}"#.to_owned(), "error: cannot read the answer of m: the answer holds no choices"),
        ("an empty body", String::new(), "error: cannot read the answer of m: the body is empty"),
        ("an error in a good answer", r#"{"error":{"message":"no GPU left","code":503}}"#.to_owned(), "error: the server of m failed (503): no GPU left"),
        ("finish error", with("/choices/0/finish_reason", json!("error")), "error: the answer of m was cut off"),
    ]
}

#[tokio::test]
async fn every_form_is_read() {
    let table = table();
    for streaming in [false, true] {
        let server = serve(table.iter().map(|(_, body, _)| Reply::raw(body.as_str()))).await;
        let model = client(&server, |settings| {
            settings.streaming = streaming;
            settings.retry.max_retries = 0;
        });
        for (name, _, expected) in &table {
            // A server that answers a request for a stream with a document is read like any other.
            assert_eq!(line(&model.complete(ask("hello")).await), *expected, "{name}, streaming: {streaming}");
        }
        assert_eq!(server.requests().len(), table.len());
    }
}

#[tokio::test]
async fn what_is_no_answer_is_named() {
    let cases = [
        ("<!doctype html><title>Hello</title>", "web page"),
        ("Bad Gateway", "neither JSON nor a stream: \"Bad Gateway\""),
        ("{\"choices\": [", "the body is no JSON"),
    ];
    for streaming in [false, true] {
        let server = serve(cases.iter().map(|(body, _)| Reply::raw(*body))).await;
        let model = client(&server, |settings| {
            settings.streaming = streaming;
            settings.retry.max_retries = 0;
        });
        for (body, words) in cases {
            let said = line(&model.complete(ask("hello")).await);
            assert!(said.contains(words), "{body}: {said}");
        }
    }
}
