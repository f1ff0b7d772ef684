//! Layer that reports used-up quotas, and when they are renewed, to the caller's budget.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};

use super::{layer::Layer, metered::Meter};
use crate::{ChatModel, ChatRequest, ChatResponse, ModelError, StreamPart};

/// Outside of fallback and retries, so that it sees only errors that they could not handle.
pub(super) struct Quota {
    pub(super) inner: Arc<dyn ChatModel>,
    pub(super) meter: Arc<dyn Meter>,
}

impl Quota {
    /// Replaces the error of a used-up quota if the budget takes note of it.
    fn record_error(&self, error: ModelError) -> ModelError {
        let taken = error.quota_wait().and_then(|wait| self.meter.used_up(&error, wait));
        taken.map_or(error, |out| ModelError::OutOfBudget { model: self.inner.name().to_owned(), bound: out.bound, detail: out.detail })
    }
}

impl Layer for Quota {
    fn inner(&self) -> &dyn ChatModel {
        &*self.inner
    }

    fn pass_stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        self.inner.stream(request).map(|part| part.map_err(|error| self.record_error(error))).boxed()
    }

    fn pass_complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        async { self.inner.complete(request).await.map_err(|error| self.record_error(error)) }.boxed()
    }
}
