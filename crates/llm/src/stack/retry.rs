//! Tries again when a model fails in a way that may pass.

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use tokio::time::Instant;

use super::layer::Layer;
use crate::{ChatModel, ChatRequest, ChatResponse, ModelError, StreamPart};

/// The longest wait where no wait helps.
pub(crate) const SHORT_WAIT: Duration = Duration::from_secs(2);
/// The shortest wait of a server that replaces the usual one. A shorter one can only lengthen the usual one.
const MIN_TRUSTED_WAIT: Duration = Duration::from_secs(1);
/// Factor between the longest waits of two retries.
const FACTOR: f32 = 6.0;
/// Part of a wait that is drawn at random.
const JITTER: f64 = 0.25;

/// Number and timing of retries.
#[derive(Clone)]
pub struct RetrySettings {
    /// Attempts after the first.
    pub max_retries: u32,
    /// The longest wait before the first retry; each further one may wait six times as long. The wait itself is drawn
    /// evenly from the last quarter of this, so that clients that failed together do not come back together. The four
    /// retries of the default settings outlast an outage of a minute.
    pub first_wait: Duration,
    /// The longest wait, unless the server asks for more. It is at most 2 s where no wait helps: another model follows in
    /// the stack, or the server is on this machine.
    pub max_wait: Duration,
    /// The longest wait that a server's `Retry-After` can cause. One of less than a second does not shorten the usual wait.
    pub max_retry_after: Duration,
    /// Time from the first attempt until the last wait must be over. It does not end an attempt: a model that thinks for
    /// long, while its server keeps the connection alive, has the time that the [timeouts](crate::Timeouts) of its client allow.
    pub deadline: Duration,
    /// Seed of the jitter; drawn at random when absent.
    pub jitter_seed: Option<u64>,
    /// Observer that is notified of each retry.
    pub observer: Option<Arc<dyn RetryObserver>>,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            max_retries: 4,
            first_wait: Duration::from_millis(500),
            max_wait: Duration::from_secs(60),
            max_retry_after: Duration::from_secs(60),
            deadline: Duration::from_secs(300),
            jitter_seed: None,
            observer: None,
        }
    }
}

impl fmt::Debug for RetrySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetrySettings")
            .field("max_retries", &self.max_retries)
            .field("first_wait", &self.first_wait)
            .field("max_wait", &self.max_wait)
            .field("max_retry_after", &self.max_retry_after)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// A retry that is about to be made.
#[derive(Debug, Clone)]
pub struct Retry {
    /// The model.
    pub model: String,
    /// 1 for the first retry.
    pub number: u32,
    /// The wait before it.
    pub wait: Duration,
    /// Error of the previous attempt.
    pub error: ModelError,
}

/// Receives a notification of each retry before its wait begins.
pub trait RetryObserver: Send + Sync {
    /// Called before a retry.
    fn retrying(&self, retry: &Retry);
}

impl<F: Fn(&Retry) + Send + Sync> RetryObserver for F {
    fn retrying(&self, retry: &Retry) {
        self(retry);
    }
}

/// Model whose temporary failures are retried.
///
/// After a part of a stream has been passed on, its failure is passed on too, because the part cannot be taken back.
/// [`complete`](ChatModel::complete) passes on nothing before its end, so a cut answer is requested again.
pub(super) struct Retrying {
    pub(super) inner: Arc<dyn ChatModel>,
    pub(super) settings: RetrySettings,
}

