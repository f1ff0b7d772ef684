//! OpenAI's Responses API.

use serde_json::{Value, json};

use super::{Service, results, user, with};
use crate::provider::Provider;
use crate::reply::Reply;
use crate::view::Protocol;

const ENCRYPTED: &str = "reasoning.encrypted_content";

fn asking(model: &str) -> Value {
    json!({"model": model, "input": [user("go")], "store": false, "include": [ENCRYPTED]})
}

fn tool(parameters: Value, strict: Value) -> Value {
    json!([{"type": "function", "name": "draft", "parameters": parameters, "strict": strict}])
}

/// Returns a service that reasoned and made two calls, and the request with those items and their results:
/// user, reasoning, call, call, result, result.
fn after_calls() -> (Service, Value) {
    let mut service = Service::new(Provider::OpenAi, Protocol::Responses);
    let mut request = asking("gpt-5.6-terra");
    let reply = Reply::tool_calls([("bash", json!({"command": "ls"})), ("bash", json!({}))]).with_reasoning("I list the files first.");
    let items = service.answer(7, &reply, &request);
    let input = request["input"].as_array_mut().unwrap();
    input.extend(items.as_array().unwrap().clone());
    input.extend(results(&items));
    (service, request)
}

fn without(mut request: Value, place: usize) -> Value {
    request["input"].as_array_mut().unwrap().remove(place);
    request
}

fn with_item(mut request: Value, item: Value) -> Value {
    request["input"].as_array_mut().unwrap().push(item);
    request
}

#[test]
fn parameters() {
    let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let half = with(closed.clone(), "/required", json!([]));
    let request = asking("gpt-5.6-terra");
    let set = |key: &str, value: Value| with(asking("gpt-5.6-terra"), &format!("/{key}"), value);
    let cases = [
        ("whole", request.clone(), ""),
        ("seed", set("seed", json!(1)), "Unknown parameter: 'seed'."),
        ("max_tokens", set("max_tokens", json!(99)), "Unknown parameter: 'max_tokens'."),
        ("response_format", set("response_format", json!({})), "Unknown parameter: 'response_format'."),
        ("include_usage", set("stream_options", json!({"include_usage": true})), "Unknown parameter: 'stream_options.include_usage'."),
        (
            "messages",
            set("messages", json!([])),
            "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'.",
        ),
        ("no input", set("input", Value::Null), "Missing required parameter: 'input'."),
        ("empty input", set("input", json!([])), "must be provided."),
        ("a text as input", set("input", json!("go")), ""),
        ("temperature", set("temperature", json!(0)), "Unsupported parameter: 'temperature' is not supported with this model."),
        ("temperature 1", set("temperature", json!(1.0)), ""),
        ("top_p", set("top_p", json!(0.9)), "Unsupported parameter: 'top_p' is not supported with this model."),
        ("effort", set("reasoning", json!({"effort": "high", "summary": "auto"})), ""),
        (
            "minimal effort",
            set("reasoning", json!({"effort": "minimal"})),
            "Unsupported value: 'minimal' is not supported with the 'gpt-5.6-terra' model.",
        ),
        ("unknown effort", set("reasoning", json!({"effort": "huge"})), "Invalid value: 'huge'. Supported values are: 'none',"),
        ("few tokens", set("max_output_tokens", json!(15)), "Expected a value >= 16, but got 15 instead."),
        ("a response before", set("previous_response_id", json!("resp_1")), "Previous response with id 'resp_1' not found."),
        ("encrypted content of others", asking("gpt-4.1"), "Encrypted content is not supported with this model."),
        ("encrypted content of an unnamed model", asking("scripted"), ""),
        ("a tool", set("tools", tool(open.clone(), json!(false))), ""),
        ("a tool without strict", set("tools", tool(open.clone(), Value::Null)), "Missing required parameter: 'tools[0].strict'."),
        (
            "a tool of a chat",
            set("tools", json!([{"type": "function", "function": {"name": "draft"}}])),
            "Missing required parameter: 'tools[0].name'.",
        ),
        ("a schema with oneOf", set("tools", tool(json!({"type": "object", "oneOf": []}), json!(false))), "schema must have type 'object'"),
        ("a strict tool", set("tools", tool(closed, json!(true))), ""),
        (
            "a strict tool that is open",
            set("tools", tool(open, json!(true))),
            "'additionalProperties' is required to be supplied and to be false.",
        ),
        ("a strict tool that requires little", set("tools", tool(half, json!(true))), "Missing 'a'."),
        (
            "a chosen tool of a chat",
            set("tool_choice", json!({"type": "function", "function": {"name": "draft"}})),
            "Missing required parameter: 'tool_choice.name'.",
        ),
        (
            "a schema without a name",
            set("text", json!({"format": {"type": "json_schema", "schema": {}}})),
            "Missing required parameter: 'text.format.name'.",
        ),
    ];
    let service = Service::new(Provider::OpenAi, Protocol::Responses);
    for (name, request, expected) in cases {
        service.check(name, &request, expected);
    }
    let (_, body) = service.refusal(&set("tools", tool(json!({"type": "array"}), json!(false))));
    assert_eq!((&body["error"]["param"], &body["error"]["code"]), (&json!("tools[0].parameters"), &json!("invalid_function_parameters")));
}

