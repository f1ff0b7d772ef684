//! Scheduling: every task whose dependencies are settled starts at once, the longest remaining path first.

use std::sync::Arc;

use aime_actor_factory::{effect_prefix, marked};
use aime_messages::{Message, message};
use aime_progress_management::{
    AfterFailure, CallOutcome, Conclusion, Evidence, EvidenceId, EvidenceKind, FailureCause, Origin, Outcome, ProgressEvent, Significance,
    StatusChange, TaskId, TaskKind, TaskSpec, TaskStatus, expand,
};
use aime_tools::{ConsentedCall, Permission, Permissions, ToolScope, ToolSpec, ValidatedCall, origin_of};

use super::{FailureCode, Out, Phase, RunMachine, claims::held, effects::EffectPurpose, executions::FinishedCall, origins::refers};
use crate::{ActorBrief, FoundConflict, RunEffect, fact::CriterionResult, settings::in_force};

/// The longest tool output in an event, in characters.
const PREVIEW_CHARS: usize = 2_000;
/// Maximum bytes of the hunks of all conflicts that are shown to an actor.
const HUNKS_BYTES: usize = 8_000;
const CONFLICT: &str = "two tasks changed the same files at once";
pub(super) const OUT_OF_STEPS: &str =
    "your steps are used up. You get as many again: finish what is left, or end with `failure` and what you learnt";

impl RunMachine {
    /// Advances the run as far as the facts allow: settles tasks, starts ready ones, evaluates the triggers, and ends
    /// the run.
    pub(super) fn advance(&mut self, out: &mut Out) {
        // The lead may ask before there is a plan.
        if self.phase == Phase::Planning && !self.stopping.is_suspending() && self.waits_for_person() {
            if self.input.plan_only {
                return self.answer_for_nobody(out);
            }
            let output = self.waiting();
            return self.suspend(output, out);
        }
        if self.stopping.is_suspending() || self.phase != Phase::Executing || self.fault.is_some() {
            return;
        }
        if self.stopping.is_ended() {
            self.skip_open(out);
        }
        self.settle(out);
        self.withdraw_questions_of_ended(out);
        self.release_failed(out);
        self.start_ready(out);
        if self.wake_for_refusals(out) {
            return self.watch_time(out);
        }
        self.consider(out);
        self.grow(out);
        self.watch_time(out);
        self.wait_or_end(out);
    }

    /// Makes every change of status that follows from the graph alone.
    pub(super) fn settle(&mut self, out: &mut Out) {
        loop {
            let (schedule_index, state) = self.state.schedule_index();
            let changes = schedule_index.next_changes(state);
            if changes.is_empty() || self.fault.is_some() {
                return;
            }
            self.make_changes(changes, out);
        }
    }

    pub(super) fn make_changes(&mut self, changes: Vec<StatusChange>, out: &mut Out) {
        for StatusChange { task, to, for_good, reason } in changes {
            self.change_task(&task, to, for_good, reason, out);
        }
    }

    pub(super) fn set_task(&mut self, task: &TaskId, to: TaskStatus, reason: Option<Message>, out: &mut Out) {
        self.change_task(task, to, false, reason, out);
    }

    fn change_task(&mut self, task: &TaskId, to: TaskStatus, for_good: bool, reason: Option<Message>, out: &mut Out) {
        let Some(known) = self.state.tasks.get(task) else {
            self.fault = Some(format!("no task {task} in the plan"));
            return;
        };
        let from = known.status;
        let attempt = known.attempts + u32::from(to == TaskStatus::Running);
        if to.is_settled() {
            self.doubt_open_calls(task, out);
        }
        self.emit(ProgressEvent::TaskStatusChanged { task: task.clone(), from, to, attempt, for_good, reason }, out);
    }

