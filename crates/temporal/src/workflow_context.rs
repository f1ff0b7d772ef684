//! Common use of the workflow context: the time, effects that can be cancelled, and background requests.

use std::{
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    task::{Context, Poll},
    time::{SystemTime, UNIX_EPOCH},
};

use aime_durable::{DriveError, EffectId, Reason, UnixMillis};
use futures::{
    FutureExt as _,
    future::{LocalBoxFuture, poll_fn},
};
use temporalio_sdk::{ApplicationFailure, WaitConditionOptions, WorkflowCancellationToken, WorkflowContext};

/// Number of events in the engine's history after which a machine continues in a new one. The engine's own limit is
/// 51,200.
pub(crate) const LONG_HISTORY: u32 = 10_000;

/// Returns the time of the workflow, which is the same on every replay.
pub(crate) fn now<W>(ctx: &WorkflowContext<W>) -> UnixMillis {
    let since = ctx.workflow_time().unwrap_or(UNIX_EPOCH).duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    UnixMillis::try_from(since.as_millis()).unwrap_or(UnixMillis::MAX)
}

/// Returns the end of a workflow whose machine could not be driven. If its history belongs to another version, the
/// function panics instead. That fails the workflow task only, and the engine offers it to other workers until one of
/// them can continue.
#[expect(clippy::panic, reason = "what a workflow returns ends it for good; only a panic fails its task alone")]
pub(crate) fn workflow_error(error: DriveError<Infallible>) -> ApplicationFailure {
    if matches!(error, DriveError::Diverged { .. }) {
        panic!("the history is not one of this version of aime: keep workers of the version that began it until it has ended: {error}");
    }
    ApplicationFailure::new(error)
}

/// Effects in progress, with the tokens that cancel them.
#[derive(Default)]
pub(crate) struct CancellationTokens(BTreeMap<EffectId, WorkflowCancellationToken>);

impl CancellationTokens {
    /// Creates the token of an effect that begins. A cancellation of the workflow does not cancel it: the machine
    /// decides which effects are stopped.
    pub(crate) fn token(&mut self, id: &EffectId) -> WorkflowCancellationToken {
        let token = WorkflowCancellationToken::new();
        self.0.insert(id.clone(), token.clone());
        token
    }

    pub(crate) fn cancel(&mut self, id: &EffectId, why: &Reason) {
        if let Some(token) = self.0.remove(id) {
            token.cancel_with_reason(match why {
                Reason::Stopped => "stopped",
                Reason::Cancelled => "cancelled",
                Reason::Deadline => "it took too long",
            });
        }
    }
}

/// Queue of signals and similar requests. Each begins when the previous one is acknowledged.
#[derive(Default)]
pub(crate) struct RequestQueue {
    waiting: VecDeque<LocalBoxFuture<'static, ()>>,
}

impl RequestQueue {
    pub(crate) fn add(&mut self, request: impl Future<Output = ()> + 'static) {
        self.waiting.push_back(request.boxed_local());
    }

    /// Continues the requests. Returns true if all are done.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> bool {
        while let Some(request) = self.waiting.front_mut() {
            if request.poll_unpin(context).is_pending() {
                return false;
            }
            self.waiting.pop_front();
        }
        true
    }

    /// Waits until all are done.
    pub(crate) async fn done(&mut self) {
        poll_fn(|context| if self.poll(context) { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

/// Waits for something in a workflow's state, whether or not the workflow is cancelled meanwhile.
pub(crate) async fn until<W>(ctx: &WorkflowContext<W>, holds: impl FnMut(&W) -> bool) {
    let detached = WaitConditionOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build();
    // No code cancels this token, so the wait ends only when the condition holds.
    drop(ctx.wait_condition_with_options(holds, detached).await);
}

/// Waits until the workflow is cancelled.
pub(crate) fn cancelled<W: 'static>(ctx: &WorkflowContext<W>) -> LocalBoxFuture<'static, ()> {
    let ctx = ctx.clone();
    async move {
        drop(ctx.cancelled().await);
    }
    .boxed_local()
}