#[test]
fn forms_of_items() {
    let with = |item: Value| with_item(asking("gpt-5.6-terra"), item);
    let cases = [
        (
            "a tool message",
            with(json!({"role": "tool", "content": "ok"})),
            "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        ),
        (
            "calls of a chat",
            with(json!({"role": "assistant", "content": "x", "tool_calls": []})),
            "Unknown parameter: 'input[1].tool_calls'.",
        ),
        (
            "reasoning of a chat",
            with(json!({"role": "assistant", "content": "x", "reasoning_content": "y"})),
            "Unknown parameter: 'input[1].reasoning_content'.",
        ),
        (
            "parts of a chat",
            with(json!({"role": "user", "content": [{"type": "text", "text": "x"}]})),
            "Invalid value: 'text'. Supported values are: 'input_text',",
        ),
        ("parts of the user", with(json!({"role": "user", "content": [{"type": "input_text", "text": "x"}]})), ""),
        (
            "parts of another role",
            with(json!({"role": "assistant", "content": [{"type": "input_text", "text": "x"}]})),
            "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        ),
        ("a phase", with(json!({"role": "assistant", "content": "x", "phase": "commentary"})), ""),
        (
            "a phase of the user",
            with(json!({"role": "user", "content": "x", "phase": "commentary"})),
            "Unknown parameter: 'input[1].phase'.",
        ),
        (
            "an id of another kind",
            with(json!({"type": "function_call", "id": "call_1", "call_id": "call_1", "name": "a", "arguments": "{}"})),
            "Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'.",
        ),
        (
            "a long id",
            with(json!({"type": "function_call_output", "call_id": "a".repeat(65), "output": "x"})),
            "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string with length 65 instead.",
        ),
        (
            "an output without its call",
            with(json!({"type": "function_call_output", "call_id": "call_x", "output": "x"})),
            "No tool call found for function call output with call_id call_x.",
        ),
        (
            "a call without its output",
            with(json!({"type": "function_call", "call_id": "call_x", "name": "a", "arguments": "{}"})),
            "No tool output found for function call call_x.",
        ),
        ("an unknown type", with(json!({"type": "thought"})), "Invalid value: 'thought'."),
    ];
    let service = Service::new(Provider::OpenAi, Protocol::Responses);
    for (name, request, expected) in cases {
        service.check(name, &request, expected);
    }
}

#[test]
fn items_come_back_as_they_were_sent() {
    let (service, request) = after_calls();
    let kinds: Vec<&str> = request["input"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap_or("user")).collect();
    assert_eq!(kinds, ["user", "reasoning", "function_call", "function_call", "function_call_output", "function_call_output"]);
    let no_following = "Item 'rs_7' of type 'reasoning' was provided without its required following item.";
    let no_reasoning = "Item 'fc_7_0' of type 'function_call' was provided without its required 'reasoning' item: 'rs_7'.";
    let not_found = "Item with id 'rs_7' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, \
                     or remove this item from your input.";
    let cut = |keep: usize| {
        let mut request = request.clone();
        request["input"].as_array_mut().unwrap().truncate(keep);
        request
    };
    let set = |pointer: &str, value: Value| with(request.clone(), &format!("/input/{pointer}"), value);
    let plain = ["1/id", "2/id", "3/id"].iter().fold(request.clone(), |request, id| with(request, &format!("/input/{id}"), Value::Null));
    let renamed = ["2", "3"].iter().enumerate().fold(request.clone(), |request, (index, place)| {
        let id = json!(format!("mine_{index}"));
        with(with(request, &format!("/input/{place}/call_id"), id.clone()), &format!("/input/{}/call_id", index + 4), id)
    });
    let cases = [
        ("as they were sent", request.clone(), ""),
        ("with other ids of the calls", renamed, ""),
        ("without ids", plain.clone(), ""),
        ("without ids and reasoning", without(plain, 1), ""),
        ("with a status", set("1/status", json!("completed")), "Unknown parameter: 'input[1].status'."),
        ("without a summary", set("1/summary", Value::Null), "Missing required parameter: 'input[1].summary'."),
        ("without encrypted content", set("1/encrypted_content", Value::Null), not_found),
        (
            "with changed encrypted content",
            set("1/encrypted_content", json!("gAAAxyz")),
            "The encrypted content gAAA...Axyz could not be verified.",
        ),
        ("with the id of another", set("1/id", json!("rs_8")), "could not be verified."),
        ("without reasoning", without(request.clone(), 1), no_reasoning),
        ("with reasoning at the end", cut(2), no_following),
        ("without the following item", without(without(request.clone(), 2), 3), no_following),
        ("without the id of the following item", set("2/id", Value::Null), ""),
        ("twice", with_item(request.clone(), request["input"][2].clone()), "Duplicate item found with id fc_7_0."),
    ];
    for (name, request, expected) in cases {
        service.check(name, &request, expected);
    }
    assert_eq!(service.refusal(&set("1/encrypted_content", Value::Null)).0, 404);
    let (_, body) = service.refusal(&set("1/encrypted_content", json!("gAAAxyz")));
    assert_eq!(body["error"]["code"], "invalid_encrypted_content");
}

#[test]
fn messages_come_back_with_their_reasoning() {
    let mut service = Service::new(Provider::OpenAi, Protocol::Responses);
    let mut request = asking("gpt-5.6-terra");
    let items = service.answer(3, &Reply::text("Done.").with_reasoning("Easy."), &request);
    let input = request["input"].as_array_mut().unwrap();
    input.extend(items.as_array().unwrap().clone());
    input.push(user("more"));
    service.check("as they were sent", &request, "");
    let required = "Item 'msg_3' of type 'message' was provided without its required 'reasoning' item: 'rs_3'.";
    service.check("without reasoning", &without(request.clone(), 1), required);
    service.check("without the id of the message", &with(request, "/input/2/id", Value::Null), "without its required following item.");
}

#[test]
fn stored_items_need_no_content() {
    let mut service = Service::new(Provider::OpenAi, Protocol::Responses);
    let mut request = with(with(asking("gpt-5.6-terra"), "/store", json!(true)), "/include", Value::Null);
    let items = service.answer(3, &Reply::text("Done.").with_reasoning("Easy."), &request);
    assert!(items[0].get("encrypted_content").is_none(), "{items}");
    request["input"].as_array_mut().unwrap().extend(items.as_array().unwrap().clone());
    service.check("stored", &request, "");
    service.check("no longer stored", &with(request, "/input/1/id", json!("rs_4")), "Item with id 'rs_4' not found.");
}
