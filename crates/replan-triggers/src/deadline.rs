//! When time alone could change the verdict.

use aime_progress_management::{ProgressState, Timestamp, TriggerIndex};

use crate::{
    FrequencySettings, ReplanHistory, TriggerSettings,
    frequency::{cooldown_end, is_spent},
    triggers::stall_time,
};

/// Returns the next time after `now` at which a trigger may fire or a replan may become allowed without an event:
/// when the run counts as stalled, or when the cooldown ends. A host that wakes the run then needs no other timer for
/// replanning.
#[must_use]
pub fn next_deadline(
    state: &ProgressState,
    history: ReplanHistory,
    now: Timestamp,
    triggers: &TriggerSettings,
    frequency: &FrequencySettings,
) -> Option<Timestamp> {
    next_deadline_with(state, &TriggerIndex::new(state), history, now, (triggers, frequency))
}

/// Does the same with an existing index of this state.
#[must_use]
pub fn next_deadline_with(
    state: &ProgressState,
    trigger_index: &TriggerIndex,
    history: ReplanHistory,
    now: Timestamp,
    (triggers, frequency): (&TriggerSettings, &FrequencySettings),
) -> Option<Timestamp> {
    let cooldown = if is_spent(history, frequency) { None } else { cooldown_end(history, frequency) };
    [stall_time(state, trigger_index, triggers), cooldown].into_iter().flatten().filter(|at| *at > now).min()
}

#[cfg(test)]
mod tests;
