//! A model that sees no secret, and whose answers hold none.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use aime_llm::{
    ChatModel, ChatRequest, ChatResponse, Message, ModelError, ModelLimits, NativeTurn, Prices, StreamPart, ToolCall, ToolDefinition,
};
use aime_redact::{Deltas, Redactor};
use futures::{
    StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};

/// Takes secrets out of requests before they are sent, and known values out of answers. What a model itself has written is carried out as it
/// stands, so nothing but known values is taken out of that.
pub(crate) struct RedactedModel {
    inner: Arc<dyn ChatModel>,
    redactor: Redactor,
    clean: Mutex<Clean>,
}

/// The fewest messages that are remembered before those that are gone are looked for.
const REMEMBERED: usize = 1_024;

/// Messages that were found to hold no secret: a conversation is sent again and again, and only its end is new. The messages themselves are not
/// kept; that none of them takes the place of another is certain as long as one is remembered.
#[derive(Default)]
struct Clean {
    messages: HashMap<usize, Weak<Message>>,
    tools: Option<Weak<[ToolDefinition]>>,
    /// How many values were known then.
    known: usize,
    /// When those that are gone are looked for again.
    full: usize,
}

impl Clean {
    fn place(message: &Arc<Message>) -> usize {
        Arc::as_ptr(message).addr()
    }

    fn remember(&mut self, message: &Arc<Message>) {
        if self.messages.len() >= self.full.max(REMEMBERED) {
            self.messages.retain(|_, message| message.strong_count() > 0);
            self.full = self.messages.len() * 2;
        }
        self.messages.insert(Self::place(message), Arc::downgrade(message));
    }
}

impl RedactedModel {
    /// Around a model.
    pub(crate) fn new(inner: Arc<dyn ChatModel>, redactor: Redactor) -> Self {
        Self { inner, redactor, clean: Mutex::default() }
    }

    fn request(&self, mut request: ChatRequest) -> ChatRequest {
        let mut clean = self.clean.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.redactor.values_known();
        if clean.known != known {
            *clean = Clean { known, ..Clean::default() };
        }
        for message in &mut request.messages {
            if clean.messages.contains_key(&Clean::place(message)) {
                continue;
            }
            match self.message(message) {
                Some(other) => *message = Arc::new(other),
                None => clean.remember(message),
            }
        }
        let tools = Arc::downgrade(&request.tools);
        if !clean.tools.as_ref().is_some_and(|clean| Weak::ptr_eq(clean, &tools)) {
            if request.tools.iter().any(|tool| self.holds_one(tool)) {
                request.tools = request.tools.iter().map(|tool| self.redactor.typed(tool.clone())).collect();
            } else {
                clean.tools = Some(tools);
            }
        }
        request
    }

    /// The message without secrets; nothing where it holds none, so that it stays the same message.
    fn message(&self, message: &Message) -> Option<Message> {
        let clean = |content: &String| match self.redactor.text(content) {
            Cow::Borrowed(_) => None,
            Cow::Owned(clean) => Some(clean),
        };
        Some(match message {
            Message::System { content } => Message::System { content: clean(content)? },
            Message::User { content } => Message::User { content: clean(content)? },
            Message::Tool { call_id, name, content, is_error } => {
                Message::Tool { call_id: call_id.clone(), name: name.clone(), content: clean(content)?, is_error: *is_error }
            }
            Message::Assistant { content, tool_calls, native } => {
                let texts = tool_calls.iter().map(|call| &call.arguments).chain([content]);
                let readable = texts.into_iter().all(|text| !self.holds_value(text));
                if readable && self.native(native.as_ref()).is_some() == native.is_some() {
                    return None;
                }
                // An edited text no longer fits the provider's own form of the turn.
                Message::assistant(self.redactor.values(content).into_owned(), self.calls(tool_calls))
            }
        })
    }

    fn calls(&self, calls: &[ToolCall]) -> Vec<ToolCall> {
        let clean = |call: &ToolCall| ToolCall { arguments: self.redactor.values(&call.arguments).into_owned(), ..call.clone() };
        calls.iter().map(clean).collect()
    }

    fn holds_value(&self, text: &str) -> bool {
        matches!(self.redactor.values(text), Cow::Owned(_))
    }

    /// The provider's own form of a turn; nothing where a known value is anywhere in it. It is never edited.
    fn native(&self, native: Option<&Arc<NativeTurn>>) -> Option<Arc<NativeTurn>> {
        native.filter(|native| !native.any_text(|text| self.holds_value(text))).cloned()
    }

