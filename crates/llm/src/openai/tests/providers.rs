//! Forms that single providers refuse or write in a way of their own, under their own host names and without a network.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{ask, line};
use crate::{
    ChatModel, ChatRequest, Effort, Image, Message, Model, ModelError, ModelHint, ModelStack, OpenAiSettings, Protocol, Redactor,
    Transport, TransportResponse,
};

/// Answers with these statuses and bodies in turn, and keeps what it was sent.
struct Replies {
    left: Mutex<VecDeque<(u16, String)>>,
    sent: Mutex<Vec<Value>>,
}

impl Transport for Replies {
    fn send(&self, body: &[u8]) -> BoxFuture<'_, std::io::Result<TransportResponse>> {
        self.sent.lock().unwrap().push(serde_json::from_slice(body).unwrap());
        let (status, body) = self.left.lock().unwrap().pop_front().unwrap();
        async move { Ok(TransportResponse { status, ..TransportResponse::of([body.into_bytes()]) }) }.boxed()
    }
}

fn model(base: &str, name: &str, replies: impl IntoIterator<Item = (u16, Value)>) -> (Model, Arc<Replies>) {
    let left = replies.into_iter().map(|(status, body)| (status, body.to_string())).collect();
    let replies = Arc::new(Replies { left: Mutex::new(left), sent: Mutex::default() });
    let mut settings = OpenAiSettings::new(name, base);
    settings.retry.max_retries = 0;
    let stack = ModelStack::with_transport(settings, Arc::clone(&replies) as Arc<dyn Transport>).unwrap();
    (stack.build(&Redactor::default()), replies)
}

impl Replies {
    fn sent(&self) -> Vec<Value> {
        self.sent.lock().unwrap().clone()
    }
}

fn refusal(message: &str) -> Value {
    json!({"error": {"message": message}})
}

