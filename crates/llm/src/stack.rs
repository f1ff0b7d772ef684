//! The layers that every request to a model passes, assembled in one place and in one order.
//!
//! A [`ModelStack`] lists the models and cannot send requests. [`ModelStack::build`] takes the redactor and returns
//! the [`Model`] that can. A request passes, from the caller to the server:
//!
//! 1. **Frame** ([`Model::cached_as`], [`Model::ending_with`]): what the caller adds to each of its requests.
//! 2. **Quota** ([`Model::metered`]): tells the budget if no model answers before a quota is renewed.
//! 3. **Redaction**: removes secrets from requests and known values from answers. It is outside of every layer that
//!    sends, so that no attempt holds a secret.
//! 4. **Hooks** ([`Model::hooked`]): they see the redacted request and the redacted answer, once for each request.
//!    Their additions pass the redaction again.
//! 5. **Fallback** ([`ModelStack::or_else`]): uses the next model when one is unavailable.
//! 6. **Limits** ([`ModelStack::limited_to`]), of each model.
//! 7. **Retries** ([`ModelStack::retrying`]), of each model.
//! 8. **Budget** ([`Model::metered`]): inside of fallback and retries, so that each attempt is reserved at the prices
//!    of its model, and booked when it was paid for.
//! 9. **Throttle** ([`ModelStack::throttled`]): limits the concurrent requests to a server over all callers. It is
//!    inside of the budget, so that a request over budget does not wait for its turn first.
//! 10. The model itself: one attempt.
//!
//! Answers pass the same layers in reverse. The layers are private to this crate; `cargo xtask tidy` refuses another
//! crate that writes one.

mod bounded;
mod fallback;
mod framed;
mod hooked;
mod layer;
mod metered;
mod quota;
mod redacted;
mod retry;
#[cfg(test)]
mod tests;
mod throttle;

use std::{fmt, sync::Arc, time::Duration};

use aime_redact::Redactor;
use futures::{future::BoxFuture, stream::BoxStream};

pub(crate) use self::retry::SHORT_WAIT;
use self::{
    bounded::Bounded,
    fallback::{Fallback, Slot},
    framed::Framed,
    hooked::Hooked,
    layer::Layer,
    metered::Metered,
    quota::Quota,
    redacted::{Redacted, Redaction},
    retry::Retrying,
    throttle::{Throttle, Throttled},
};
use crate::{ChatModel, ChatRequest, ChatResponse, ModelError, ModelLimits, Protocol, StreamPart};

pub use self::{
    hooked::ModelHook,
    metered::{CostReservation, Meter, OutOfBudget, TryCost, TryEstimate},
    retry::{Retry, RetryObserver, RetrySettings},
};

/// Model, its fallbacks, and the layers of each. It cannot send requests itself: see [`build`](Self::build). Cheap to
/// clone; clones share the lessons learnt from the servers.
#[derive(Clone)]
pub struct ModelStack {
    first: Candidate,
    others: Vec<Candidate>,
}

/// One model of a stack.
#[derive(Clone)]
struct Candidate {
    model: Arc<dyn ChatModel>,
    throttle: Option<Arc<Throttle>>,
    retry: Option<RetrySettings>,
    limits: Option<ModelLimits>,
    pause: Arc<std::sync::Mutex<fallback::Pause>>,
}

impl ModelStack {
    /// Wraps a model of another author. A failed request is not repeated, unless [`retrying`](Self::retrying) is
    /// used. For a model behind a server see `ModelStack::server`.
    #[must_use]
    pub fn of(model: impl ChatModel + 'static) -> Self {
        let first = Candidate { model: Arc::new(model), throttle: None, retry: None, limits: None, pause: Arc::default() };
        Self { first, others: Vec::new() }
    }

    /// Retries temporary failures of the first model.
    #[must_use]
    pub fn retrying(mut self, settings: RetrySettings) -> Self {
        self.first.retry = Some(settings);
        self
    }

    /// Limits concurrent requests to the first model: fewer after it refused some, more again while it answers. The
    /// server cannot request a longer silence than `longest_silence`.
    #[must_use]
    pub fn throttled(mut self, longest_silence: Duration) -> Self {
        self.first.throttle = Some(Arc::new(Throttle::new(longest_silence)));
        self
    }

    /// Sets the limits of the first model; none of its answers is longer.
    #[must_use]
    pub const fn limited_to(mut self, limits: ModelLimits) -> Self {
        self.first.limits = Some(limits);
        self
    }

    /// Adds models that are used, in this order, when those before them are unavailable.
    ///
    /// A request goes to the next model when one cannot be reached, does not answer, limits its requests, fails, is
    /// unknown or refuses the key. It does not when the request itself is at fault, because other models would refuse
    /// it too. A model that failed is skipped for the next few requests (3, then 6, up to 48 while it keeps failing)
    /// and then tried again, so that requests return to it after it has recovered. Of concurrent requests only one
    /// tries it; the others use the fallback until the result is known. If all the others fail in that time, the
    /// skipped model is tried last.
    #[must_use]
    pub fn or_else(mut self, others: impl IntoIterator<Item = Self>) -> Self {
        self.first.pause = Arc::default();
        for stack in others {
            for candidate in std::iter::once(stack.first).chain(stack.others) {
                self.others.push(Candidate { pause: Arc::default(), ..candidate });
            }
        }
        self
    }

