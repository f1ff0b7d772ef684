//! The Responses API over TCP.

use serde_json::{Value, json};

use super::{post_path, with};
use crate::{Provider, Reply, Script, ScriptedServer, ServerQuirk, When};

fn asking(text: &str) -> Value {
    json!({"model": "gpt-5.6-terra", "input": [{"role": "user", "content": text}], "store": false, "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"}})
}

async fn serving(reply: Reply) -> ScriptedServer {
    ScriptedServer::start(Script::new().provider(Provider::OpenAi).on(When::path("/responses"), [reply])).await
}

async fn document(server: &ScriptedServer, request: &Value) -> Value {
    let (status, body) = post_path(server, "/v1/responses", request).await;
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// Returns the events of a stream, after checking their lines and numbers.
async fn events(server: &ScriptedServer, request: &Value) -> Vec<Value> {
    let (_, body) = post_path(server, "/v1/responses", &with(request.clone(), "stream", json!(true))).await;
    assert!(!body.contains("[DONE]"));
    let events: Vec<Value> = body
        .split_terminator("\n\n")
        .map(|event| {
            let (name, data) = event.split_once('\n').unwrap();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(name.strip_prefix("event: ").unwrap(), data["type"]);
            data
        })
        .collect();
    assert!(events.iter().enumerate().all(|(number, event)| event["sequence_number"] == number), "{events:?}");
    events
}

/// Returns the types of events without `response.`, equal ones in a row once.
fn kinds(events: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap().trim_start_matches("response.")).collect();
    kinds.dedup();
    kinds
}

