//! Tests whole conversations with servers that check every request as the real ones do.

use std::sync::Arc;

use aime_scripted_server::{Provider as Server, Reply, Script, ScriptedServer, When};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::client;
use crate::{
    ChatModel, ChatRequest, ChatResponse, Effort, FinishReason, Message, Model, ModelStack, Protocol, Provider, Redactor, ResponseFormat,
    ToolCall, ToolChoice, ToolDefinition,
};

/// Servers, with the requested model and the settings of each.
const SERVERS: [(Server, &str, Option<Provider>, Option<Protocol>); 8] = [
    (Server::OpenAi, "gpt-5.6-terra", None, None),
    (Server::Anthropic, "claude-opus-5", Some(Provider::Anthropic), None),
    (Server::Gemini, "gemini-3-pro", Some(Provider::Gemini), None),
    (Server::Gemini, "gemini-3-pro", Some(Provider::Gemini), Some(Protocol::Chat)),
    (Server::DeepSeek, "deepseek-v4", None, None),
    (Server::OpenRouter, "anthropic/claude-5", Some(Provider::OpenRouter), None),
    (Server::Mistral, "devstral-2", Some(Provider::Mistral), None),
    (Server::Generic, "qwen4", None, None),
];

type Served = (Server, &'static str, Option<Provider>, Option<Protocol>);

fn tools() -> Arc<[ToolDefinition]> {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    Arc::new([ToolDefinition { name: "read_file".into(), description: "Reads a file.".into(), parameters: schema.into() }])
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({"path": path}))
}

/// Returns a server that looks twice, at two files at once and at a third, and then answers.
fn script(server: Server) -> Script {
    Script::new()
        .provider(server)
        .on(When::any().and_turn(0), [Reply::tool_calls([read("a"), read("b")]).with_reasoning("Both at once.")])
        .on(
            When::any().and_turn(1),
            [Reply::call("read_file", json!({"path": "c"})).with_reasoning("And the third.").with_text("One more.")],
        )
        .on(When::any().and_turn(2), [Reply::text("All read.").with_reasoning("That is all.")])
        .on(When::any().and_turn(3), [Reply::text("Still there.")])
}

fn model(server: &ScriptedServer, served: Served) -> Model {
    streaming(server, served, true)
}

fn streaming(server: &ScriptedServer, (_, name, provider, protocol): Served, streaming: bool) -> Model {
    client(server, |settings| {
        name.clone_into(&mut settings.model);
        settings.provider = provider;
        settings.protocol = protocol;
        settings.streaming = streaming;
        settings.api_key = Some(SecretString::from("key-1"));
        settings.effort = Some(Effort::Medium);
        settings.retry.max_retries = 0;
    })
}

fn request(messages: &[Arc<Message>]) -> ChatRequest {
    let (temperature, seed) = (Some(0.2), Some(7));
    ChatRequest {
        messages: messages.to_vec(),
        tools: tools(),
        temperature,
        seed,
        max_output_tokens: Some(4_096),
        cache_key: Some("run-1".into()),
        ..ChatRequest::default()
    }
}

fn begin() -> Vec<Arc<Message>> {
    vec![Arc::new(Message::system("You read files.")), Arc::new(Message::user("Read a, b and c."))]
}

/// Runs one turn. Returns the answer and appends the results of its calls.
async fn turn(model: &dyn ChatModel, messages: &mut Vec<Arc<Message>>) -> ChatResponse {
    let answer = model.complete(request(messages)).await.unwrap();
    let (content, tool_calls, native) = (answer.content.clone(), answer.tool_calls.clone(), answer.native.clone());
    messages.push(Arc::new(Message::Assistant { content, tool_calls, native }));
    messages.extend(
        answer.tool_calls.iter().map(|call| Arc::new(Message::tool(&call.id, &call.name, format!("content of {}", call.arguments)))),
    );
    answer
}

/// Returns the messages as a journal gives them back.
fn from_journal(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    serde_json::from_str(&serde_json::to_string(messages).unwrap()).unwrap()
}

