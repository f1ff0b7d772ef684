//! The five triggers.

use aime_messages::{Message, message};
use aime_progress_management::{Evidence, ProgressState, Significance, Task, Timestamp, TriggerIndex, TriggerKind, TriggerReason};

use crate::TriggerSettings;

/// The bound on tokens, and what of it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBudget {
    /// Tokens that may be used in all.
    pub limit: u64,
    /// Tokens that are used.
    pub used: u64,
}

const TASK_FAILED: u8 = 90;
const BLOCKED: u8 = 70;
const TOKEN_BUDGET: u8 = 60;
const STALLED: u8 = 50;

/// Returns the priority of evidence relative to other triggers: critical evidence precedes everything.
const fn weight(significance: Significance) -> u8 {
    match significance {
        Significance::Critical => 100,
        Significance::High => 80,
        Significance::Medium => 55,
        Significance::Low => 30,
    }
}

/// Returns every reason for a replan in this state at this time, the highest priority first; equal priorities in the
/// order of the plan.
///
/// Pure: the same state, time and settings give the same reasons. Unhandled reasons are returned again each time.
#[must_use]
pub fn evaluate(state: &ProgressState, now: Timestamp, budget: Option<TokenBudget>, settings: &TriggerSettings) -> Vec<TriggerReason> {
    evaluate_with(state, &TriggerIndex::new(state), now, budget, settings)
}

/// Does the same with an existing index of this state, and skips the tasks that are done or wait.
#[must_use]
pub fn evaluate_with(
    state: &ProgressState,
    trigger_index: &TriggerIndex,
    now: Timestamp,
    budget: Option<TokenBudget>,
    settings: &TriggerSettings,
) -> Vec<TriggerReason> {
    // A group fails with its tasks, so only these count.
    let mut reasons: Vec<TriggerReason> = trigger_index.failed(state).filter(|task| counts(task, settings)).map(failed).collect();
    reasons.extend(evidence(state, trigger_index, settings));
    reasons.extend(blocked(state, trigger_index, settings));
    reasons.extend(budget.and_then(|budget| token_budget(state, trigger_index, budget, settings)));
    reasons.extend(stalled(state, trigger_index, now, settings));
    reasons.retain(|reason| settings.counts(reason.kind));
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.priority));
    reasons
}

/// Returns true if a failed task is not retried: it has failed for good, or more than `max_retries` times.
const fn counts(task: &Task, settings: &TriggerSettings) -> bool {
    task.failed_for_good || task.failures > settings.max_retries
}

fn failed(task: &Task) -> TriggerReason {
    let error = task.conclusion.as_ref().and_then(|conclusion| conclusion.error.as_ref()).or(task.reason.as_ref());
    let (id, reason) = (&task.spec.id, error.cloned().unwrap_or_else(|| message!("no-reason")));
    TriggerReason {
        kind: TriggerKind::TaskFailed,
        priority: TASK_FAILED,
        // A change of the task lets its failures count from the beginning.
        detail: match task.failures {
            1 if task.attempts > 1 => message!("trigger-failed-again", task = id, reason),
            number => message!("trigger-failed", task = id, number, reason),
        },
        tasks: vec![task.spec.id.clone()],
        evidence: Vec::new(),
    }
}

fn evidence(state: &ProgressState, trigger_index: &TriggerIndex, settings: &TriggerSettings) -> Option<TriggerReason> {
    let found: Vec<&Evidence> = trigger_index.unused(state, settings.evidence_significance);
    let most = found.iter().map(|evidence| evidence.significance).max()?;
    let contents: Vec<&str> = found.iter().map(|evidence| evidence.content.as_str()).collect();
    let mut tasks: Vec<_> = found.iter().filter_map(|evidence| evidence.task.clone()).collect();
    tasks.dedup();
    Some(TriggerReason {
        kind: TriggerKind::Evidence,
        priority: weight(most),
        detail: message!("trigger-evidence", text = contents.join("; ")),
        tasks,
        evidence: found.iter().map(|evidence| evidence.id.clone()).collect(),
    })
}

fn blocked(state: &ProgressState, trigger_index: &TriggerIndex, settings: &TriggerSettings) -> Option<TriggerReason> {
    let found: Vec<&Task> = trigger_index.blocked(state).collect();
    if found.is_empty() || !settings.blocked {
        return None;
    }
    let detail = |task: &&Task| {
        message!("trigger-blocked", task = task.spec.id, reason = task.reason.clone().unwrap_or_else(|| message!("no-reason")))
    };
    let details: Vec<Message> = found.iter().map(detail).collect();
    Some(TriggerReason {
        kind: TriggerKind::Blocked,
        priority: BLOCKED,
        detail: Message::list("; ", &details),
        tasks: found.iter().map(|task| task.spec.id.clone()).collect(),
        evidence: Vec::new(),
    })
}

/// Fires once for a plan: a replan brings no tokens back, so a decision that had this reason has dealt with it.
fn token_budget(
    state: &ProgressState,
    trigger_index: &TriggerIndex,
    budget: TokenBudget,
    settings: &TriggerSettings,
) -> Option<TriggerReason> {
    let dealt_with = state.decisions.iter().flat_map(|decision| &decision.triggers).any(|reason| reason.kind == TriggerKind::TokenBudget);
    if dealt_with || !trigger_index.has_unsettled() || budget.limit == 0 {
        return None;
    }
    let left = budget.limit.saturating_sub(budget.used);
    let part = as_float(left) / as_float(budget.limit);
    (part < settings.token_budget_threshold).then(|| TriggerReason {
        kind: TriggerKind::TokenBudget,
        priority: TOKEN_BUDGET,
        detail: message!("trigger-tokens", left, limit = budget.limit),
        tasks: Vec::new(),
        evidence: Vec::new(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "a share of a budget needs no more than 52 bits")]
const fn as_float(count: u64) -> f64 {
    count as f64
}

fn stalled(state: &ProgressState, trigger_index: &TriggerIndex, now: Timestamp, settings: &TriggerSettings) -> Option<TriggerReason> {
    if stall_time(state, trigger_index, settings)? > now {
        return None;
    }
    let running = trigger_index.running(state);
    Some(TriggerReason {
        kind: TriggerKind::Stalled,
        priority: STALLED,
        detail: message!("trigger-stalled", seconds = now.millis_since(state.last_progress_at) / 1_000),
        tasks: running.map(|task| task.spec.id.clone()).collect(),
        evidence: Vec::new(),
    })
}

/// When the run counts as stalled if nothing moves before; never while a person is asked or nothing runs.
pub(crate) fn stall_time(state: &ProgressState, trigger_index: &TriggerIndex, settings: &TriggerSettings) -> Option<Timestamp> {
    let asked = state.questions.iter().any(|question| question.answer.is_none());
    let runs = trigger_index.running(state).next().is_some();
    let watched = settings.stall_timeout > 0 && settings.counts(TriggerKind::Stalled) && runs && !asked;
    watched.then(|| state.last_progress_at.plus_millis(settings.stall_timeout.saturating_mul(1_000)))
}

#[cfg(test)]
mod tests;
