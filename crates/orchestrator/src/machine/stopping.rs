//! Leaving a run so that it can be resumed, and resuming it.

use std::collections::BTreeSet;

use aime_durable::{EffectId, Reason};
use aime_messages::{Message, message};
use aime_progress_management::{CallOutcome, Conclusion, Outcome, ProgressEvent, Question, RunStatus, TaskId, TaskKind, TaskStatus};
use serde::{Deserialize, Serialize};

use super::{FailureCode, Out, Phase, RunMachine, effects::EffectPurpose, growing::is_update, needs::BLOCKED};
use crate::{Bounds, NextStep, RunFailure, RunOutput};

/// The result of a call whose process has died.
const CUT_OFF: &str = "the run was cut off before its end";
/// The result of a call that another run made, from which this one was forked.
const NOT_BEGUN: &str = "not begun: the run was forked before it";

/// The state of a run that is being suspended, with the given-up parts of its plan.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct StopState {
    /// The output of the run once everything under way has stopped.
    leaving: Option<RunOutput>,
    /// True if a person ended the run: no further task is started.
    ended_by_person: bool,
    /// True if the lead ended the run: no further task is started.
    ended_by_lead: bool,
    /// The reason not to change the plan any more.
    given_up: Option<Message>,
    /// The tasks that the plan held back and never released.
    never_released: BTreeSet<TaskId>,
}

impl StopState {
    pub(super) const fn is_suspending(&self) -> bool {
        self.leaving.is_some()
    }

    /// Begins to suspend the run with `output`, unless it is being suspended already. Returns true if it begins.
    fn suspend(&mut self, output: RunOutput) -> bool {
        let begins = self.leaving.is_none();
        self.leaving.get_or_insert(output);
        begins
    }

    /// Returns whether the run can be suspended for another reason than the current one. A run that is being suspended to wait
    /// for a person can, and its reason is then dropped. Any other run can be suspended.
    pub(super) fn supersede(&mut self) -> bool {
        let can = self.leaving.as_ref().is_none_or(|output| output.status == RunStatus::WaitingForHuman);
        if can {
            self.leaving = None;
        }
        can
    }

    /// Cancels leaving the run.
    pub(super) fn cancel_suspending(&mut self) {
        self.leaving = None;
    }

    const fn take_output(&mut self) -> Option<RunOutput> {
        self.leaving.take()
    }

    /// Returns the reason for leaving the run, if it is a failure.
    pub(super) fn failure(&self) -> Option<&RunFailure> {
        self.leaving.as_ref()?.error.as_ref()
    }

    pub(super) fn give_up(&mut self, why: impl Into<Message>) {
        self.given_up = Some(why.into());
    }

    pub(super) const fn given_up(&self) -> Option<&Message> {
        self.given_up.as_ref()
    }

    pub(super) fn end_by_person(&mut self) {
        self.give_up(message!("ended-by-person"));
        self.ended_by_person = true;
    }

    pub(super) const fn end_by_lead(&mut self) {
        self.ended_by_lead = true;
    }

    /// Takes the end back that the lead wanted.
    pub(super) const fn take_back_end(&mut self) {
        self.ended_by_lead = false;
    }

    /// Removes the earlier end of the run. Tasks that the plan never released stay undone.
    pub(super) fn reopen(&mut self) {
        *self = Self { never_released: std::mem::take(&mut self.never_released), ..Self::default() };
    }

    /// Returns whether a person or the lead has ended the run, so that no further task is started.
    pub(super) const fn is_ended(&self) -> bool {
        self.ended_by_person || self.ended_by_lead
    }

    pub(super) const fn is_ended_by_person(&self) -> bool {
        self.ended_by_person
    }

    pub(super) fn never_release(&mut self, tasks: impl IntoIterator<Item = TaskId>) {
        self.never_released.extend(tasks);
    }

    pub(super) fn was_never_released(&self, task: &TaskId) -> bool {
        self.never_released.contains(task)
    }
}

impl RunMachine {
    pub(super) fn stop(&mut self, reason: &Message, out: &mut Out) {
        if self.phase == Phase::Over || !self.stopping.supersede() {
            return;
        }
        self.emit(ProgressEvent::RunInterrupted { reason: reason.clone() }, out);
        let next = self.resumable().map(|run| NextStep::Resume { run });
        let error = Some(RunFailure::new(FailureCode::Interrupted, reason.clone(), next));
        self.suspend(RunOutput { status: RunStatus::Interrupted, error }, out);
    }

