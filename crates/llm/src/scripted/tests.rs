//! The script answers as it says.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt};
use serde_json::json;

use super::{Reply, ScriptedModel, When};
use crate::{ChatModel, ChatRequest, FinishReason, Message, ModelError, ResponseFormat, StreamPart, ToolDefinition};

fn user(text: &str) -> ChatRequest {
    ChatRequest { messages: vec![Arc::new(Message::user(text.to_owned()))], ..ChatRequest::default() }
}

fn with_tool(name: &str) -> ChatRequest {
    let tool = ToolDefinition { name: name.to_owned(), description: String::new(), parameters: json!({}).into() };
    ChatRequest { tools: Arc::from([tool]), ..user("go") }
}

fn with_schema(name: &str) -> ChatRequest {
    ChatRequest { format: ResponseFormat::JsonSchema { name: name.to_owned(), schema: json!({}) }, ..user("go") }
}

#[tokio::test]
async fn the_first_rule_that_fits_wins_and_its_last_reply_repeats() {
    let model = ScriptedModel::new("m")
        .once(When::contains("hello"), [Reply::text("once")])
        .on(When::contains("hello"), [Reply::text("a"), Reply::text("b")])
        .on(When::schema("aime_plan"), [Reply::json(json!({"tasks": []}))])
        .on(When::tool("bash"), [Reply::call("bash", json!({"command": "ls"}))])
        .on(When::plain().and_last_contains("bye").and_turn(0), [Reply::text("bye")]);
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(model.complete(user("hello there")).await.unwrap().content);
    }
    assert_eq!(answers, ["once", "a", "b", "b"]);
    assert_eq!(model.complete(with_schema("aime_plan")).await.unwrap().content, r#"{"tasks":[]}"#);
    let called = model.complete(with_tool("bash")).await.unwrap();
    assert_eq!((called.finish, called.tool_calls[0].arguments.as_str()), (FinishReason::ToolCalls, r#"{"command":"ls"}"#));
    assert_eq!(called.tool_calls[0].id, "call_0_0");
    assert_eq!(model.complete(user("bye")).await.unwrap().content, "bye");
    assert_eq!(model.requests().len(), 7);
}

#[tokio::test]
async fn what_no_rule_fits_is_told_in_short() {
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [Reply::text("x")]);
    let error = model.complete(with_tool("bash")).await.unwrap_err();
    assert_eq!(error.to_string(), "no recorded answer for this request to m: schema none, tools [bash], turn 0, last message: \"go\"");
}

#[tokio::test]
async fn failures_are_the_models_own() {
    for (status, retryable) in [(400, false), (401, false), (429, true), (503, true)] {
        let model = ScriptedModel::new("m").on(When::any(), [Reply::status(status, "no")]);
        let error = model.complete(user("x")).await.unwrap_err();
        assert_eq!(error.is_retryable(), retryable, "{error}");
    }
    let cut = ModelError::Cut { model: "m".to_owned() };
    let model = ScriptedModel::new("m").on(When::any(), [Reply::error(cut), Reply::text("well")]);
    assert!(model.complete(user("x")).await.is_err());
    assert_eq!(model.complete(user("x")).await.unwrap().content, "well");
}

#[tokio::test(start_paused = true)]
async fn a_reply_takes_its_time() {
    let model = ScriptedModel::new("m").on(When::contains("hang"), [Reply::hang()]).on(
        When::any(),
        [Reply::text("x").with_reasoning("hm").usage(7, 3).cost_usd(0.5).finish(FinishReason::Length).delay(Duration::from_secs(9))],
    );
    assert!(tokio::time::timeout(Duration::from_secs(1_000), model.complete(user("hang"))).await.is_err());
    let before = tokio::time::Instant::now();
    let parts: Vec<_> = model.stream(user("x")).map(Result::unwrap).collect().await;
    assert_eq!(before.elapsed(), Duration::from_secs(9));
    assert_eq!(parts[..2], [StreamPart::Reasoning("hm".to_owned()), StreamPart::Text("x".to_owned())]);
    let StreamPart::Done(done) = &parts[2] else { panic!("{parts:?}") };
    assert_eq!((done.usage.input_tokens, done.cost_usd, &done.finish), (7, 0.5, &FinishReason::Length));
    assert!(model.complete(user("x")).now_or_never().is_none());
}
