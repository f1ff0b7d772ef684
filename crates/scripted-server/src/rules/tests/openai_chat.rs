//! OpenAI's chat completions.

use serde_json::{Value, json};

use super::{Service, user, with};
use crate::provider::Provider;
use crate::view::Protocol;

fn asking(model: &str) -> Value {
    json!({"model": model, "messages": [user("go")]})
}

fn tool(parameters: Value) -> Value {
    json!([{"type": "function", "function": {"name": "draft", "parameters": parameters}}])
}

fn with_tool(model: &str) -> Value {
    with(asking(model), "/tools", tool(json!({"type": "object", "properties": {}})))
}

#[test]
fn refusals() {
    let refuses_tools = "Function tools with reasoning_effort are not supported for gpt-5.6-terra in /v1/chat/completions. To use function \
                         tools, use /v1/responses or set reasoning_effort to 'none'.";
    let schema = "Invalid schema for function 'draft': schema must have type 'object' and not have \
                  'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.";
    let schemas = |parameters: Value| with(asking("gpt-4.1"), "/tools", tool(parameters));
    let strict = with(with_tool("gpt-4.1"), "/tools/0/function/strict", json!(true));
    let calling = |id: &str| {
        let call = json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": "{}"}});
        let messages = json!([
            user("go"), {"role": "assistant", "content": null, "tool_calls": [call]}, {"role": "tool", "tool_call_id": id, "content": "ok"}
        ]);
        with(asking("gpt-4.1"), "/messages", messages)
    };
    let saying = |message: Value| with(asking("gpt-5.6-sol"), "/messages", json!([user("go"), message]));
    let cases = [
        ("no tools", asking("gpt-5.6-terra"), ""),
        ("tools", with_tool("gpt-5.6-terra"), refuses_tools),
        ("tools of a later model", with_tool("gpt-6"), "not supported for gpt-6 in /v1/chat/completions"),
        ("tools with an effort", with(with_tool("gpt-5.6-terra"), "/reasoning_effort", json!("low")), refuses_tools),
        ("tools without effort", with(with_tool("gpt-5.6-terra"), "/reasoning_effort", json!("none")), ""),
        ("tools of an earlier model", with_tool("gpt-5.4"), ""),
        (
            "tools with an effort of an earlier model",
            with(with_tool("gpt-5.4"), "/reasoning_effort", json!("low")),
            "Please use /v1/responses instead.",
        ),
        ("tools of a model that does not reason", with_tool("gpt-4.1"), ""),
        (
            "max_tokens",
            with(asking("gpt-5-mini"), "/max_tokens", json!(9)),
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        ),
        ("max_tokens of another model", with(asking("gpt-4.1"), "/max_tokens", json!(9)), ""),
        (
            "temperature",
            with(asking("o4-mini"), "/temperature", json!(0)),
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
        ),
        ("temperature 1", with(asking("o4-mini"), "/temperature", json!(1)), ""),
        ("temperature of another model", with(asking("gpt-4.1"), "/temperature", json!(0)), ""),
        ("stop", with(asking("gpt-5.5"), "/stop", json!(["x"])), "Unsupported parameter: 'stop' is not supported with this model."),
        ("top_p", with(asking("gpt-5.5"), "/top_p", json!(0.5)), "Unsupported parameter: 'top_p' is not supported with this model."),
        ("a parameter of another service", with(asking("gpt-4.1"), "/thinking", json!({})), "Unknown parameter: 'thinking'."),
        ("a parameter of the Responses API", with(asking("gpt-5.5"), "/reasoning", json!({})), "Unknown parameter: 'reasoning'."),
        ("an id of 40 characters", calling(&"a".repeat(40)), ""),
        (
            "an id of 46 characters",
            calling(&"a".repeat(46)),
            "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 46 instead.",
        ),
        ("a schema with anyOf", schemas(json!({"type": "object", "anyOf": []})), schema),
        ("a schema of no object", schemas(json!({"type": "string"})), schema),
        ("a schema without type", schemas(json!({"properties": {}})), schema),
        ("a nested anyOf", schemas(json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}})), ""),
        ("a strict tool that is open", strict, "'additionalProperties' is required to be supplied and to be false."),
        (
            "no calls",
            saying(json!({"role": "assistant", "content": "hi", "tool_calls": []})),
            "Invalid 'messages[1].tool_calls': empty array.",
        ),
        ("no content", saying(json!({"role": "assistant", "content": null})), "Invalid value for 'content': expected a string, got null."),
        ("a refusal", saying(json!({"role": "assistant", "content": null, "refusal": "no"})), ""),
    ];
    let service = Service::new(Provider::OpenAi, Protocol::Chat);
    for (name, request, expected) in cases {
        service.check(name, &request, expected);
    }
}

#[test]
fn forms() {
    let service = Service::new(Provider::OpenAi, Protocol::Chat);
    let error = |request: &Value| service.refusal(request).1["error"].clone();
    let tools = error(&with_tool("gpt-5.6-terra"));
    assert_eq!(
        (&tools["type"], &tools["param"], &tools["code"]),
        (&json!("invalid_request_error"), &json!("reasoning_effort"), &Value::Null)
    );
    let schema = error(&with(asking("gpt-4.1"), "/tools", tool(json!({"type": "array"}))));
    assert_eq!((&schema["param"], &schema["code"]), (&json!("tools[0].function.parameters"), &json!("invalid_function_parameters")));
}
