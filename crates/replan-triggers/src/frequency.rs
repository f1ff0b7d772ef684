//! Frequency control: decides if a requested replan is allowed now.

use aime_messages::{Message, message};
use aime_progress_management::{Timestamp, TriggerKind, TriggerReason};

use crate::FrequencySettings;

/// The replans that a plan has had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplanHistory {
    /// Number of replans since the plan was made or a person last allowed more.
    pub count: u32,
    /// When the last one was.
    pub last_at: Option<Timestamp>,
}

/// Decision of the frequency control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrequencyDecision {
    /// Replan now.
    Allow,
    /// Not yet. The reasons remain, and are evaluated again at that time.
    Wait {
        /// The end of the cooldown.
        until: Timestamp,
        /// Reason as text, for the event of the suppressed replan.
        reason: Message,
    },
    /// No more without a person.
    Escalate {
        /// Reason as text, for the person who is asked.
        reason: Message,
    },
}

/// Decides if a replan for these reasons is allowed at the time `now`.
///
/// `idle` is true if no task runs or is ready. Waiting for the end of a cooldown would then only lose time, so the
/// replan is allowed at once unless `cooldown_when_idle` is set. The cap always applies. A replan that a person
/// requests is always allowed. Critical evidence waits for the end of the cooldown like all other triggers. It is not
/// lost, because the triggers are read from the state again.
#[must_use]
pub fn decide_replan(
    reasons: &[TriggerReason],
    history: ReplanHistory,
    now: Timestamp,
    idle: bool,
    settings: &FrequencySettings,
) -> FrequencyDecision {
    if reasons.iter().any(|reason| reason.kind == TriggerKind::Person) {
        return FrequencyDecision::Allow;
    }
    if is_spent(history, settings) {
        return FrequencyDecision::Escalate { reason: escalation(reasons, history, settings) };
    }
    match cooldown_end(history, settings) {
        Some(until) if until > now && (!idle || settings.cooldown_when_idle) => FrequencyDecision::Wait {
            until,
            reason: message!(
                "replan-later",
                ago = now.millis_since(history.last_at.unwrap_or(now)) / 1_000,
                wait = until.millis_since(now).div_ceil(1_000)
            ),
        },
        _ => FrequencyDecision::Allow,
    }
}

/// Returns true if no further replan is allowed without a person.
pub(crate) const fn is_spent(history: ReplanHistory, settings: &FrequencySettings) -> bool {
    history.count >= settings.max_replans_per_plan || history.count >= settings.escalation_threshold
}

pub(crate) fn cooldown_end(history: ReplanHistory, settings: &FrequencySettings) -> Option<Timestamp> {
    history.last_at.map(|last| last.plus_millis(settings.cooldown_seconds.saturating_mul(1_000)))
}

fn escalation(reasons: &[TriggerReason], history: ReplanHistory, settings: &FrequencySettings) -> Message {
    let details: Vec<Message> = reasons.iter().map(|reason| reason.detail.clone()).collect();
    let limit = settings.max_replans_per_plan.min(settings.escalation_threshold);
    message!("escalation", number = history.count, limit, reason = Message::list("; ", &details))
}

#[cfg(test)]
mod tests;
