//! The end of a run: the criteria, the answer, the report without a model.

use std::collections::BTreeMap;

use aime_messages::{Message, message};
use aime_progress_management::{CheckMethod, Conclusion, ProgressEvent, RunStatus, Task, TaskId, TaskKind, TaskStatus};

use super::{FailureCode, Out, Phase, RunMachine, effects::EffectPurpose};
use crate::{
    NextStep, Reflect, RunEffect, RunFailure, RunOutput,
    criteria_lines::{criteria_lines, doubtful_lines},
    fact::CriterionResult,
};

impl RunMachine {
    /// If nothing moves any more, waits for a person, gives up blocked tasks, or ends the run.
    pub(super) fn wait_or_end(&mut self, out: &mut Out) {
        if self.stopping.is_suspending() || self.fault.is_some() || self.phase != Phase::Executing {
            return;
        }
        self.withdraw_needless_escalation(out);
        if self.waits_for_person() {
            let output = self.waiting();
            return self.suspend(output, out);
        }
        if !self.idle() || self.unanswered().next().is_some() || self.has_ready() {
            return;
        }
        if self.waits_for_cooldown() {
            return;
        }
        if self.works_itself() {
            return self.wake_for_own_work(out);
        }
        if self.wake_for_held(out) {
            return;
        }
        if self.asks_for_open_needs(out) || self.give_up_blocked(out) {
            return self.advance(out);
        }
        self.end(out);
    }

    pub(super) fn has_ready(&self) -> bool {
        self.state.tasks.values().any(|task| task.status == TaskStatus::Ready && task.spec.kind != TaskKind::Group)
    }

    /// Returns whether a replan is wanted that will be allowed when the timer fires.
    fn waits_for_cooldown(&self) -> bool {
        self.replans.is_waiting() && self.stopping.given_up().is_none() && self.effects.timers().next().is_some()
    }

    /// Ends the run, after every task is settled.
    fn end(&mut self, out: &mut Out) {
        if self.wake_for_untold_words(out) {
            return;
        }
        if self.end_as_the_lead_says(out) {
            return;
        }
        let undone = self.undone();
        if undone.is_none() && self.verify(out) {
            return;
        }
        if self.is_led() && !self.is_done_by_lead() && self.wake_for_answer(out) {
            return;
        }
        if let Some(failure) = undone {
            return self.finish(RunOutput { status: RunStatus::Failed, error: Some(failure) }, None, out);
        }
        if let Some(message) = self.criteria.failure() {
            return self.finish(self.failed(FailureCode::GoalNotReached, message, None), None, out);
        }
        self.phase = Phase::Answering;
        if self.needs_writing() {
            let id = self.effects.next_id("answer");
            return self.issue(id, RunEffect::Answer { state: Box::new(self.state.get().clone()) }, EffectPurpose::Answer, out);
        }
        self.answered(None, out);
    }

    /// Requests a check of the criteria of the plan, and of those of tasks that may be outdated, once for each version of the plan. Returns
    /// whether it does.
    pub(super) fn verify(&mut self, out: &mut Out) -> bool {
        let due = self.must_verify();
        if due {
            self.phase = Phase::Verifying;
            let id = self.effects.next_id("verify");
            self.issue(id, RunEffect::Verify { state: Box::new(self.state.get().clone()) }, EffectPurpose::Verify, out);
        }
        due
    }

    /// Returns whether criteria are to be checked that nobody has checked since the last change of the plan.
    pub(super) fn must_verify(&self) -> bool {
        let is_reflected = self.input.reflects(&self.state.strategic.success_criteria);
        !self.criteria.were_looked_at() && (is_reflected || self.may_be_outdated())
    }