    /// Stops everything under way. The run is suspended with `output` once all of it is acknowledged.
    pub(super) fn suspend(&mut self, output: RunOutput, out: &mut Out) {
        if self.stopping.suspend(output) {
            self.effects.ids().for_each(|id| out.revoke(id.clone(), Reason::Stopped));
        }
    }

    /// Returns the output once the run is being suspended and nothing is in progress. A run that was to wait continues if it
    /// waits for nothing else.
    pub(super) fn finish_suspending(&mut self, out: &mut Out) -> Option<RunOutput> {
        loop {
            if !self.effects.is_empty() {
                return None;
            }
            let output = self.stopping.take_output()?;
            self.shelve_decision();
            self.budgets.pause(self.now);
            self.interrupt_running(out);
            if output.status == RunStatus::WaitingForHuman && self.unanswered().next().is_none() {
                // The question belonged to a call that must not be repeated, and ended with it. The run evaluates the
                // result of the call.
                self.budgets.resume(self.now, None);
                self.carry_out_requests(out);
                self.advance(out);
                continue;
            }
            if output.status == RunStatus::Cancelled {
                self.close_cancelled(&output, out);
            }
            self.set_status(output.status, output.error.as_ref().map(|error| &error.message), out);
            return Some(output);
        }
    }

    /// Marks running tasks without an attempt as interrupted: they wait for consent, or have stopped to be cancelled.
    fn interrupt_running(&mut self, out: &mut Out) {
        let running = self.state.tasks.values().filter(|task| task.status == TaskStatus::Running && task.spec.kind != TaskKind::Group);
        let running: Vec<TaskId> = running.map(|task| task.spec.id.clone()).collect();
        let cancelled = self.cancellations.take_stopping();
        for task in running {
            self.cut_off(&task, cancelled.get(&task).and_then(Option::as_ref), out);
        }
    }

    /// Handles an attempt that was stopped on request.
    pub(super) fn task_stopped(&mut self, task: &TaskId, id: Option<&EffectId>, out: &mut Out) {
        self.report_call_end(task, CallOutcome::Cancelled, "stopped before its end", 0, out);
        if self.cancellations.is_stopping(task) {
            return self.decide_if_ready(out);
        }
        if self.lead.stop_holding(task) {
            self.hold_stopped(task, out);
            return self.advance(out);
        }
        if !self.stopping.is_ended() || self.stopping.is_suspending() {
            self.cut_off(task, id, out);
        }
        self.advance(out);
    }

    /// Handles an attempt that was interrupted. An actor continues from its own journal. A call that has ended is not made
    /// again. A call that may be repeated is made again; any other call that was started is in doubt.
    pub(super) fn cut_off(&mut self, task: &TaskId, begun: Option<&EffectId>, out: &mut Out) {
        let Some(known) = self.state.tasks.get(task) else { return };
        if known.status != TaskStatus::Running {
            return;
        }
        let tool = known.spec.tool.clone().unwrap_or_default();
        let goes_on =
            self.executions.finished_call(task).is_some() || self.tool_spec(&tool).is_some_and(|tool_spec| tool_spec.repeatable());
        match begun {
            Some(id) if known.spec.kind == TaskKind::Tool && !goes_on => {
                let error = message!("call-in-doubt", tool, id);
                self.conclude(task, &Conclusion::without_result(Outcome::InDoubt, error, None), out);
            }
            _ => self.set_task(task, TaskStatus::Pending, Some(message!("status-interrupted")), out),
        }
    }

    /// Handles the start of a fork: the facts so far belong to another run, so work in progress there still has to be
    /// started here.
    pub(super) fn forked(&mut self, out: &mut Out) {
        self.revoke_open((CallOutcome::Cancelled, NOT_BEGUN), false, out);
        // A user who continues from an earlier plan does not want the later requests.
        self.cancellations.forget_requests();
        self.lead.forget_shelved();
        self.interrupt_running(out);
        self.budgets.pause(self.now);
    }

    /// Revokes all open effects and reports the outcome of calls. `begun` is true if the calls may have had effects.
    fn revoke_open(&mut self, (outcome, text): (CallOutcome, &str), begun: bool, out: &mut Out) {
        for (id, purpose) in self.effects.take_all() {
            out.revoke(id.clone(), Reason::Stopped);
            match purpose {
                EffectPurpose::Task(task) => {
                    self.report_call_end(&task, outcome, text, 0, out);
                    self.cut_off(&task, begun.then_some(&id), out);
                }
                EffectPurpose::Lead(reasons) if !self.is_led() && is_update(&reasons) => self.replans.growth_mut().lost(),
                _ => {}
            }
        }
        self.shelve_decision();
    }