impl Retrying {
    /// Returns the wait before the next attempt, or the error to give up with.
    fn next_wait(&self, attempts: &mut Attempts, error: ModelError) -> Result<Duration, ModelError> {
        let give_up = |attempts: &Attempts, error: ModelError| match attempts.failed {
            0 | 1 => error,
            attempts => ModelError::GaveUp { attempts, error: Box::new(error) },
        };
        attempts.failed = attempts.failed.saturating_add(1);
        if !error.is_retryable() || error.quota_wait().is_some() {
            return Err(error);
        }
        let Some(longest) = attempts.waits.next() else { return Err(give_up(attempts, error)) };
        let wait = match error.retry_after() {
            Some(asked) if asked >= MIN_TRUSTED_WAIT => asked.min(self.settings.max_retry_after),
            // A shorter wait says when one more request fits a limit, not when the load is over.
            asked => asked.unwrap_or_default().max(longest.mul_f64(1.0 - JITTER * attempts.jitter.next_fraction())),
        };
        if Instant::now() + wait >= attempts.deadline {
            return Err(give_up(attempts, error));
        }
        let retry = Retry { model: self.name().to_owned(), number: attempts.failed, wait, error };
        tracing::warn!(model = %retry.model, retry = retry.number, wait_ms = retry.wait.as_millis(), reason = %retry.error, "asking the model again");
        if let Some(observer) = &self.settings.observer {
            observer.retrying(&retry);
        }
        Ok(wait)
    }

    fn attempts(&self) -> Attempts {
        let waits = ExponentialBuilder::default()
            .with_factor(FACTOR)
            .with_min_delay(self.settings.first_wait)
            .with_max_delay(self.settings.max_wait)
            .with_max_times(usize::try_from(self.settings.max_retries).unwrap_or(usize::MAX))
            .build();
        let seed = self.settings.jitter_seed.unwrap_or_else(|| std::hash::RandomState::new().build_hasher().finish());
        Attempts { failed: 0, waits: Box::new(waits), jitter: Jitter(seed), deadline: Instant::now() + self.settings.deadline }
    }

    async fn next_part(&self, parts: &mut BoxStream<'_, Result<StreamPart, ModelError>>) -> Result<StreamPart, ModelError> {
        parts.next().await.unwrap_or_else(|| Err(ModelError::Cut { model: self.name().to_owned() }))
    }
}

/// The attempts of one request.
struct Attempts {
    failed: u32,
    waits: Box<dyn Iterator<Item = Duration> + Send>,
    jitter: Jitter,
    deadline: Instant,
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Jitter(u64);

impl Jitter {
    /// Returns a number from 0 to below 1.
    fn next_fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
        let fraction = (z >> 11) as f64 / (1_u64 << 53) as f64;
        fraction
    }
}

/// Stream in progress.
struct Attempt<'a> {
    request: ChatRequest,
    parts: Option<BoxStream<'a, Result<StreamPart, ModelError>>>,
    attempts: Attempts,
    has_begun: bool,
    ended: bool,
}

impl Layer for Retrying {
    fn inner(&self) -> &dyn ChatModel {
        &*self.inner
    }

    fn pass_stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        let attempt = Attempt { request, parts: None, attempts: self.attempts(), has_begun: false, ended: false };
        stream::unfold(attempt, move |mut attempt| async move {
            if attempt.ended {
                return None;
            }
            loop {
                let mut parts = attempt.parts.take().unwrap_or_else(|| self.inner.stream(attempt.request.clone()));
                match self.next_part(&mut parts).await {
                    Ok(part) => {
                        attempt.has_begun = true;
                        attempt.ended = matches!(part, StreamPart::Done(_));
                        attempt.parts = Some(parts);
                        return Some((Ok(part), attempt));
                    }
                    Err(error) => {
                        drop(parts);
                        let wait = if attempt.has_begun { Err(error) } else { self.next_wait(&mut attempt.attempts, error) };
                        match wait {
                            Ok(wait) => tokio::time::sleep(wait).await,
                            Err(error) => {
                                attempt.ended = true;
                                return Some((Err(error), attempt));
                            }
                        }
                    }
                }
            }
        })
        .boxed()
    }

    fn pass_complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        async move {
            let mut attempts = self.attempts();
            loop {
                let mut parts = self.inner.stream(request.clone());
                let error = loop {
                    match self.next_part(&mut parts).await {
                        Ok(StreamPart::Done(response)) => return Ok(*response),
                        Ok(_) => {}
                        Err(error) => break error,
                    }
                };
                drop(parts);
                let wait = self.next_wait(&mut attempts, error)?;
                tokio::time::sleep(wait).await;
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
