//! Leaving a run so that it can be resumed, and resuming it.

use aime_durable::{EffectId, Reason};
use aime_progress::{CallOutcome, Conclusion, Outcome, ProgressEvent, Question, RunStatus, TaskId, TaskKind, TaskStatus, Timestamp};

use super::{FailureCode, Out, Phase, RunMachine, Work, growing::is_update};
use crate::{Bounds, RunFailure, RunOutput};

/// What is told of a call whose process has died.
const CUT_OFF: &str = "the run was cut off before its end";

impl RunMachine {
    pub(super) fn stop(&mut self, reason: &str, out: &mut Out) {
        if self.is_left_for_good() || self.phase == Phase::Over {
            return;
        }
        self.leaving = None;
        self.emit(ProgressEvent::RunInterrupted { reason: reason.to_owned() }, out);
        let hint = (!self.input.plan_only).then(|| format!("go on with `aime resume {}`", self.input.run));
        let error = Some(RunFailure { code: FailureCode::Interrupted, message: reason.to_owned(), hint });
        self.leave(RunOutput { status: self.state.status, error }, out);
    }

    pub(super) fn bound_reached(&mut self, bound: &str, detail: &str, out: &mut Out) {
        if self.is_left_for_good() {
            return;
        }
        self.leaving = None;
        self.bounds_reached.insert(bound.to_owned());
        self.emit(ProgressEvent::BoundReached { bound: bound.to_owned(), detail: detail.to_owned() }, out);
        let run = &self.input.run;
        let flag = match bound {
            "tokens" => Some("--max-tokens N"),
            "money" => Some("--max-cost USD"),
            "time" => Some("--timeout TIME"),
            _ => None,
        };
        let hint = Some(match flag {
            Some(flag) if self.input.plan_only => format!("plan it again with a higher bound: `{flag}`"),
            Some(flag) => format!("raise the bound: `aime resume {run} {flag}`"),
            None => format!("raise max_{bound} in [run], then `aime resume {run}`"),
        });
        let output = self.failed(FailureCode::BoundReached, format!("the bound on {bound} was reached: {detail}"), hint);
        self.leave(output, out);
    }

    /// Whether the run is being left whatever happens. One that is left to wait for a person may go on all the same, and can be stopped before.
    fn is_left_for_good(&self) -> bool {
        self.leaving.as_ref().is_some_and(|output| output.status != RunStatus::WaitingForHuman)
    }

    /// Stops everything under way. The run is left with `output` once all of it is acknowledged.
    pub(super) fn leave(&mut self, output: RunOutput, out: &mut Out) {
        if self.leaving.is_some() {
            return;
        }
        self.leaving = Some(output);
        for id in self.open.keys() {
            out.revoke(id.clone(), Reason::Stopped);
        }
    }

    /// The output, once the run is being left and nothing is under way. One that was to wait goes on where there is nothing left to wait for.
    pub(super) fn left(&mut self, out: &mut Out) -> Option<RunOutput> {
        if !self.open.is_empty() {
            return None;
        }
        let output = self.leaving.take()?;
        self.drop_decision();
        self.end_segment(self.now);
        self.interrupt_running(out);
        if output.status == RunStatus::WaitingForHuman && self.unanswered().is_empty() {
            // What it was to wait for was asked by a call that nothing may repeat, and went with it: the run looks at what came of that.
            self.segment_at = Some(self.now);
            self.cancel_next(out);
            self.advance(out);
            return self.left(out);
        }
        if output.status == RunStatus::Cancelled {
            self.close_cancelled(&output, out);
        }
        self.set_status(output.status, output.error.as_ref().map(|error| error.message.as_str()), out);
        Some(output)
    }

    /// A decision that waits is not carried out any more. Trouble asks again by itself, and so does what a person wants cancelled; growth must be told.
    fn drop_decision(&mut self) {
        if self.decision.take().is_some_and(|decision| is_update(&decision.triggers)) {
            self.growth.lost();
        }
    }

    fn end_segment(&mut self, at: Timestamp) {
        if let Some(begun) = self.segment_at.take() {
            self.worked_ms += at.millis_since(begun);
        }
    }

    /// No task is left as running when nobody runs it.
    fn interrupt_running(&mut self, out: &mut Out) {
        let running = self.state.tasks.values().filter(|task| task.status == TaskStatus::Running && task.spec.kind != TaskKind::Group);
        let running: Vec<TaskId> = running.map(|task| task.spec.id.clone()).collect();
        let cancelled = std::mem::take(&mut self.cancelling);
        for task in running {
            // What is in nobody's hands waits for consent, or was to be cancelled and has stopped.
            self.cut_off(&task, cancelled.get(&task).and_then(Option::as_ref), out);
        }
    }

    /// An attempt was stopped on request.
    pub(super) fn task_stopped(&mut self, task: &TaskId, id: &EffectId, out: &mut Out) {
        self.tell_call_end(task, CallOutcome::Cancelled, "stopped before its end", 0, out);
        if self.cancelling.contains_key(task) {
            return self.decide_if_ready(out);
        }
        if !self.ended_by_person || self.leaving.is_some() {
            self.cut_off(task, Some(id), out);
        }
        self.advance(out);
    }