    fn start_ready(&mut self, out: &mut Out) {
        if self.replans.is_deciding() {
            return;
        }
        self.start_claimed(out);
        let slots = usize::try_from(self.input.settings.max_parallel.max(1)).unwrap_or(1);
        loop {
            let free = slots.saturating_sub(self.effects.tasks().saturating_sub(self.claimed_under_way()));
            if free == 0 {
                return;
            }
            let (schedule_index, state) = self.state.schedule_index();
            let ready = schedule_index.ready(state, free, || held(&self.effects, state, None));
            if ready.is_empty() {
                return;
            }
            for task in ready {
                self.start_task(&task, out);
                if self.stopping.is_suspending() || self.fault.is_some() {
                    return;
                }
            }
            self.settle(out);
        }
    }

    pub(super) fn start_task(&mut self, task: &TaskId, out: &mut Out) {
        let Some(known) = self.state.tasks.get(task) else { return };
        let (kind, attempt) = (known.spec.kind, known.attempts + 1);
        if self.is_main(task) && self.is_led() {
            return self.go_on_with_main(out);
        }
        if let Some((bound, detail)) = self.shortage(task, kind) {
            return self.bound_reached(bound, detail, out);
        }
        self.set_task(task, TaskStatus::Running, None, out);
        let execution = self.executions.begin(task);
        let id = attempt_name(task, execution, attempt);
        match kind {
            TaskKind::Tool => self.call_tool(task, id, out),
            TaskKind::Actor | TaskKind::Group => self.start_actor(task, id, out),
        }
    }

    /// Starts an actor for a task: a new one, or the existing one of this execution, which continues.
    fn start_actor(&mut self, task: &TaskId, id: String, out: &mut Out) {
        let execution = self.executions.of(task);
        let (known, origins, marks) = (self.memory.text(), self.origins_of_actor(task), self.input.settings.trust.is_some());
        let (schedule_index, state) = self.state.schedule_index();
        let Some(mut brief) = ActorBrief::new(state, schedule_index.graph(), task, marks) else {
            self.fault = Some(format!("nothing can be said of the task {task}"));
            return;
        };
        brief.returned = self.executions.returned(task).cloned();
        if let Some(claim) = self.executions.claim_of(task) {
            if claim.profile.is_some() {
                Arc::make_mut(&mut brief.spec).profile.clone_from(&claim.profile);
            }
            brief.results = format!("{}\n\n### From the worker that hands it over\n{}", brief.results, claim.words).trim().to_owned();
        }
        if let Some(words) = self.words_about_need(task) {
            brief.results = format!("{}\n\n### A person about what was missing\n{words}", brief.results).trim().to_owned();
        }
        let effect = RunEffect::StartActor { brief: Box::new(brief), task: task.clone(), execution, origins, known };
        self.issue(id, effect, EffectPurpose::Task(task.clone()), out);
    }

    /// Returns a rejected result to its actor, which continues its conversation while the task stays running. Returns
    /// whether it does. The number of rejections is limited to the number of allowed retries.
    fn return_result(&mut self, task: &TaskId, missing: &str, out: &mut Out) -> bool {
        // The lead's own work is returned to the lead.
        let is_own = self.is_main(task) && self.is_led();
        let Some(known) = self.state.tasks.get(task).filter(|known| known.spec.kind == TaskKind::Actor && !is_own) else { return false };
        let before = self.executions.rejections(task);
        if self.stopping.is_suspending() || before >= self.input.settings.triggers.max_retries {
            return false;
        }
        let attempt = known.attempts;
        let number = self.executions.return_result(task, missing.to_owned());
        let id = attempt_name(task, self.executions.of(task), attempt);
        self.start_actor(task, format!("{id}+{number}"), out);
        true
    }