    /// Continues the run. First it settles everything that a crash left open: nothing that may have happened is
    /// silently repeated.
    pub(super) fn resume(&mut self, bounds: Option<&Bounds>, out: &mut Out) {
        if self.phase == Phase::Over {
            let open = self.effects.take_all();
            open.keys().for_each(|id| out.revoke(id.clone(), Reason::Stopped));
            if open.values().any(|purpose| matches!(purpose, EffectPurpose::Remember)) {
                self.remember(out);
            }
            return;
        }
        self.stopping.cancel_suspending();
        self.budgets.resume(self.now, bounds);
        self.emit(ProgressEvent::RunResumed {}, out);
        self.revoke_open((CallOutcome::InDoubt, CUT_OFF), true, out);
        self.interrupt_running(out);
        if self.state.version == 0 {
            self.set_status(RunStatus::Planning, None, out);
            return self.plan_again(out);
        }
        self.phase = Phase::Executing;
        self.set_status(RunStatus::Executing, None, out);
        // The person who resumes the run is asked the open questions. A question whose answer has arrived meanwhile
        // ends again.
        let unanswered: Vec<Question> = self.unanswered().cloned().collect();
        for Question { id, task, kind, question, .. } in &unanswered {
            if kind == BLOCKED {
                self.people.resume(id.clone());
            }
            self.ask(task.as_ref(), id, kind, question.clone(), out);
        }
        self.carry_out_requests(out);
        self.carry_out_shelved(out);
        // A cancellation from before the stop may end the run at once.
        if self.is_led() && self.lead.is_awake() && !self.stopping.is_suspending() && self.phase == Phase::Executing {
            self.wake_again(out);
        }
        self.advance(out);
    }

    /// Skips the open tasks that nobody works on, and the failed ones that wait to be tried again.
    pub(super) fn skip_open(&mut self, out: &mut Out) {
        let failed = self.waits_for_look();
        let open = self.state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group && task.status.is_open());
        let open = open.map(|task| &task.spec.id).filter(|id| self.effects.attempt_at(id).is_none());
        let open: Vec<TaskId> = open.cloned().chain(failed).collect();
        for task in open {
            self.set_task(&task, TaskStatus::Skipped, self.stopping.given_up().cloned(), out);
        }
    }

    /// Handles an effect that the runtime failed to carry out.
    pub(super) fn effect_failed(&mut self, purpose: EffectPurpose, message: &Message, out: &mut Out) {
        match purpose {
            EffectPurpose::Task(task) => {
                self.report_call_end(&task, CallOutcome::Error, &message.to_string(), 0, out);
                self.conclude(&task, &super::tasks::failure(message.clone(), None), out);
                self.advance(out);
            }
            EffectPurpose::Recall => {
                self.memory_failed(message.clone(), out);
                self.begin_work(out);
            }
            EffectPurpose::Remember => self.memory_failed(message.clone(), out),
            EffectPurpose::Answer => self.answered(None, out),
            EffectPurpose::Ask(_) | EffectPurpose::Timer(_) => self.advance(out),
            EffectPurpose::Lead(_) | EffectPurpose::Route | EffectPurpose::Verify => {
                if matches!(purpose, EffectPurpose::Lead(_)) {
                    self.lead_stopped(out);
                }
                let output = self.failed(FailureCode::Internal, message.clone(), None);
                self.suspend(output, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(status: RunStatus) -> RunOutput {
        RunOutput { status, error: None }
    }

    #[test]
    fn only_waiting_for_a_person_gives_way() {
        let cases =
            [(None, true), (Some(RunStatus::WaitingForHuman), true), (Some(RunStatus::Failed), false), (Some(RunStatus::Executing), false)];
        for (leaving, expected) in cases {
            let mut stop = StopState { leaving: leaving.map(output), ..StopState::default() };
            assert_eq!((stop.supersede(), stop.is_suspending()), (expected, !expected), "{leaving:?}");
        }
    }

    #[test]
    fn the_first_reason_to_leave_counts() {
        let mut stop = StopState::default();
        assert!(stop.suspend(output(RunStatus::Failed)) && !stop.suspend(output(RunStatus::Completed)));
        assert_eq!(stop.take_output(), Some(output(RunStatus::Failed)));
        assert!(!stop.is_suspending());
    }
}