    /// An attempt ended before its end. An actor goes on from its own journal. A call that may be repeated is made again; any other that was
    /// begun is in doubt.
    pub(super) fn cut_off(&mut self, task: &TaskId, begun: Option<&EffectId>, out: &mut Out) {
        let Some(known) = self.state.tasks.get(task) else { return };
        if known.status != TaskStatus::Running {
            return;
        }
        let tool = known.spec.tool.clone().unwrap_or_default();
        let repeatable = self.sheet(&tool).is_some_and(|sheet| sheet.repeatable());
        match begun {
            Some(id) if known.spec.kind == TaskKind::Tool && !repeatable => {
                let error = format!("{tool} was begun ({id}) and cut off before its end, and its outcome is unknown");
                self.conclude(task, &Conclusion::without_result(Outcome::InDoubt, error, None), out);
            }
            _ => self.set_task(task, TaskStatus::Pending, Some("interrupted".to_owned()), out),
        }
    }

    /// What was under way in the run that this one was made from was begun by that one: here it is still to be begun.
    pub(super) fn forked(&mut self, out: &mut Out) {
        for (id, work) in std::mem::take(&mut self.open) {
            out.revoke(id, Reason::Stopped);
            match work {
                Work::Task(task) => {
                    self.tell_call_end(&task, CallOutcome::Cancelled, "not begun: the run was forked before it", 0, out);
                    self.cut_off(&task, None, out);
                }
                Work::Replan(reasons) if is_update(&reasons) => self.growth.lost(),
                _ => {}
            }
        }
        self.lose_early(CallOutcome::Cancelled, "not begun: the run was forked before it", out);
        self.drop_decision();
        // Who goes on from an earlier plan does not want what came after it.
        self.to_cancel.clear();
        self.interrupt_running(out);
        self.end_segment(self.now);
    }

    /// Goes on. What a crash left open is settled first: nothing that may have happened is done again without being said.
    pub(super) fn resume(&mut self, bounds: Option<&Bounds>, out: &mut Out) {
        if self.phase == Phase::Over {
            let open = std::mem::take(&mut self.open);
            let forgotten = open.values().any(|work| matches!(work, Work::Remember));
            for id in open.into_keys() {
                out.revoke(id, Reason::Stopped);
            }
            self.lose_early(CallOutcome::InDoubt, CUT_OFF, out);
            if forgotten {
                self.remember(out);
            }
            return;
        }
        self.leaving = None;
        // After a crash, the last fact is the last that is known of the work.
        self.end_segment(self.before);
        self.segment_at = Some(self.now);
        if let Some(bounds) = bounds {
            self.bounds = bounds.clone();
        }
        self.emit(ProgressEvent::RunResumed {}, out);
        let open = std::mem::take(&mut self.open);
        for (id, work) in open {
            out.revoke(id.clone(), Reason::Stopped);
            match work {
                Work::Task(task) => {
                    self.tell_call_end(&task, CallOutcome::InDoubt, CUT_OFF, 0, out);
                    self.cut_off(&task, Some(&id), out);
                }
                Work::Replan(reasons) if is_update(&reasons) => self.growth.lost(),
                _ => {}
            }
        }
        self.lose_early(CallOutcome::InDoubt, CUT_OFF, out);
        self.drop_decision();
        self.interrupt_running(out);
        if self.state.version == 0 {
            self.set_status(RunStatus::Planning, None, out);
            return self.plan_again(out);
        }
        self.phase = Phase::Executing;
        self.set_status(RunStatus::Executing, None, out);
        // Whoever is there now is asked what is still open; an answer that has come meanwhile ends the question again.
        let unanswered: Vec<Question> = self.unanswered().into_iter().cloned().collect();
        for Question { id, task, kind, question, .. } in &unanswered {
            self.asked(task.as_ref(), id, kind, question, out);
        }
        self.cancel_next(out);
        self.advance(out);
    }

    /// The runtime itself could not carry out an effect.
    pub(super) fn effect_failed(&mut self, work: Work, message: &str, out: &mut Out) {
        match work {
            Work::Task(task) => {
                self.tell_call_end(&task, CallOutcome::Error, message, 0, out);
                self.conclude(&task, &super::tasks::failure(message.to_owned(), None), out);
                self.advance(out);
            }
            Work::Recall => {
                self.memory_failed(message.to_owned(), out);
                self.begin_work(out);
            }
            Work::Remember => self.memory_failed(message.to_owned(), out),
            Work::Answer => self.answered(None, out),
            Work::Ask(_) | Work::Timer(_) | Work::Early(_) => self.advance(out),
            Work::Route | Work::Plan | Work::Replan(_) | Work::Verify => {
                let output = self.failed(FailureCode::Internal, message.to_owned(), None);
                self.leave(output, out);
            }
        }
    }
}
