//! Goes to another model when one cannot be used.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};

use super::layer::Layer;
use crate::{ChatModel, ChatRequest, ChatResponse, ModelError, Prices, StreamPart};

/// Model with others to fall back on. See [`ModelStack::or_else`](crate::ModelStack::or_else) for the rules.
pub(super) struct Fallback {
    first: Slot,
    others: Vec<Slot>,
}

/// A model and its pause, which outlives the layer: it is the same for all who use these models.
pub(super) struct Slot {
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) pause: Arc<Mutex<Pause>>,
}

/// Requests for which a model is still left out, and how many it will be the next time.
#[derive(Debug, Default)]
pub(super) struct Pause {
    requests_left: u32,
    /// `None` until the first failure, after which the default first pause applies.
    next: Option<u32>,
    /// True if the model has failed and has not answered since.
    failing: bool,
    /// A request is finding out whether it answers again.
    probed: bool,
}

/// A model in a request's order; if the request is to find out whether it answers again, others may do so once this is dropped.
struct PlannedAttempt<'a> {
    slot: &'a Slot,
    probes: bool,
}

impl Drop for PlannedAttempt<'_> {
    fn drop(&mut self) {
        if self.probes {
            self.slot.pause().probed = false;
        }
    }
}

/// Bounds the doubling of a pause.
const MAX_PAUSE: u32 = 48;

/// Requests of which a model is left out after its first failure.
const FIRST_PAUSE: u32 = 3;

impl Fallback {
    /// Uses `first`, and `others` in this order when it fails.
    pub(super) const fn new(first: Slot, others: Vec<Slot>) -> Self {
        Self { first, others }
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Returns the models in the order in which this request tries them; paused models come last.
    fn order(&self) -> Vec<PlannedAttempt<'_>> {
        let (mut order, mut resting) = (Vec::new(), Vec::new());
        for slot in self.slots() {
            let mut pause = slot.pause();
            if pause.requests_left > 0 || pause.probed {
                pause.requests_left = pause.requests_left.saturating_sub(1);
                resting.push(PlannedAttempt { slot, probes: false });
            } else {
                pause.probed = pause.failing;
                order.push(PlannedAttempt { slot, probes: pause.failing });
            }
        }
        order.append(&mut resting);
        order
    }
}

impl Slot {
    fn pause(&self) -> MutexGuard<'_, Pause> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self) {
        let mut pause = self.pause();
        let length = pause.next.unwrap_or(FIRST_PAUSE);
        pause.requests_left = length;
        pause.failing = true;
        pause.next = Some(length.saturating_mul(2).min(MAX_PAUSE));
    }

    fn answered(&self) {
        let mut pause = self.pause();
        *pause = Pause { probed: pause.probed, ..Pause::default() };
    }
}

/// Returns true if another model may succeed.
fn falls_back(error: &ModelError) -> bool {
    matches!(
        error.root(),
        ModelError::Unreachable { .. }
            | ModelError::Timeout { .. }
            | ModelError::RateLimited { .. }
            | ModelError::Server { .. }
            | ModelError::NoSuchModel { .. }
            | ModelError::Unauthorized { .. }
            | ModelError::Cut { .. }
            | ModelError::Unreadable { .. }
    )
}

/// Notes a failure. Returns whether the next model is to be tried.
fn note_failure(slot: &Slot, error: &ModelError) -> bool {
    let falls_back = falls_back(error);
    if falls_back {
        tracing::warn!(model = slot.model.name(), reason = %error, "falling back to the next model");
        slot.failed();
    }
    falls_back
}

/// A request on its way through the models.
struct Attempts<'a> {
    request: ChatRequest,
    remaining: std::vec::IntoIter<PlannedAttempt<'a>>,
    current: Option<(PlannedAttempt<'a>, BoxStream<'a, Result<StreamPart, ModelError>>)>,
    has_begun: bool,
    ended: bool,
    errors: Vec<ModelError>,
}

impl Layer for Fallback {
    /// Returns the first: its name and limits are shown.
    fn inner(&self) -> &dyn ChatModel {
        &*self.first.model
    }

    /// Returns the highest prices of the models that may answer, because it is not yet known which one will.
    fn shown_prices(&self) -> Option<Prices> {
        self.slots().filter_map(|slot| slot.model.prices()).reduce(Prices::highest)
    }

    fn pass_stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        let left = self.order().into_iter();
        let attempts = Attempts { request, remaining: left, current: None, has_begun: false, ended: false, errors: Vec::new() };
        stream::unfold(attempts, move |mut attempts| async move {
            if attempts.ended {
                return None;
            }
            loop {
                let (turn, mut parts) = match attempts.current.take() {
                    Some(current) => current,
                    None => match attempts.remaining.next() {
                        Some(turn) => {
                            let parts = turn.slot.model.stream(attempts.request.clone());
                            (turn, parts)
                        }
                        None => {
                            attempts.ended = true;
                            return Some((Err(together(std::mem::take(&mut attempts.errors))), attempts));
                        }
                    },
                };
                let slot = turn.slot;
                let next = parts.next().await.unwrap_or_else(|| Err(ModelError::Cut { model: slot.model.name().to_owned() }));
                match next {
                    Ok(part) => {
                        slot.answered();
                        attempts.has_begun = true;
                        attempts.ended = matches!(part, StreamPart::Done(_));
                        attempts.current = Some((turn, parts));
                        return Some((Ok(part), attempts));
                    }
                    Err(error) => {
                        let falls_back = note_failure(slot, &error) && !attempts.has_begun;
                        attempts.errors.push(error);
                        if falls_back {
                            continue;
                        }
                        attempts.ended = true;
                        return Some((Err(together(std::mem::take(&mut attempts.errors))), attempts));
                    }
                }
            }
        })
        .boxed()
    }

    /// Unlike a stream, an answer that was cut is asked of the next model.
    fn pass_complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        async move {
            let mut errors = Vec::new();
            for turn in self.order() {
                let slot = turn.slot;
                match slot.model.complete(request.clone()).await {
                    Ok(response) => {
                        slot.answered();
                        return Ok(response);
                    }
                    Err(error) => {
                        let falls_back = note_failure(slot, &error);
                        errors.push(error);
                        if !falls_back {
                            break;
                        }
                    }
                }
            }
            Err(together(errors))
        }
        .boxed()
    }
}

fn together(mut errors: Vec<ModelError>) -> ModelError {
    match (errors.len(), errors.pop()) {
        (1, Some(error)) => error,
        // The caller can fix this error, so it takes precedence over the others.
        (_, Some(error @ ModelError::ContextOverflow { .. })) => error,
        (_, Some(error)) => {
            errors.push(error);
            ModelError::AllFailed { errors }
        }
        (_, None) => ModelError::Unreachable { url: String::new(), setting: None, reason: "no model is configured".to_owned() },
    }
}

#[cfg(test)]
mod tests;
