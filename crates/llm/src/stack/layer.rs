//! Shared by all layers around a model: a layer forwards everything that it does not change.

use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::{ChatModel, ChatRequest, ChatResponse, ModelError, ModelLimits, Prices, Protocol, StreamPart};

/// Layer around a model. It defines how requests pass through it; everything else is forwarded by the one
/// implementation of [`ChatModel`] below.
pub(crate) trait Layer: Send + Sync {
    /// Returns the model within.
    fn inner(&self) -> &dyn ChatModel;

    /// Passes a request whose answer comes in parts.
    fn pass_stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>>;

    /// Passes a request whose answer comes at once. A layer outside of the retries must ask the model within for a whole answer too: the retries ask
    /// again for one that was cut, but not for a stream that has begun.
    fn pass_complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>>;

    /// Returns the limits of the model within, as this layer shows them.
    fn shown_limits(&self) -> ModelLimits {
        self.inner().limits()
    }

    /// Returns the prices of the model within, as this layer shows them.
    fn shown_prices(&self) -> Option<Prices> {
        self.inner().prices()
    }
}

// The lint refuses a method of `ChatModel` that is not forwarded here.
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> ChatModel for L {
    fn name(&self) -> &str {
        self.inner().name()
    }

    fn limits(&self) -> ModelLimits {
        self.shown_limits()
    }

    fn prices(&self) -> Option<Prices> {
        self.shown_prices()
    }

    fn protocol(&self) -> Option<Protocol> {
        self.inner().protocol()
    }

    fn address(&self) -> Option<&str> {
        self.inner().address()
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        self.pass_stream(request)
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        self.pass_complete(request)
    }
}

#[deny(clippy::missing_trait_methods)]
impl<M: ChatModel + ?Sized> ChatModel for std::sync::Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn limits(&self) -> ModelLimits {
        (**self).limits()
    }

    fn prices(&self) -> Option<Prices> {
        (**self).prices()
    }

    fn protocol(&self) -> Option<Protocol> {
        (**self).protocol()
    }

    fn address(&self) -> Option<&str> {
        (**self).address()
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        (**self).stream(request)
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        (**self).complete(request)
    }
}
