//! DeepSeek, OpenRouter, Gemini and Mistral.

use serde_json::{Value, json};

use super::{Service, results, user, with};
use crate::provider::Provider;
use crate::reply::Reply;
use crate::view::Protocol;

/// Returns a service that made a call with reasoning, and the request with that call and its result.
fn after_a_call(provider: Provider, model: &str) -> (Service, Value) {
    let mut service = Service::new(provider, Protocol::Chat);
    let request = json!({"model": model, "messages": [user("go")]});
    let reply = Reply::call("bash", json!({"command": "ls"})).with_reasoning("I list the files first.");
    let message = service.answer(7, &reply, &request);
    let mut messages = vec![user("go"), message.clone()];
    messages.extend(results(&message));
    (service, json!({"model": model, "messages": messages}))
}

/// Adds another turn of the user, which ends the tool loop before it.
fn then_user(mut request: Value) -> Value {
    let messages = request["messages"].as_array_mut().unwrap();
    messages.extend([json!({"role": "assistant", "content": "Done."}), user("more")]);
    request
}

#[test]
fn deepseek_wants_its_reasoning_back() {
    let (service, request) = after_a_call(Provider::DeepSeek, "deepseek-reasoner");
    let field = "/messages/1/reasoning_content";
    let missing = "Missing `reasoning_content` field in the assistant message at message index 1.";
    let changed = "The `reasoning_content` in the thinking mode must be passed back to the API.";
    let foreign = with(request.clone(), "/messages/1/tool_calls/0/id", json!("elsewhere"));
    let foreign = with(foreign, "/messages/2/tool_call_id", json!("elsewhere"));
    let cases = [
        ("as it was sent", request.clone(), ""),
        ("missing", with(request.clone(), field, Value::Null), missing),
        ("missing in V4", with(with(request.clone(), field, Value::Null), "/model", json!("deepseek-v4-pro")), changed),
        ("missing in an earlier turn", then_user(with(request.clone(), field, Value::Null)), missing),
        ("missing without thinking", with(with(request.clone(), field, Value::Null), "/thinking", json!({"type": "disabled"})), ""),
        ("empty", with(request.clone(), field, json!("")), changed),
        ("changed", with(request.clone(), field, json!("I list.")), changed),
        ("empty in a turn of another model", with(foreign.clone(), field, json!("")), ""),
        ("missing in a turn of another model", with(foreign, field, Value::Null), missing),
    ];
    for (name, request, expected) in cases {
        service.check(name, &request, expected);
    }
    let (_, body) = service.refusal(&with(request, field, Value::Null));
    assert_eq!((&body["error"]["type"], &body["error"]["code"]), (&json!("invalid_request_error"), &json!("invalid_request_error")));
}

#[test]
fn deepseek_wants_an_empty_reasoning_too() {
    let mut service = Service::new(Provider::DeepSeek, Protocol::Chat);
    let request = json!({"model": "deepseek-chat", "messages": [user("go")]});
    let message = service.answer(1, &Reply::call("bash", json!({})), &request);
    let mut messages = vec![user("go"), message.clone()];
    messages.extend(results(&message));
    let request = json!({"model": "deepseek-chat", "messages": messages});
    service.check("missing", &request, "Missing `reasoning_content`");
    service.check("empty", &with(request, "/messages/1/reasoning_content", json!("")), "");
}

#[test]
fn openrouter_wants_its_details_back() {
    let (service, request) = after_a_call(Provider::OpenRouter, "anthropic/claude-sonnet-4.6");
    let field = "/messages/1/reasoning_details";
    let details = request.pointer(field).unwrap().clone();
    assert_eq!(details.as_array().unwrap().len(), 2);
    let invalid = "messages.1.content.0: Invalid `signature` in `thinking` block";
    let reversed = json!([details[1], details[0]]);
    let mut null_id = details.clone();
    null_id[0]["id"] = Value::Null;
    let cases = [
        ("as they were sent", request.clone(), ""),
        ("with an id that is null", with(request.clone(), field, null_id), ""),
        ("missing", with(request.clone(), field, Value::Null), "Expected `thinking` or `redacted_thinking`, but found `tool_use`"),
        ("missing in an earlier turn", then_user(with(request.clone(), field, Value::Null)), ""),
        ("out of order", with(request.clone(), field, reversed), invalid),
        ("in part", with(request.clone(), field, json!([details[0]])), invalid),
        ("with another signature", with(request.clone(), &format!("{field}/0/signature"), json!("x")), invalid),
        ("with another text", with(request.clone(), &format!("{field}/0/text"), json!("x")), invalid),
        ("changed in an earlier turn", then_user(with(request.clone(), &format!("{field}/0/text"), json!("x"))), invalid),
    ];
    for (name, request, expected) in cases {
        service.check(name, &request, expected);
    }
    let (status, body) = service.refusal(&with(request, field, json!([details[0]])));
    assert_eq!((status, &body["error"]["message"], &body["error"]["code"]), (400, &json!("Provider returned error"), &json!(400)));
    assert_eq!(body["error"]["metadata"]["provider_name"], "Anthropic");
}

#[test]
fn openrouter_accepts_four_cache_marks_on_texts() {
    let (service, request) = after_a_call(Provider::OpenRouter, "anthropic/claude-sonnet-4.6");
    let part = |text: &str| json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
    let marked = |parts: Vec<Value>| with(request.clone(), "/messages/0/content", Value::Array(parts));
    let cases = [
        ("four", marked(vec![part("go"); 4]), ""),
        ("five", marked(vec![part("go"); 5]), "A maximum of 4 blocks with cache_control may be provided. Found 5."),
        ("empty", marked(vec![part("")]), "cache_control cannot be set for empty text blocks"),
        ("a result", with(request.clone(), "/messages/2/content", json!([part("ok")])), ""),
    ];
    for (name, request, expected) in cases {
        service.check(name, &request, expected);
    }
}

