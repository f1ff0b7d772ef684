//! Every try is reserved before it is made, and booked when it was paid for.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aime_messages::Message;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};

use super::layer::Layer;
use crate::{ChatModel, ChatRequest, ChatResponse, ModelError, Prices, Protocol, RequestTokens, StreamPart, Usage, estimate_tokens};

/// Expected usage of an attempt, as far as it is known in advance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TryEstimate {
    /// Tokens sent.
    pub input_tokens: u64,
    /// The longest answer that the request allows.
    pub max_output_tokens: Option<u32>,
    /// The model's prices, if they are known.
    pub prices: Option<Prices>,
    /// Searches of the web that the provider may make: the most where the request bounds them, else one.
    pub searches: u32,
}

/// Cost of an attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TryCost {
    /// Tokens of the attempt.
    pub usage: Usage,
    /// US dollars; 0 where prices are not known.
    pub cost_usd: f64,
}

/// Reason why an attempt is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct OutOfBudget {
    /// The name of the bound: `tokens`, `money`, `quota`.
    pub bound: String,
    /// Amount of the budget that is used, and amount that was requested.
    pub detail: Message,
}

/// A budget that every try of a model is reserved in: also one that is repeated, and one of another model in its place.
pub trait Meter: Send + Sync {
    /// Reserves what a try is expected to take.
    ///
    /// # Errors
    /// [`OutOfBudget`]: then the try is not made, and neither is another one in its place.
    fn reserve(&self, wanted: TryEstimate) -> Result<Box<dyn CostReservation + '_>, OutOfBudget>;

    /// Takes note that no model answers before this wait, because quotas are used up. Returns the bound that the caller has reached by that;
    /// `None` if the caller is to see the error itself.
    fn used_up(&self, _: &ModelError, _: Duration) -> Option<OutOfBudget> {
        None
    }
}

/// A reservation for one try. Where it is dropped, the try has cost nothing.
pub trait CostReservation: Send {
    /// Books what the try has cost.
    fn settle(self: Box<Self>, cost: TryCost);
}

pub(super) struct Metered {
    inner: Arc<dyn ChatModel>,
    meter: Arc<dyn Meter>,
    counted: Mutex<RequestTokens>,
}

impl Metered {
    pub(super) fn new(inner: Arc<dyn ChatModel>, meter: Arc<dyn Meter>) -> Self {
        Self { inner, meter, counted: Mutex::default() }
    }

    fn begin(&self, request: &ChatRequest) -> Result<MeteredAttempt<'_>, ModelError> {
        let input_tokens = self.counted.lock().unwrap_or_else(PoisonError::into_inner).count(request);
        let prices = self.inner.prices();
        let searches = if request.web_search { self.inner.protocol().map_or(1, Protocol::expected_searches) } else { 0 };
        let wanted = TryEstimate { input_tokens, max_output_tokens: request.max_output_tokens, prices, searches };
        let reserved = self.meter.reserve(wanted).map_err(|OutOfBudget { bound, detail }| ModelError::OutOfBudget {
            model: self.inner.name().to_owned(),
            bound,
            detail,
        })?;
        Ok(MeteredAttempt { reserved: Some(reserved), input_tokens, output_tokens: 0, prices, is_paid: false })
    }
}

/// Attempt in progress. It is paid for once a part of its answer has arrived, even if it fails later. Usage that the
/// server has not counted is estimated.
struct MeteredAttempt<'a> {
    reserved: Option<Box<dyn CostReservation + 'a>>,
    input_tokens: u64,
    output_tokens: u64,
    prices: Option<Prices>,
    is_paid: bool,
}

impl MeteredAttempt<'_> {
    fn see(&mut self, part: &Result<StreamPart, ModelError>) {
        match part {
            Ok(StreamPart::Done(answer)) => self.answered(answer),
            Ok(StreamPart::Text(text) | StreamPart::Reasoning(text)) => {
                self.is_paid = true;
                self.output_tokens = self.output_tokens.saturating_add(estimate_tokens(text));
            }
            Ok(StreamPart::ToolCallBegun { .. }) => self.is_paid = true,
            Err(error) => self.failed(error),
        }
    }

    fn answered(&mut self, answer: &ChatResponse) {
        self.settle(TryCost { usage: answer.usage, cost_usd: answer.cost_usd });
    }

    /// Records that the server has answered, if the answer is cut off or cannot be read.
    const fn failed(&mut self, error: &ModelError) {
        self.is_paid |= matches!(error, ModelError::Cut { .. } | ModelError::Unreadable { .. });
    }

    fn settle(&mut self, cost: TryCost) {
        if let Some(reserved) = self.reserved.take() {
            reserved.settle(cost);
        }
    }
}

impl Drop for MeteredAttempt<'_> {
    fn drop(&mut self) {
        if self.is_paid {
            let usage = Usage::new(self.input_tokens, self.output_tokens);
            self.settle(TryCost { usage, cost_usd: self.prices.map_or(0.0, |prices| prices.cost(&usage)) });
        }
    }
}

impl Layer for Metered {
    fn inner(&self) -> &dyn ChatModel {
        &*self.inner
    }

    fn pass_stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        let begun = async move {
            match self.begin(&request) {
                Ok(mut attempt) => self.inner.stream(request).inspect(move |part| attempt.see(part)).boxed(),
                Err(error) => stream::once(std::future::ready(Err(error))).boxed(),
            }
        };
        stream::once(begun).flatten().boxed()
    }

    fn pass_complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        async move {
            let mut attempt = self.begin(&request)?;
            let answer = self.inner.complete(request).await;
            match &answer {
                Ok(answer) => attempt.answered(answer),
                Err(error) => attempt.failed(error),
            }
            answer
        }
        .boxed()
    }
}
