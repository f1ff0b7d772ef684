//! The one timer of a run.

use aime_durable::{EffectId, Reason};
use aime_progress_management::Timestamp;
use aime_replan_triggers::next_deadline_with;

use super::{Out, Phase, RunMachine, effects::EffectPurpose};
use crate::RunEffect;

impl RunMachine {
    /// Sets the timer for the next moment at which a trigger or the time bound could change the decision. The time
    /// bound applies in every phase, including planning and writing the answer.
    pub(super) fn watch_time(&mut self, out: &mut Out) {
        if self.stopping.is_suspending() || self.phase == Phase::Over || self.stop_at_deadline(out) {
            return;
        }
        let (history, now) = (self.replans.history(), self.now);
        let triggers = (self.phase == Phase::Executing && self.can_replan()).then(|| {
            let settings = (&self.input.settings.triggers, &self.input.settings.frequency);
            let (trigger_index, state) = self.state.trigger_index();
            next_deadline_with(state, trigger_index, history, now, settings)
        });
        let Some(at) = [triggers.flatten(), self.budgets.deadline()].into_iter().flatten().min() else { return };
        if at > now && !self.effects.timers().any(|(_, set)| set <= at) {
            self.set_timer(at, out);
        }
    }

    pub(super) fn set_timer(&mut self, at: Timestamp, out: &mut Out) {
        let later: Vec<EffectId> = self.effects.timers().map(|(effect, _)| effect.clone()).collect();
        later.into_iter().for_each(|effect| out.revoke(effect, Reason::Cancelled));
        let id = self.effects.next_id("timer");
        self.issue(id, RunEffect::Timer { at }, EffectPurpose::Timer(at), out);
    }
}