    /// Calls the tool of a tool task, once its references are expanded and the call is permitted.
    fn call_tool(&mut self, task: &TaskId, id: String, out: &mut Out) {
        let Some(spec) = self.state.tasks.get(task).map(|known| Arc::clone(&known.spec)) else { return };
        if let Some(FinishedCall { call, result }) = self.executions.finished_call(task).cloned() {
            let origins = self.origins_of_call(refers(&spec));
            let effect = RunEffect::CallTool { spec, call, read_only: true, origins, handed_over: false, result: Some(result) };
            return self.issue(id, effect, EffectPurpose::Task(task.clone()), out);
        }
        let name = spec.tool.clone().unwrap_or_default();
        let Some(tool_spec) = self.tool_spec(&name).map(Arc::clone) else {
            return self.cannot_begin(task, message!("tool-unknown", tool = name), None, out);
        };
        let parameters = match expand(&spec.parameters, Some(&tool_spec.definition.parameters), &self.state) {
            Ok(parameters) => parameters,
            Err(error) => return self.cannot_begin(task, Message::text(error), None, out),
        };
        let origins = self.origins_of_call(refers(&spec));
        let rules = in_force(&self.input.rules, &self.state.consents);
        let checked = match tool_spec.check_read(parameters) {
            Ok(checked) => checked,
            Err(error) => return self.cannot_begin(task, Message::text(error), None, out),
        };
        // The text of others in its parameters was not a part of the plan.
        let handed_over = self.was_handed_over(&spec) && !self.inserts_untrusted(&spec);
        let permissions = Permissions {
            trust: self.input.settings.trust.as_ref(),
            origins: &origins,
            handed_over,
            ..Permissions::new(self.input.settings.approval, &rules)
        };
        let call = match permissions.decide(&tool_spec, checked) {
            Permission::Allow(call) => call,
            Permission::Deny { reason } => return self.cannot_begin(task, Message::text(reason), Some(FailureCause::Denied), out),
            // Without a model to find another way only a person can decide.
            Permission::Ask(open) if self.input.settings.unattended && self.can_replan() => {
                return self.cannot_begin(
                    task,
                    message!("nobody-there", question = open.short_question()),
                    Some(FailureCause::Denied),
                    out,
                );
            }
            Permission::Ask(open) => {
                let Some(answer) = self.approval(task, open.parameters(), &open.question(), out) else { return };
                let Ok(ConsentedCall { call, remember }) = open.answered(&answer) else {
                    return self.cannot_begin(task, message!("call-refused"), Some(FailureCause::Denied), out);
                };
                if !remember.is_empty() {
                    let rules = remember.iter().map(ToString::to_string).collect();
                    self.emit(ProgressEvent::ConsentGiven { task: Some(task.clone()), rules }, out);
                }
                call
            }
        };
        self.withdraw_approvals(task, out);
        let parameters = call.parameters().clone();
        self.emit(ProgressEvent::ToolCallStarted { task: Some(task.clone()), call: id.clone(), tool: name, parameters }, out);
        let read_only = is_repeatable(&tool_spec);
        let effect = RunEffect::CallTool { spec, call, read_only, origins, handed_over, result: None };
        self.issue(id, effect, EffectPurpose::Task(task.clone()), out);
    }

    /// Returns whether a person handed over this very call with the plan. No person has seen the calls that a model
    /// added or changed since.
    fn was_handed_over(&self, spec: &TaskSpec) -> bool {
        let plan = self.input.plan.as_ref().filter(|_| self.input.settings.plan_approved);
        let handed_over = plan.and_then(|plan| {
            // Most tasks are at the same place in both plans.
            let here = self.state.tasks.get_index_of(&spec.id).and_then(|at| plan.tasks.get(at));
            here.filter(|known| known.id == spec.id).or_else(|| plan.tasks.iter().find(|known| known.id == spec.id))
        });
        handed_over.is_some_and(|known| known.tool == spec.tool && known.parameters == spec.parameters)
    }

    /// Checks the bound on tool calls and the plan after a report of an actor.
    pub(super) fn after_report(&mut self, event: &ProgressEvent, out: &mut Out) {
        if !self.stop_at_call_excess(out) && matches!(event, ProgressEvent::EvidenceAdded { .. } | ProgressEvent::ModelCalled { .. }) {
            self.advance(out);
        }
    }

