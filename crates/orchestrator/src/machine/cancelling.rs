//! Ending a run, or one of its tasks, for good because a person says so.

use aime_progress::{
    Decision, PatchFaults, PlanChange, PlanMode, PlanPatch, ProgressEvent, QuestionId, RunStatus, TaskId, TriggerKind, TriggerReason,
    lowering,
};

use super::{FailureCode, Out, Phase, RunMachine, replanning::PERSON_PRIORITY};
use crate::{RunFailure, RunOutput};

/// The topic of the note that a task stays in the plan that a person wanted cancelled.
const NOT_CANCELLED: &str = "not_cancelled";

impl RunMachine {
    /// Ends the run: what is under way is stopped, and nothing can resume it. A run that was being left is cancelled instead.
    pub(super) fn cancel(&mut self, reason: &str, out: &mut Out) {
        if self.phase == Phase::Over {
            return;
        }
        let (run, version) = (&self.input.run, self.state.version);
        let hint = (version > 0).then(|| format!("`aime runs fork {run} --at {version}` makes a run that goes on from there"));
        let error = Some(RunFailure { code: FailureCode::Cancelled, message: reason.to_owned(), hint });
        self.give_up = Some(reason.to_owned());
        self.phase = Phase::Over;
        self.leaving = None;
        self.leave(RunOutput { status: RunStatus::Cancelled, error }, out);
    }

    /// Everything has stopped: what was not done is skipped, nobody is asked any more, and the report says what was reached.
    pub(super) fn close_cancelled(&mut self, output: &RunOutput, out: &mut Out) {
        self.skip_open(out);
        self.settle(out);
        self.give_up_blocked(out);
        let open: Vec<QuestionId> = self.unanswered().iter().map(|question| question.id.clone()).collect();
        self.withdraw(open, out);
        let text = self.report(output.error.as_ref());
        self.emit(ProgressEvent::Answered { text }, out);
    }

    /// Takes a task that is not settled out of the plan; the actor of one that runs is stopped first. What waited for it goes on without; one whose
    /// result others need stays, and that is told. While the run is being left, or another decision waits, that comes later.
    pub(super) fn cancel_task(&mut self, task: &TaskId, reason: &str, out: &mut Out) {
        if self.phase == Phase::Executing && self.state.mode != Some(PlanMode::Direct) {
            self.to_cancel.push((task.clone(), reason.to_owned()));
            self.cancel_next(out);
        }
    }

    /// Begins with what a person wants cancelled first.
    pub(super) fn cancel_next(&mut self, out: &mut Out) {
        let state = &self.state;
        self.to_cancel.retain(|(task, _)| state.tasks.get(task).is_some_and(|known| !known.status.is_settled()));
        if self.decision.is_some() || self.leaving.is_some() {
            return;
        }
        // One that others need may go once they have gone.
        let fits = |(task, reason): &&(TaskId, String)| self.state.check_patch(&PlanPatch::cancelling(task, reason)).is_ok();
        let Some((task, reason)) = self.to_cancel.iter().find(fits).or_else(|| self.to_cancel.first()).cloned() else { return };
        let patch = PlanPatch::cancelling(&task, &reason);
        if let Err(faults) = self.state.check_patch(&patch) {
            self.cancel_decided(&patch);
            self.tell_not_cancelled(&task, &faults, out);
            return self.cancel_next(out);
        }
        let kind = TriggerKind::Person;
        let detail = format!("a person cancelled {task}");
        let triggers = vec![TriggerReason { kind, priority: PERSON_PRIORITY, detail, tasks: vec![task.clone()], evidence: Vec::new() }];
        self.stop_cancelled(&patch, out);
        let (version, evidence, lowered) = (self.state.version + 1, Vec::new(), lowering(&self.state, &patch).unwrap_or_default());
        self.decision = Some(Decision { version, at: self.now, triggers, patch, evidence, lowered });
        self.decide_if_ready(out);
    }

    /// Who cancelled a task is told why it stays: another one needs its result, or hangs on a condition over it.
    pub(super) fn tell_not_cancelled(&mut self, task: &TaskId, faults: &PatchFaults, out: &mut Out) {
        let detail = [("task".to_owned(), task.as_str().into()), ("message".to_owned(), faults.to_string().into())];
        self.emit(ProgressEvent::Noted { topic: NOT_CANCELLED.to_owned(), detail: detail.into() }, out);
    }

    /// What a person wanted cancelled is dealt with once the decision on it was made, whether or not it could be carried out.
    pub(super) fn cancel_decided(&mut self, decision: &PlanPatch) {
        let decided = |task: &TaskId| matches!(decision.changes.as_slice(), [PlanChange::CancelTask { id, .. }] if id == task);
        self.to_cancel.retain(|(task, _)| !decided(task));
    }
}
