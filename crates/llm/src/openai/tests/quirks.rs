//! Servers that refuse a form, or answer oddly: none of it ends a run.

use std::sync::Arc;

use aime_scripted_server::{Provider as Server, Reply, Script, ScriptedServer, When};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{ask, client, parts, serve};
use crate::{
    ChatModel, ChatRequest, FinishReason, Message, ModelError, ModelStack, OpenAiSettings, Redactor, StreamPart, StructuredRequest, Tiers,
    ToolCall, ToolDefinition,
};

fn tool(name: &str, parameters: Value) -> ToolDefinition {
    ToolDefinition { name: name.into(), description: format!("The tool {name}."), parameters: parameters.into() }
}

fn offering(tools: impl Into<Arc<[ToolDefinition]>>) -> ChatRequest {
    ChatRequest { tools: tools.into(), max_output_tokens: Some(4_096), ..ask("go") }
}

fn two() -> [ToolDefinition; 2] {
    let draft = json!({"type": "object", "anyOf": [{"required": ["text"]}], "properties": {"text": {"type": "string", "maxLength": 9}}});
    [tool("bash", json!({"type": "object", "properties": {"command": {"type": "string"}}})), tool("draft", draft)]
}

fn refusal(message: &str) -> Reply {
    Reply::status(400, json!({"error": {"message": message, "type": "invalid_request_error"}}), [])
}

/// Returns a server that gives these replies in turn, and what it was sent.
async fn answered(replies: impl IntoIterator<Item = Reply>, request: ChatRequest) -> (Result<crate::ChatResponse, ModelError>, Vec<Value>) {
    let server = ScriptedServer::start(Script::new().lenient().on(When::any(), replies)).await;
    let answer = client(&server, |_| {}).complete(request).await;
    (answer, server.requests())
}

#[tokio::test]
async fn a_call_that_a_parser_lost_is_asked_for_again() {
    let lost = json!({"error": {"message": "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": "<function=bash>"}});
    let (answer, requests) = answered([Reply::status(400, lost, []), Reply::call("bash", json!({"command": "ls"}))], offering(two())).await;
    assert_eq!((answer.unwrap().tool_calls.len(), requests.len()), (1, 2));
}