// Requirement: 11.1
#[tokio::test]
async fn a_conversation_goes_on_over_turns_and_restarts() {
    for served in SERVERS {
        let kind = served.0;
        for streams in [true, false] {
            let server = ScriptedServer::start(script(kind)).await;
            let made = || streaming(&server, served, streams);
            let mut messages = begin();
            let first = made();
            assert_eq!(turn(&first, &mut messages).await.tool_calls.len(), 2, "{kind:?}");
            turn(&first, &mut messages).await;
            // Simulates a restart: only the content of the journal is known.
            let second = made();
            messages = from_journal(&messages);
            let last = turn(&second, &mut messages).await;
            assert_eq!((last.content.as_str(), &last.finish), ("All read.", &FinishReason::Stop), "{kind:?}");
            messages.push(Arc::new(Message::user("Are you there?")));
            assert_eq!(turn(&second, &mut messages).await.content, "Still there.", "{kind:?}");
            assert_eq!(server.unmatched(), Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn what_was_learned_is_remembered() {
    let server = ScriptedServer::start(script(Server::OpenAi)).await;
    let model = model(&server, SERVERS[0]);
    let mut messages = begin();
    assert_eq!(model.protocol(), Some(Protocol::Chat), "the address tells nothing of OpenAI");
    for _ in 0..3 {
        turn(&model, &mut messages).await;
    }
    assert_eq!(model.protocol(), Some(Protocol::Responses));
    let paths: Vec<String> = server.received().iter().map(|received| received.path.clone()).collect();
    let switched = paths.iter().position(|path| path.ends_with("/responses")).unwrap();
    assert!(paths[switched..].iter().all(|path| path.ends_with("/responses")), "{paths:?}");
    assert_eq!(paths.len() - switched, 3, "{paths:?}");
}

#[tokio::test]
async fn the_requests_of_a_task() {
    for served in SERVERS {
        let kind = served.0;
        let server = ScriptedServer::start(script(kind)).await;
        let model = model(&server, served);
        let mut messages = begin();
        for _ in 0..3 {
            turn(&model, &mut messages).await;
        }
        let last = server.requests().pop().unwrap();
        insta::assert_json_snapshot!(
            format!("the_last_request_to_{kind:?}_over_{}", model.protocol().unwrap().as_str()).to_lowercase(),
            last
        );
    }
}

#[tokio::test]
async fn each_request_grows_at_its_end() {
    for served in SERVERS {
        let kind = served.0;
        let server = ScriptedServer::start(script(kind)).await;
        let model = model(&server, served);
        let mut messages = begin();
        for _ in 0..3 {
            turn(&model, &mut messages).await;
        }
        let held = |body: &Value| {
            let items = ["messages", "input", "contents"].iter().find_map(|name| body.get(name)?.as_array()).cloned().unwrap();
            // The mark of a cache moves with the end and is no part of what is cached.
            let text = serde_json::to_string(&items).unwrap().replace(r#","cache_control":{"type":"ephemeral"}"#, "");
            let mut items = serde_json::from_str::<Vec<Value>>(&text).unwrap();
            // A mark in chat completions needs a part, and a text is the same as one part with it.
            for item in items.iter_mut().filter(|_| kind == Server::OpenRouter) {
                if let Some(text) = item.pointer("/content/0/text").cloned() {
                    item["content"] = text;
                }
            }
            items
        };
        let sent: Vec<Vec<Value>> = server.requests().iter().rev().take(3).map(held).collect();
        for pair in sent.windows(2) {
            assert_eq!(pair[0][..pair[1].len()], pair[1][..], "{kind:?}");
        }
    }
}

#[tokio::test]
async fn effort_stays_after_a_turn_without_thinking() {
    for (kind, name, provider) in [
        (Server::Anthropic, "claude-opus-4-7", Provider::Anthropic),
        (Server::Anthropic, "claude-sonnet-4-5", Provider::Anthropic),
        (Server::OpenRouter, "anthropic/claude-opus-4.7", Provider::OpenRouter),
    ] {
        let script = Script::new()
            .provider(kind)
            .on(When::any().and_turn(0), [Reply::tool_calls([read("a"), read("b")]).with_reasoning("Both at once.")])
            .on(When::any().and_turn(1), [Reply::call("read_file", json!({"path": "c"}))])
            .on(When::any().and_turn(2), [Reply::text("All read.")]);
        let server = ScriptedServer::start(script).await;
        let model = model(&server, (kind, name, Some(provider), None));
        let mut messages = begin();
        let answers = [turn(&model, &mut messages).await, turn(&model, &mut messages).await, turn(&model, &mut messages).await];
        assert!(answers.iter().all(|answer| answer.effort == Some(Effort::Medium)), "{name}: {answers:?}");
        let requests = server.requests();
        let settings: Vec<_> = ["thinking", "output_config", "reasoning"].iter().map(|field| requests[0].get(field)).collect();
        assert!(settings.iter().any(Option::is_some), "{name}: {}", requests[0]);
        for (field, first) in ["thinking", "output_config", "reasoning"].iter().zip(settings) {
            assert!(requests.iter().all(|request| request.get(field) == first), "{name}: {field}");
        }
        assert_eq!(requests.len(), 3, "{name}");
    }
}

#[tokio::test]
async fn a_claude_that_always_thinks_gets_its_lowest_effort() {
    let server = ScriptedServer::start(script(Server::Anthropic)).await;
    let model = model(&server, (Server::Anthropic, "claude-opus-5-5", Some(Provider::Anthropic), None));
    let asked = ChatRequest { effort: Some(Effort::None), ..request(&begin()) };
    assert_eq!(model.complete(asked).await.unwrap().effort, Some(Effort::Low));
    let requests = server.requests();
    assert_eq!((requests.len(), &requests[0]["output_config"]), (1, &json!({"effort": "low"})));
}

#[tokio::test]
async fn encrypted_reasoning_goes_back_under_any_name() {
    for name in ["grok-4.7", "prod-large"] {
        let server = ScriptedServer::start(script(Server::OpenAi)).await;
        let model = model(&server, (Server::OpenAi, name, None, Some(Protocol::Responses)));
        let mut messages = begin();
        for _ in 0..3 {
            turn(&model, &mut messages).await;
        }
        let last = server.requests().pop().unwrap();
        let items = last["input"].as_array().unwrap().iter();
        let states: Vec<bool> =
            items.filter(|item| item["type"] == "reasoning").map(|item| item["encrypted_content"].is_string()).collect();
        assert_eq!(states, [true, true], "{name}: {last}");
    }
}

#[tokio::test]
async fn claude_behind_openrouter_gets_cache_marks() {
    let cases: [(&str, &[usize]); 2] = [("anthropic/claude-5", &[0, 4, 6]), ("openai/gpt-5.6-terra", &[])];
    for (name, expected) in cases {
        let server = ScriptedServer::start(script(Server::OpenRouter)).await;
        let model = model(&server, (Server::OpenRouter, name, Some(Provider::OpenRouter), None));
        let mut messages = begin();
        for _ in 0..3 {
            turn(&model, &mut messages).await;
        }
        let last = server.requests().pop().unwrap();
        let sent = last["messages"].as_array().unwrap().iter().enumerate();
        let marked: Vec<usize> = sent.filter(|(_, message)| message.to_string().contains("cache_control")).map(|(at, _)| at).collect();
        assert_eq!(marked, expected, "the system message and the last two turns of the user: {last}");
    }
}

// Requirement: 11.8
#[tokio::test]
async fn a_task_goes_on_with_another_provider() {
    for first in SERVERS {
        // Two servers of one kind give their calls the same ids; OpenRouter has those of Anthropic.
        let alike =
            |other: Server| other == first.0 || [other, first.0].iter().all(|kind| [Server::Anthropic, Server::OpenRouter].contains(kind));
        for other in SERVERS.into_iter().filter(|other| !alike(other.0)) {
            let begun = ScriptedServer::start(
                Script::new()
                    .provider(first.0)
                    .once(When::any(), [Reply::tool_calls([read("a"), read("b")]).with_reasoning("Both at once.")])
                    .on(When::any(), [Reply::status(503, json!({"error": {"message": "down"}}), [])]),
            )
            .await;
            let taken_over = ScriptedServer::start(script(other.0)).await;
            let fallback =
                ModelStack::of(model(&begun, first)).or_else([ModelStack::of(model(&taken_over, other))]).build(&Redactor::default());
            let mut messages = begin();
            for _ in 0..2 {
                turn(&fallback, &mut messages).await;
            }
            let last = turn(&fallback, &mut messages).await;
            assert_eq!(last.content, "All read.", "{first:?} to {other:?}");
        }
    }
}

#[tokio::test]
async fn a_shortened_history_is_taken() {
    for served in SERVERS {
        let kind = served.0;
        let server = ScriptedServer::start(script(kind)).await;
        let model = model(&server, served);
        let mut messages = begin();
        for _ in 0..2 {
            turn(&model, &mut messages).await;
        }
        // A compaction drops the first turn with its results, and shortens the result of the second.
        messages.drain(2..5);
        let Message::Tool { call_id, name, .. } = messages[3].as_ref() else { panic!("{messages:?}") };
        messages[3] = Arc::new(Message::tool(call_id, name, "[removed]"));
        model.complete(request(&messages)).await.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    }
}

#[tokio::test]
async fn an_edited_turn_is_rebuilt_from_its_text() {
    for served in SERVERS {
        let kind = served.0;
        let server = ScriptedServer::start(script(kind)).await;
        let model = model(&server, served);
        let mut messages = begin();
        turn(&model, &mut messages).await;
        let Message::Assistant { content, tool_calls, native } = messages[2].as_ref().clone() else { panic!() };
        let edited = ToolCall { arguments: r#"{"path":"[redacted]"}"#.into(), ..tool_calls[0].clone() };
        let tool_calls = vec![edited, tool_calls[1].clone()];
        messages[2] = Arc::new(Message::Assistant { content, tool_calls, native });
        // Gemini and DeepSeek check that the very turn comes back; others take a rebuilt one.
        let answer = model.complete(request(&messages)).await;
        let sent = server.requests().pop().unwrap().to_string();
        assert!(sent.contains("[redacted]"), "{kind:?}: {sent}");
        assert!(!sent.contains("Both at once."), "{kind:?}: {sent}");
        assert!(kind != Server::Anthropic || answer.is_ok(), "asked without thinking: {answer:?}");
    }
}

#[tokio::test]
async fn a_structured_answer_is_given_by_every_server() {
    let schema =
        json!({"type": "object", "properties": {"passed": {"type": "boolean"}}, "required": ["passed"], "additionalProperties": false});
    for served in SERVERS {
        let kind = served.0;
        let script =
            Script::new().provider(kind).on(When::schema("aime_verdict"), [Reply::json(json!({"passed": true})).with_reasoning("Yes.")]);
        let server = ScriptedServer::start(script).await;
        let format = ResponseFormat::JsonSchema { name: "aime_verdict".into(), schema: schema.clone() };
        let asked = ChatRequest { messages: vec![Arc::new(Message::user("Did it pass?"))], format, ..ChatRequest::default() };
        let answer = model(&server, served).complete(asked).await.unwrap();
        assert_eq!(answer.content, r#"{"passed":true}"#, "{kind:?}");
    }
}

fn open_form() -> ChatRequest {
    let schema = json!({"type": "object", "properties": {"parameters": {"type": "object"}}, "required": ["parameters"]});
    let format = ResponseFormat::JsonSchema { name: "aime_plan".into(), schema };
    ChatRequest { messages: vec![Arc::new(Message::user("Plan it."))], format, ..ChatRequest::default() }
}

#[tokio::test]
async fn an_answer_may_have_open_members() {
    for served in SERVERS {
        let kind = served.0;
        let written = match kind {
            Server::Anthropic => json!({"parameters": "{\"path\": \"a\"}"}),
            _ => json!({"parameters": {"path": "a"}}),
        };
        let script = Script::new().provider(kind).on(When::schema("aime_plan"), [Reply::json(written).with_reasoning("Look first.")]);
        let server = ScriptedServer::start(script).await;
        let answer = model(&server, served).complete(open_form()).await.unwrap();
        assert_eq!(serde_json::from_str::<Value>(&answer.content).unwrap(), json!({"parameters": {"path": "a"}}), "{kind:?}");
        assert!(kind != Server::Anthropic || answer.reasoning == "Look first.", "it thinks and shows it");
    }
}

#[tokio::test]
async fn a_model_that_is_held_to_no_schema_gets_the_form_as_a_tool() {
    let refusal = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "output_config.format: structured outputs are not supported on this model"}});
    for (name, refusals) in [("minimax-m3", 0), ("claude-sonnet-4-20250514", 0), ("claude-opus-5", 1)] {
        let script = Script::new()
            .on(When::field("/output_config/format"), [Reply::status(400, refusal.clone(), [])])
            .on(When::schema("aime_plan"), [Reply::call("aime_plan", json!({"parameters": {"path": "a"}}))]);
        let server = ScriptedServer::start(script).await;
        let model = streaming(&server, (Server::Generic, name, None, Some(Protocol::Messages)), true);
        for _ in 0..2 {
            let answer = model.complete(open_form()).await.unwrap();
            assert_eq!((answer.content.as_str(), answer.tool_calls.len()), (r#"{"parameters":{"path":"a"}}"#, 0), "{name}");
        }
        assert_eq!(server.requests().len(), 2 + refusals, "{name}");
    }
}

#[tokio::test]
async fn one_tool_can_be_demanded() {
    let server = ScriptedServer::start(script(Server::OpenAi)).await;
    let asked = ChatRequest { tool_choice: ToolChoice::Only("read_file".into()), ..request(&begin()) };
    model(&server, SERVERS[0]).complete(asked).await.unwrap();
    assert_eq!(server.requests().pop().unwrap()["tool_choice"], json!({"type": "function", "name": "read_file"}));
}
