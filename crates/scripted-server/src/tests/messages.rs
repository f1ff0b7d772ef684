//! Anthropic's Messages over TCP.

use serde_json::{Value, json};

use super::{get, post_path, with};
use crate::{Provider, Reply, Script, ScriptedServer, ServerQuirk, When};

fn asking(text: &str) -> Value {
    json!({"model": "claude-sonnet-4-6", "max_tokens": 1000, "messages": [{"role": "user", "content": text}], "thinking": {"type": "adaptive"}})
}

async fn serving(reply: Reply) -> ScriptedServer {
    ScriptedServer::start(Script::new().provider(Provider::Anthropic).on(When::path("/messages"), [reply])).await
}

async fn document(server: &ScriptedServer, request: &Value) -> Value {
    let (status, body) = post_path(server, "/v1/messages", request).await;
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// Returns the events of a stream, after checking their lines.
async fn events(server: &ScriptedServer, request: &Value) -> Vec<Value> {
    let (_, body) = post_path(server, "/anthropic/v1/messages", &with(request.clone(), "stream", json!(true))).await;
    let event = |event: &str| {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(name.strip_prefix("event: ").unwrap(), data["type"]);
        data
    };
    body.split_terminator("\n\n").map(event).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    kinds.dedup();
    kinds
}

fn joined(events: &[Value], key: &str) -> String {
    events.iter().filter_map(|event| event["delta"][key].as_str()).collect()
}

fn calling() -> Reply {
    Reply::call("bash", json!({"command": "echo a long enough command"}))
        .with_text("I look around first.")
        .with_reasoning("The files come first.")
        .usage(70, 9)
}

#[tokio::test]
async fn a_stream_has_the_events_of_the_real_server() {
    let server = serving(calling()).await;
    let events = events(&server, &asking("hi")).await;
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let first = ["message_start", "content_block_start", "ping", "content_block_delta", "content_block_stop"];
    let expected = [&first[..], &block, &block, &["message_delta", "message_stop"]].concat();
    assert_eq!(kinds(&events), expected);
    assert_eq!(joined(&events, "thinking"), "The files come first.");
    assert_eq!(joined(&events, "text"), "I look around first.");
    assert_eq!(joined(&events, "partial_json"), r#"{"command":"echo a long enough command"}"#);
    assert!(!joined(&events, "signature").is_empty());
    let begun = &events[0]["message"];
    assert_eq!((&begun["usage"]["input_tokens"], &begun["usage"]["output_tokens"]), (&json!(70), &json!(1)));
    assert_eq!((&begun["content"], &begun["stop_reason"]), (&json!([]), &Value::Null));
    let starts: Vec<&Value> = events.iter().filter(|event| event["type"] == "content_block_start").collect();
    assert_eq!(starts[0]["content_block"], json!({"type": "thinking", "thinking": "", "signature": ""}));
    assert_eq!(starts[2]["content_block"], json!({"type": "tool_use", "id": "toolu_1_0", "name": "bash", "input": {}}));
    assert_eq!(starts.iter().map(|event| event["index"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 1, 2]);
    let last = &events[events.len() - 2];
    assert_eq!((&last["delta"]["stop_reason"], &last["usage"]["output_tokens"]), (&json!("tool_use"), &json!(9)));
}

#[tokio::test]
async fn a_document_has_the_same_content() {
    let server = serving(calling().quirk(ServerQuirk::RedactedThinking)).await;
    let document = document(&server, &asking("hi")).await;
    let content = document["content"].as_array().unwrap();
    let kinds: Vec<&str> = content.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "redacted_thinking", "text", "tool_use"]);
    assert_eq!(content[3]["input"], json!({"command": "echo a long enough command"}));
    assert_eq!(
        (&document["type"], &document["role"], &document["stop_reason"]),
        (&json!("message"), &json!("assistant"), &json!("tool_use"))
    );
}

#[tokio::test]
async fn thinking_is_shown_as_asked() {
    let server = serving(Reply::text("Done.").with_reasoning("Easy.")).await;
    let thinking = |model: &str, thinking: Value| with(with(asking("hi"), "model", json!(model)), "thinking", thinking);
    let adaptive = json!({"type": "adaptive"});
    let cases = [
        ("claude-sonnet-4-6", adaptive.clone(), Some("Easy.")),
        ("claude-opus-4-7", adaptive, Some("")),
        ("claude-opus-4-7", json!({"type": "adaptive", "display": "summarized"}), Some("Easy.")),
        ("claude-sonnet-4-6", json!({"type": "adaptive", "display": "omitted"}), Some("")),
        ("claude-sonnet-4-6", json!({"type": "disabled"}), None),
    ];
    for (model, asked, expected) in cases {
        let first = document(&server, &thinking(model, asked.clone())).await["content"][0].clone();
        assert_eq!(first["thinking"].as_str(), expected, "{model} {asked}");
        assert_eq!(first["signature"].is_string(), expected.is_some(), "{model} {asked}");
    }
}

#[tokio::test]
async fn stop_reasons() {
    let reasons = |finish: &str| Reply::text("x").finish(finish);
    let cases = [
        (Reply::text("x"), "end_turn"),
        (reasons("length"), "max_tokens"),
        (reasons("content_filter"), "refusal"),
        (reasons("pause_turn"), "pause_turn"),
        (Reply::default().with_refusal("I cannot."), "refusal"),
    ];
    for (reply, expected) in cases {
        let server = serving(reply).await;
        assert_eq!(document(&server, &asking("hi")).await["stop_reason"], expected);
        let events = events(&server, &asking("hi")).await;
        assert_eq!(joined(&events, "stop_reason"), expected);
    }
}

#[tokio::test]
async fn failures_and_odd_forms() {
    let server = serving(Reply::failed("overloaded_error", "Overloaded").with_text("I beg")).await;
    let failed = events(&server, &asking("hi")).await;
    assert_eq!(failed.last().unwrap()["error"], json!({"type": "overloaded_error", "message": "Overloaded"}));
    assert!(!kinds(&failed).contains(&"message_stop"));
    let reply = calling().object_arguments().without_usage().quirk(ServerQuirk::NoIndex).quirk(ServerQuirk::NoDone).no_ids();
    let server = serving(reply).await;
    let quirky = events(&server, &asking("hi")).await;
    assert!(quirky.iter().all(|event| event.get("index").is_none() && event.get("usage").is_none()));
    assert_eq!(joined(&quirky, "partial_json"), "");
    assert_eq!(kinds(&quirky).last(), Some(&"message_delta"));
}

#[tokio::test]
async fn structured_answers_have_the_title_of_their_schema() {
    let schema = json!({"type": "object", "title": "aime_plan", "properties": {}, "additionalProperties": false});
    let format = json!({"format": {"type": "json_schema", "schema": schema}});
    let script = Script::new().on(When::schema("aime_plan"), [Reply::json(json!({"tasks": []}))]);
    let server = ScriptedServer::start(script.provider(Provider::Anthropic)).await;
    let by_format = document(&server, &with(asking("plan"), "output_config", format)).await;
    assert_eq!((&by_format["content"][0]["text"], &by_format["stop_reason"]), (&json!(r#"{"tasks":[]}"#), &json!("end_turn")));
    let plain = with(asking("plan"), "thinking", json!({"type": "disabled"}));
    let tools = with(plain, "tools", json!([{"name": "aime_plan", "input_schema": {"type": "object"}}]));
    for choice in [json!({"type": "tool", "name": "aime_plan"}), json!({"type": "any"})] {
        let by_tool = document(&server, &with(tools.clone(), "tool_choice", choice)).await;
        assert_eq!(by_tool["content"][0]["input"], json!({"tasks": []}), "{by_tool}");
        assert_eq!((&by_tool["content"][0]["name"], &by_tool["stop_reason"]), (&json!("aime_plan"), &json!("tool_use")));
    }
    let (status, _) = post_path(&server, "/v1/messages", &tools).await;
    assert_eq!(status, 404, "an optional tool is no schema");
}

#[tokio::test]
async fn conditions_read_all_that_a_request_says() {
    let when = When::contains("be brief").and_contains("ls -la").and_last_contains("a.txt").and_turn(1).and_model("claude-sonnet-4-6");
    let request = json!({"model": "claude-sonnet-4-6", "max_tokens": 9, "system": [{"type": "text", "text": "be brief"}], "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "ls -la"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "a.txt"}]}]},
    ]});
    assert!(when.fits(&request));
    let server = ScriptedServer::start(Script::new().on(when, [Reply::text("fine")])).await;
    assert_eq!(post_path(&server, "/v1/messages", &request).await.0, 200, "the generic provider checks no headers");
}

#[tokio::test]
async fn marks_fill_the_cache_that_later_requests_read() {
    let server = serving(Reply::text("fine").usage(1000, 5)).await;
    let marked = |text: &str| json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
    let long = "a system text that is longer than the rest of it".repeat(5);
    let mut request = with(asking("hi"), "system", json!([marked(&long)]));
    let usage = |document: Value| {
        let count = |key: &str| document["usage"][key].as_u64().unwrap();
        let counts = [count("input_tokens"), count("cache_creation_input_tokens"), count("cache_read_input_tokens")];
        assert_eq!(counts.iter().sum::<u64>(), 1000, "all tokens are told once");
        counts
    };
    let first = usage(document(&server, &request).await);
    assert!(first[0] > 0 && first[1] > 500 && first[2] == 0, "{first:?}");
    let second = usage(document(&server, &request).await);
    assert_eq!((second[1], second[2]), (0, first[1]), "the same prompt is read");
    request["messages"][0]["content"] = json!([marked("hi")]);
    let third = usage(document(&server, &request).await);
    assert!(third[0] == 0 && third[1] > 0 && third[2] > 500, "the system text is read, the message written: {third:?}");
    request["system"][0]["text"] = json!("another");
    assert_eq!(usage(document(&server, &request).await)[2], 0, "a prompt that begins otherwise reads nothing");
    let plain = usage(document(&server, &asking("unmarked")).await);
    assert_eq!(plain, [1000, 0, 0]);
    let events = events(&server, &with(asking("hi"), "system", json!([marked(&long)]))).await;
    assert!(events[0]["message"]["usage"]["cache_read_input_tokens"].as_u64().unwrap() > 500);
}

#[tokio::test]
async fn refusals_have_the_form_of_the_service() {
    let server = ScriptedServer::start(Script::new().provider(Provider::Anthropic)).await;
    let (status, body) = post_path(&server, "/v1/messages", &with(asking("hi"), "seed", json!(1))).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 400);
    assert_eq!(body["error"], json!({"type": "invalid_request_error", "message": "seed: Extra inputs are not permitted"}));
    assert_eq!((&body["type"], body["request_id"].is_string()), (&json!("error"), true));
    let (status, body) = post_path(&server, "/v1/messages", &asking("hi")).await;
    assert!(status == 404 && body.contains("not_found_error") && body.contains("no rule"), "{body}");
    assert_eq!(post_path(&server, "/v1/responses", &json!({"input": "hi"})).await.0, 404, "Anthropic has no Responses API");
    let models = get(&server, "/v1/models").await;
    assert_eq!((&models["data"][0]["id"], &models["has_more"]), (&json!("scripted"), &json!(false)));
}