#[tokio::test]
async fn a_refused_schema_is_simplified_and_then_left_out() {
    let named = "Invalid schema for function 'draft': schema must have type 'object' and not have 'anyOf' at the top level.";
    for words in [named, "tools.1.custom.input_schema: JSON schema is invalid"] {
        let (answer, requests) = answered([refusal(words), refusal(words), Reply::text("fine")], offering(two())).await;
        assert_eq!(answer.unwrap().content, "fine");
        let names =
            |body: &Value| body["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].clone()).collect::<Vec<_>>();
        assert_eq!(names(&requests[1]), ["bash", "draft"]);
        assert_eq!(
            requests[1]["tools"][1]["function"]["parameters"],
            json!({"type": "object", "properties": {"text": {"type": "string"}}})
        );
        assert_eq!(names(&requests[2]), ["bash"], "{words}");
    }
    let grammar = Reply::status(500, json!({"error": {"message": "failed to parse grammar", "type": "server_error"}}), []);
    let (answer, requests) = answered([grammar, Reply::text("fine")], offering(two())).await;
    assert_eq!((answer.unwrap().content, requests.len()), ("fine".to_owned(), 2));
    assert!(!requests[1]["tools"].to_string().contains("maxLength"), "no tool is named: all are simplified");
}

#[tokio::test]
async fn a_refused_form_is_of_one_server() {
    let refusing = Script::new()
        .on(When::schema("answer"), [refusal("response_format.type 'json_schema' is not supported")])
        .on(When::any(), [Reply::json(json!({}))]);
    let servers = [ScriptedServer::start(refusing).await, serve([Reply::json(json!({}))]).await];
    let tiers = Tiers::new();
    for server in &servers {
        let question = StructuredRequest::new("answer", json!({"type": "object"}), vec![Arc::new(Message::user("Which?"))]);
        crate::ask(&client(server, |_| {}), &tiers, question, |_| Ok(())).await.unwrap();
    }
    assert_eq!(servers[1].requests()[0]["response_format"]["type"], "json_schema", "the same model elsewhere");
}

#[tokio::test]
async fn a_server_without_tools_is_asked_in_words() {
    let refusals = [
        refusal("\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"),
        refusal("registry.ollama.ai/library/phi3:latest does not support tools"),
        Reply::status(404, json!({"error": {"message": "No endpoints found that support tool use."}}), []),
    ];
    for refused in refusals {
        let call = "I look.\n<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>";
        let server =
            ScriptedServer::start(Script::new().on(When::tools(), [refused]).on(When::any(), [Reply::text(call), Reply::text("done")]))
                .await;
        let model = client(&server, |_| {});
        let answer = model.complete(offering(two())).await.unwrap();
        assert_eq!((answer.content.as_str(), &answer.finish), ("I look.", &FinishReason::ToolCalls));
        assert_eq!((answer.tool_calls[0].name.as_str(), answer.tool_calls[0].arguments.as_str()), ("bash", r#"{"command":"ls"}"#));
        let mut next = offering(two());
        next.messages.push(Arc::new(Message::assistant(answer.content, answer.tool_calls.clone())));
        next.messages.push(Arc::new(Message::tool(&answer.tool_calls[0].id, "bash", "a.txt")));
        assert_eq!(model.complete(next).await.unwrap().content, "done");
        let requests = server.requests();
        assert_eq!(requests.len(), 3, "it is remembered");
        let roles: Vec<&str> = requests[2]["messages"].as_array().unwrap().iter().filter_map(|message| message["role"].as_str()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "user"]);
    }
}

#[tokio::test]
async fn the_reserve_for_the_answer_is_lowered_to_the_window() {
    let refused = refusal(
        "You passed 600 input tokens and requested 4096 output tokens. However, the model's context length is only 4096 tokens, resulting in a \
         maximum input length of 0 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=600)",
    );
    let server = serve([refused, Reply::text("fine")]).await;
    let model = client(&server, |_| {});
    let request = ChatRequest { max_output_tokens: Some(4_096), ..ask(&"word ".repeat(400)) };
    assert_eq!(model.complete(request.clone()).await.unwrap().content, "fine");
    model.complete(request).await.unwrap();
    let bounds: Vec<u64> = server.requests().iter().filter_map(|body| body["max_tokens"].as_u64()).collect();
    assert_eq!(bounds, [4_096, 4_096 - 600 - 64, 4_096 - 600 - 64], "and the window is remembered");
    let full = refusal(
        "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion).",
    );
    let (answer, requests) = answered([full], ChatRequest { max_output_tokens: Some(1_000), ..ask("long") }).await;
    assert!(matches!(answer, Err(ModelError::ContextOverflow { .. })) && requests.len() == 1, "the caller must shorten it: {answer:?}");
    for (words, left) in [
        (
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
            Some(200_000 - 190_000 - 64),
        ),
        ("input length and `max_tokens` exceed context limit: 199990 + 20000 > 200000, decrease input length", None),
    ] {
        let request = ChatRequest { max_output_tokens: Some(20_000), ..ask(&"word ".repeat(200_000)) };
        let (answer, requests) = answered([refusal(words), Reply::text("fine")], request).await;
        let second = requests.get(1).and_then(|body| body["max_tokens"].as_u64());
        assert_eq!((second, matches!(answer, Err(ModelError::ContextOverflow { .. }))), (left, left.is_none()), "{words}");
    }
}

#[tokio::test]
async fn a_template_gets_the_order_and_the_content_that_it_wants() {
    let call = ToolCall { id: "call_1".into(), name: "bash".into(), arguments: "{}".into() };
    let mut request = offering(two());
    request.messages.push(Arc::new(Message::assistant("", vec![call])));
    request.messages.push(Arc::new(Message::tool("call_1", "bash", "a.txt")));
    request.messages.push(Arc::new(Message::user("Go on.")));
    let order = Reply::status(
        500,
        json!({"error": {"message": "Jinja Exception: Conversation roles must alternate user/assistant", "code": 500}}),
        [],
    );
    let null = refusal("messages[1].content: expected a string, got null");
    let (answer, requests) = answered([order, null.clone(), null, Reply::text("fine")], request).await;
    assert_eq!(answer.unwrap().content, "fine");
    assert_eq!(requests[1]["messages"][2]["content"], "a.txt\n\nGo on.", "never a user message behind a result");
    let contents: Vec<Option<&Value>> = requests.iter().map(|body| body["messages"][1].get("content")).collect();
    assert_eq!(contents, [Some(&Value::Null), Some(&Value::Null), Some(&json!("")), None]);
}

#[tokio::test]
async fn a_garbled_name_is_run_and_sent_back_clean() {
    for garbled in ["bash<|channel|>commentary", "functions.bash", "bash"] {
        let reply = Reply::call(garbled, json!({"command": "ls"})).with_reasoning("Look.");
        let server = ScriptedServer::start(Script::new().on(When::any(), [reply, Reply::text("done")])).await;
        let model = client(&server, |_| {});
        let mut request = offering(two());
        let answer = model.complete(request.clone()).await.unwrap();
        assert_eq!(answer.tool_calls[0].name, "bash", "{garbled}");
        let (content, native) = (answer.content.clone(), answer.native.clone());
        request.messages.push(Arc::new(Message::Assistant { content, tool_calls: answer.tool_calls.clone(), native }));
        request.messages.push(Arc::new(Message::tool(&answer.tool_calls[0].id, "bash", "a.txt")));
        model.complete(request).await.unwrap();
        let sent = &server.requests()[1]["messages"][1];
        assert_eq!((&sent["tool_calls"][0]["function"]["name"], &sent["reasoning_content"]), (&json!("bash"), &json!("Look.")));
    }
}

#[tokio::test]
async fn reasoning_that_is_not_wanted_back_is_left_out() {
    let refused = json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 1, "assistant", "reasoning_content"], "msg": "Extra inputs are not permitted"}]});
    let script = Script::new()
        .on(When::field("/messages/1/reasoning_content"), [Reply::status(422, refused, [])])
        .on(When::any(), [Reply::text("hi").with_reasoning("Greet."), Reply::text("bye")]);
    let server = ScriptedServer::start(script).await;
    let model = client(&server, |_| {});
    let mut request = ask("hello");
    let answer = model.complete(request.clone()).await.unwrap();
    request.messages.push(Arc::new(Message::Assistant { content: answer.content, tool_calls: Vec::new(), native: answer.native }));
    request.messages.push(Arc::new(Message::user("And now?")));
    assert_eq!(model.complete(request).await.unwrap().content, "bye");
}

