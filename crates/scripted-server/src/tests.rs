//! Tests of the server with a plain TCP client.

mod gemini;
mod messages;
mod providers;
mod responses;

use std::time::Duration;

use crate::{Reply, RoundsServer, Script, ScriptedServer, ServerQuirk, When};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Headers that Anthropic and Gemini require.
const KEYS: &str = "x-api-key: k\r\nanthropic-version: 2023-06-01\r\nx-goog-api-key: k\r\n";

async fn post_raw(server: &ScriptedServer, body: &Value) -> String {
    post_to(&server.url(), body).await
}

async fn post_to(base_url: &str, body: &Value) -> String {
    let (authority, path) = base_url.trim_start_matches("http://").split_once('/').unwrap();
    send(authority, &format!("/{path}/chat/completions"), body).await
}

/// Gets a path, and returns the body.
async fn get(server: &ScriptedServer, path: &str) -> Value {
    let origin = server.origin();
    let authority = origin.trim_start_matches("http://");
    let mut socket = TcpStream::connect(authority).await.unwrap();
    socket.write_all(format!("GET {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Sends one request to a path, and returns the status and the body with its chunks joined.
async fn post_path(server: &ScriptedServer, path: &str, body: &Value) -> (u16, String) {
    let url = server.url();
    let answer = send(url.trim_start_matches("http://").trim_end_matches("/v1"), path, body).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let body = if head.contains("transfer-encoding: chunked") {
        // Every second line is the size of a chunk; no chunk here contains such a line break.
        body.split("\r\n").skip(1).step_by(2).collect()
    } else {
        body.to_owned()
    };
    (head[9..12].parse().unwrap(), body)
}

/// Sends one request and reads until the server closes: status, headers and undecoded body in one text.
async fn send(authority: &str, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let mut socket = TcpStream::connect(authority).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {authority}\r\nauthorization: Bearer k\r\n{KEYS}connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(body.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A connection that is dropped on purpose may end in an error.
    let _ = socket.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn post(server: &ScriptedServer, body: &Value) -> (u16, Value) {
    let answer = post_raw(server, body).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap_or(Value::Null))
}

fn ask(text: &str) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]})
}

fn with(mut request: Value, field: &str, value: Value) -> Value {
    request[field] = value;
    request
}

#[tokio::test]
async fn replies_are_used_in_turn_and_the_last_one_repeats() {
    let server = ScriptedServer::start(Script::new().on(When::any(), [Reply::text("one"), Reply::text("two")])).await;
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(post(&server, &ask("hi")).await.1["choices"][0]["message"]["content"].as_str().unwrap().to_owned());
    }
    assert_eq!(answers, ["one", "two", "two"]);
    assert_eq!(server.requests().len(), 3);
    assert_eq!(server.max_concurrent(), 1, "one after the other");
    assert_eq!(server.received()[0].headers["authorization"], "Bearer k");
}

#[tokio::test]
async fn a_rule_used_once_gives_way_to_the_next() {
    let script = Script::new().once(When::any(), [Reply::status(500, json!("boom"), [])]).on(When::any(), [Reply::text("fine")]);
    let server = ScriptedServer::start(script).await;
    assert_eq!(post(&server, &ask("hi")).await.0, 500);
    assert_eq!(post(&server, &ask("hi")).await.0, 200);
    assert_eq!(server.received()[1].rule, Some(1));
}

#[test]
fn conditions_tell_requests_apart() {
    let tools = with(ask("paint it"), "tools", json!([{"type": "function", "function": {"name": "bash"}}]));
    let plan = with(ask("paint it"), "response_format", json!({"type": "json_schema", "json_schema": {"name": "aime_plan"}}));
    let plain = ask("paint it");
    let cases = [
        ("any", When::any(), [true, true, true]),
        ("tools", When::tools(), [true, false, false]),
        ("tool by name", When::tool("bash"), [true, false, false]),
        ("another tool", When::tool("python"), [false, false, false]),
        ("schema", When::schema("aime_plan"), [false, true, false]),
        ("another schema", When::schema("aime_patch"), [false, false, false]),
        ("plain", When::plain(), [false, false, true]),
        ("text", When::contains("paint"), [true, true, true]),
        ("no such text", When::contains("paint").and_contains("sing"), [false, false, false]),
        ("first turn", When::plain().and_turn(0), [false, false, true]),
        ("second turn", When::any().and_turn(1), [false, false, false]),
        ("model", When::any().and_model("m"), [true, true, true]),
        ("streamed", When::any().and_stream(true), [false, false, false]),
        ("field", When::field("/response_format/json_schema"), [false, true, false]),
    ];
    for (name, when, expected) in cases {
        assert_eq!([&tools, &plan, &plain].map(|request| when.fits(request)), expected, "{name}");
    }
}