    /// Returns the name of the first model.
    #[must_use]
    pub fn name(&self) -> &str {
        self.first.model.name()
    }

    /// Returns the limits of the first model.
    #[must_use]
    pub fn limits(&self) -> ModelLimits {
        self.first.limits.unwrap_or_else(|| self.first.model.limits())
    }

    /// Returns the current protocol of the first model's server, if it has one.
    #[must_use]
    pub fn protocol(&self) -> Option<Protocol> {
        self.first.model.protocol()
    }

    /// Builds the model that can send requests. None of its requests holds a secret that `redactor` finds, and no
    /// answer holds a value known to `redactor`.
    #[must_use]
    pub fn build(&self, redactor: &Redactor) -> Model {
        Model::on(self.clone(), Arc::new(Redaction::new(redactor.clone())), Caller::default())
    }
}

impl<M: ChatModel + 'static> From<M> for ModelStack {
    fn from(model: M) -> Self {
        Self::of(model)
    }
}

impl fmt::Debug for ModelStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(std::iter::once(&self.first).chain(&self.others).map(|candidate| candidate.model.name())).finish()
    }
}

/// A model that can be asked, with all its layers. Cheap to clone.
#[derive(Clone)]
pub struct Model {
    stack: ModelStack,
    redaction: Arc<Redaction>,
    caller: Caller,
    top: Arc<dyn ChatModel>,
}

/// Additions of one caller to its requests.
#[derive(Clone, Default)]
struct Caller {
    meter: Option<Arc<dyn Meter>>,
    hook: Option<Arc<dyn ModelHook>>,
    cache_key: Option<Arc<str>>,
    ending: Option<Arc<str>>,
}

impl Model {
    /// Returns the same model, each try of which is reserved in a budget.
    #[must_use]
    pub fn metered(self, meter: Arc<dyn Meter>) -> Self {
        let caller = Caller { meter: Some(meter), ..self.caller };
        Self::on(self.stack, self.redaction, caller)
    }

    /// Returns the same model, whose requests and answers a hook sees.
    #[must_use]
    pub fn hooked(self, hook: Arc<dyn ModelHook>) -> Self {
        let caller = Caller { hook: Some(hook), ..self.caller };
        Self::on(self.stack, self.redaction, caller)
    }

    /// Returns the same model, whose requests share what a server may keep of their beginning.
    #[must_use]
    pub fn cached_as(self, key: impl Into<Arc<str>>) -> Self {
        let caller = Caller { cache_key: Some(key.into()), ..self.caller };
        Self::on(self.stack, self.redaction, caller)
    }

    /// Returns the same model, with this text added to the end of each request.
    #[must_use]
    pub fn ending_with(self, text: impl Into<Arc<str>>) -> Self {
        let caller = Caller { ending: Some(text.into()), ..self.caller };
        Self::on(self.stack, self.redaction, caller)
    }

    fn on(stack: ModelStack, redaction: Arc<Redaction>, caller: Caller) -> Self {
        let top = assemble(&stack, &redaction, &caller);
        Self { stack, redaction, caller, top }
    }
}

/// Puts the layers together, the innermost first. This is the only place that does.
fn assemble(stack: &ModelStack, redaction: &Arc<Redaction>, caller: &Caller) -> Arc<dyn ChatModel> {
    let alone = |candidate: &Candidate, is_last: bool| {
        let mut inner = Arc::clone(&candidate.model);
        if let Some(throttle) = candidate.throttle.clone() {
            inner = Arc::new(Throttled { inner, throttle });
        }
        if let Some(meter) = caller.meter.clone() {
            inner = Arc::new(Metered::new(inner, meter));
        }
        if let Some(mut settings) = candidate.retry.clone() {
            if !is_last {
                settings.max_wait = settings.max_wait.min(SHORT_WAIT);
            }
            inner = Arc::new(Retrying { inner, settings });
        }
        if let Some(limits) = candidate.limits {
            inner = Arc::new(Bounded { inner, limits });
        }
        inner
    };
    let slot = |candidate: &Candidate, is_last| Slot { model: alone(candidate, is_last), pause: Arc::clone(&candidate.pause) };
    let mut inner = match stack.others.as_slice() {
        [] => alone(&stack.first, true),
        others => {
            let others_slots = others.iter().enumerate().map(|(at, candidate)| slot(candidate, at + 1 == others.len()));
            Arc::new(Fallback::new(slot(&stack.first, false), others_slots.collect()))
        }
    };
    inner = Arc::new(Redacted { inner, redaction: Arc::clone(redaction) });
    if let Some(hook) = caller.hook.clone() {
        inner = Arc::new(Hooked { inner, hook, redaction: Arc::clone(redaction) });
        inner = Arc::new(Redacted { inner, redaction: Arc::clone(redaction) });
    }
    let Caller { meter, cache_key, ending, .. } = caller.clone();
    if let Some(meter) = meter {
        inner = Arc::new(Quota { inner, meter });
    }
    if cache_key.is_some() || ending.is_some() {
        inner = Arc::new(Framed { inner, cache_key, ending });
    }
    inner
}

impl Layer for Model {
    fn inner(&self) -> &dyn ChatModel {
        &*self.top
    }

    fn pass_stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        self.top.stream(request)
    }

    fn pass_complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        self.top.complete(request)
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stack.fmt(f)
    }
}
