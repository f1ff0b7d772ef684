//! The end of a run: the criteria, the answer, the honest report.

use aime_progress::{ProgressEvent, RunStatus, Task, TaskKind, TaskStatus};

use super::{FailureCode, Out, Phase, RunMachine, Work};
use crate::{Reflect, RunEffect, RunFailure, RunOutput, fact::CriterionResult};

pub(super) const MODEL_HINT: &str = "check the server and the model's name with `aime doctor`, then `aime resume` the run";
const STEPS_HINT: &str = "raise max_steps in [run], and in the actor's profile where that allows fewer, or let the goal be planned in smaller tasks (--mode complex)";

impl RunMachine {
    /// When nothing moves any more: waits for a person, gives up what cannot be done, or ends.
    pub(super) fn wait_or_end(&mut self, out: &mut Out) {
        if self.leaving.is_some() || self.fault.is_some() || self.phase != Phase::Executing {
            return;
        }
        if self.waits_for_person() {
            let output = self.waiting();
            return self.leave(output, out);
        }
        if !self.idle() || !self.unanswered().is_empty() || self.has_ready() {
            return;
        }
        if self.waits_for_cooldown() {
            return;
        }
        if self.give_up_blocked(out) {
            return self.advance(out);
        }
        self.end(out);
    }

    pub(super) fn has_ready(&self) -> bool {
        self.state.tasks.values().any(|task| task.status == TaskStatus::Ready && task.spec.kind != TaskKind::Group)
    }

    /// A replan is wanted and will be allowed when the timer fires.
    fn waits_for_cooldown(&self) -> bool {
        !self.announced.is_empty() && self.give_up.is_none() && self.open.values().any(|work| matches!(work, Work::Timer(_)))
    }

    /// Every task is settled.
    fn end(&mut self, out: &mut Out) {
        if let Some(failure) = self.undone() {
            return self.finish(RunOutput { status: RunStatus::Failed, error: Some(failure) }, None, out);
        }
        if !self.verified && self.is_reflected() {
            self.phase = Phase::Verifying;
            let id = self.next_id("verify");
            return self.issue(id, RunEffect::Verify { state: Box::new(self.state.clone()) }, Work::Verify, out);
        }
        if !self.unmet.is_empty() {
            let message = format!("success criteria do not hold: {}", self.unmet.join("; "));
            return self.finish(self.failed(FailureCode::GoalNotReached, message, None), None, out);
        }
        self.phase = Phase::Answering;
        if self.needs_writing() {
            let id = self.next_id("answer");
            return self.issue(id, RunEffect::Answer { state: Box::new(self.state.clone()) }, Work::Answer, out);
        }
        self.answered(None, out);
    }

    /// Whether what was done is held against the plan's criteria, or against the goal where it names none.
    fn is_reflected(&self) -> bool {
        let named = !self.state.strategic.success_criteria.is_empty();
        match self.input.settings.reflect {
            Reflect::Never => false,
            Reflect::Criteria => named,
            Reflect::Always => named || self.input.can_plan,
        }
    }

    /// One actor's own words are the answer; several need one voice. Without a model the summaries must do.
    fn needs_writing(&self) -> bool {
        let actors = self.state.tasks.values().filter(|task| task.spec.kind == TaskKind::Actor && task.status == TaskStatus::Completed);
        let settled = self.state.tasks.values().filter(|task| task.status == TaskStatus::Completed && task.spec.kind != TaskKind::Group);
        self.input.can_plan && actors.count() > 0 && settled.count() > 1
    }

    /// What is left undone, if that means that the goal was not reached.
    fn undone(&self) -> Option<RunFailure> {
        // A group only sums up its tasks.
        let tasks = || self.state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group);
        // What was rolled back was not reached either, unless a later version of the plan brought something in its place.
        let made_good = |undone: &Task| tasks().any(|task| task.status == TaskStatus::Completed && task.version > undone.version);
        let failed: Vec<_> = tasks()
            .filter(|task| task.status == TaskStatus::Failed || (task.status == TaskStatus::RolledBack && !made_good(task)))
            .collect();
        let held: Vec<_> = tasks().filter(|task| self.never_released.contains(&task.spec.id)).collect();
        let completed = tasks().any(|task| task.status == TaskStatus::Completed);
        if failed.is_empty() && held.is_empty() && completed && !self.ended_by_person {
            return None;
        }
        let all_out_of_steps = !failed.is_empty()
            && held.is_empty()
            && !self.ended_by_person
            && failed
                .iter()
                .all(|task| task.conclusion.as_ref().and_then(|conclusion| conclusion.cause) == Some(aime_progress::FailureCause::Steps));
        let code = if all_out_of_steps { FailureCode::BoundReached } else { FailureCode::GoalNotReached };
        let mut lines: Vec<String> = failed
            .iter()
            .map(|task| {
                let error = task.conclusion.as_ref().and_then(|conclusion| conclusion.error.clone());
                format!("{} failed: {}", task.spec.id, error.or_else(|| task.reason.clone()).unwrap_or_default())
            })
            .collect();
        lines.extend(held.iter().map(|task| format!("{} was {}", task.spec.id, task.reason.clone().unwrap_or_default())));
        if !completed && lines.is_empty() {
            lines.push("no task was completed".to_owned());
        }
        if let Some(why) = &self.give_up {
            lines.push(why.clone());
        }
        let hint = all_out_of_steps.then(|| STEPS_HINT.to_owned());
        Some(RunFailure { code, message: lines.join("; "), hint })
    }

    pub(super) fn verified(&mut self, checks: &[CriterionResult], out: &mut Out) {
        self.verified = true;
        self.tell_checks(None, checks, out);
        self.unmet = checks
            .iter()
            .filter(|check| check.passed == Some(false))
            .map(|check| format!("{}: {}", check.criterion, check.reason))
            .collect();
        self.phase = Phase::Executing;
        self.advance(out);
    }

    pub(super) fn answered(&mut self, text: Option<String>, out: &mut Out) {
        let output = RunOutput { status: RunStatus::Completed, error: None };
        self.finish(output, text, out);
    }

    pub(super) fn finish(&mut self, output: RunOutput, text: Option<String>, out: &mut Out) {
        let text = text.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| self.report(output.error.as_ref()));
        self.emit(ProgressEvent::Answered { text }, out);
        self.phase = Phase::Over;
        self.leave(output, out);
        self.remember(out);
    }

    /// The answer without a model: the failure in full, then the first line of what each task came to. One task alone that went well is told whole.
    pub(super) fn report(&self, failure: Option<&RunFailure>) -> String {
        let told: Vec<_> = self.state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group).collect();
        if let ([task], None) = (told.as_slice(), failure) {
            let conclusion = task.conclusion.as_ref();
            return conclusion.map(|conclusion| conclusion.text.clone().unwrap_or_else(|| conclusion.summary.clone())).unwrap_or_default();
        }
        let mut lines: Vec<String> = Vec::new();
        if let Some(failure) = failure {
            lines.push(format!("The goal was not reached: {}", failure.message));
        }
        for task in told {
            let summary = task.conclusion.as_ref().map(|conclusion| conclusion.error.as_ref().unwrap_or(&conclusion.summary).as_str());
            let said = summary.or(task.reason.as_deref()).unwrap_or("");
            let first = said.lines().next().unwrap_or("");
            lines.push(format!("- {} ({}): {first}", task.spec.title(), task.status));
        }
        lines.join("\n")
    }
}
