//! Requests and answers as the caller's own code sees them.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;

use super::{layer::Layer, redacted::Redaction};
use crate::{ChatModel, ChatRequest, ChatResponse, ModelError, StreamPart, in_one_part};

/// Sees every request before it is sent, and every answer before it is passed on. Neither holds a secret, and what it adds to a request is redacted
/// too. It is asked once for each request, however often that is tried.
pub trait ModelHook: Send + Sync {
    /// Returns the request as it is to be sent, or why it is not.
    fn before<'a>(&'a self, model: &'a str, request: ChatRequest) -> BoxFuture<'a, Result<ChatRequest, ModelError>>;

    /// Returns true if the hook inspects answers; the caller then gets them whole.
    fn sees_answers(&self) -> bool;

    /// Decides if an answer may be passed on.
    fn after<'a>(&'a self, model: &'a str, request: &'a ChatRequest, answer: &'a ChatResponse) -> BoxFuture<'a, Result<(), ModelError>>;
}

pub(super) struct Hooked {
    pub(super) inner: Arc<dyn ChatModel>,
    pub(super) hook: Arc<dyn ModelHook>,
    pub(super) redaction: Arc<Redaction>,
}

impl Layer for Hooked {
    fn inner(&self) -> &dyn ChatModel {
        &*self.inner
    }

    /// Passes the answer on in one part, because a part that may still be blocked must not be shown.
    fn pass_stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        in_one_part(self.pass_complete(request))
    }

    fn pass_complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        Box::pin(async move {
            let name = self.inner.name();
            // Of what the hook has added, it does not get a secret back either.
            let request = self.redaction.request(self.hook.before(name, request).await?);
            if !self.hook.sees_answers() {
                return self.inner.complete(request).await;
            }
            let answer = self.inner.complete(request.clone()).await?;
            self.hook.after(name, &request, &answer).await?;
            Ok(answer)
        })
    }
}
