//! Gemini's generateContent over TCP.

use serde_json::{Value, json};

use super::{get, post_path, with};
use crate::{Provider, Reply, Script, ScriptedServer, ServerQuirk, When};

const WHOLE: &str = "/v1beta/models/gemini-3-pro-preview:generateContent";
const STREAM: &str = "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse";
const EARLIER: &str = "/v1beta/models/gemini-2.5-pro:generateContent";

fn asking(text: &str) -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": text}]}], "generationConfig": {"thinkingConfig": {"includeThoughts": true}}})
}

async fn serving(reply: Reply) -> ScriptedServer {
    ScriptedServer::start(Script::new().provider(Provider::Gemini).on(When::any(), [reply])).await
}

async fn document(server: &ScriptedServer, path: &str, request: &Value) -> Value {
    let (status, body) = post_path(server, path, request).await;
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

async fn chunks(server: &ScriptedServer, request: &Value) -> Vec<Value> {
    let origin = server.origin();
    let answer = super::send(origin.trim_start_matches("http://"), STREAM, request).await;
    answer.lines().filter_map(|line| line.strip_prefix("data: ")).map(|chunk| serde_json::from_str(chunk).unwrap()).collect()
}

fn parts(chunks: &[Value]) -> Vec<Value> {
    chunks.iter().flat_map(|chunk| chunk["candidates"][0]["content"]["parts"].as_array().cloned().unwrap_or_default()).collect()
}

fn joined(parts: &[Value], thought: bool) -> String {
    let wanted = parts.iter().filter(|part| part.get("thought").is_some() == thought);
    wanted.filter_map(|part| part["text"].as_str()).collect()
}

fn calling() -> Reply {
    Reply::tool_calls([("bash", json!({"command": "ls"})), ("bash", json!({}))]).with_reasoning("The files come first.").usage(70, 9)
}

#[tokio::test]
async fn a_stream_of_calls_signs_the_first() {
    let server = serving(calling().with_text("I look around first.")).await;
    let chunks = chunks(&server, &asking("hi")).await;
    let parts = parts(&chunks);
    assert_eq!((joined(&parts, true), joined(&parts, false)), ("The files come first.".to_owned(), "I look around first.".to_owned()));
    let calls: Vec<&Value> = parts.iter().filter(|part| part.get("functionCall").is_some()).collect();
    assert_eq!(calls[0]["functionCall"], json!({"id": "function-call-100", "name": "bash", "args": {"command": "ls"}}));
    assert!(calls[0]["thoughtSignature"].is_string() && calls[1].get("thoughtSignature").is_none());
    let last = chunks.last().unwrap();
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert_eq!((&last["usageMetadata"]["promptTokenCount"], &last["usageMetadata"]["totalTokenCount"]), (&json!(70), &json!(79)));
    assert_eq!(last["modelVersion"], "gemini-3-pro-preview");
}

#[tokio::test]
async fn a_streamed_text_is_signed_at_its_end_or_after() {
    let signed = |chunk: &Value| chunk["candidates"][0]["content"]["parts"][0]["thoughtSignature"].is_string();
    let server = serving(Reply::text("The answer is here.")).await;
    let usual = chunks(&server, &asking("hi")).await;
    let last = usual.last().unwrap();
    assert!(signed(last) && last["candidates"][0]["finishReason"] == "STOP" && last["candidates"][0]["content"]["parts"][0]["text"] == "");
    let server = serving(Reply::text("The answer is here.").quirk(ServerQuirk::LateParts)).await;
    let late = chunks(&server, &asking("hi")).await;
    let finish = late.iter().position(|chunk| chunk["candidates"][0].get("finishReason").is_some()).unwrap();
    assert!(finish + 1 < late.len() && !signed(&late[finish]) && signed(late.last().unwrap()));
}

#[tokio::test]
async fn a_document_has_the_same_parts() {
    let server = serving(calling()).await;
    let whole = document(&server, WHOLE, &asking("hi")).await;
    let parts = whole["candidates"][0]["content"]["parts"].as_array().unwrap();
    assert_eq!((parts.len(), &parts[0]), (3, &json!({"text": "The files come first.", "thought": true})));
    assert!(parts[1]["thoughtSignature"].is_string());
    let hidden = document(&server, WHOLE, &with(asking("hi"), "generationConfig", json!({}))).await;
    assert_eq!(hidden["candidates"][0]["content"]["parts"].as_array().unwrap().len(), 2, "thoughts are shown on request");
    let earlier = document(&server, EARLIER, &asking("hi")).await;
    assert!(earlier["candidates"][0]["content"]["parts"][1]["functionCall"].get("id").is_none(), "Gemini 2.5 gives no ids");
    let server = serving(Reply::text("Done.")).await;
    assert!(document(&server, WHOLE, &asking("hi")).await["candidates"][0]["content"]["parts"][0]["thoughtSignature"].is_string());
    let earlier = document(&server, EARLIER, &asking("hi")).await;
    assert_eq!(earlier["candidates"][0]["content"]["parts"], json!([{"text": "Done."}]));
}

#[tokio::test]
async fn finish_reasons() {
    let cases = [
        (Reply::text("x"), "STOP"),
        (Reply::text("x").finish("length"), "MAX_TOKENS"),
        (Reply::text("x").finish("content_filter"), "SAFETY"),
        (Reply::text("x").finish("RECITATION"), "RECITATION"),
        (Reply::call("bash", json!("{\"broken")), "MALFORMED_FUNCTION_CALL"),
    ];
    for (reply, expected) in cases {
        let server = serving(reply).await;
        assert_eq!(document(&server, WHOLE, &asking("hi")).await["candidates"][0]["finishReason"], expected);
        assert_eq!(chunks(&server, &asking("hi")).await.last().unwrap()["candidates"][0]["finishReason"], expected);
    }
    let server = serving(Reply::default().with_refusal("no")).await;
    let blocked = document(&server, WHOLE, &asking("hi")).await;
    assert_eq!(blocked["promptFeedback"]["blockReason"], "PROHIBITED_CONTENT");
    assert!(blocked.get("candidates").is_none());
}

#[tokio::test]
async fn failures_counts_and_lists() {
    let server = serving(Reply::failed("503", "overloaded").with_text("I beg")).await;
    let failed = chunks(&server, &asking("hi")).await;
    assert_eq!(failed.last().unwrap()["error"], json!({"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}));
    let mut reply = Reply::text("x").quirk(ServerQuirk::TextCounts).usage(7, 5);
    reply.usage = reply.usage.map(|usage| crate::ScriptedUsage { cached: 3, reasoning: 2, ..usage });
    let server = serving(reply).await;
    let usage = document(&server, WHOLE, &asking("hi")).await["usageMetadata"].clone();
    let counts = ["promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount"];
    assert_eq!(counts.map(|key| usage[key].as_str().unwrap().to_owned()), ["7", "3", "3", "2", "12"]);
    let list = document(&server, STREAM.trim_end_matches("?alt=sse"), &asking("hi")).await;
    assert!(list.as_array().is_some_and(|chunks| chunks.len() > 1), "without alt=sse a stream is a list");
}

#[tokio::test]
async fn conditions_read_path_and_body() {
    let schema = json!({"responseMimeType": "application/json", "responseJsonSchema": {"title": "aime_plan", "type": "object"}});
    let plan = with(asking("plan"), "generationConfig", schema);
    let tools = with(asking("act"), "tools", json!([{"functionDeclarations": [{"name": "bash"}, {"name": "look"}]}]));
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(json!({"tasks": []}))])
        .on(When::tool("look").and_model("gemini-3-pro-preview").and_stream(false), [Reply::text("tools")])
        .on(When::plain().and_turn(1).and_contains("be brief").and_last_contains("a.txt"), [Reply::text("turn")]);
    let server = ScriptedServer::start(script).await;
    let text = async |path: &str, request: &Value| {
        document(&server, path, request).await["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(text(WHOLE, &plan).await, r#"{"tasks":[]}"#);
    assert_eq!(text(WHOLE, &tools).await, "tools");
    assert_eq!(post_path(&server, STREAM, &tools).await.0, 404);
    let history = json!({"systemInstruction": {"parts": [{"text": "be brief"}]}, "contents": [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {"command": "ls"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": {"output": "a.txt\nb.txt"}}}]},
    ]});
    assert_eq!(text(EARLIER, &history).await, "turn");
}

#[tokio::test]
async fn refusals_and_models_have_the_form_of_google() {
    let server = ScriptedServer::start(Script::new().provider(Provider::Gemini)).await;
    let (status, body) = post_path(&server, WHOLE, &with(asking("hi"), "seed", json!(1))).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["error"]["code"], &body["error"]["status"]), (400, &json!(400), &json!("INVALID_ARGUMENT")));
    assert_eq!(body["error"]["details"][0]["fieldViolations"].as_array().unwrap().len(), 1);
    let (status, body) = post_path(&server, WHOLE, &asking("hi")).await;
    assert!(status == 404 && body.contains("NOT_FOUND") && body.contains("no rule"), "{body}");
    assert_eq!(get(&server, "/v1beta/models").await["models"][0]["name"], "models/scripted");
    assert_eq!(get(&server, "/v1beta/openai/models").await["data"][0]["id"], "scripted");
}
