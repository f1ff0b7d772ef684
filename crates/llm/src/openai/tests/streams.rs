//! Tests streams: the parts that are passed on during arrival, and the irregularities of the scripted server.

use aime_scripted_server::{Reply, ServerQuirk};
use serde_json::json;

use super::{ask, client, parts, serve};
use crate::{ChatModel, ChatRequest, Message, Prices, Protocol, StreamPart, ToolCall};

#[tokio::test]
async fn parts_come_as_they_arrive() {
    let reply = Reply::call("bash", json!({"command": "ls"})).with_reasoning("think").with_text("I look around first.").usage(1_000_000, 0);
    let server = serve([reply]).await;
    let model = client(&server, |settings| settings.prices = Some(Prices { input: 2.5, output: 10.0, ..Prices::default() }));
    let parts: Vec<StreamPart> = parts(&model, ask("hello")).await.into_iter().map(Result::unwrap).collect();
    let text: String = parts.iter().filter_map(|part| if let StreamPart::Text(text) = part { Some(text.as_str()) } else { None }).collect();
    assert_eq!(text, "I look around first.");
    assert!(parts.iter().filter(|part| matches!(part, StreamPart::Text(_))).count() > 1, "{parts:?}");
    assert!(parts.contains(&StreamPart::Reasoning("think".to_owned())));
    assert!(parts.contains(&StreamPart::ToolCallBegun { name: "bash".to_owned() }));
    let Some(StreamPart::Done(answer)) = parts.last() else { panic!("{parts:?}") };
    assert_eq!(answer.content, text);
    assert_eq!(answer.reasoning, "think");
    assert_eq!(answer.tool_calls[0].arguments, r#"{"command":"ls"}"#);
    assert!((answer.cost_usd - 2.5).abs() < 1e-9);
    assert_eq!(parts.iter().filter(|part| matches!(part, StreamPart::Done(_))).count(), 1);
}

#[tokio::test]
async fn the_odd_ways_of_the_scripted_server() {
    let quirks = [
        ServerQuirk::ObjectArguments,
        ServerQuirk::NullContent,
        ServerQuirk::ContentParts,
        ServerQuirk::NoIds,
        ServerQuirk::ExtraFields,
        ServerQuirk::NoUsage,
        ServerQuirk::NoFinish,
        ServerQuirk::NoDone,
        ServerQuirk::NoIndex,
        ServerQuirk::IgnoreStream,
    ];
    let replies = quirks.map(|quirk| Reply::tool_calls([("ls", json!({"p": 1})), ("cat", json!({"q": 2}))]).quirk(quirk));
    for streaming in [true, false] {
        let server = serve(replies.clone()).await;
        let model = client(&server, |settings| settings.streaming = streaming);
        for quirk in quirks {
            let answer = model.complete(ask("hello")).await.unwrap();
            let calls: Vec<_> = answer.tool_calls.iter().map(|call| format!("{}({})", call.name, call.arguments)).collect();
            assert_eq!(calls, [r#"ls({"p":1})"#, r#"cat({"q":2})"#], "{quirk:?}");
            assert_ne!(answer.tool_calls[0].id, answer.tool_calls[1].id, "{quirk:?}");
            assert_eq!(answer.usage_estimated, quirk == ServerQuirk::NoUsage, "{quirk:?}");
        }
    }
}

#[tokio::test]
async fn made_up_ids_are_new_in_the_conversation() {
    let server = serve([Reply::tool_calls([("ls", json!({})), ("ls", json!({}))]).no_ids()]).await;
    let call = |id: &str| ToolCall { id: id.to_owned(), name: "ls".to_owned(), arguments: "{}".to_owned() };
    let messages = [Message::user("go"), Message::assistant(String::new(), vec![call("call_4")]), Message::tool("call_4", "ls", "a")];
    let request = ChatRequest { messages: messages.map(std::sync::Arc::new).to_vec(), ..ChatRequest::default() };
    let answer = client(&server, |_| {}).complete(request).await.unwrap();
    let ids: Vec<_> = answer.tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_5", "call_6"]);
}

#[tokio::test]
async fn a_call_cut_by_the_bound_is_known_by_its_finish() {
    // The server says "tool_calls" although the bound cut the arguments.
    let cut = Reply::call("write_file", json!("{\"path\": \"a\", \"content\": \"hal")).finish("tool_calls").usage(10, 16);
    let server = serve([cut]).await;
    let request = ChatRequest { max_output_tokens: Some(16), ..ask("write") };
    let answer = client(&server, |_| {}).complete(request).await.unwrap();
    assert_eq!(answer.finish, crate::FinishReason::Length);
    assert_eq!(answer.tool_calls.len(), 1);
}

#[tokio::test]
async fn searches_of_the_provider_cost_what_they_cost() {
    let call = |kind: &str| json!({"type": "web_search_call", "id": kind, "status": "completed", "action": {"type": kind}});
    let text = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "t", "annotations": []}]});
    let usage = json!({"input_tokens": 10, "output_tokens": 10});
    let answers = [
        (
            Protocol::Responses,
            json!({"object": "response", "status": "completed", "output": [call("search"), call("open_page"), call("find"), text], "usage": usage}),
            1,
        ),
        (
            Protocol::Messages,
            json!({"type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "content": [{"type": "text", "text": "t"}],
                "usage": {"input_tokens": 10, "output_tokens": 10, "server_tool_use": {"web_search_requests": 3}}}),
            3,
        ),
        (Protocol::Gemini, grounded("gemini-3-flash"), 2),
        (Protocol::Gemini, grounded("gemini-2.5-flash"), 1),
    ];
    for (protocol, answer, searches) in answers {
        let server = serve([Reply::raw(answer.to_string()).with_header("content-type", "application/json")]).await;
        let model = client(&server, |settings| {
            settings.protocol = Some(protocol);
            settings.prices = Some(Prices { search: Some(0.25), ..Prices::default() });
        });
        let answer = model.complete(ChatRequest { web_search: true, ..ask("hello") }).await.unwrap();
        assert_eq!(answer.cost_usd, 0.25 * f64::from(searches), "{protocol:?}");
    }
}

fn grounded(model: &str) -> serde_json::Value {
    json!({
        "candidates": [{"content": {"role": "model", "parts": [{"text": "t"}]}, "finishReason": "STOP", "index": 0,
            "groundingMetadata": {"webSearchQueries": ["a", "b"]}}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}, "modelVersion": model,
    })
}
