//! Requests to models, with hooks around them.

use std::sync::Arc;

use aime_llm::{ChatModel, ChatRequest, ChatResponse, Message, ModelError, ModelLimits, Prices, StreamPart, ToolCall, in_one_part};
use futures::{future::BoxFuture, stream::BoxStream};

use super::{Asking, Passed};
use crate::{
    HookPoint,
    hooks::{HookMessage, HookPayload},
};

/// A model whose requests and answers hooks see. What they add comes after everything else, so that the server's cache still fits.
pub(in crate::runner) struct HookedModel {
    inner: Arc<dyn ChatModel>,
    asking: Asking,
}

impl HookedModel {
    /// The model itself where no hook wants to see its requests.
    pub(in crate::runner) fn around(inner: Arc<dyn ChatModel>, asking: Asking) -> Arc<dyn ChatModel> {
        if asking.at(HookPoint::BeforePrompt) || asking.at(HookPoint::AfterPrompt) { Arc::new(Self { inner, asking }) } else { inner }
    }

    fn blocked(&self, reason: String) -> ModelError {
        ModelError::Blocked { model: self.inner.name().to_owned(), reason }
    }

    fn prompt(&self, request: &ChatRequest, answer: Option<&ChatResponse>) -> HookPayload {
        HookPayload::Prompt {
            model: self.inner.name().to_owned(),
            messages: request.messages.iter().map(|message| told(message)).collect(),
            answer: answer.map(|answer| spoken(&answer.content, &answer.tool_calls)),
        }
    }

    async fn before(&self, mut request: ChatRequest) -> Result<ChatRequest, ModelError> {
        if !self.asking.at(HookPoint::BeforePrompt) {
            return Ok(request);
        }
        let before = request.messages.len();
        let asked = self.asking.ask(HookPoint::BeforePrompt, self.prompt(&request, None)).await;
        if let Passed { payload: HookPayload::Prompt { messages, .. }, .. } = asked.map_err(|reason| self.blocked(reason))? {
            messages.into_iter().skip(before).for_each(|added| append(&mut request, added.text));
        }
        Ok(request)
    }
}

impl ChatModel for HookedModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn limits(&self) -> ModelLimits {
        self.inner.limits()
    }

    fn prices(&self) -> Option<Prices> {
        self.inner.prices()
    }

    /// In one part: what may still be blocked is not shown.
    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        in_one_part(self.complete(request))
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        Box::pin(async move {
            let request = self.before(request).await?;
            if !self.asking.at(HookPoint::AfterPrompt) {
                return self.inner.complete(request).await;
            }
            let response = self.inner.complete(request.clone()).await?;
            let asked = self.asking.ask(HookPoint::AfterPrompt, self.prompt(&request, Some(&response))).await;
            asked.map_err(|reason| self.blocked(reason))?;
            Ok(response)
        })
    }
}

/// Adds a text for the model at the end: after a blank line in the last message where that is a result or the user's, else in a message of the
/// user. Some servers refuse a message of the user after a result, and some chat templates two of the user in a row.
pub(super) fn append(request: &mut ChatRequest, text: String) {
    let appendable = |last: &&mut Arc<Message>| matches!(last.as_ref(), Message::User { .. } | Message::Tool { .. });
    match request.messages.last_mut().filter(appendable).map(Arc::make_mut) {
        Some(Message::User { content } | Message::Tool { content, .. }) => {
            content.push_str("\n\n");
            content.push_str(&text);
        }
        _ => request.messages.push(Arc::new(Message::User { content: text })),
    }
}

fn told(message: &Message) -> HookMessage {
    let plain = |role: &str, text: &str| HookMessage { role: role.to_owned(), text: text.to_owned() };
    match message {
        Message::System { content } => plain("system", content),
        Message::User { content } => plain("user", content),
        Message::Assistant { content, tool_calls, .. } => spoken(content, tool_calls),
        Message::Tool { content, .. } => plain("tool", content),
    }
}

fn spoken(content: &str, calls: &[ToolCall]) -> HookMessage {
    let said = (!content.is_empty()).then(|| content.to_owned());
    let lines: Vec<String> = said.into_iter().chain(calls.iter().map(|call| format!("{} {}", call.name, call.arguments))).collect();
    HookMessage { role: "assistant".to_owned(), text: lines.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hooks_text_ends_the_last_message() {
        let call = ToolCall { id: "c".into(), name: "glob".into(), arguments: "{}".into() };
        let answer = || Message::assistant(String::new(), vec![call.clone()]);
        for (messages, last) in [
            (vec![Message::user("task")], Message::user("task\n\nMind the tests.")),
            (vec![answer(), Message::tool("c", "glob", "a.txt")], Message::tool("c", "glob", "a.txt\n\nMind the tests.")),
            (vec![Message::assistant("words", Vec::new())], Message::user("Mind the tests.")),
            (Vec::new(), Message::user("Mind the tests.")),
        ] {
            let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
            let mut request = ChatRequest { messages: messages.clone(), ..ChatRequest::default() };
            append(&mut request, "Mind the tests.".to_owned());
            assert_eq!(request.messages.last().map(AsRef::as_ref), Some(&last));
            let kept = messages.iter().zip(&request.messages).filter(|(before, after)| before == after).count();
            assert!(kept + 1 >= messages.len(), "what comes before stays");
        }
    }
}