    /// Returns whether a task may have changed files after the criteria of another one were checked.
    fn may_be_outdated(&self) -> bool {
        let worked = self.state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group && task.attempts > 0);
        worked.take(2).count() > 1 && self.state.checked.iter().any(|known| known.task.is_some() && known.how != CheckMethod::Unchecked)
    }

    /// Returns the next step after a model could not be used, with the advice of its client.
    pub(super) fn repair_model(&self, advice: Option<Message>) -> Option<NextStep> {
        Some(NextStep::RepairModel { advice, run: self.resumable() })
    }

    /// Returns whether a model writes the answer. The result of a single task is the answer itself; without a model the
    /// summaries are.
    fn needs_writing(&self) -> bool {
        let actors = self.state.tasks.values().filter(|task| task.spec.kind == TaskKind::Actor && task.status == TaskStatus::Completed);
        let settled = self.state.tasks.values().filter(|task| task.status == TaskStatus::Completed && task.spec.kind != TaskKind::Group);
        self.input.can_plan && actors.count() > 0 && settled.count() > 1
    }

    /// Returns a failure that names the unfinished tasks, if the goal was not reached because of them.
    pub(super) fn undone(&self) -> Option<RunFailure> {
        // A group only sums up its tasks.
        let tasks = || self.state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group);
        // A task that was rolled back is not done, unless a later version of the plan completed another one.
        let made_good = |undone: &Task| tasks().any(|task| task.status == TaskStatus::Completed && task.version > undone.version);
        let failed: Vec<_> = tasks()
            .filter(|task| task.status == TaskStatus::Failed || (task.status == TaskStatus::RolledBack && !made_good(task)))
            .collect();
        let held: Vec<_> = tasks().filter(|task| self.stopping.was_never_released(&task.spec.id)).collect();
        let completed = tasks().any(|task| task.status == TaskStatus::Completed);
        // A lead may have done the work itself of the tasks that it took out of the plan.
        let is_done = completed || self.has_lead_done_the_rest();
        if failed.is_empty() && held.is_empty() && is_done && !self.stopping.is_ended_by_person() {
            return None;
        }
        let all_out_of_steps = !failed.is_empty()
            && held.is_empty()
            && !self.stopping.is_ended_by_person()
            && failed.iter().all(|task| {
                task.conclusion.as_ref().and_then(|conclusion| conclusion.cause) == Some(aime_progress_management::FailureCause::Steps)
            });
        let code = if all_out_of_steps { FailureCode::BoundReached } else { FailureCode::GoalNotReached };
        let mut lines: Vec<Message> = failed
            .iter()
            .map(|task| {
                let error = task.conclusion.as_ref().and_then(|conclusion| conclusion.error.clone());
                message!("task-failed", task = task.spec.id, reason = error.or_else(|| task.reason.clone()).unwrap_or_default())
            })
            .collect();
        lines.extend(held.iter().map(|task| message!("task-was", task = task.spec.id, reason = task.reason.clone().unwrap_or_default())));
        if !completed && lines.is_empty() {
            lines.push(message!("no-task-done"));
        }
        if let Some(why) = self.stopping.given_up() {
            lines.push(why.clone());
        }
        Some(RunFailure::new(code, Message::list("; ", &lines), all_out_of_steps.then_some(NextStep::AllowSteps {})))
    }

    pub(super) fn verified(&mut self, checks: &[CriterionResult], again: &BTreeMap<TaskId, Vec<CriterionResult>>, out: &mut Out) {
        self.report_checks(None, checks, out);
        again.iter().for_each(|(task, checks)| self.report_checks(Some(task), checks, out));
        // The settings waive a verdict on the success criteria in words.
        let is_waived =
            |check: &&CriterionResult| self.input.settings.reflect == Reflect::Never && !check.executable && check.passed.is_none();
        let required: Vec<CriterionResult> = checks.iter().filter(|check| !is_waived(check)).cloned().collect();
        self.criteria.record_checks(&required, again);
        self.phase = Phase::Executing;
        self.advance(out);
    }

    pub(super) fn answered(&mut self, text: Option<String>, out: &mut Out) {
        self.process_told_words(out);
        let output = RunOutput { status: RunStatus::Completed, error: None };
        self.finish(output, text, out);
    }

    pub(super) fn finish(&mut self, output: RunOutput, text: Option<String>, out: &mut Out) {
        let text = text.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| self.report(output.error.as_ref()));
        self.emit(ProgressEvent::Answered { text }, out);
        self.phase = Phase::Over;
        self.suspend(output, out);
        self.remember(out);
    }

    /// Returns the answer without a model: the failure, then the first line of each result, then the criteria. The result of a single task
    /// that succeeded is the answer, with the criteria that were not confirmed.
    pub(super) fn report(&self, failure: Option<&RunFailure>) -> String {
        let tasks: Vec<_> = self.state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group).collect();
        if let ([task], None) = (tasks.as_slice(), failure) {
            let conclusion = task.conclusion.as_ref();
            let text = conclusion.map(|conclusion| conclusion.text.clone().unwrap_or_else(|| conclusion.summary.clone()));
            let doubts = doubtful_lines(&self.state);
            let doubts = if doubts.is_empty() { String::new() } else { format!("\n\nCriteria:\n{}", doubts.join("\n")) };
            return text.unwrap_or_default() + &doubts;
        }
        let (mut lines, is_single): (Vec<String>, bool) = (Vec::new(), tasks.len() == 1);
        if let Some(failure) = failure {
            lines.push(format!("The goal was not reached: {}", failure.message));
        }
        for task in tasks.into_iter().filter(|_| failure.is_none() || !is_single) {
            let summary = task.conclusion.as_ref().map(Conclusion::explanation);
            let explanation = summary.or_else(|| task.reason.clone()).unwrap_or_default().to_string();
            let first = explanation.lines().next().unwrap_or("");
            let is_known = first.is_empty() || failure.is_some_and(|failure| failure.message.to_string().contains(first));
            let first = if is_known { String::new() } else { format!(": {first}") };
            lines.push(format!("- {} ({}){first}", task.spec.title(), task.status));
        }
        let is_new = |text: &str| failure.is_none_or(|failure| !failure.message.to_string().contains(text));
        let criteria = criteria_lines(&self.state).into_iter().filter(|(text, _)| is_new(text)).map(|(_, line)| line);
        let criteria: Vec<String> = criteria.collect();
        if !criteria.is_empty() {
            lines.extend([String::new(), "Criteria:".to_owned()].into_iter().chain(criteria));
        }
        lines.join("\n")
    }
}
