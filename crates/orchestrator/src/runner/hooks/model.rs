//! Requests to models, with hooks around them.

use std::sync::Arc;

use aime_llm::{ChatRequest, ChatResponse, Message, Model, ModelError, ModelHook, ToolCall};
use futures::future::BoxFuture;

use super::{HookCaller, HookedEvent};
use crate::{
    HookPoint,
    hooks::{HookMessage, HookPayload},
};

impl HookCaller {
    /// Wraps a model so that hooks see its requests and answers; returns the model itself if no hook asks for them.
    /// Messages of hooks are appended at the end, so that the server's prompt cache still matches.
    pub(in crate::runner) fn around(self, model: Model) -> Model {
        let wanted = self.at(HookPoint::BeforePrompt) || self.at(HookPoint::AfterPrompt);
        if wanted { model.hooked(Arc::new(self)) } else { model }
    }
}

impl ModelHook for HookCaller {
    fn before<'a>(&'a self, model: &'a str, mut request: ChatRequest) -> BoxFuture<'a, Result<ChatRequest, ModelError>> {
        Box::pin(async move {
            if !self.at(HookPoint::BeforePrompt) {
                return Ok(request);
            }
            let before = request.messages.len();
            let asked = self.ask(HookPoint::BeforePrompt, prompt(model, &request, None)).await;
            if let HookedEvent { payload: HookPayload::Prompt { messages, .. }, .. } = asked.map_err(|reason| blocked(model, reason))? {
                messages.iter().skip(before).for_each(|added| request.end_with(&added.text));
            }
            Ok(request)
        })
    }

    fn sees_answers(&self) -> bool {
        self.at(HookPoint::AfterPrompt)
    }

    fn after<'a>(&'a self, model: &'a str, request: &'a ChatRequest, answer: &'a ChatResponse) -> BoxFuture<'a, Result<(), ModelError>> {
        Box::pin(async move {
            let asked = self.ask(HookPoint::AfterPrompt, prompt(model, request, Some(answer))).await;
            asked.map(drop).map_err(|reason| blocked(model, reason))
        })
    }
}

fn blocked(model: &str, reason: String) -> ModelError {
    ModelError::Blocked { model: model.to_owned(), reason }
}

fn prompt(model: &str, request: &ChatRequest, answer: Option<&ChatResponse>) -> HookPayload {
    HookPayload::Prompt {
        model: model.to_owned(),
        messages: request.messages.iter().map(|message| hook_message(message)).collect(),
        answer: answer.map(|answer| assistant_message(&answer.content, &answer.tool_calls)),
    }
}

fn hook_message(message: &Message) -> HookMessage {
    let plain = |role: &str, text: &str| HookMessage { role: role.to_owned(), text: text.to_owned() };
    match message {
        Message::System { content } => plain("system", content),
        Message::User { content, .. } => plain("user", content),
        Message::Assistant { content, tool_calls, .. } => assistant_message(content, tool_calls),
        Message::Tool { content, .. } => plain("tool", content),
    }
}

fn assistant_message(content: &str, calls: &[ToolCall]) -> HookMessage {
    let text = (!content.is_empty()).then(|| content.to_owned());
    let lines: Vec<String> = text.into_iter().chain(calls.iter().map(|call| format!("{} {}", call.name, call.arguments))).collect();
    HookMessage { role: "assistant".to_owned(), text: lines.join("\n") }
}
