//! When time alone could change the verdict.

use aime_progress::{ProgressState, Timestamp};

use crate::{
    FrequencySettings, ReplanHistory, TriggerSettings,
    frequency::{cooldown_end, is_spent},
    triggers::stall_time,
};

/// The next time after `now` at which a trigger may fire or a replan become allowed although nothing happens: when the run
/// counts as stalled, or when the cooldown ends. A host that wakes the run then needs no other timer for replanning.
#[must_use]
pub fn next_deadline(
    state: &ProgressState,
    history: ReplanHistory,
    now: Timestamp,
    triggers: &TriggerSettings,
    frequency: &FrequencySettings,
) -> Option<Timestamp> {
    let cooldown = if is_spent(history, frequency) { None } else { cooldown_end(history, frequency) };
    [stall_time(state, triggers), cooldown].into_iter().flatten().filter(|at| *at > now).min()
}

#[cfg(test)]
mod tests;