    /// Emits the report of an actor about its own task, each report once. Drops a report that does not fit the state,
    /// so that no actor can break the run. Returns whether it was emitted.
    pub(super) fn emit_report(
        &mut self,
        task: &TaskId,
        execution: u32,
        call: Option<&str>,
        number: u64,
        event: &ProgressEvent,
        out: &mut Out,
    ) -> bool {
        // When a task is settled, the run itself reports the end of its calls.
        let hears = self.state.tasks.get(task).is_some_and(|known| !known.status.is_settled());
        if !hears || !may_come_from_actor(event, task) || !self.executions.is_current(task, execution) {
            return false;
        }
        self.apply_actor_event((effect_prefix(task, execution, call), number), call.is_some(), event, out)
    }

    /// Emits the report `number` in the journal of an actor, each once, if it fits the state. `below` is true for an actor
    /// to which another one delegated. Returns whether it was emitted.
    pub(super) fn apply_actor_event(
        &mut self,
        (journal, number): (String, u64),
        below: bool,
        event: &ProgressEvent,
        out: &mut Out,
    ) -> bool {
        // The TODO list of a task is that of its own actor, and not of those to which it delegates.
        let hears = self.executions.take_report(journal, number) && !(below && matches!(event, ProgressEvent::TodosChanged { .. }));
        let fits = hears && self.state.apply(self.now, event).is_ok();
        if fits {
            out.emit(event.clone());
            if let ProgressEvent::ToolCallFinished { task: Some(task), .. } = event {
                self.stop_for_hold(task, out);
            }
        }
        fits
    }

    pub(super) fn task_ended(
        &mut self,
        task: &TaskId,
        conclusion: &Conclusion,
        (checks, conflicts): (&[CriterionResult], &[FoundConflict]),
        duration_ms: u64,
        out: &mut Out,
    ) {
        if conclusion.outcome == Outcome::InDoubt && self.executions.finished_call(task).is_some() {
            // The host cannot know that the call had ended when its process died.
            self.cut_off(task, None, out);
            return self.advance(out);
        }
        // The actor of a task that the lead holds stops by itself once its calls have ended.
        if conclusion.outcome == Outcome::Interrupted && self.state.tasks.get(task).is_some_and(|known| known.spec.kind == TaskKind::Actor)
        {
            return self.task_stopped(task, None, out);
        }
        if self.lead.stop_holding(task) {
            self.lead.refuse(format!("`{task}` was not held: its work had ended"));
        }
        let mut conclusion = self.with_origins(task, conclusion.clone());
        let (outcome, text) = end_of_call(&conclusion);
        self.report_call_end(task, outcome, &text, duration_ms, out);
        self.report_checks(Some(task), checks, out);
        if !conflicts.is_empty() {
            let conflicts = conflicts.iter().map(|found| found.conflict.clone()).collect();
            self.emit(ProgressEvent::MergeConflicted { task: task.clone(), conflicts }, out);
        }
        let is_open = conflicts.iter().any(|found| !found.conflict.resolved);
        // A small model that went in circles does better with a new start.
        if conclusion.cause == Some(FailureCause::Steps) && self.is_led() && self.return_result(task, OUT_OF_STEPS, out) {
            return self.advance(out);
        }
        let unmet: Vec<Message> = checks.iter().filter_map(CriterionResult::fault).collect();
        if conclusion.outcome == Outcome::Success && !unmet.is_empty() {
            let failed = checks.iter().any(CriterionResult::is_fault_of_worker);
            let reason = Message::list("; ", &unmet);
            if failed && self.return_result(task, &format!("{reason}{}", marked_hunks(task, conflicts)), out) {
                return self.advance(out);
            }
            conclusion.outcome = Outcome::Failure;
            conclusion.error = Some(match &conclusion.unmerged {
                Some(folder) => message!("reported-done-unmerged", reason, folder),
                None => message!("reported-done", reason),
            });
            conclusion.cause = Some(if is_open { FailureCause::Conflict } else { FailureCause::Criteria });
        }
        if is_open && !conclusion.can_continue() {
            self.conflict_seen(task, conflicts, &conclusion, out);
        }
        if !self.waits_for_need(task, &conclusion, out) {
            self.conclude(task, &conclusion, out);
        }
        self.advance(out);
    }

