//! From a fact to the part of the machine that handles it.

use aime_progress_management::ProgressEvent;

use super::{Out, RunMachine, claims::Claim, effects::EffectPurpose, growing};
use crate::{ActorReport, RunFact};

impl RunMachine {
    /// Handles a fact. `purpose` is that of the effect that it answers.
    pub(super) fn dispatch(&mut self, fact: &RunFact, purpose: Option<EffectPurpose>, out: &mut Out) {
        match (fact, purpose) {
            (RunFact::Recalled { known, .. }, _) => self.recalled(known, out),
            (RunFact::Remembered { fault, .. }, _) => {
                if let Some(fault) = fault {
                    self.memory_failed(fault.into(), out);
                }
            }
            (RunFact::Routed { route, calls, .. }, _) => {
                self.record_calls(calls, out);
                self.routed(route, out);
            }
            (RunFact::Planned { outcome, calls, .. }, _) => {
                self.record_calls(calls, out);
                self.planned(outcome, out);
            }
            (RunFact::Replanned { outcome, repairs, calls, .. }, Some(EffectPurpose::Lead(reasons))) => {
                self.record_calls(calls, out);
                if !repairs.is_empty() {
                    self.emit(ProgressEvent::PatchRepaired { repairs: repairs.clone() }, out);
                }
                self.replanned(outcome, reasons, out);
            }
            (RunFact::LeadRested { rest, category, checks, calls, .. }, Some(EffectPurpose::Lead(_))) => {
                self.record_calls(calls, out);
                self.lead_rested(rest, category, checks, out);
            }
            (RunFact::LeadReported { call, number, event }, _) => {
                if self.lead_reported(call.as_deref(), *number, event, out) {
                    self.after_report(event, out);
                }
            }
            (RunFact::TaskEnded { conclusion, checks, calls, conflicts, duration_ms, .. }, Some(EffectPurpose::Task(task))) => {
                self.record_calls_of(Some(&task), calls, out);
                self.task_ended(&task, conclusion, (checks, conflicts), *duration_ms, out);
            }
            (RunFact::ToolCalled { id, call, conclusion, duration_ms }, _) => {
                if let Some(task) = self.effects.task_of(id).cloned() {
                    self.tool_called(&task, call, conclusion, *duration_ms, out);
                }
            }
            (RunFact::ActorReported { task, execution, call, number, event }, _) => {
                if self.emit_report(task, *execution, call.as_deref(), *number, event, out) {
                    self.after_report(event, out);
                }
            }
            (RunFact::ActorReports { reports }, _) => {
                for ActorReport { task, execution, call, number, event } in reports {
                    self.emit_report(task, *execution, call.as_deref(), *number, event, out);
                }
            }
            (RunFact::ActorAsked { task, question, kind, text }, _) => self.actor_asked(task, question, kind, text, out),
            (RunFact::TaskClaimed { task, by, call, words, profile }, _) => {
                self.claim(task, by, call, Claim { words: words.clone(), profile: profile.clone() }, out);
            }
            (RunFact::ToolAskedModel { task, used }, _) => {
                self.record_calls_of(task.as_ref(), std::slice::from_ref(used), out);
                self.advance(out);
            }
            (RunFact::Verified { checks, again, calls, .. }, _) => {
                self.record_calls(calls, out);
                self.verified(checks, again, out);
            }
            (RunFact::AnswerWritten { text, calls, .. }, _) => {
                self.record_calls(calls, out);
                self.answered(text.clone(), out);
            }
            (RunFact::Answered { text, .. }, Some(EffectPurpose::Ask(question))) => self.person_answered(&question, text, out),
            (RunFact::Deferred { .. }, Some(EffectPurpose::Ask(question))) => self.deferred(&question, out),
            (RunFact::TimerFired { .. }, _) => self.advance(out),
            (RunFact::PersonAnswered { question, text }, _) => {
                if let Some(question) = self.open_question(question.as_ref()) {
                    self.person_answered(&question, text, out);
                }
            }
            (RunFact::PersonSaid { id, task, text }, _) => self.accept_person_message(id, task.as_ref(), text, out),
            (RunFact::BoundReached { bound, detail }, _) => self.bound_reached(bound, detail.clone(), out),
            (RunFact::HookActed { act }, _) => self.emit(ProgressEvent::HookActed(act.clone()), out),
            (RunFact::FileChanged { change }, _) => self.emit(ProgressEvent::FileChanged(change.clone()), out),
            (RunFact::CriterionTried { task, criterion, held }, _) => {
                if task.as_ref().is_none_or(|task| self.state.tasks.contains_key(task)) {
                    self.emit(ProgressEvent::CriterionTried { task: task.clone(), criterion: criterion.clone(), held: *held }, out);
                }
            }
            (RunFact::UndoLost { reason }, _) => self.emit(ProgressEvent::UndoLost { reason: reason.clone() }, out),
            (RunFact::FolderAwaited { task, is_over: true }, _) => self.executions.has_folder(task),
            (RunFact::FolderAwaited { task, is_over: false }, _) => {
                self.executions.await_folder(task);
                self.emit(ProgressEvent::FolderAwaited { task: task.clone() }, out);
                self.advance(out);
            }
            (RunFact::CheckStarted { task }, _) => self.executions.start_check(task),
            (RunFact::ChangesMerged { task, duration_ms, files, changes }, _) => {
                self.emit(ProgressEvent::ChangesMerged { task: task.clone(), duration_ms: *duration_ms, files: *files }, out);
                changes.iter().for_each(|change| self.emit(ProgressEvent::FileChanged(change.clone()), out));
            }
            (RunFact::StopRequested { reason }, _) => self.stop(reason, out),
            (RunFact::CancelRequested { task: None, reason, .. }, _) => self.cancel(reason, out),
            (RunFact::CancelRequested { task: Some(task), reason, .. }, _) => self.cancel_task(task, &reason.to_string(), out),
            (RunFact::Forked {}, _) => self.forked(out),
            (RunFact::Resumed { bounds }, _) => self.resume(bounds.as_ref(), out),
            (RunFact::Continued { goal, bounds }, _) => self.follow_up(goal, bounds.as_ref(), out),
            (RunFact::Revoked { id, .. }, Some(EffectPurpose::Task(task))) => self.task_stopped(&task, Some(id), out),
            (RunFact::Revoked { .. }, Some(EffectPurpose::Lead(_))) if self.is_led() => self.lead_stopped(out),
            (RunFact::Revoked { .. }, purpose) => {
                if matches!(purpose, Some(EffectPurpose::Lead(reasons)) if growing::is_update(&reasons)) {
                    self.replans.growth_mut().lost();
                }
                self.decide_if_ready(out);
            }
            (RunFact::EffectFailed { message, .. }, Some(purpose)) => self.effect_failed(purpose, message, out),
            (
                RunFact::EffectFailed { .. }
                | RunFact::Replanned { .. }
                | RunFact::LeadRested { .. }
                | RunFact::TaskEnded { .. }
                | RunFact::Answered { .. }
                | RunFact::Deferred { .. },
                _,
            ) => {}
        }
    }
}
