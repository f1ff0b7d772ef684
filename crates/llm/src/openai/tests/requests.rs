//! Tests the requests that are sent and the lessons from refusals.

use std::sync::Arc;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use secrecy::SecretString;
use serde_json::json;

use super::{ask, client, serve};
use crate::{ChatModel, ChatRequest, Effort, Message, ResponseFormat, ToolCall, ToolChoice, ToolDefinition};

fn conversation() -> Vec<Arc<Message>> {
    let call = ToolCall { id: "call_0".into(), name: "read_file".into(), arguments: r#"{"path":"a.txt"}"#.into() };
    let broken = ToolCall { id: "call_1".into(), name: "read_file".into(), arguments: r#"{"path":"#.into() };
    [
        Message::System { content: "You are brief.".into() },
        Message::user("Read a.txt"),
        Message::assistant(String::new(), vec![call, broken]),
        Message::tool("call_0", "read_file", "hello"),
        Message::tool("call_1", "read_file", "Error: no path"),
        Message::assistant("It says hello.", Vec::new()),
        Message::user("And b.txt?"),
    ]
    .map(Arc::new)
    .to_vec()
}

fn tools() -> Arc<[ToolDefinition]> {
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    Arc::new([
        ToolDefinition { name: "read_file".into(), description: "Reads a file.".into(), parameters: path.into() },
        ToolDefinition { name: "now".into(), description: "The time.".into(), parameters: json!({}).into() },
    ])
}

/// Returns the body that arrives.
async fn sent(request: ChatRequest, streaming: bool) -> serde_json::Value {
    let server = serve([Reply::text("fine")]).await;
    client(&server, |settings| settings.streaming = streaming).complete(request).await.unwrap();
    server.requests().remove(0)
}

#[tokio::test]
async fn a_text_request() {
    insta::assert_json_snapshot!(sent(ask("hello"), true).await);
    insta::assert_json_snapshot!("a_text_request_without_a_stream", sent(ask("hello"), false).await);
}

// Requirement: 4.15
#[tokio::test]
async fn a_request_with_tools() {
    let request = ChatRequest { messages: conversation(), tools: tools(), tool_choice: ToolChoice::Required, ..ChatRequest::default() };
    insta::assert_json_snapshot!(sent(request, true).await);
}

#[tokio::test]
async fn a_request_with_a_schema() {
    let schema =
        json!({"type": "object", "properties": {"passed": {"type": "boolean"}}, "required": ["passed"], "additionalProperties": false});
    let format = ResponseFormat::JsonSchema { name: "aime_verdict".into(), schema };
    let request = ChatRequest { format, temperature: Some(0.1), max_output_tokens: Some(200), seed: Some(7), ..ask("judge") };
    insta::assert_json_snapshot!(sent(request, true).await);
    let request = ChatRequest { format: ResponseFormat::JsonObject, ..ask("judge") };
    assert_eq!(sent(request, true).await["response_format"], json!({"type": "json_object"}));
}

#[tokio::test]
async fn headers() {
    let server = serve([Reply::text("fine")]).await;
    let keyless = client(&server, |settings| settings.headers = vec![("x-title".into(), SecretString::from("aime"))]);
    keyless.complete(ask("hello")).await.unwrap();
    let received = server.received().remove(0).headers;
    assert!(!received.contains_key("authorization"), "no key, no header: none is taken from elsewhere");
    assert_eq!(received["x-title"], "aime");
    assert_eq!(received["content-type"], "application/json");
    assert!(received["user-agent"].starts_with("aime/"));
}

#[tokio::test]
async fn further_members_replace_settings_alone() {
    let server = serve([Reply::text("fine")]).await;
    let further = [("model", json!("other")), ("tools", json!([])), ("seed", json!(2)), ("user", json!("me"))];
    let model = client(&server, |settings| settings.extra_body = further.map(|(name, value)| (name.to_owned(), value)).to_vec());
    model.complete(ChatRequest { tools: tools(), seed: Some(1), ..ask("hello") }).await.unwrap();
    let body = server.requests().remove(0);
    assert_eq!((&body["model"], body["tools"].as_array().map(Vec::len)), (&json!("m"), Some(2)));
    assert_eq!((&body["seed"], &body["user"]), (&json!(2), &json!("me")));
}

/// Returns a server that refuses the fields, each with OpenAI's words for it.
fn refusing(fields: &[&str]) -> Script {
    fields.iter().fold(Script::new(), |script, field| {
        let message = format!("Unsupported parameter: '{field}' is not supported with this model.");
        let error =
            json!({"error": {"message": message, "type": "invalid_request_error", "param": field, "code": "unsupported_parameter"}});
        script.on(When::field(format!("/{field}")), [Reply::status(400, error, [])])
    })
}

#[tokio::test]
async fn refused_parameters_are_left_out_and_remembered() {
    let script = refusing(&["temperature", "seed", "max_tokens", "tool_choice", "stream_options"]).on(When::any(), [Reply::text("fine")]);
    let server = ScriptedServer::start(script).await;
    let model = client(&server, |_| {});
    let request = ChatRequest {
        temperature: Some(0.0),
        seed: Some(1),
        max_output_tokens: Some(50),
        tools: tools(),
        tool_choice: ToolChoice::Required,
        ..ask("hello")
    };
    assert_eq!(model.complete(request.clone()).await.unwrap().content, "fine");
    assert_eq!(server.requests().len(), 6, "five refusals, each taught one thing");
    model.complete(request).await.unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 7, "and all are remembered");
    for field in ["temperature", "seed", "max_tokens", "tool_choice", "stream_options"] {
        assert!(requests[6].get(field).is_none(), "{field}");
    }
    assert_eq!(requests[6]["max_completion_tokens"], 50);
}

#[tokio::test]
async fn a_refused_effort_is_replaced_and_the_others_stay() {
    let error =
        json!({"error": {"message": "Unsupported value: 'minimal' is not supported with the 'm' model.", "param": "reasoning_effort"}});
    let server = serve([Reply::status(400, error, []), Reply::text("fine"), Reply::text("fine"), Reply::text("fine")]).await;
    let model = client(&server, |_| {});
    for effort in [Effort::Minimal, Effort::High, Effort::Minimal] {
        model.complete(ChatRequest { effort: Some(effort), ..ask("hello") }).await.unwrap();
    }
    let sent: Vec<_> = server.requests().iter().map(|body| body["reasoning_effort"].clone()).collect();
    assert_eq!(sent, ["minimal", "low", "high", "low"]);
}

#[tokio::test]
async fn a_server_without_streams_is_asked_for_documents() {
    let error = json!({"error": {"message": "This server cannot stream: set stream to false"}});
    let script = Script::new().on(When::any().and_stream(true), [Reply::status(400, error, [])]).on(When::any(), [Reply::text("fine")]);
    let server = ScriptedServer::start(script).await;
    let model = client(&server, |_| {});
    for _ in 0..2 {
        assert_eq!(model.complete(ask("hello")).await.unwrap().content, "fine");
    }
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn requests_at_once_learn_together() {
    let script = refusing(&["temperature"]).on(When::any(), [Reply::text("fine")]);
    let server = ScriptedServer::start(script).await;
    let model = client(&server, |_| {});
    let request = || ChatRequest { temperature: Some(0.0), ..ask("hello") };
    let answers = tokio::join!(model.complete(request()), model.complete(request()), model.complete(request()));
    assert!(answers.0.is_ok() && answers.1.is_ok() && answers.2.is_ok(), "{answers:?}");
}

#[tokio::test]
async fn what_cannot_be_left_out_stays_refused() {
    let error = json!({"error": {"message": "messages: too many images"}});
    let server = serve([Reply::status(400, error, [])]).await;
    let request = ChatRequest { temperature: Some(0.0), max_output_tokens: Some(5), ..ask("hello") };
    assert!(client(&server, |_| {}).complete(request).await.is_err());
    assert_eq!(server.requests().len(), 1);
}
