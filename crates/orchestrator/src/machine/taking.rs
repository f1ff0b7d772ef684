//! Which part of the machine knows what a fact means.

use aime_progress::{CallOutcome, ProgressEvent};

use super::{Out, RunMachine, Work, growing};
use crate::{ActorReport, RunFact};

impl RunMachine {
    /// Sends a fact to the part of the machine that knows what it means.
    pub(super) fn take(&mut self, fact: &RunFact, work: Option<Work>, out: &mut Out) {
        match (fact, work) {
            (RunFact::Recalled { known, .. }, _) => self.recalled(known, out),
            (RunFact::Remembered { fault, .. }, _) => {
                if let Some(fault) = fault {
                    self.memory_failed(fault.clone(), out);
                }
            }
            (RunFact::Routed { route, calls, .. }, _) => {
                self.used(calls, out);
                self.routed(route, out);
            }
            (RunFact::Planned { outcome, calls, .. }, _) => {
                self.used(calls, out);
                self.planned(outcome, out);
            }
            (RunFact::PlanPart { of, tasks, .. }, _) => self.plan_part(of, tasks, out),
            (RunFact::Replanned { outcome, repairs, calls, .. }, Some(Work::Replan(reasons))) => {
                self.used(calls, out);
                if !repairs.is_empty() {
                    self.emit(ProgressEvent::patch_repaired(repairs), out);
                }
                self.replanned(outcome, reasons, out);
            }
            (RunFact::TaskEnded { conclusion, checks, calls, duration_ms, .. }, Some(Work::Task(task))) => {
                self.used_for(Some(&task), calls, out);
                self.task_ended(&task, conclusion, checks, *duration_ms, out);
            }
            (RunFact::TaskEnded { id, conclusion, checks, calls, duration_ms }, Some(Work::Early(_))) => {
                self.used(calls, out);
                self.early_ended(id, (conclusion, checks), *duration_ms, out);
            }
            (RunFact::ActorReported { task, execution, call, number, event }, _) => {
                if self.hear(task, *execution, call.as_deref(), *number, event, out) {
                    self.after_report(event, out);
                }
            }
            (RunFact::ActorsHeard { reports }, _) => {
                for ActorReport { task, execution, call, number, event } in reports {
                    self.hear(task, *execution, call.as_deref(), *number, event, out);
                }
            }
            (RunFact::ActorAsked { task, question, kind, text }, _) => self.actor_asked(task, question, kind, text, out),
            (RunFact::ToolAskedModel { task, used }, _) => {
                // The plan may not come to have a task that is called early.
                let task = task.as_ref().filter(|task| self.state.tasks.contains_key(*task)).cloned();
                self.used_for(task.as_ref(), std::slice::from_ref(used), out);
                self.advance(out);
            }
            (RunFact::Verified { checks, calls, .. }, _) => {
                self.used(calls, out);
                self.verified(checks, out);
            }
            (RunFact::AnswerWritten { text, calls, .. }, _) => {
                self.used(calls, out);
                self.answered(text.clone(), out);
            }
            (RunFact::Answered { text, .. }, Some(Work::Ask(question))) => self.person_answered(&question, text, out),
            (RunFact::Deferred { .. }, Some(Work::Ask(_))) | (RunFact::TimerFired { .. }, _) => self.advance(out),
            (RunFact::PersonAnswered { question, text }, _) => {
                if let Some(question) = self.open_question(question.as_ref()) {
                    self.person_answered(&question, text, out);
                }
            }
            (RunFact::PersonSaid { id, task, text }, _) => self.person_said(id, task.as_ref(), text, out),
            (RunFact::BoundReached { bound, detail }, _) => self.bound_reached(bound, detail, out),
            (RunFact::HookActed { act }, _) => self.emit(act.event(), out),
            (RunFact::FileChanged { change }, _) => self.emit(change.event(), out),
            (RunFact::UndoLost { message }, _) => {
                let detail = [("message".to_owned(), message.as_str().into())].into();
                self.emit(ProgressEvent::Noted { topic: "undo".to_owned(), detail }, out);
            }
            (RunFact::StopRequested { reason }, _) => self.stop(reason, out),
            (RunFact::CancelRequested { task: None, reason, .. }, _) => self.cancel(reason, out),
            (RunFact::CancelRequested { task: Some(task), reason, .. }, _) => self.cancel_task(task, reason, out),
            (RunFact::Forked {}, _) => self.forked(out),
            (RunFact::Resumed { bounds }, _) => self.resume(bounds.as_ref(), out),
            (RunFact::Revoked { id, .. }, Some(Work::Task(task))) => self.task_stopped(&task, id, out),
            (RunFact::Revoked { id, .. }, Some(Work::Early(_))) => {
                self.early_stopped(id, CallOutcome::Cancelled, "stopped before its end", out);
                self.advance(out);
            }
            (RunFact::Revoked { .. }, work) => {
                if matches!(work, Some(Work::Replan(reasons)) if growing::is_update(&reasons)) {
                    self.growth.lost();
                }
                self.decide_if_ready(out);
            }
            (RunFact::EffectFailed { id, message }, Some(Work::Early(_))) => {
                self.early_stopped(id, CallOutcome::Error, message, out);
                self.advance(out);
            }
            (RunFact::EffectFailed { message, .. }, Some(work)) => self.effect_failed(work, message, out),
            (
                RunFact::EffectFailed { .. }
                | RunFact::Replanned { .. }
                | RunFact::TaskEnded { .. }
                | RunFact::Answered { .. }
                | RunFact::Deferred { .. },
                _,
            ) => {}
        }
    }
}
