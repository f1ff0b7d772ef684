//! The forms of each provider over TCP.

use serde_json::{Value, json};

use super::{ask, post_path, post_raw, with};
use crate::{Provider, Reply, Script, ScriptedServer, When};

const CHAT: &str = "/v1/chat/completions";

async fn serving(provider: Provider, reply: Reply) -> ScriptedServer {
    ScriptedServer::start(Script::new().provider(provider).on(When::any(), [reply])).await
}

async fn message(server: &ScriptedServer) -> Value {
    let (_, body) = post_path(server, CHAT, &ask("hi")).await;
    serde_json::from_str::<Value>(&body).unwrap()["choices"][0]["message"].clone()
}

async fn deltas(server: &ScriptedServer) -> Vec<Value> {
    let answer = post_raw(server, &with(ask("hi"), "stream", json!(true))).await;
    let events =
        answer.lines().filter_map(|line| line.strip_prefix("data: ")).filter_map(|event| serde_json::from_str::<Value>(event).ok());
    events.filter_map(|event| event.pointer("/choices/0/delta").cloned()).collect()
}

fn joined(deltas: &[Value], pointer: &str) -> String {
    deltas.iter().filter_map(|delta| delta.pointer(pointer).and_then(Value::as_str)).collect()
}

const THOUGHT: &str = "I think about the question.";

fn thinking() -> Reply {
    Reply::text("The answer.").with_reasoning(THOUGHT)
}

#[tokio::test]
async fn reasoning_has_the_form_of_the_provider() {
    for provider in [Provider::Generic, Provider::DeepSeek] {
        let server = serving(provider, thinking()).await;
        assert_eq!(message(&server).await["reasoning_content"], THOUGHT);
        assert_eq!(joined(&deltas(&server).await, "/reasoning_content"), THOUGHT);
    }
    let server = serving(Provider::OpenAi, thinking()).await;
    assert_eq!(message(&server).await, json!({"role": "assistant", "content": "The answer."}));
    let server = serving(Provider::Mistral, thinking()).await;
    let content = json!([{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}, {"type": "text", "text": "The answer."}]);
    assert_eq!(message(&server).await["content"], content);
    let deltas = deltas(&server).await;
    assert_eq!(joined(&deltas, "/content/0/thinking/0/text"), THOUGHT);
    assert_eq!(joined(&deltas, "/content"), "The answer.");
}

#[tokio::test]
async fn openrouter_streams_details_in_pieces() {
    let server = serving(Provider::OpenRouter, thinking()).await;
    let whole = message(&server).await;
    assert_eq!(whole["reasoning"], THOUGHT);
    assert_eq!(whole["reasoning_details"][1]["type"], "reasoning.encrypted");
    let deltas = deltas(&server).await;
    assert_eq!(joined(&deltas, "/reasoning"), THOUGHT);
    let details: Vec<&Value> = deltas.iter().filter_map(|delta| delta.pointer("/reasoning_details/0")).collect();
    assert!(details.len() > 3, "several pieces");
    assert!(details.iter().all(|detail| detail["format"] == "anthropic-claude-v1"));
    assert_eq!(joined(&deltas, "/reasoning_details/0/text"), THOUGHT);
    assert_eq!(details.iter().filter(|detail| detail.get("signature").is_some()).count(), 1);
    assert!(details.last().unwrap()["data"].is_string());
}

#[tokio::test]
async fn gemini_signs_the_first_call_or_the_message() {
    let server = serving(Provider::Gemini, Reply::tool_calls([("bash", json!({})), ("bash", json!({}))])).await;
    let whole = message(&server).await;
    assert!(whole["tool_calls"][0]["extra_content"]["google"]["thought_signature"].is_string());
    assert!(whole["tool_calls"][1].get("extra_content").is_none());
    let signed = joined(&deltas(&server).await, "/tool_calls/0/extra_content/google/thought_signature");
    assert!(!signed.is_empty());
    let server = serving(Provider::Gemini, thinking()).await;
    assert!(message(&server).await["extra_content"]["google"]["thought_signature"].is_string());
}

#[tokio::test]
async fn refusals_and_failures_in_chat() {
    let server = serving(Provider::OpenAi, Reply::default().with_refusal("I cannot do that.")).await;
    let whole = message(&server).await;
    assert_eq!((&whole["content"], &whole["refusal"]), (&Value::Null, &json!("I cannot do that.")));
    assert_eq!(joined(&deltas(&server).await, "/refusal"), "I cannot do that.");
    let server = serving(Provider::OpenAi, Reply::failed("server_error", "boom").with_text("I beg")).await;
    let answer = post_raw(&server, &with(ask("hi"), "stream", json!(true))).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("I beg") && answer.contains(r#""code":"server_error""#), "{answer}");
    assert!(!answer.contains("[DONE]") && !answer.contains("finish_reason\":\"stop"), "{answer}");
}

#[tokio::test]
async fn any_path_with_the_right_end_is_served() {
    let server = serving(Provider::Generic, Reply::text("hi")).await;
    let path = "/openai/deployments/d/chat/completions?api-version=2024-10-21&a=b";
    assert_eq!(post_path(&server, path, &ask("hi")).await.0, 200);
    assert_eq!(post_path(&server, "/api/v1/responses", &json!({"input": "hi"})).await.0, 200);
    assert_eq!(post_path(&server, "/v1/embeddings", &ask("hi")).await.0, 404);
    let received = server.received();
    assert_eq!(received[0].path, "/openai/deployments/d/chat/completions");
    assert_eq!(received[0].query, "api-version=2024-10-21&a=b");
    assert_eq!((received[1].path.as_str(), received[1].query.as_str()), ("/api/v1/responses", ""));
    let server = serving(Provider::DeepSeek, Reply::text("hi")).await;
    assert_eq!(post_path(&server, "/v1/responses", &json!({"input": "hi"})).await.0, 404, "DeepSeek has no Responses API");
}

#[tokio::test]
async fn a_lenient_server_checks_nothing() {
    let refused = with(ask("hi"), "thinking", json!({}));
    for (script, status) in [(Script::new(), 400), (Script::new().lenient(), 200)] {
        let server = ScriptedServer::start(script.provider(Provider::OpenAi).on(When::any(), [Reply::text("hi")])).await;
        assert_eq!(post_path(&server, CHAT, &refused).await.0, status);
    }
}

#[test]
fn scripts_name_their_provider() {
    let names = ["generic", "openai", "deepseek", "openrouter", "gemini", "mistral", "anthropic"];
    let providers = [
        Provider::Generic,
        Provider::OpenAi,
        Provider::DeepSeek,
        Provider::OpenRouter,
        Provider::Gemini,
        Provider::Mistral,
        Provider::Anthropic,
    ];
    for (name, provider) in names.iter().zip(providers) {
        let text = format!(
            r#"{{"provider": "{name}", "rules": [{{"when": {{"path": "/responses"}}, "replies": [
                {{"text": "a", "refusal": "no", "failed": {{"code": "x", "message": "y"}}, "usage": {{"input": 1, "output": 2, "reasoning": 1}}}}]}}]}}"#
        );
        let script = Script::from_json(&text).unwrap();
        assert_eq!(script.provider, provider);
        assert_eq!(Script::from_json(&serde_json::to_string(&script).unwrap()).unwrap(), script);
    }
}