fn joined(events: &[Value], kind: &str, key: &str) -> String {
    events.iter().filter(|event| event["type"] == kind).map(|event| event[key].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_stream_has_the_events_of_the_real_server() {
    let reply = Reply::call("bash", json!({"command": "echo a long enough command"}))
        .with_text("I look around first.")
        .with_reasoning("The files come first.")
        .usage(7, 3);
    let server = serving(reply).await;
    let events = events(&server, &asking("hi")).await;
    let expected = [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ];
    assert_eq!(kinds(&events), expected);
    assert_eq!(joined(&events, "response.reasoning_summary_text.delta", "delta"), "The files come first.");
    assert_eq!(joined(&events, "response.output_text.delta", "delta"), "I look around first.");
    assert_eq!(joined(&events, "response.function_call_arguments.delta", "delta"), r#"{"command":"echo a long enough command"}"#);
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
    let delta = of("response.output_text.delta")[0];
    assert_eq!((&delta["item_id"], &delta["output_index"], &delta["content_index"]), (&json!("msg_1"), &json!(1), &json!(0)));
    let done: Vec<&Value> = of("response.output_item.done").iter().map(|event| &event["item"]).collect();
    assert_eq!((&done[1]["phase"], &done[1]["status"]), (&json!("commentary"), &json!("completed")));
    assert_eq!((&done[2]["id"], &done[2]["call_id"]), (&json!("fc_1_0"), &json!("call_1_0")));
    let response = &of("response.completed")[0]["response"];
    assert_eq!(response["usage"]["total_tokens"], 10);
    assert_eq!(response["output"].as_array().unwrap().len(), 3);
    let added = &of("response.output_item.added")[0]["item"]["encrypted_content"];
    let finished = &response["output"][0]["encrypted_content"];
    let texts = [added, &done[0]["encrypted_content"], finished].map(|text| text.as_str().unwrap());
    assert!(texts.iter().all(|text| text.starts_with("gAAAAAB")), "{texts:?}");
    assert!(texts[0] != texts[1] && texts[1] != texts[2], "{texts:?}");
}

#[tokio::test]
async fn only_the_items_of_done_are_taken_back() {
    let server = serving(Reply::text("Done.").with_reasoning("Easy.")).await;
    let events = events(&server, &asking("hi")).await;
    let back = |items: Vec<Value>| {
        let mut request = asking("hi");
        let input = request["input"].as_array_mut().unwrap();
        input.extend(items);
        input.push(json!({"role": "user", "content": "more"}));
        request
    };
    let done = events.iter().filter(|event| event["type"] == "response.output_item.done").map(|event| event["item"].clone()).collect();
    let completed = events.last().unwrap()["response"]["output"].as_array().unwrap().clone();
    assert_eq!(post_path(&server, "/v1/responses", &back(done)).await.0, 200);
    assert_eq!(post_path(&server, "/v1/responses", &back(completed)).await.0, 400);
}

#[tokio::test]
async fn a_document_holds_the_same_items() {
    let server = serving(Reply::text("Done.").with_reasoning("Easy.").usage(30, 6)).await;
    let document = document(&server, &with(asking("hi"), "reasoning", json!(null))).await;
    assert_eq!((&document["object"], &document["status"], &document["store"]), (&json!("response"), &json!("completed"), &json!(false)));
    assert_eq!(document["output"][0]["summary"], json!([]), "no summary was asked for");
    assert_eq!(document["output"][1]["content"], json!([{"type": "output_text", "annotations": [], "logprobs": [], "text": "Done."}]));
    let usage = json!({"input_tokens": 30, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 6,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 36});
    assert_eq!(document["usage"], usage);
}

#[tokio::test]
async fn answers_end_in_all_ways() {
    let cases = [
        (Reply::text("a").finish("length"), "response.incomplete", "/response/incomplete_details/reason", "max_output_tokens"),
        (Reply::text("a").finish("content_filter"), "response.incomplete", "/response/incomplete_details/reason", "content_filter"),
        (Reply::failed("server_error", "boom"), "response.failed", "/response/error/code", "server_error"),
        (Reply::default().with_refusal("I cannot."), "response.completed", "/response/output/0/content/0/refusal", "I cannot."),
    ];
    for (reply, event, pointer, expected) in cases {
        let server = serving(reply).await;
        let events = events(&server, &asking("hi")).await;
        let last = events.last().unwrap();
        assert_eq!((last["type"].as_str(), last.pointer(pointer).and_then(Value::as_str)), (Some(event), Some(expected)));
        let document = document(&server, &asking("hi")).await;
        assert_eq!(document.pointer(pointer.trim_start_matches("/response")).and_then(Value::as_str), Some(expected));
    }
    let server = serving(Reply::default().with_refusal("I cannot.")).await;
    assert!(kinds(&events(&server, &asking("hi")).await).contains(&"refusal.delta"));
    let server = serving(Reply::text("a").quirk(ServerQuirk::NoFinish)).await;
    assert_eq!(events(&server, &asking("hi")).await.last().unwrap()["type"], "response.output_item.done");
    let server = serving(Reply::default().with_reasoning("Long.").finish("length")).await;
    assert_eq!(document(&server, &asking("hi")).await["output"].as_array().unwrap().len(), 1, "cut before it spoke");
}

#[test]
fn conditions_read_items() {
    let call = json!({"type": "function_call", "call_id": "a", "name": "bash", "arguments": "{\"command\": \"paint\"}"});
    let result = json!({"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "painted"}]});
    let answer = json!({"role": "assistant", "content": [{"type": "output_text", "text": "Then."}]});
    let request = json!({
        "model": "m", "instructions": "You are a painter.", "tools": [{"type": "function", "name": "bash"}],
        "text": {"format": {"type": "json_schema", "name": "aime_plan"}},
        "input": [{"role": "user", "content": "go"}, {"type": "reasoning", "summary": []}, call, result, answer, call, result],
    });
    let cases = [
        ("schema", When::schema("aime_plan"), true),
        ("tool", When::tool("bash"), true),
        ("tools", When::tools(), true),
        ("plain", When::plain(), false),
        ("instructions", When::contains("painter"), true),
        ("arguments", When::contains("\"paint\""), true),
        ("last", When::any().and_last_contains("painted"), true),
        ("not last", When::any().and_last_contains("Then"), false),
        ("turns", When::any().and_turn(2), true),
        ("field", When::field("/text/format"), true),
        ("no path", When::path("/responses"), false),
    ];
    for (name, when, expected) in cases {
        assert_eq!(when.fits(&request), expected, "{name}");
    }
    assert!(When::contains("go").and_turn(0).fits(&json!({"input": "let us go"})));
}
