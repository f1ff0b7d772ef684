//! Layer that lowers the reported limits of a model and bounds its answers by them.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;

use super::layer::Layer;
use crate::{ChatModel, ChatRequest, ChatResponse, ModelError, ModelLimits, StreamPart};

pub(super) struct Bounded {
    pub(super) inner: Arc<dyn ChatModel>,
    pub(super) limits: ModelLimits,
}

impl Bounded {
    fn bound(&self, mut request: ChatRequest) -> ChatRequest {
        let most = self.limits.max_output_tokens;
        request.max_output_tokens = Some(request.max_output_tokens.map_or(most, |wanted| wanted.min(most)));
        request
    }
}

impl Layer for Bounded {
    fn inner(&self) -> &dyn ChatModel {
        &*self.inner
    }

    fn shown_limits(&self) -> ModelLimits {
        self.limits
    }

    fn pass_stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        self.inner.stream(self.bound(request))
    }

    fn pass_complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        self.inner.complete(self.bound(request))
    }
}