#[tokio::test]
async fn a_request_without_a_rule_is_named() {
    let server = ScriptedServer::start(Script::new()).await;
    let (status, body) = post(&server, &ask("what now")).await;
    assert_eq!(status, 404);
    assert!(body["error"]["message"].as_str().unwrap().contains("what now"), "{body}");
    assert_eq!(server.unmatched().len(), 1);
}

#[tokio::test]
async fn held_requests_go_on_together() {
    let server = ScriptedServer::start(Script::new().on(When::any(), [Reply::text("go").after_waiting(3)])).await;
    let one = ask("hi");
    let answers = tokio::join!(post(&server, &one), post(&server, &one), post(&server, &one));
    assert_eq!([answers.0.0, answers.1.0, answers.2.0], [200; 3]);
    assert_eq!(server.max_concurrent(), 3);
}

#[tokio::test]
async fn a_reply_waits_for_another_request() {
    let script =
        Script::new().on(When::contains("slow"), [Reply::text("late").after_request("quick")]).on(When::any(), [Reply::text("now")]);
    let server = ScriptedServer::start(script).await;
    let (slow, quick) = (ask("slow"), ask("quick"));
    let slow = post(&server, &slow);
    let quick = async {
        server.wait_for_requests(1).await;
        post(&server, &quick).await
    };
    let (slow, quick) = tokio::join!(slow, quick);
    assert_eq!((slow.0, quick.0), (200, 200));
}

#[tokio::test]
async fn streams_carry_text_calls_and_usage() {
    let reply = Reply::call("bash", json!({"command": "echo a long enough command"})).with_text("I look around first.").usage(7, 3);
    let server = ScriptedServer::start(Script::new().on(When::any(), [reply])).await;
    let request = with(with(ask("hi"), "stream", json!(true)), "stream_options", json!({"include_usage": true}));
    let answer = post_raw(&server, &request).await;
    let events: Vec<Value> =
        answer.lines().filter_map(|line| line.strip_prefix("data: ")).filter_map(|event| serde_json::from_str(event).ok()).collect();
    let join =
        |pointer: &str| events.iter().filter_map(|event| event.pointer(pointer).and_then(Value::as_str)).collect::<Vec<_>>().concat();
    assert_eq!(join("/choices/0/delta/content"), "I look around first.");
    assert_eq!(join("/choices/0/delta/tool_calls/0/function/name"), "bash");
    assert_eq!(join("/choices/0/delta/tool_calls/0/function/arguments"), r#"{"command":"echo a long enough command"}"#);
    assert_eq!(join("/choices/0/finish_reason"), "tool_calls");
    assert_eq!(events.last().unwrap()["usage"]["prompt_tokens"], 7);
    assert!(answer.contains("data: [DONE]"));
    assert!(events.len() > 6, "split in several events");
}

#[tokio::test]
async fn odd_forms() {
    let reply = Reply::call("bash", json!({"command": "ls"})).object_arguments().no_ids().without_usage().extra_fields();
    let server = ScriptedServer::start(Script::new().on(When::any(), [reply.quirk(ServerQuirk::NoFinish)])).await;
    let (_, body) = post(&server, &ask("hi")).await;
    let message = &body["choices"][0]["message"];
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], json!({"command": "ls"}));
    assert_eq!(message["content"], Value::Null);
    assert!(body.get("id").is_none() && body.get("usage").is_none() && body.get("x_extra").is_some());
    assert_eq!(body["choices"][0]["finish_reason"], Value::Null);
}

#[tokio::test]
async fn a_cut_body_is_shorter_than_announced() {
    let server = ScriptedServer::start(Script::new().on(When::any(), [Reply::text("a text that is cut").cut_after(40)])).await;
    let answer = post_raw(&server, &ask("hi")).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let announced: usize = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    assert_eq!(body.len(), 40);
    assert!(announced > 40);
}