#[test]
fn gemini_wants_its_signatures_back() {
    let (service, request) = after_a_call(Provider::Gemini, "gemini-3.1-pro-preview");
    let extra = "/messages/1/tool_calls/0/extra_content";
    let signature = format!("{extra}/google/thought_signature");
    assert!(request.pointer(&signature).is_some());
    let missing = "Additional data, function call `default_api:bash` , position 2.";
    let unsigned = with(request.clone(), extra, Value::Null);
    let cases = [
        ("as it was sent", request.clone(), ""),
        ("missing", unsigned.clone(), missing),
        ("missing in an earlier turn", then_user(unsigned.clone()), ""),
        ("missing for an older model", with(unsigned, "/model", json!("gemini-2.5-pro")), ""),
        ("the documented one for other models", with(request.clone(), &signature, json!("skip_thought_signature_validator")), ""),
        ("changed", with(request.clone(), &signature, json!("x")), "Corrupted thought signature."),
    ];
    for (name, request, expected) in cases {
        service.check(name, &request, expected);
    }
    let (status, body) = service.refusal(&with(request, &signature, json!("x")));
    assert_eq!((status, &body[0]["error"]["code"], &body[0]["error"]["status"]), (400, &json!(400), &json!("INVALID_ARGUMENT")));
}

#[test]
fn gemini_knows_which_call_a_signature_is_of() {
    let mut service = Service::new(Provider::Gemini, Protocol::Chat);
    let first = json!({"model": "gemini-3-flash", "messages": [user("go")]});
    let one = service.answer(1, &Reply::call("bash", json!({})), &first);
    let two = service.answer(2, &Reply::call("bash", json!({})), &first);
    let signed = |signature: &Value| {
        let mut message = one.clone();
        message["tool_calls"][0]["extra_content"] = signature["tool_calls"][0]["extra_content"].clone();
        let messages = [vec![user("go"), message.clone()], results(&message)].concat();
        json!({"model": "gemini-3-flash", "messages": messages})
    };
    service.check("its own", &signed(&one), "");
    service.check("that of another call", &signed(&two), "Corrupted thought signature.");
    let renamed = with(signed(&two), "/messages/1/tool_calls/0/id", json!("new"));
    service.check("of a call with a new id", &with(renamed, "/messages/2/tool_call_id", json!("new")), "");
}

#[test]
fn mistral_is_strict_about_everything() {
    let (service, request) = after_a_call(Provider::Mistral, "magistral-medium-latest");
    let id = request["messages"][1]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    let renamed = with(request.clone(), "/messages/1/tool_calls/0/id", json!("call_1"));
    let renamed = with(renamed, "/messages/2/tool_call_id", json!("call_1"));
    let mut after_tool = request.clone();
    after_tool["messages"].as_array_mut().unwrap().push(user("a note"));
    let mut after_all = request.clone();
    after_all["messages"].as_array_mut().unwrap().push(json!({"role": "assistant", "content": "Done."}));
    let extra = "Extra inputs are not permitted";
    let changed = "The thinking of the assistant message at index 1 is not the one that was sent";
    let thinking = "/messages/1/content";
    let cases = [
        ("as it was sent", request.clone(), ""),
        ("a further turn", then_user(request.clone()), ""),
        ("a user after a tool", after_tool, "Unexpected role 'user' after role 'tool'"),
        (
            "an assistant at the end",
            after_all.clone(),
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
        ),
        ("a prefix at the end", with(after_all, "/messages/3/prefix", json!(true)), ""),
        ("another id", renamed, "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."),
        (
            "reasoning_content",
            with(request.clone(), "/messages/1/reasoning_content", json!("x")),
            r#""loc":["body","messages",1,"assistant","reasoning_content"]"#,
        ),
        (
            "a name in a call",
            with(request.clone(), "/messages/1/tool_calls/0/name", json!("x")),
            r#"["body","messages",1,"assistant","tool_calls",0,"name"]"#,
        ),
        ("a name of the user", with(request.clone(), "/messages/0/name", json!("x")), extra),
        ("stream_options", with(request.clone(), "/stream_options", json!({"include_usage": true})), r#""loc":["body","stream_options"]"#),
        ("max_completion_tokens", with(request.clone(), "/max_completion_tokens", json!(5)), extra),
        ("max_tokens", with(request.clone(), "/max_tokens", json!(5)), ""),
        ("no thinking", with(request.clone(), thinking, json!("")), changed),
        ("another thinking", with(request.clone(), &format!("{thinking}/0/thinking/0/text"), json!("x")), changed),
    ];
    for (name, request, expected) in cases {
        service.check(name, &request, expected);
    }
    let (status, body) = service.refusal(&with(request, "/seed", json!(1)));
    let detail = json!([{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": 1}]);
    assert_eq!((status, &body["detail"]), (422, &detail));
}

#[test]
fn all_providers_pair_calls_with_results() {
    for provider in [Provider::Generic, Provider::OpenAi, Provider::DeepSeek, Provider::OpenRouter, Provider::Gemini] {
        let (service, mut request) = after_a_call(provider, "m");
        service.check("paired", &request, "");
        request["messages"].as_array_mut().unwrap().pop();
        service.check("no result", &request, "must be followed by tool messages");
    }
}