#[tokio::test]
async fn state_that_a_server_cannot_read_again_is_sent_once_without() {
    let unread =
        json!({"error": {"message": "The encrypted content for item rs_1 could not be verified.", "code": "invalid_encrypted_content"}});
    let script = Script::new()
        .lenient()
        .provider(Server::OpenAi)
        .on(When::contains("encrypted").and_turn(9), [Reply::text("never")])
        .once(When::any().and_turn(0), [Reply::text("hi").with_reasoning("Greet.")])
        .once(When::any().and_turn(1), [Reply::status(400, unread, [])])
        .on(When::any().and_turn(1), [Reply::text("bye")]);
    let server = ScriptedServer::start(script).await;
    let model = client(&server, |settings| settings.protocol = Some(crate::Protocol::Responses));
    let mut request = ask("hello");
    let answer = model.complete(request.clone()).await.unwrap();
    assert!(answer.native.is_some());
    request.messages.push(Arc::new(Message::Assistant { content: answer.content, tool_calls: Vec::new(), native: answer.native }));
    request.messages.push(Arc::new(Message::user("And now?")));
    assert_eq!(model.complete(request.clone()).await.unwrap().content, "bye");
    model.complete(request).await.unwrap();
    let requests = server.requests();
    let items: Vec<usize> = requests.iter().map(|body| body["input"].as_array().unwrap().len()).collect();
    assert_eq!(items[2..], [3, 3], "the turn is plain from then on: {requests:?}");
}

#[tokio::test]
async fn a_refusal_streams_and_ends_as_one() {
    for protocol in [crate::Protocol::Chat, crate::Protocol::Responses] {
        let server = serve([Reply::text("").with_refusal("I cannot help with that.")]).await;
        let model = client(&server, |settings| settings.protocol = Some(protocol));
        let all = parts(&model, ask("weapon")).await;
        let streamed: String =
            all.iter().filter_map(|part| if let Ok(StreamPart::Text(text)) = part { Some(text.as_str()) } else { None }).collect();
        let Some(Ok(StreamPart::Done(answer))) = all.last() else { panic!("{all:?}") };
        assert_eq!(
            (streamed.as_str(), answer.content.as_str(), &answer.finish),
            ("I cannot help with that.", "I cannot help with that.", &FinishReason::ContentFilter)
        );
    }
}

#[tokio::test]
async fn azure_and_gateways_get_their_query_their_headers_and_their_path() {
    let server = serve([Reply::text("fine")]).await;
    let root = server.url().trim_end_matches("/v1").to_owned();
    for (base, path) in [
        (format!("{root}/openai/deployments/d?api-version=2024-10-21"), "/openai/deployments/d/chat/completions"),
        (format!("{root}/openai/deployments/d/chat/completions?api-version=2024-10-21"), "/openai/deployments/d/chat/completions"),
        (format!("{root}/gateway/v1/responses?api-version=2024-10-21"), "/gateway/v1/responses"),
    ] {
        let mut settings = OpenAiSettings::new("m", base);
        settings.headers = vec![("x-team".into(), SecretString::from("a"))];
        ModelStack::server(settings).unwrap().build(&Redactor::default()).complete(ask("hello")).await.unwrap();
        let received = server.received().pop().unwrap();
        assert_eq!((received.path.as_str(), received.query.as_str()), (path, "api-version=2024-10-21"));
        assert_eq!(received.headers["x-team"], "a");
    }
}

#[tokio::test]
async fn a_packed_answer_is_unpacked() {
    use std::io::Write as _;
    let text = r#"{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    for (content_type, body) in [("application/json", text.to_owned()), ("text/event-stream", format!("data: {text}\n\ndata: [DONE]\n\n"))]
    {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(body.as_bytes()).unwrap();
        let packed =
            Reply::raw(encoder.finish().unwrap()).with_header("content-encoding", "gzip").with_header("content-type", content_type);
        let server = serve([packed.in_pieces_of(7)]).await;
        assert_eq!(client(&server, |_| {}).complete(ask("hello")).await.unwrap().content, "hi");
    }
}