#[tokio::test]
async fn a_call_without_its_result_is_refused() {
    let server = ScriptedServer::start(Script::new().on(When::any(), [Reply::text("fine")])).await;
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "a", "content": "ok"});
    let user = json!({"role": "user", "content": "go"});
    let cases = [
        ("whole", json!([user, call, result]), 200),
        ("no result", json!([user, call]), 400),
        ("something between", json!([user, call, user, result]), 400),
        ("result alone", json!([user, result]), 400),
        ("answered twice", json!([user, call, result, result]), 400),
        ("no messages", json!([]), 400),
    ];
    for (name, messages, status) in cases {
        assert_eq!(post(&server, &json!({"model": "m", "messages": messages})).await.0, status, "{name}");
    }
}

#[test]
fn scripts_are_read_from_json() {
    let text = r#"{"rules": [{"when": {"schema": "aime_plan"}, "replies": [{"json": {"tasks": []}}]},
        {"replies": [{"tool_calls": [{"name": "bash", "arguments": {"command": "ls"}}], "quirks": ["no_usage"]}], "once": true}]}"#;
    let script = Script::from_json(text).unwrap();
    let expected = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(json!({"tasks": []}))])
        .once(When::any(), [Reply::call("bash", json!({"command": "ls"})).without_usage()]);
    assert_eq!(script, expected);
    assert_eq!(Script::from_json(&serde_json::to_string(&script).unwrap()).unwrap(), script);
    assert!(Script::from_json(r#"{"rules": [{"replies": []}]}"#).unwrap_err().to_string().contains("rules[0]"));
    assert!(Script::from_json(r#"{"rules": [{"wen": {}, "replies": [{"text": "a"}]}]}"#).is_err());
}

#[test]
fn it_serves_tests_without_a_runtime_and_ends_with_its_handle() {
    let server = ScriptedServer::start_blocking(Script::new().on(When::any(), [Reply::hang()]));
    let authority = server.url().trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let mut socket = std::net::TcpStream::connect(authority).unwrap();
    std::io::Write::write_all(&mut socket, b"POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\n{}").unwrap();
    assert!(server.wait_for_requests_blocking(1, Duration::from_secs(20)));
    drop(server);
    let mut rest = Vec::new();
    // The connection ends or is reset, without a wait.
    let _ = std::io::Read::read_to_end(&mut socket, &mut rest);
}

#[tokio::test]
async fn rounds_go_on_until_as_many_were_answered_as_the_address_says() {
    let server = RoundsServer::try_start(Duration::ZERO).unwrap();
    let (rounds, warm) = (format!("{}/rounds/2/v1", server.url()), format!("{}/warm/2/v1", server.url()));
    // Both spellings of clients; a word in a text is not a role.
    let mut asked = json!({"messages": [{"role": "user", "content": "{\"role\": \"assistant\"}"}], "tools": []});
    let mut answers = Vec::new();
    for _ in 0..3 {
        let answer = post_to(&rounds, &asked).await;
        let answer: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        let message = answer["choices"][0]["message"].clone();
        answers.push(message.pointer("/tool_calls/0/function/arguments").unwrap_or(&message["content"]).clone());
        asked["messages"].as_array_mut().unwrap().push(message);
    }
    assert_eq!(answers, [r#"{"page":0}"#, r#"{"page":1}"#, "All pages were looked at."]);
    asked["messages"].as_array_mut().unwrap().pop();
    let streamed = post_to(&warm, &with(asked.clone(), "stream", json!(true))).await;
    assert!(streamed.contains("text/event-stream") && streamed.contains("data: [DONE]") && !streamed.contains("tool_calls"), "{streamed}");
    let ends = post_to(&warm, &with(asked, "tools", json!([{"function": {"name": "terminate"}}]))).await;
    assert!(ends.contains(r#""name":"terminate""#), "{ends}");
    let kept = server.take();
    assert_eq!(kept.len(), 3, "what is sent to warm up is not kept");
    assert!(kept[0].len() < kept[1].len() && kept[1].len() < kept[2].len());
    assert!(server.take().is_empty());
}