    /// Records the result of the call of a tool task, whose criteria are checked next.
    pub(super) fn tool_called(&mut self, task: &TaskId, call: &ValidatedCall, result: &Conclusion, duration_ms: u64, out: &mut Out) {
        let (outcome, text) = end_of_call(result);
        self.report_call_end(task, outcome, &text, duration_ms, out);
        self.executions.finish_call(task, FinishedCall { call: call.clone(), result: Box::new(result.clone()) });
    }

    /// Reports the end of the call of a tool task, which has no actor that could report it. Reports each call once.
    pub(super) fn report_call_end(&mut self, task: &TaskId, outcome: CallOutcome, text: &str, duration_ms: u64, out: &mut Out) {
        let Some(known) = self.state.tasks.get(task).filter(|known| known.spec.kind == TaskKind::Tool) else { return };
        if self.executions.finished_call(task).is_some() {
            return;
        }
        let call = attempt_name(task, self.executions.of(task), known.attempts);
        let output = text.chars().take(PREVIEW_CHARS).collect();
        let tool = known.spec.tool.clone().unwrap_or_default();
        let origin = self.tool_spec(&tool).and_then(|tool_spec| origin_of(tool_spec, &known.spec.parameters));
        self.emit(ProgressEvent::ToolCallFinished { task: Some(task.clone()), call, tool, outcome, output, origin, duration_ms }, out);
    }

    /// Settles a running task by the conclusion of its attempt.
    pub(super) fn conclude(&mut self, task: &TaskId, conclusion: &Conclusion, out: &mut Out) {
        if conclusion.cause == Some(FailureCause::Model) {
            return self.model_failed(task, conclusion, out);
        }
        self.attempt_ended(task, conclusion, out);
        match conclusion.outcome {
            Outcome::Success => {
                self.replans.growth_mut().completed();
                self.set_task(task, TaskStatus::Completed, None, out);
            }
            Outcome::InDoubt => {
                self.replans.growth_mut().failed(task.as_str());
                self.change_task(task, TaskStatus::Failed, true, conclusion.error.clone(), out);
                self.error_seen("in-doubt", task, "the outcome of the task is unknown", conclusion, out);
            }
            // A stopped attempt ends with a revoked effect. An attempt that reports an interruption by itself counts as
            // a failure, because otherwise it could repeat for ever.
            Outcome::Failure | Outcome::Interrupted => {
                // The conflicts of private folders are evidence already.
                if conclusion.cause == Some(FailureCause::Conflict) && !self.has_open_conflict(task) {
                    self.error_seen("conflict", task, CONFLICT, conclusion, out);
                }
                self.attempt_failed(task, conclusion, out);
            }
        }
    }

    /// Suspends the run because the model of a task's actor cannot be used. The execution goes on when the run is resumed, so that the
    /// actor continues its conversation. The failure does not count against the task.
    fn model_failed(&mut self, task: &TaskId, conclusion: &Conclusion, out: &mut Out) {
        let error = conclusion.explanation();
        self.withdraw_questions(|_, asked_by| asked_by == task, out);
        self.set_task(task, TaskStatus::Pending, Some(error.clone()), out);
        let output = self.failed(FailureCode::ModelUnavailable, error, self.repair_model(conclusion.hint.clone()));
        self.suspend(output, out);
    }

    /// Fails a task for good before it starts, because another attempt would end the same way.
    fn cannot_begin(&mut self, task: &TaskId, error: Message, cause: Option<FailureCause>, out: &mut Out) {
        self.replans.growth_mut().failed(task.as_str());
        self.attempt_ended(task, &failure(error.clone(), cause), out);
        self.change_task(task, TaskStatus::Failed, true, Some(error), out);
    }