    fn holds_one(&self, tool: &ToolDefinition) -> bool {
        self.redactor.finds(&tool.description) || self.redactor.finds(&tool.parameters.to_string())
    }

    fn response(&self, response: ChatResponse) -> ChatResponse {
        ChatResponse {
            content: self.redactor.values(&response.content).into_owned(),
            reasoning: self.redactor.values(&response.reasoning).into_owned(),
            tool_calls: self.calls(&response.tool_calls),
            native: self.native(response.native.as_ref()),
            ..response
        }
    }
}

/// The texts of an answer on its way.
struct Passing {
    text: Deltas,
    reasoning: Deltas,
}

impl Passing {
    /// What may be passed on for a part of an answer. What was held back comes before the part that ends its text.
    fn pass(&mut self, model: &RedactedModel, part: StreamPart) -> Vec<StreamPart> {
        let some = |text: String, part: fn(String) -> StreamPart| (!text.is_empty()).then(|| part(text));
        match part {
            StreamPart::Text(text) => some(self.text.push(&text), StreamPart::Text).into_iter().collect(),
            StreamPart::Reasoning(text) => some(self.reasoning.push(&text), StreamPart::Reasoning).into_iter().collect(),
            StreamPart::Done(response) => {
                let rest = [
                    some(self.reasoning.finish(), StreamPart::Reasoning),
                    some(self.text.finish(), StreamPart::Text),
                    Some(StreamPart::Done(Box::new(model.response(*response)))),
                ];
                rest.into_iter().flatten().collect()
            }
            other => vec![other],
        }
    }
}

impl ChatModel for RedactedModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn limits(&self) -> ModelLimits {
        self.inner.limits()
    }

    fn prices(&self) -> Option<Prices> {
        self.inner.prices()
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        let mut passing = Passing { text: Deltas::new(self.redactor.clone()), reasoning: Deltas::new(self.redactor.clone()) };
        let parts = self.inner.stream(self.request(request)).map(move |part| match part {
            Ok(part) => passing.pass(self, part).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        });
        parts.flat_map(stream::iter).boxed()
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        let request = self.request(request);
        Box::pin(async move { self.inner.complete(request).await.map(|response| self.response(response)) })
    }
}

#[cfg(test)]
mod tests {
    use aime_llm::scripted::{Reply, ScriptedModel, When};
    use aime_llm::{Protocol, TurnSource};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn redacted(answer: &str) -> (ScriptedModel, RedactedModel) {
        let inner = ScriptedModel::new("m").on(When::any(), [Reply::text(answer)]);
        (inner.clone(), RedactedModel::new(Arc::new(inner), Redactor::new(["hunter22"])))
    }

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
            Message::User { content: "u sk-0123456789abcdefghij".to_owned() },
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
        let said = Arc::new(Message::User { content: "it is swordfish".to_owned() });
        let request = ChatRequest { messages: vec![Arc::clone(&said)], ..ChatRequest::default() };
        model.complete(request.clone()).await.unwrap();
        model.complete(request.clone()).await.unwrap();
        assert!(Arc::ptr_eq(&inner.requests()[1].messages[0], &said), "what holds no secret is passed on as it is");
        model.redactor.learn(["swordfish"]);
        model.complete(request).await.unwrap();
        assert!(format!("{:?}", inner.requests()[2]).contains("[redacted-secret]"));
    }

    #[test]
    fn messages_that_are_gone_are_forgotten() {
        let (_, model) = redacted("ok");
        for number in 0..10 * REMEMBERED {
            let said = Arc::new(Message::User { content: number.to_string() });
            model.request(ChatRequest { messages: vec![said], ..ChatRequest::default() });
        }
        assert!(model.clean.lock().unwrap().messages.len() <= REMEMBERED);
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
            // What an actor gets is what its journal holds.
            let passed = model.response(response(&format!("{before}hunter22{after}")));
            prop_assert!(!serde_json::to_string(&passed).unwrap().contains("hunter22"));
            prop_assert_eq!(passed.native, None, "it is dropped and not edited");
            let clean = format!("{before}swordfish{after}");
            prop_assert_eq!(model.response(response(&clean)).native, native(&clean));
            // A value that becomes known later is in no later request.
            let turn = Arc::new(Message::Assistant { content: "hi".to_owned(), tool_calls: Vec::new(), native: native(&clean) });
            let request = ChatRequest { messages: vec![turn], ..ChatRequest::default() };
            let sent = |request: ChatRequest| serde_json::to_string(&model.request(request)).unwrap().contains("swordfish");
            prop_assert!(sent(request.clone()));
            model.redactor.learn(["swordfish"]);
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
}
