//! Tests of searches through models' providers, over each protocol that supports them.

use std::{collections::BTreeMap, sync::Arc};

use aime_llm::{ChatModel as _, ModelStack, OpenAiSettings, Protocol, Redactor};
use aime_sandbox::ConfinedFolder;
use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use aime_tools::{AskModel, ModelSearch, ToolContext, ToolError, ToolOutput, ToolRegistry, WebSettings, web_tools};
use serde_json::{Value, json};

/// Searches with a model that is asked over a protocol and answers with this document. Returns the request and the result.
async fn search(protocol: Protocol, answer: Value) -> (Value, Result<ToolOutput, ToolError>) {
    let reply = Reply::raw(answer.to_string()).with_header("content-type", "application/json");
    let server = ScriptedServer::start(Script::new().on(When::default(), [reply])).await;
    let mut settings = OpenAiSettings::new("m", server.url());
    settings.protocol = Some(protocol);
    let model = ModelStack::server(settings).unwrap().build(&Redactor::default());
    let web = WebSettings { search: Some(Arc::new(ModelSearch)), results: 2, ..WebSettings::default() };
    let tools: ToolRegistry = web_tools(&web).unwrap().into_iter().collect();
    let folder = tempfile::tempdir().unwrap();
    let context = ToolContext::new(ConfinedFolder::open(folder.path()).unwrap(), BTreeMap::new());
    let context = context.with_model(AskModel::new(move |_, request| {
        let model = model.clone();
        Box::pin(async move { model.complete(request).await })
    }));
    let found = tools.call_with_consent("web_search", json!({"query": "green tea"}).as_object().cloned().unwrap(), &context).await;
    (server.requests().pop().unwrap(), found)
}

fn responses(annotations: &Value) -> Value {
    json!({
        "id": "r", "object": "response", "status": "completed", "model": "m",
        "output": [
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "green tea"}},
            {"type": "message", "id": "a", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": "Two spoons.", "annotations": annotations}]},
        ],
        "usage": {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12},
    })
}

#[tokio::test]
async fn a_model_searches_and_its_sources_are_results() {
    let cited = |url: &str, title: &str| json!({"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": 3});
    let table = [
        (
            Protocol::Responses,
            json!({"type": "web_search"}),
            responses(&json!([cited("https://a.example/", "Tea"), cited("javascript:x", "x"), cited("https://b.example/", "")])),
        ),
        (
            Protocol::Messages,
            json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 5}),
            json!({
                "id": "r", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "Two spoons.", "citations": [
                    {"type": "web_search_result_location", "url": "https://a.example/", "title": "Tea", "cited_text": "two", "encrypted_index": "e"},
                    {"type": "web_search_result_location", "url": "https://b.example/", "title": "", "cited_text": "two", "encrypted_index": "f"},
                ]}],
                "usage": {"input_tokens": 9, "output_tokens": 3},
            }),
        ),
        (
            Protocol::Gemini,
            json!({"googleSearch": {}}),
            json!({
                "candidates": [{
                    "content": {"role": "model", "parts": [{"text": "Two spoons."}]}, "finishReason": "STOP", "index": 0,
                    "groundingMetadata": {"groundingChunks": [
                        {"web": {"uri": "https://a.example/", "title": "Tea"}}, {"web": {"uri": "https://b.example/", "title": ""}},
                    ]},
                }],
                "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12},
            }),
        ),
    ];
    for (protocol, tool, answer) in table {
        let (request, found) = search(protocol, answer).await;
        assert_eq!(request["tools"], json!([tool]), "{request}");
        assert!(request.to_string().contains("green tea") && request.to_string().contains("cite the pages"), "{request}");
        let found = found.unwrap();
        assert_eq!(found.text, "Two spoons.\n\nSources:\n1. Tea\n   https://a.example/\n2. \n   https://b.example/", "{protocol:?}");
        assert_eq!(found.value["answer"], "Two spoons.");
        assert_eq!(found.value["results"][0], json!({"title": "Tea", "url": "https://a.example/", "excerpt": ""}));
    }
}

#[tokio::test]
async fn an_answer_without_sources_is_refused() {
    let (_, found) = search(Protocol::Responses, responses(&json!([]))).await;
    let fault = found.unwrap_err();
    assert!(matches!(&fault, ToolError::Failed(text) if text.contains("answered without citing a page")), "{fault}");
}
