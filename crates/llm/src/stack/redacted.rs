//! A model that sees no secret, and whose answers hold none.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use aime_redact::{Redactor, StreamRedactor};
use foldhash::fast::RandomState;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};

use super::layer::Layer;
use crate::{ChatModel, ChatRequest, ChatResponse, Message, ModelError, NativeTurn, StreamPart, ToolCall, ToolDefinition};

/// Removes secrets from requests before they are sent, and known values from answers. Apart from known values, text
/// that a model has written is executed as it is and therefore not changed.
pub(super) struct Redaction {
    redactor: Redactor,
    clean: Mutex<Clean>,
}

/// The layer. Several layers may share what was found to be clean.
pub(super) struct Redacted {
    pub(super) inner: Arc<dyn ChatModel>,
    pub(super) redaction: Arc<Redaction>,
}

/// Minimum number of remembered messages before the first cleanup of deleted ones.
const REMEMBERED: usize = 1_024;

/// Messages without secrets. A conversation is sent again and again, and only its end is new. The messages themselves
/// are not kept; as long as a weak reference exists, no other message can get the same address.
#[derive(Default)]
struct Clean {
    messages: HashMap<usize, Weak<Message>, RandomState>,
    tools: Option<Weak<[ToolDefinition]>>,
    /// Number of known values at that time.
    known: usize,
    /// Size at which the next cleanup runs.
    cleanup_at: usize,
}

impl Clean {
    fn place(message: &Arc<Message>) -> usize {
        Arc::as_ptr(message).addr()
    }

    fn remember(&mut self, message: &Arc<Message>) {
        if self.messages.len() >= self.cleanup_at.max(REMEMBERED) {
            self.messages.retain(|_, message| message.strong_count() > 0);
            self.cleanup_at = self.messages.len() * 2;
        }
        self.messages.insert(Self::place(message), Arc::downgrade(message));
    }
}

impl Redaction {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self { redactor, clean: Mutex::default() }
    }

    pub(super) fn request(&self, mut request: ChatRequest) -> ChatRequest {
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

    /// Returns the message without secrets; nothing where it holds none, so that it stays the same message.
    fn message(&self, message: &Message) -> Option<Message> {
        let clean = |content: &String| match self.redactor.text(content) {
            Cow::Borrowed(_) => None,
            Cow::Owned(clean) => Some(clean),
        };
        Some(match message {
            Message::System { content } => Message::System { content: clean(content)? },
            Message::User { content, images } => Message::User { content: clean(content)?, images: images.clone() },
            Message::Tool { call_id, name, content, is_error, images } => {
                let (call_id, name, images) = (call_id.clone(), name.clone(), images.clone());
                Message::Tool { call_id, name, content: clean(content)?, is_error: *is_error, images }
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

    /// Returns the provider's own form of a turn; nothing where a known value is anywhere in it. It is never edited.
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
    text: StreamRedactor,
    reasoning: StreamRedactor,
}

impl Passing {
    /// Returns the parts that may be passed on for a part of an answer. Text that was held back precedes the part
    /// that ends it.
    fn pass(&mut self, redaction: &Redaction, part: StreamPart) -> Vec<StreamPart> {
        let some = |text: String, part: fn(String) -> StreamPart| (!text.is_empty()).then(|| part(text));
        match part {
            StreamPart::Text(text) => some(self.text.push(&text), StreamPart::Text).into_iter().collect(),
            StreamPart::Reasoning(text) => some(self.reasoning.push(&text), StreamPart::Reasoning).into_iter().collect(),
            StreamPart::Done(response) => {
                let rest = [
                    some(self.reasoning.finish(), StreamPart::Reasoning),
                    some(self.text.finish(), StreamPart::Text),
                    Some(StreamPart::Done(Box::new(redaction.response(*response)))),
                ];
                rest.into_iter().flatten().collect()
            }
            other => vec![other],
        }
    }
}

impl Layer for Redacted {
    fn inner(&self) -> &dyn ChatModel {
        &*self.inner
    }

    fn pass_stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        let redaction = &*self.redaction;
        let mut passing =
            Passing { text: StreamRedactor::new(redaction.redactor.clone()), reasoning: StreamRedactor::new(redaction.redactor.clone()) };
        let parts = self.inner.stream(redaction.request(request)).map(move |part| match part {
            Ok(part) => passing.pass(redaction, part).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        });
        parts.flat_map(stream::iter).boxed()
    }

    fn pass_complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        let request = self.redaction.request(request);
        Box::pin(async move { self.inner.complete(request).await.map(|response| self.redaction.response(response)) })
    }
}

#[cfg(test)]
mod tests;
