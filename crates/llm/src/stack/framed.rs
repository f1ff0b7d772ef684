//! A caller's additions to every request: the key of its cache, and a last text.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;

use super::layer::Layer;
use crate::{ChatModel, ChatRequest, ChatResponse, Message, ModelError, StreamPart};

impl ChatRequest {
    /// Adds a text for the model at the end, after everything that the server may have in its cache: after a blank line in the last message where that
    /// is a result or the user's, else in a message of the user. Some servers refuse a message of the user after a result, and some chat templates two
    /// of the user in a row.
    pub fn end_with(&mut self, text: &str) {
        let appendable = |last: &&mut Arc<Message>| matches!(last.as_ref(), Message::User { .. } | Message::Tool { .. });
        match self.messages.last_mut().filter(appendable).map(Arc::make_mut) {
            Some(Message::User { content, .. } | Message::Tool { content, .. }) => {
                content.push_str("\n\n");
                content.push_str(text);
            }
            _ => self.messages.push(Arc::new(Message::user(text))),
        }
    }
}

pub(super) struct Framed {
    pub(super) inner: Arc<dyn ChatModel>,
    pub(super) cache_key: Option<Arc<str>>,
    pub(super) ending: Option<Arc<str>>,
}

impl Framed {
    fn frame(&self, mut request: ChatRequest) -> ChatRequest {
        if let Some(key) = &self.cache_key {
            request.cache_key = Some(Arc::clone(key));
        }
        if let Some(ending) = &self.ending {
            request.end_with(ending);
        }
        request
    }
}

impl Layer for Framed {
    fn inner(&self) -> &dyn ChatModel {
        &*self.inner
    }

    fn pass_stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        self.inner.stream(self.frame(request))
    }

    fn pass_complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        self.inner.complete(self.frame(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolCall;

    #[test]
    fn an_ending_goes_into_the_last_message() {
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
            request.end_with("Mind the tests.");
            assert_eq!(request.messages.last().map(AsRef::as_ref), Some(&last));
            let kept = messages.iter().zip(&request.messages).filter(|(before, after)| before == after).count();
            assert!(kept + 1 >= messages.len(), "what comes before stays");
        }
    }
}
