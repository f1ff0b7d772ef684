//! Limits the concurrent requests to a model: fewer after it refused some, more again while it answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::layer::Layer;
use crate::{ChatModel, ChatRequest, ChatResponse, ModelError, StreamPart};

/// Requests at once while nothing was refused.
const MAX_CONCURRENT: u32 = 64;

/// Outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Answered,
    /// The server had too many requests; it may have said how long to wait.
    Refused(Option<Duration>),
    /// An outcome that says nothing about the load.
    Other,
}

/// Number of requests that may be in progress. It is halved after a refusal, and grows by one after as many answers
/// as it allows (additive increase, multiplicative decrease; Chiu and Jain 1989). It reads no clock: the caller
/// passes instants.
#[derive(Debug)]
struct Allowance {
    most: u32,
    allowed: u32,
    active: u32,
    /// Since the last change.
    answered: u32,
    /// Grows with each decrease. Outcomes of requests that began before a decrease are ignored.
    round: u64,
    /// The server requested that no request be sent before then.
    closed_until: Option<Instant>,
    longest_silence: Duration,
}

/// Admission of a request.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    /// Yes, in this round.
    Begin(u64),
    /// When another one has ended.
    AfterAnother,
    /// Then.
    At(Instant),
}

impl Allowance {
    const fn new(most: u32, longest_silence: Duration) -> Self {
        Self { most, allowed: most, active: 0, answered: 0, round: 0, closed_until: None, longest_silence }
    }

    fn enter(&mut self, now: Instant) -> Entry {
        match self.closed_until {
            Some(until) if until > now => return Entry::At(until),
            _ => self.closed_until = None,
        }
        if self.active >= self.allowed {
            return Entry::AfterAnother;
        }
        self.active += 1;
        Entry::Begin(self.round)
    }

    fn leave(&mut self, began: u64, outcome: Outcome, now: Instant) {
        match outcome {
            Outcome::Answered => {
                self.answered += 1;
                if self.answered >= self.allowed {
                    self.answered = 0;
                    self.allowed = self.allowed.saturating_add(1).min(self.most);
                }
            }
            Outcome::Refused(wait) => {
                if began == self.round {
                    self.allowed = (self.active.min(self.allowed) / 2).max(1);
                    self.answered = 0;
                    self.round += 1;
                }
                if let Some(wait) = wait {
                    let until = now + wait.min(self.longest_silence);
                    self.closed_until = Some(self.closed_until.map_or(until, |closed| closed.max(until)));
                }
            }
            Outcome::Other => {}
        }
        self.active = self.active.saturating_sub(1);
    }
}

fn outcome(error: &ModelError) -> Outcome {
    match error {
        ModelError::RateLimited { retry_after, .. } | ModelError::Server { status: 503 | 529, retry_after, .. } => {
            Outcome::Refused(*retry_after)
        }
        _ => Outcome::Other,
    }
}

/// Limiter of the concurrent requests to one server, shared by all callers.
pub(super) struct Throttle {
    allowance: Mutex<Allowance>,
    freed: Notify,
}

/// A model that is asked no more at once than it answers.
pub(super) struct Throttled {
    pub(super) inner: Arc<dyn ChatModel>,
    pub(super) throttle: Arc<Throttle>,
}

impl Throttle {
    /// Creates a limiter. A server cannot request a longer silence than `longest_silence`.
    pub(super) fn new(longest_silence: Duration) -> Self {
        Self { allowance: Mutex::new(Allowance::new(MAX_CONCURRENT, longest_silence)), freed: Notify::new() }
    }

    fn allowance(&self) -> MutexGuard<'_, Allowance> {
        self.allowance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a request may begin. A caller that stops waiting blocks no other.
    async fn enter(&self) -> Place<'_> {
        loop {
            let mut left = std::pin::pin!(self.freed.notified());
            // From here on no wake-up is missed.
            left.as_mut().enable();
            let entry = self.allowance().enter(Instant::now());
            match entry {
                Entry::Begin(round) => return Place { throttle: self, round, outcome: Outcome::Other },
                Entry::AfterAnother => left.await,
                Entry::At(until) => tokio::time::sleep_until(until).await,
            }
        }
    }
}

/// Place of a request among those in progress; dropping it frees the place.
struct Place<'a> {
    throttle: &'a Throttle,
    round: u64,
    outcome: Outcome,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.throttle.allowance().leave(self.round, self.outcome, Instant::now());
        self.throttle.freed.notify_waiters();
    }
}

impl Layer for Throttled {
    fn inner(&self) -> &dyn ChatModel {
        &*self.inner
    }

    fn pass_stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        let entered = async move {
            let place = self.throttle.enter().await;
            let parts = self.inner.stream(request);
            stream::unfold(Some((place, parts)), |course| async move {
                let (mut place, mut parts) = course?;
                let part = parts.next().await?;
                match &part {
                    Ok(StreamPart::Done(_)) => place.outcome = Outcome::Answered,
                    Ok(_) => return Some((part, Some((place, parts)))),
                    Err(error) => place.outcome = outcome(error),
                }
                // The place is freed before the last part is passed on, because its receiver may send a request at
                // once.
                drop(parts);
                drop(place);
                Some((part, None))
            })
        };
        stream::once(entered).flatten().boxed()
    }

    fn pass_complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        Box::pin(async move {
            let mut place = self.throttle.enter().await;
            let answer = self.inner.complete(request).await;
            place.outcome = answer.as_ref().map_or_else(outcome, |_| Outcome::Answered);
            answer
        })
    }
}

#[cfg(test)]
mod tests;
