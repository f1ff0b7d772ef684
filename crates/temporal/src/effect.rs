//! Effects as activities: their input, options and heartbeats.

use std::{sync::Arc, time::Duration};

use aime_durable::{EffectId, EffectRunner, Issue, Machine, Reason, execute_effect};
use aime_messages::{Message, message};
use aime_orchestrator::{RunFact, RunMachine};
use serde::{Deserialize, Serialize};
use temporalio_common::{ActivityCloseTimeouts, RetryPolicy};
use temporalio_sdk::{
    ActivityCancellationType, ActivityExecutionError, ActivityOptions, TimeoutType, WorkflowCancellationToken, activities::ActivityContext,
};
use tokio::time::{MissedTickBehavior, interval};

use crate::{Capability, Queues};

/// Interval at which a worker reports that it still works on an effect. It also bounds the delay of a revocation.
pub const HEARTBEAT: Duration = Duration::from_millis(500);
/// Time without a heartbeat after which an effect is given to another worker. If the engine is unavailable for
/// longer, calls become doubtful without need.
pub const LOST_AFTER: Duration = Duration::from_secs(20);
/// Maximum time of one attempt at an effect, as a bound for effects without another one.
const MAX_ATTEMPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum wait of the engine between two attempts.
const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(5);

/// An effect, as it is handed to a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectInput<E> {
    /// Name of the effect: unique in the machine, and the same on every replay.
    pub id: EffectId,
    /// Requested effect.
    pub effect: E,
    /// True if the effect was begun in an earlier history and its progress is unknown.
    #[serde(default)]
    pub begun_before: bool,
}

impl<E> EffectInput<E> {
    /// Returns the effect for its runner. A second attempt is a repetition, because the worker of the first one is
    /// lost.
    #[must_use]
    pub fn issue(self, attempt: u32) -> Issue<E> {
        Issue { reissued: self.begun_before || attempt > 1, id: self.id, effect: self.effect }
    }
}

/// Returns the options of an effect: its queue, and its token for cancellation. The engine retries it as long as its
/// workers are lost. It never fails otherwise, because every fault of its own is an answer. A cancelled effect is
/// awaited, so that its end is known.
#[must_use]
pub fn effect_options(queue: &str, id: &EffectId, cancelled: WorkflowCancellationToken) -> ActivityOptions {
    ActivityOptions::with_close_timeouts(ActivityCloseTimeouts::StartToClose(MAX_ATTEMPT))
        .task_queue(queue)
        .summary(id.as_str())
        .heartbeat_timeout(LOST_AFTER)
        .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
        .cancellation_token(cancelled)
        .retry_policy(RetryPolicy::builder().maximum_interval(BETWEEN_ATTEMPTS).build())
        .build()
}

impl Queues {
    /// Returns the options of an effect on these queues. An effect that is bound to one place fails if no worker
    /// there takes it up.
    pub(crate) fn options(&self, capability: Capability, id: &EffectId, cancelled: WorkflowCancellationToken) -> ActivityOptions {
        let mut options = effect_options(&self.name(capability), id, cancelled);
        options.schedule_to_start_timeout = self.schedule_to_start_timeout(capability);
        options
    }
}

/// Returns the reason why an effect gave no result.
pub(crate) fn lost(queue: &str, error: &ActivityExecutionError) -> Message {
    match error.as_timeout().map(|timeout| timeout.timeout_type()) {
        Some(TimeoutType::ScheduleToStart) => message!("host-lost", queue),
        Some(_) => message!("worker-late", queue),
        None => Message::text(error),
    }
}

/// Returns the end of an effect of a run whose activity on a queue gave no result.
pub(crate) fn attempt_failed(id: &EffectId, queue: &str, error: &ActivityExecutionError) -> RunFact {
    match error {
        ActivityExecutionError::Cancelled(_) => RunMachine::revoked(id, &Reason::Stopped),
        error => RunFact::EffectFailed { id: id.clone(), message: lost(queue, error) },
    }
}

/// Returns true if an effect was begun on a lost host: an earlier attempt had started before the one that no worker
/// took up.
pub(crate) fn begun_and_lost(error: &ActivityExecutionError) -> bool {
    error.as_timeout().is_some_and(|timeout| timeout.timeout_type() == TimeoutType::ScheduleToStart && timeout.cause().is_some())
}

/// Awaits work, and sends heartbeats to the engine meanwhile.
pub async fn with_heartbeats<T>(context: &ActivityContext, work: impl Future<Output = T>) -> T {
    let mut beats = interval(HEARTBEAT);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = beats.tick() => {
                if let Err(error) = context.record_heartbeat(()).await {
                    tracing::warn!(%error, "a heartbeat could not be sent");
                }
            }
        }
    }
}

/// Executes one effect on the worker that has its tools. Returns its intermediate facts, and last the one that answers it.
pub async fn run_effect_activity<M, R>(context: &ActivityContext, runner: Arc<R>, order: EffectInput<M::Effect>) -> Vec<M::Fact>
where
    M: Machine,
    R: EffectRunner<M>,
{
    let mut facts = Vec::new();
    let issue = order.issue(context.info().attempt);
    let work = execute_effect(runner, issue, context.cancelled(), |fact| facts.push(fact));
    let answer = with_heartbeats(context, work).await;
    facts.push(answer);
    facts
}
