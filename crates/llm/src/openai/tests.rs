//! The client against a server that answers in all the ways that were met.

mod conversations;
mod corpus;
mod failures;
mod faults;
mod images;
mod providers;
mod quirks;
mod requests;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use futures::StreamExt;

use super::OpenAiSettings;
use crate::{
    ChatModel, ChatRequest, ChatResponse, FinishReason, Message, Model, ModelError, ModelStack, Redactor, RetrySettings, StreamPart,
};

/// Returns a client for this server that waits next to nothing between attempts.
pub(super) fn client(server: &ScriptedServer, change: impl FnOnce(&mut OpenAiSettings)) -> Model {
    let mut settings = OpenAiSettings::new("m", server.url());
    settings.retry = RetrySettings { first_wait: Duration::from_millis(1), jitter_seed: Some(1), ..RetrySettings::default() };
    change(&mut settings);
    ModelStack::server(settings).unwrap().build(&Redactor::default())
}

/// Serves the replies in turn, for any request.
pub(super) async fn serve(replies: impl IntoIterator<Item = Reply>) -> ScriptedServer {
    ScriptedServer::start(Script::new().on(When::any(), replies)).await
}

pub(super) fn ask(text: &str) -> ChatRequest {
    ChatRequest { messages: vec![Arc::new(Message::user(text.to_owned()))], ..ChatRequest::default() }
}

/// Returns an answer in one line: text, reasoning, calls, finish, tokens, model.
pub(super) fn line(answer: &Result<ChatResponse, ModelError>) -> String {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return format!("error: {error}"),
    };
    let mut line = format!("{:?}", answer.content);
    if !answer.reasoning.is_empty() {
        line += &format!(" thinks {:?}", answer.reasoning);
    }
    for call in &answer.tool_calls {
        line += &format!(" {}={}({})", call.id, call.name, call.arguments);
    }
    let finish = match &answer.finish {
        FinishReason::Other(word) => format!("other {word:?}"),
        known => format!("{known:?}").to_lowercase(),
    };
    let usage = answer.usage;
    let tokens = if answer.usage_estimated {
        "estimated".to_owned()
    } else {
        format!("{}+{}/{}", usage.input_tokens - usage.cached_input_tokens, usage.cached_input_tokens, usage.output_tokens)
    };
    format!("{line} {finish} {tokens} by {}", answer.model)
}

/// Returns all parts of a stream.
pub(super) async fn parts(model: &impl ChatModel, request: ChatRequest) -> Vec<Result<StreamPart, ModelError>> {
    model.stream(request).collect().await
}
