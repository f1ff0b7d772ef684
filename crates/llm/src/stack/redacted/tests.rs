use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::scripted::{Reply, ScriptedModel, When};
use crate::{Protocol, TurnSource};

fn redacted(answer: &str) -> (ScriptedModel, Redacted) {
    let inner = ScriptedModel::new("m").on(When::any(), [Reply::text(answer)]);
    let redaction = Arc::new(Redaction::new(Redactor::new(["hunter22"])));
    (inner.clone(), Redacted { inner: Arc::new(inner), redaction })
}

// Requirement: 14.4
#[tokio::test]
async fn a_model_sees_no_secret_and_tells_none() {
    let (inner, model) = redacted("it is hunter22, or sk-0123456789abcdefghij");
    let own = Message::Assistant {
        content: String::new(),
        tool_calls: vec![ToolCall {
            id: "1".to_owned(),
            name: "t".to_owned(),
            arguments: "{\"a\":\"sk-0123456789abcdefghij hunter22\"}".to_owned(),
        }],
        native: None,
    };
    let messages = [
        Message::System { content: "s hunter22".to_owned() },
        Message::user("u sk-0123456789abcdefghij"),
        own,
        Message::tool("1", "t", "r hunter22"),
    ];
    let request = ChatRequest { messages: messages.into_iter().map(Arc::new).collect(), ..ChatRequest::default() };
    let answer = model.complete(request).await.unwrap();
    assert_eq!(answer.content, "it is [redacted-secret], or sk-0123456789abcdefghij", "what it wrote itself is carried out");
    let seen = format!("{:?}", inner.requests());
    assert!(!seen.contains("hunter22"), "{seen}");
    assert_eq!(seen.matches("sk-0123456789abcdefghij").count(), 1, "in its own call alone: {seen}");
}

#[tokio::test]
async fn what_was_clean_is_looked_at_again_once_more_is_known() {
    let (inner, model) = redacted("ok");
    let message = Arc::new(Message::user("it is swordfish"));
    let request = ChatRequest { messages: vec![Arc::clone(&message)], ..ChatRequest::default() };
    model.complete(request.clone()).await.unwrap();
    model.complete(request.clone()).await.unwrap();
    assert!(Arc::ptr_eq(&inner.requests()[1].messages[0], &message), "what holds no secret is passed on as it is");
    model.redaction.redactor.learn(["swordfish"]);
    model.complete(request).await.unwrap();
    assert!(format!("{:?}", inner.requests()[2]).contains("[redacted-secret]"));
}

#[test]
fn messages_that_are_gone_are_forgotten() {
    let (_, model) = redacted("ok");
    for number in 0..10 * REMEMBERED {
        let message = Arc::new(Message::user(number.to_string()));
        model.redaction.request(ChatRequest { messages: vec![message], ..ChatRequest::default() });
    }
    assert!(model.redaction.clean.lock().unwrap().messages.len() <= REMEMBERED);
}

/// Items of a turn, with a text somewhere inside.
fn items(text: &str, depth: usize, as_key: bool) -> Vec<Value> {
    let mut inner = if as_key { json!({text: 1}) } else { json!({"text": text}) };
    for level in 0..depth {
        inner = if level % 2 == 0 { json!([inner, {"encrypted_content": "gAAA"}]) } else { json!({"summary": inner}) };
    }
    vec![json!({"type": "reasoning"}), inner]
}

proptest! {
    #[test]
    fn no_secret_in_a_native_turn_is_passed_on(before in "\\PC{0,12}", after in "\\PC{0,12}", depth in 0_usize..5, as_key: bool) {
        let source = TurnSource { protocol: Protocol::Responses, host: "h", model: "m" };
        let native = |text: &str| NativeTurn::new(source, items(text, depth, as_key), "hi", &[]);
        let (inner, model) = redacted("");
        let response = |text: &str| ChatResponse { native: native(text), ..ChatResponse::text("m", "hi") };
        // An actor gets exactly what its journal holds.
        let passed = model.redaction.response(response(&format!("{before}hunter22{after}")));
        prop_assert!(!serde_json::to_string(&passed).unwrap().contains("hunter22"));
        prop_assert_eq!(passed.native, None, "it is dropped and not edited");
        let clean = format!("{before}swordfish{after}");
        prop_assert_eq!(model.redaction.response(response(&clean)).native, native(&clean));
        // A value that becomes known later is in no later request.
        let turn = Arc::new(Message::Assistant { content: "hi".to_owned(), tool_calls: Vec::new(), native: native(&clean) });
        let request = ChatRequest { messages: vec![turn], ..ChatRequest::default() };
        let sent = |request: ChatRequest| serde_json::to_string(&model.redaction.request(request)).unwrap().contains("swordfish");
        prop_assert!(sent(request.clone()));
        model.redaction.redactor.learn(["swordfish"]);
        prop_assert!(!sent(request));
        drop(inner);
    }
}

#[tokio::test]
async fn parts_of_an_answer_hold_none_either() {
    let (_, model) = redacted("it is hunter22");
    let parts: Vec<_> = model.stream(ChatRequest::default()).collect().await;
    let texts: String =
        parts.iter().filter_map(|part| if let Ok(StreamPart::Text(text)) = part { Some(text.as_str()) } else { None }).collect();
    assert_eq!(texts, "it is [redacted-secret]");
    assert!(matches!(parts.last(), Some(Ok(StreamPart::Done(_)))), "{parts:?}");
}