    fn attempt_ended(&mut self, task: &TaskId, conclusion: &Conclusion, out: &mut Out) {
        self.doubt_open_calls(task, out);
        self.emit(ProgressEvent::TaskConcluded { task: task.clone(), conclusion: conclusion.clone() }, out);
        self.executions.conclude(task);
        self.withdraw_questions(|_, asked_by| asked_by == task, out);
    }

    fn attempt_failed(&mut self, task: &TaskId, conclusion: &Conclusion, out: &mut Out) {
        let Some(known) = self.state.tasks.get(task).cloned() else { return };
        let grows = self.is_emergent() && self.can_replan();
        let may_fail_so_often = if grows {
            self.replans.growth_mut().failed(task.as_str());
            known.failures.saturating_add(1) < self.input.settings.growth.max_failures
        } else {
            known.after_failure(self.input.settings.triggers.max_retries) == AfterFailure::Retry
        };
        let again = match conclusion.cause {
            Some(cause) if cause.is_final() => false,
            // The actor had as many tries in its conversation.
            Some(FailureCause::Criteria) if known.spec.kind == TaskKind::Actor => false,
            Some(FailureCause::Conflict) if self.has_open_conflict(task) => false,
            _ => may_fail_so_often,
        };
        let error = conclusion.explanation();
        if grows && !again {
            return self.hold_back(task, &error, out);
        }
        self.change_task(task, TaskStatus::Failed, !again, Some(error), out);
        // A failed TODO waits until the planner has seen its error.
        if again && !grows {
            self.set_task(task, TaskStatus::Pending, Some(message!("task-again")), out);
        }
    }

    /// Adds an error as evidence for the planner: an unknown outcome, because the call must not be repeated blindly, or
    /// a conflict, because other tasks may change the same files.
    fn error_seen(&mut self, name: &str, task: &TaskId, what: &str, conclusion: &Conclusion, out: &mut Out) {
        let content = format!("{what} ({task}): {}", conclusion.explanation());
        self.error_added(name, task, content, conclusion.origins.clone(), out);
    }

    /// Adds the open conflicts of a task as evidence, with both versions of what is text.
    fn conflict_seen(&mut self, task: &TaskId, conflicts: &[FoundConflict], conclusion: &Conclusion, out: &mut Out) {
        let mut content = format!("{CONFLICT} ({task}), and its changes are not in the working folder");
        for FoundConflict { conflict, hunks } in conflicts.iter().filter(|found| !found.conflict.resolved) {
            let kept = conflict.kept.as_ref().map_or_else(String::new, |kept| format!("; its version is kept in `{kept}`"));
            content.push_str(&format!("\n`{}` ({}{kept})\n{hunks}", conflict.path, conflict.kind.name()));
        }
        // The other versions come from other tasks, and nobody knows which.
        let mut origins = conclusion.origins.clone();
        self.state
            .tasks
            .values()
            .filter_map(|known| known.conclusion.as_ref())
            .for_each(|other| Origin::merge(&mut origins, &other.origins));
        self.error_added("conflict", task, content, origins, out);
    }

    fn has_open_conflict(&self, task: &TaskId) -> bool {
        self.state.conflicts.iter().any(|conflict| conflict.task == *task && !conflict.resolved)
    }

    fn error_added(&mut self, name: &str, task: &TaskId, content: String, origins: Vec<Origin>, out: &mut Out) {
        let Ok(id) = EvidenceId::new(format!("{name}-{}", self.state.evidence.len() + 1)) else { return };
        let evidence = Evidence {
            id,
            at: self.now,
            task: Some(task.clone()),
            kind: EvidenceKind::Error,
            significance: Significance::High,
            content,
            processed: false,
            origins,
        };
        self.emit(ProgressEvent::EvidenceAdded { evidence }, out);
    }
}

