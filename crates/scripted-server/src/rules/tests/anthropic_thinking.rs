//! Anthropic's Messages: thinking that the client sends back.

use serde_json::{Value, json};

use super::{Service, then, user, with};
use crate::provider::Provider;
use crate::reply::{Reply, ServerQuirk};
use crate::view::Protocol;

const MODIFIED: &str = "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.";
const INVALID: &str = "messages.1.content.0: Invalid `signature` in `thinking` block";

fn asking(model: &str, thinking: &str) -> Value {
    let thinking = if thinking == "enabled" { json!({"type": "enabled", "budget_tokens": 1024}) } else { json!({"type": thinking}) };
    json!({"model": model, "max_tokens": 2000, "messages": [user("go")], "thinking": thinking})
}

fn answer(message: &Value) -> Value {
    let calls = message["content"].as_array().unwrap().iter().filter(|block| block["type"] == "tool_use");
    let results: Value = calls.map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "ok"})).collect();
    json!({"role": "user", "content": results})
}

/// Returns a service that thought and made a call, and the request with the result: user, assistant, user.
fn after_a_call(model: &str, thinking: &str, reply: Reply) -> (Service, Value) {
    let mut service = Service::new(Provider::Anthropic, Protocol::Messages);
    let request = asking(model, thinking);
    let message = service.answer(7, &reply, &request);
    let result = answer(&message);
    (service, then(then(request, message), result))
}

fn calling() -> Reply {
    Reply::call("bash", json!({"command": "ls"})).with_reasoning("I list the files first.")
}

/// Removes the block at an index of the assistant message.
fn without(mut request: Value, place: usize) -> Value {
    request["messages"][1]["content"].as_array_mut().unwrap().remove(place);
    request
}

#[test]
fn blocks_come_back_as_they_were_sent() {
    let missing = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.";
    for (model, thinking, gone) in [("claude-sonnet-4-5", "enabled", missing), ("claude-sonnet-4-6", "adaptive", MODIFIED)] {
        let (service, request) = after_a_call(model, thinking, calling().with_text("First the files."));
        let block = "/messages/1/content/0";
        let moved = {
            let mut request = request.clone();
            request["messages"][1]["content"].as_array_mut().unwrap().swap(0, 1);
            request
        };
        let gone = if gone == missing { missing.replace("tool_use", "text") } else { gone.to_owned() };
        let later = then(then(request.clone(), json!({"role": "assistant", "content": "Done."})), user("more"));
        let of_another = with(request.clone(), "/model", json!("claude-opus-4-6"));
        let cases = [
            ("as they were sent", request.clone(), ""),
            ("another text", with(request.clone(), &format!("{block}/thinking"), json!("x")), MODIFIED),
            ("another signature", with(request.clone(), &format!("{block}/signature"), json!("x")), INVALID),
            ("no signature", with(request.clone(), &format!("{block}/signature"), Value::Null), "thinking.signature: Field required"),
            ("an empty signature", with(request.clone(), &format!("{block}/signature"), json!("")), INVALID),
            ("left out", without(request.clone(), 0), &gone),
            ("not first", moved, MODIFIED),
            ("left out in an earlier turn", without(later.clone(), 0), ""),
            ("another text in an earlier turn", with(later, &format!("{block}/thinking"), json!("x")), INVALID),
            ("left out without thinking", with(without(request.clone(), 0), "/thinking", json!({"type": "disabled"})), ""),
            (
                "another text without thinking",
                with(with(request.clone(), &format!("{block}/thinking"), json!("x")), "/thinking", Value::Null),
                MODIFIED,
            ),
            ("of another model", with(of_another, "/thinking", json!({"type": "adaptive"})), INVALID),
        ];
        for (name, request, expected) in cases {
            service.check(&format!("{name}, {thinking}"), &request, expected);
        }
    }
}

#[test]
fn hidden_and_redacted_blocks_come_back_too() {
    let (service, request) = after_a_call("claude-opus-4-7", "adaptive", calling().quirk(ServerQuirk::RedactedThinking));
    assert_eq!(request["messages"][1]["content"][0]["thinking"], "", "newer models hide the text");
    let data = "/messages/1/content/1/data";
    let cases = [
        ("as they were sent", request.clone(), ""),
        ("without the first", without(request.clone(), 0), MODIFIED),
        ("without the second", without(request.clone(), 1), MODIFIED),
        ("changed data", with(request.clone(), data, json!("x")), "messages.1.content.1: Invalid `data` in `redacted_thinking` block"),
        ("a made-up text", with(request, "/messages/1/content/0/thinking", json!("I list the files first.")), MODIFIED),
    ];
    for (name, request, expected) in cases {
        service.check(name, &request, expected);
    }
}

#[test]
fn turns_without_thinking_need_none() {
    let (service, request) = after_a_call("claude-sonnet-4-5", "enabled", Reply::call("bash", json!({})));
    service.check("sent without", &request, "");
    let foreign = with(request, "/messages/1/content/0/id", json!("elsewhere"));
    let foreign = with(foreign, "/messages/2/content/0/tool_use_id", json!("elsewhere"));
    service.check("of another service, with a budget", &foreign, "Expected `thinking` or `redacted_thinking`, but found `tool_use`.");
    service.check(
        "of another service, adaptive",
        &with(with(foreign, "/thinking", json!({"type": "adaptive"})), "/model", json!("claude-sonnet-4-6")),
        "",
    );
}

#[test]
fn ids_of_calls_may_change() {
    let (service, request) = after_a_call("claude-sonnet-4-6", "adaptive", calling());
    let renamed = with(request, "/messages/1/content/1/id", json!("call_1"));
    let renamed = with(renamed, "/messages/2/content/0/tool_use_id", json!("call_1"));
    service.check("renamed", &renamed, "");
    service.check("renamed, with another text", &with(renamed, "/messages/1/content/0/thinking", json!("x")), MODIFIED);
}

#[test]
fn the_newest_models_bind_thinking_to_the_prompt() {
    let bound = "Invalid `signature` in `thinking` block. The block is bound to a different conversation.";
    let system = |request: Value, text: &str| with(request, "/system", json!(text));
    for (model, expected) in [("claude-fable-5-1", bound), ("claude-opus-5-5", bound), ("claude-opus-4-7", "")] {
        let mut service = Service::new(Provider::Anthropic, Protocol::Messages);
        let first = system(asking(model, "adaptive"), "be brief");
        let message = service.answer(1, &calling(), &first);
        let result = answer(&message);
        let second = then(then(first, message), result);
        let second_message = service.answer(2, &calling(), &second);
        let result = answer(&second_message);
        let third = then(then(second.clone(), second_message), result);
        service.check("only longer", &third, "");
        service.check("another system text", &system(second.clone(), "be long"), expected);
        service.check("another message before", &with(third.clone(), "/messages/0/content", json!("stop")), expected);
        service.check("another result before", &with(third.clone(), "/messages/2/content/0/content", json!("no")), expected);
        let tool = json!([{"name": "bash", "input_schema": {"type": "object"}}]);
        service.check("another tool", &with(second.clone(), "/tools", tool), expected);
        let mut marked = third;
        marked["messages"][2]["content"][0]["cache_control"] = json!({"type": "ephemeral"});
        service.check("a mark more", &marked, "");
        let service = service.with_header("anthropic-beta", "thinking-binding-controls-2026-08-01");
        let drops = json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
        service.check("dropped on request", &with(system(second, "be long"), "/thinking", drops), "");
    }
}
