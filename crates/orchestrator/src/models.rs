//! The models of a run, by role.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use aime_llm::{ChatModel, ChatRequest, ChatResponse, ModelError, Prices, RequestTokens, StreamPart};
use aime_progress::Spent;
use aime_redact::Redactor;
use futures::{StreamExt, future::BoxFuture, stream::BoxStream};

use crate::{Budget, BudgetError, Estimate, redacted_model::RedactedModel};

/// Models by role or name. Whoever asks for one that is not there gets `default`.
#[derive(Clone)]
pub struct Models {
    default: Arc<dyn ChatModel>,
    roles: BTreeMap<String, Arc<dyn ChatModel>>,
}

impl Models {
    /// From models by name; `None` without one named `default`.
    #[must_use]
    pub fn new(roles: BTreeMap<String, Arc<dyn ChatModel>>) -> Option<Self> {
        let default = roles.get("default")?.clone();
        Some(Self { default, roles })
    }

    /// One model for every role.
    #[must_use]
    pub fn single(model: Arc<dyn ChatModel>) -> Self {
        Self { default: model, roles: BTreeMap::new() }
    }

    /// The same models, each of which sees no secret, and none of whose answers holds one.
    #[must_use]
    pub fn redacted(self, redactor: &Redactor) -> Self {
        let around = |inner| -> Arc<dyn ChatModel> { Arc::new(RedactedModel::new(inner, redactor.clone())) };
        let roles = self.roles.into_iter().map(|(name, model)| (name, around(model))).collect();
        Self { default: around(self.default), roles }
    }

    /// The names by which models can be asked for.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let default = (!self.roles.contains_key("default")).then_some("default");
        default.into_iter().chain(self.roles.keys().map(String::as_str))
    }

    /// The model of a role, or the default.
    #[must_use]
    pub fn role(&self, name: &str) -> Arc<dyn ChatModel> {
        self.roles.get(name).unwrap_or(&self.default).clone()
    }
}

/// Told when a budget leaves no room for a call.
pub(crate) type OnBound = Arc<dyn Fn(&BudgetError) + Send + Sync>;

/// A model whose every call is reserved in the run's budget first. When there is no room the call never ends: the run, which is told,
/// revokes it.
pub(crate) struct BudgetedModel {
    inner: Arc<dyn ChatModel>,
    budget: Arc<Budget>,
    on_bound: OnBound,
    /// The requests of a run share what a server may keep of their beginning.
    cache_key: Arc<str>,
    counted: Mutex<RequestTokens>,
}

impl BudgetedModel {
    pub(crate) fn new(inner: Arc<dyn ChatModel>, budget: Arc<Budget>, on_bound: OnBound, cache_key: Arc<str>) -> Self {
        Self { inner, budget, on_bound, cache_key, counted: Mutex::default() }
    }

    fn keyed(&self, request: ChatRequest) -> ChatRequest {
        ChatRequest { cache_key: Some(Arc::clone(&self.cache_key)), ..request }
    }

    fn estimate(&self, request: &ChatRequest) -> Estimate {
        let tokens = self.counted.lock().unwrap_or_else(PoisonError::into_inner).count(request);
        self.budget.estimate(tokens, request.max_output_tokens, self.inner.prices())
    }
}

impl ChatModel for BudgetedModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn limits(&self) -> aime_llm::ModelLimits {
        self.inner.limits()
    }

    fn prices(&self) -> Option<Prices> {
        self.inner.prices()
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        Box::pin(
            futures::stream::once(async move {
                let mut reservation = Some(match self.budget.reserve(self.estimate(&request)) {
                    Ok(reservation) => reservation,
                    Err(error) => {
                        (self.on_bound)(&error);
                        std::future::pending().await
                    }
                });
                self.inner.stream(self.keyed(request)).inspect(move |part| {
                    if let Ok(StreamPart::Done(response)) = part
                        && let Some(reservation) = reservation.take()
                    {
                        reservation.settle(&spent(response));
                    }
                })
            })
            .flatten(),
        )
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        Box::pin(async move {
            let reservation = match self.budget.reserve(self.estimate(&request)) {
                Ok(reservation) => reservation,
                Err(error) => {
                    (self.on_bound)(&error);
                    std::future::pending().await
                }
            };
            let response = self.inner.complete(self.keyed(request)).await?;
            reservation.settle(&spent(&response));
            Ok(response)
        })
    }
}

/// What one answer cost.
pub(crate) fn spent(response: &ChatResponse) -> Spent {
    let usage = response.usage;
    Spent {
        requests: 1,
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage.cached_input_tokens,
        cache_write_tokens: usage.cache_write_tokens,
        output_tokens: usage.output_tokens,
        reasoning_tokens: usage.reasoning_tokens,
        cost_usd: response.cost_usd,
    }
}
