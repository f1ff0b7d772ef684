//! Plans that grow while they are carried out: emergent ones after their TODOs, complex ones between their tasks.
//!
//! An update is a patch like any other. It is no repair, so the frequency control does not count it: its own rules bound it.

use std::collections::BTreeSet;

use aime_progress::{EvidenceId, PlanMode, ProgressEvent, TaskId, TaskKind, TaskStatus, TriggerKind, TriggerReason};

use super::{Out, RunMachine};

/// Below every trigger: trouble comes first.
const PRIORITY: u8 = 20;

impl RunMachine {
    pub(super) fn is_emergent(&self) -> bool {
        self.state.mode == Some(PlanMode::Emergent)
    }

    /// Asks how the plan is to go on, when the rules of its mode say so. What is ready goes on meanwhile.
    pub(super) fn grow(&mut self, out: &mut Out) {
        if self.stopping.is_leaving() || self.fault.is_some() || self.replanning() || self.escalated() || !self.can_replan() {
            return;
        }
        let due = match self.state.mode {
            Some(PlanMode::Emergent) => self.replans.growth().update_due(&self.state, self.is_still(), &self.input.settings.growth),
            // A replan that is wanted and not allowed yet is waited for, and not gone around.
            Some(PlanMode::Complex) => {
                let (census, state) = self.state.census();
                let is_known = |id: &EvidenceId| self.replans.is_left_open(id);
                let due = self.replans.growth().adaptation_due(state, census, self.input.settings.adaptive, is_known);
                due.filter(|_| self.reasons().is_empty())
            }
            _ => None,
        };
        let Some(detail) = due else { return };
        let allowed = self.input.settings.growth.stagnant_rounds;
        let stagnant = self.replans.growth_mut().look(&self.state);
        if self.is_emergent() && stagnant > allowed {
            return self.stagnates(stagnant, out);
        }
        // What is a trigger by itself is used by a replan alone, so that nothing is lost in a cooldown.
        let triggers: BTreeSet<EvidenceId> = self.reasons().into_iter().flat_map(|reason| reason.evidence).collect();
        let unused = self.state.evidence.iter().filter(|evidence| !evidence.processed && !triggers.contains(&evidence.id));
        let evidence = unused.map(|evidence| evidence.id.clone()).collect();
        let reason = TriggerReason { kind: TriggerKind::Update, priority: PRIORITY, detail, tasks: Vec::new(), evidence };
        self.ask_patch("update", vec![reason], out);
    }

    /// Nothing runs and nothing could be started.
    fn is_still(&self) -> bool {
        self.idle() && !self.has_ready() && self.unanswered().next().is_none()
    }

    /// Update after update brings nothing about: what is left is not begun, and the report says so.
    fn stagnates(&mut self, rounds: u32, out: &mut Out) {
        self.stopping.give_up(format!("stagnation: {rounds} looks at the plan in a row found no completed TODO"));
        let left = self.state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group && task.status.is_open());
        let left: Vec<TaskId> = left.filter(|task| task.status != TaskStatus::Running).map(|task| task.spec.id.clone()).collect();
        self.stopping.never_release(left);
        self.skip_open(out);
        self.advance(out);
    }

    /// A TODO that failed too often is held back: only an update can bring it on, or something else in its place.
    pub(super) fn hold_back(&mut self, task: &TaskId, error: &str, out: &mut Out) {
        let Some(known) = self.state.tasks.get(task) else { return };
        let reason = match known.failures {
            0 => format!("failed: {error}"),
            failures => format!("failed {} times: {error}", failures + 1),
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

/// Whether a patch was asked for because the plan grows, and not because of trouble.
pub(super) fn is_update(reasons: &[TriggerReason]) -> bool {
    !reasons.is_empty() && reasons.iter().all(|reason| reason.kind == TriggerKind::Update)
}
