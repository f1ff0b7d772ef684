//! Plans that grow during their execution: emergent ones after their TODOs, complex ones between their tasks.
//!
//! An update is a patch like any other. It repairs nothing, so the frequency control does not count it: its own rules
//! limit it.

use std::collections::BTreeSet;

use aime_messages::{Message, message};
use aime_progress_management::{EvidenceId, PlanMode, ProgressEvent, TaskId, TaskKind, TaskStatus, TriggerKind, TriggerReason};

use super::{Out, RunMachine};

/// Lower than every trigger, because failures come first.
const PRIORITY: u8 = 20;

impl RunMachine {
    pub(super) fn is_emergent(&self) -> bool {
        self.state.mode == Some(PlanMode::Emergent)
    }

    /// Requests an update of the plan when the rules of its mode ask for one. Ready tasks continue meanwhile.
    pub(super) fn grow(&mut self, out: &mut Out) {
        if self.stopping.is_suspending() || self.fault.is_some() || self.replanning() || self.escalated() || !self.can_replan() {
            return;
        }
        let due = match self.state.mode {
            Some(PlanMode::Emergent) => self.replans.growth().update_due(&self.state, self.is_still(), &self.input.settings.growth),
            // If a replan is wanted but not allowed yet, the update waits for it.
            Some(PlanMode::Complex) => {
                let (trigger_index, state) = self.state.trigger_index();
                let is_known = |id: &EvidenceId| self.replans.is_left_open(id);
                let due = self.replans.growth().adaptation_due(state, trigger_index, self.input.settings.adaptive, is_known);
                due.filter(|_| self.reasons().is_empty())
            }
            _ => None,
        };
        let Some(detail) = due else { return };
        let allowed = self.input.settings.growth.stagnant_rounds;
        let stagnant = self.replans.growth_mut().observe(&self.state);
        // The lead is woken for the answer, and may change the plan then.
        if self.is_led() && !self.has_open_tasks() {
            return;
        }
        if self.is_emergent() && stagnant > allowed {
            return self.stagnates(stagnant, out);
        }
        // Evidence that is a trigger by itself is used only by a replan, so that none is lost in a cooldown.
        let triggers: BTreeSet<EvidenceId> = self.reasons().into_iter().flat_map(|reason| reason.evidence).collect();
        let unused = self.state.evidence.iter().filter(|evidence| !evidence.processed && !triggers.contains(&evidence.id));
        let evidence = unused.map(|evidence| evidence.id.clone()).collect();
        let reason = TriggerReason { kind: TriggerKind::Update, priority: PRIORITY, detail, tasks: Vec::new(), evidence };
        self.ask_patch("update", vec![reason], out);
    }

    /// Returns true if a task is not settled, or failed and may be tried again.
    pub(super) fn has_open_tasks(&mut self) -> bool {
        let is_open = self.state.tasks.values().any(|task| task.spec.kind != TaskKind::Group && task.status.is_open());
        is_open || !self.waits_for_look().is_empty()
    }

    /// Returns true if no task runs and none can start.
    fn is_still(&self) -> bool {
        self.idle() && !self.has_ready() && self.unanswered().next().is_none()
    }

    /// Ends the growth after updates without any effect. Tasks that have not started stay undone, and the report says
    /// so.
    fn stagnates(&mut self, rounds: u32, out: &mut Out) {
        self.stopping.give_up(message!("stagnation", number = rounds));
        let failed = self.waits_for_look();
        let left = self.state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group && task.status.is_open());
        let left = left.filter(|task| task.status != TaskStatus::Running).map(|task| task.spec.id.clone());
        let left: Vec<TaskId> = left.chain(failed).collect();
        self.stopping.never_release(left);
        self.skip_open(out);
        self.advance(out);
    }

    /// Lets the TODOs that wait for a look at their failure run again, once the planner has looked and has left them as
    /// they are.
    pub(super) fn release_failed(&mut self, out: &mut Out) {
        let looks = self.replanning() || self.lead.is_awake();
        if looks || self.escalated() || self.stopping.is_ended() {
            return;
        }
        let mut seen = self.waits_for_look();
        if self.is_emergent() && self.can_replan() {
            seen.retain(|task| self.replans.growth().has_seen(task.as_str()));
        }
        for task in &seen {
            self.set_task(task, TaskStatus::Pending, Some(message!("task-again")), out);
        }
        if !seen.is_empty() {
            self.settle(out);
        }
    }

    /// Returns the TODOs that failed, may be tried again, and wait for a look at the plan.
    pub(super) fn waits_for_look(&mut self) -> Vec<TaskId> {
        let (trigger_index, state) = self.state.trigger_index();
        trigger_index.failed(state).filter(|task| !task.failed_for_good).map(|task| task.spec.id.clone()).collect()
    }

    /// Holds back a TODO that failed too often: only an update can retry or replace it.
    pub(super) fn hold_back(&mut self, task: &TaskId, error: &Message, out: &mut Out) {
        let Some(known) = self.state.tasks.get(task) else { return };
        let reason = match known.failures {
            0 => message!("failed-first", error),
            failures => message!("failed-often", number = failures + 1, error),
        };
        let event = ProgressEvent::TaskStatusChanged {
            task: task.clone(),
            from: known.status,
            to: TaskStatus::Blocked,
            attempt: known.attempts,
            for_good: false,
            reason: Some(reason),
        };
        self.emit(event, out);
    }
}

/// Returns true if a patch was requested to grow the plan and not because of a failure.
pub(super) fn is_update(reasons: &[TriggerReason]) -> bool {
    !reasons.is_empty() && reasons.iter().all(|reason| reason.kind == TriggerKind::Update)
}