/// Returns whether a call changes nothing and sends nothing anywhere, so that nobody notices when it is repeated.
const fn is_repeatable(tool_spec: &ToolSpec) -> bool {
    tool_spec.read_only && matches!(tool_spec.touches, ToolScope::Nothing | ToolScope::Files)
}

/// Returns the name of an attempt at a task, which is that of the call of a tool task.
fn attempt_name(task: &TaskId, execution: u32, attempt: u32) -> String {
    [task.as_str(), &execution.to_string(), &attempt.to_string()].join("/")
}

pub(super) fn failure(error: impl Into<Message>, cause: Option<FailureCause>) -> Conclusion {
    Conclusion::without_result(Outcome::Failure, error, cause)
}

/// Returns the outcome and the text of a call with this conclusion.
fn end_of_call(conclusion: &Conclusion) -> (CallOutcome, String) {
    let outcome = match conclusion.outcome {
        Outcome::Success => CallOutcome::Ok,
        Outcome::Failure => CallOutcome::Error,
        Outcome::Interrupted => CallOutcome::Cancelled,
        Outcome::InDoubt => CallOutcome::InDoubt,
    };
    let text = match (&conclusion.error, &conclusion.text) {
        (Some(error), _) => error.to_string(),
        (None, Some(text)) => text.clone(),
        (None, None) => conclusion.summary.clone(),
    };
    (outcome, text)
}

/// Returns both versions of the open conflicts in texts, for the actor that is to resolve them. They are data of files.
fn marked_hunks(task: &TaskId, conflicts: &[FoundConflict]) -> String {
    let (mut shown, mut omitted) = (String::new(), Vec::new());
    for FoundConflict { conflict, hunks } in conflicts.iter().filter(|found| !found.conflict.resolved && !found.hunks.is_empty()) {
        if shown.len() + hunks.len() <= HUNKS_BYTES {
            shown.push_str(&format!("`{}`\n{hunks}", conflict.path));
        } else {
            omitted.push(conflict.path.as_str());
        }
    }
    if !omitted.is_empty() {
        shown.push_str(&format!("[omitted, too long: {}]\n", omitted.join(", ")));
    }
    if shown.is_empty() { shown } else { format!("\n\n{}\n", marked("files", task.as_str(), shown.trim_end())) }
}

/// Returns whether an event is about the actor's own task and decides nothing about the run.
fn may_come_from_actor(event: &ProgressEvent, own: &TaskId) -> bool {
    task_of_report(event) == Some(Some(own))
}

/// Returns the member `task` of a report that is about a task or about none.
macro_rules! task_member {
    ($event:expr) => {
        match $event {
            ProgressEvent::ActorCreated { task, .. }
            | ProgressEvent::ConsentGiven { task, .. }
            | ProgressEvent::ToolCallStarted { task, .. }
            | ProgressEvent::ToolCallFinished { task, .. }
            | ProgressEvent::ProgressReported { task, .. }
            | ProgressEvent::ActorNudged { task, .. }
            | ProgressEvent::HistoryCompacted { task, .. }
            | ProgressEvent::MessageDelivered { task, .. }
            | ProgressEvent::ModelCalled { task, .. } => Some(task),
            _ => None,
        }
    };
}

/// Returns the task of an event that an actor may report; none for an event that decides something about the run.
pub(super) fn task_of_report(event: &ProgressEvent) -> Option<Option<&TaskId>> {
    match event {
        ProgressEvent::TodosChanged { task, .. } => Some(Some(task)),
        ProgressEvent::EvidenceAdded { evidence } => Some(evidence.task.as_ref()),
        other => task_member!(other).map(Option::as_ref),
    }
}

/// Returns the report of work that belongs to no task of the plan; none for a TODO list, which only a task has.
pub(super) fn about_no_task(mut event: ProgressEvent) -> Option<ProgressEvent> {
    match &mut event {
        ProgressEvent::EvidenceAdded { evidence } => evidence.task = None,
        other => *task_member!(other)? = None,
    }
    Some(event)
}