fn chat_answer(text: &str) -> Value {
    json!({"choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]})
}

fn responses_answer(text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    let output = json!([{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}]);
    json!({"id": "resp_1", "object": "response", "status": "completed", "output": output})
}

#[tokio::test]
async fn xai_is_asked_again_without_an_effort() {
    let name = "grok-4.20-0309-reasoning";
    let refused = json!({"code": "invalid-argument", "error": format!("Model {name} does not support parameter reasoningEffort.")});
    for (base, answer, pointer) in [
        ("https://api.x.ai/v1", responses_answer("fine"), "/reasoning/effort"),
        ("https://api.x.ai/v1/chat/completions", chat_answer("fine"), "/reasoning_effort"),
    ] {
        let (model, replies) = model(base, name, [(400, refused.clone()), (200, answer.clone()), (200, answer)]);
        let request = ChatRequest { effort: Some(Effort::High), ..ask("hello") };
        for _ in 0..2 {
            let answer = model.complete(request.clone()).await.unwrap();
            assert_eq!((answer.content.as_str(), answer.effort), ("fine", None), "{base}");
        }
        let efforts: Vec<bool> = replies.sent().iter().map(|body| body.pointer(pointer).is_some()).collect();
        assert_eq!(efforts, [true, false, false], "{base}");
    }
}

#[tokio::test]
async fn minimax_gives_its_reasoning_apart_and_gets_it_back() {
    let detail = json!({"type": "reasoning.text", "id": "reasoning-text-1", "format": "MiniMax-response-v1", "index": 0, "text": "Greet."});
    let mut answer = chat_answer("hi");
    answer["choices"][0]["message"]["reasoning_details"] = json!([detail]);
    for base in ["https://api.minimax.io/v1", "https://api.minimaxi.com/v1"] {
        let (model, replies) = model(base, "MiniMax-M2.7", [(200, answer.clone()), (200, answer.clone())]);
        let mut request = ask("hello");
        let first = model.complete(request.clone()).await;
        assert_eq!(line(&first), r#""hi" thinks "Greet." stop estimated by MiniMax-M2.7"#);
        let first = first.unwrap();
        request.messages.push(Arc::new(Message::Assistant { content: first.content, tool_calls: Vec::new(), native: first.native }));
        request.messages.push(Arc::new(Message::user("And now?")));
        model.complete(request).await.unwrap();
        let sent = replies.sent();
        assert!(sent.iter().all(|body| body["reasoning_split"] == true), "{sent:?}");
        assert_eq!(sent[1]["messages"][1], json!({"role": "assistant", "content": "hi", "reasoning_details": [detail]}));
    }
}

#[tokio::test]
async fn a_server_that_cannot_split_reasoning_is_not_asked_to() {
    let refused = refusal("invalid params, unknown field 'reasoning_split'");
    let (model, replies) = model("https://api.minimax.io/v1", "MiniMax-Text-01", [(400, refused), (200, chat_answer("hi"))]);
    assert_eq!(model.complete(ask("hello")).await.unwrap().content, "hi");
    assert_eq!(replies.sent()[1].get("reasoning_split"), None);
    let other = self::model("https://api.z.ai/v4", "glm-5", [(200, chat_answer("hi"))]);
    other.0.complete(ask("hello")).await.unwrap();
    assert_eq!(other.1.sent()[0].get("reasoning_split"), None);
}

#[tokio::test]
async fn an_answer_is_as_long_as_the_credit_at_openrouter() {
    let poor = |tokens: u32| {
        let words = format!(
            "This request requires more credits, or fewer max_tokens. You requested up to 128000 tokens, but can only afford {tokens}. To increase, visit https://openrouter.ai/settings/credits"
        );
        (402, json!({"error": {"message": words, "code": 402, "metadata": {"provider_name": null}}}))
    };
    let fine = || (200, chat_answer("fine"));
    /// Replies, the status of the error, and the bounds that were sent.
    type Case = (Vec<(u16, Value)>, Option<u16>, &'static [u64]);
    let cases: [Case; 4] = [
        (vec![poor(30_104), fine()], None, &[128_000, 30_104]),
        (vec![poor(30_104), poor(2_000), fine()], None, &[128_000, 30_104, 2_000]),
        (vec![poor(900)], Some(402), &[128_000]),
        (vec![(402, refusal("Insufficient credits. Add more using https://openrouter.ai/settings/credits"))], Some(402), &[128_000]),
    ];
    for (answers, expected, bounds) in cases {
        let (model, replies) = model("https://openrouter.ai/api/v1", "openai/gpt-5.6-luna", answers);
        let request = ChatRequest { max_output_tokens: Some(128_000), ..ask("hello") };
        let answer = model.complete(request).await;
        let status = match &answer {
            Ok(_) => None,
            Err(ModelError::Unauthorized { status, .. }) => Some(*status),
            Err(error) => panic!("{error}"),
        };
        let sent: Vec<u64> = replies.sent().iter().filter_map(|body| body["max_tokens"].as_u64()).collect();
        assert_eq!((status, sent.as_slice()), (expected, bounds));
        assert_eq!(answer.err().and_then(|error| error.hint()), expected.map(|_| ModelHint::Balance));
    }
}

/// Azure's address of one deployment.
const AZURE: &str = "https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21";

/// OpenAI's refusal of tools beside reasoning.
fn elsewhere() -> (u16, Value) {
    let words = "Function tools with reasoning_effort are not supported for gpt-5.6-terra in /v1/chat/completions. Please use /v1/responses or set reasoning_effort to 'none'.";
    (400, json!({"error": {"message": words, "type": "invalid_request_error", "param": "reasoning_effort", "code": null}}))
}

fn not_found() -> (u16, Value) {
    (404, json!({"error": {"code": "404", "message": "Resource not found"}}))
}

#[tokio::test]
async fn azure_is_asked_for_responses_by_its_deployment() {
    let (model, replies) = model(AZURE, "gpt-5.6-terra", [elsewhere(), (200, responses_answer("fine"))]);
    let request = ChatRequest { effort: Some(Effort::High), ..ask("hello") };
    assert_eq!(model.complete(request).await.unwrap().content, "fine");
    assert_eq!(model.protocol(), Some(Protocol::Responses));
    let models: Vec<Value> = replies.sent().iter().map(|body| body["model"].clone()).collect();
    assert_eq!(models, ["gpt-5.6-terra", "d"]);
}

#[tokio::test]
async fn a_server_without_responses_is_asked_as_before() {
    // The refusal has a second lesson: over chat completions the effort is refused.
    let (model, replies) = model(AZURE, "m", [elsewhere(), not_found(), elsewhere(), (200, chat_answer("fine")), not_found()]);
    let request = ChatRequest { effort: Some(Effort::High), ..ask("hello") };
    assert_eq!(model.complete(request.clone()).await.unwrap().content, "fine");
    let sent = replies.sent();
    assert!(sent[1].get("input").is_some() && sent[2] == sent[0], "{sent:?}");
    assert_eq!((&sent[3]["messages"], &sent[3]["reasoning_effort"]), (&sent[0]["messages"], &Value::Null));
    assert!(model.complete(request).await.is_err());
    assert_eq!((replies.sent().len(), model.protocol()), (5, Some(Protocol::Chat)), "no second change");
}

#[tokio::test]
async fn the_first_refusal_is_reported_where_responses_are_missing() {
    let only = || (400, refusal("This model is only supported in v1/responses and not in v1/chat/completions."));
    let (model, replies) = model("https://gateway.example/v1", "m", [only(), not_found(), only(), only()]);
    for _ in 0..2 {
        let error = model.complete(ask("hello")).await.unwrap_err().to_string();
        assert!(error.contains("only supported in v1/responses"), "{error}");
    }
    assert_eq!((replies.sent().len(), model.protocol()), (4, Some(Protocol::Chat)));
}

#[tokio::test]
async fn a_refusal_in_a_good_answer_teaches() {
    let words = "Unsupported parameter: 'seed' is not supported with this model.";
    let inner = json!({"message": words, "type": "invalid_request_error", "param": "seed"});
    let failed = json!({"type": "response.failed", "response": {"error": {"code": "invalid_prompt", "message": words}}});
    for (base, refused, answer) in [
        ("https://gateway.example/v1", json!({"error": inner}), chat_answer("fine")),
        ("https://gateway.example/v1", json!([{"error": inner}]), chat_answer("fine")),
        ("https://gateway.example/v1/responses", failed, responses_answer("fine")),
    ] {
        let (model, replies) = model(base, "m", [(200, refused), (200, answer)]);
        let seeded = base.ends_with("/v1");
        let answer = model.complete(ChatRequest { seed: Some(1), ..ask("hello") }).await;
        let seeds: Vec<bool> = replies.sent().iter().map(|body| body.get("seed").is_some()).collect();
        // Responses have no seed: there is nothing to learn.
        let expected: (bool, &[bool]) = if seeded { (true, &[true, false]) } else { (false, &[false]) };
        assert_eq!((answer.is_ok(), seeds.as_slice()), expected, "{base}");
    }
}

#[tokio::test]
async fn claude_gets_the_last_images_alone() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x0b\xb8\0\0\0\x01\x08\x06\0\0\0";
    let words = "messages.0.content.3.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels";
    let refused = || (400, json!({"type": "error", "error": {"type": "invalid_request_error", "message": words}}));
    let answer = json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "seen"}], "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 1}});
    let shots = (0..25).map(|at| Image::new(format!("{at}.png"), png).unwrap()).collect();
    let request =
        ChatRequest { messages: vec![Arc::new(Message::User { content: "Look.".into(), images: shots })], ..ChatRequest::default() };
    let (claude, replies) = model("https://api.anthropic.com", "claude-opus-5", [refused(), (200, answer)]);
    assert_eq!(claude.complete(request.clone()).await.unwrap().content, "seen");
    let images = |body: &Value| body.to_string().matches(r#""type":"image""#).count();
    let sent = replies.sent();
    assert_eq!((images(&sent[0]), images(&sent[1])), (25, 15));
    assert!(sent[1].to_string().contains("The image 9.png (image/png, 3000x1 pixels) was left out: the conversation has too many"));
    let (claude, replies) = model("https://api.anthropic.com", "claude-opus-5", [refused(), refused()]);
    assert!(claude.complete(request).await.is_err());
    assert_eq!(replies.sent().len(), 2, "once");
}
