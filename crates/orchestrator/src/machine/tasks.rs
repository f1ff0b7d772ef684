//! Scheduling: every task whose dependencies are settled starts at once, the longest remaining path first.

use std::sync::Arc;

use aime_actors::effect_prefix;
use aime_progress::{
    CallOutcome, Conclusion, Evidence, EvidenceId, EvidenceKind, FailureCause, Outcome, ProgressEvent, Significance, StatusChange, TaskId,
    TaskKind, TaskSpec, TaskStatus, expand,
};
use aime_replan_triggers::may_retry;
use aime_tools::{ConsentedCall, Permission, Permissions, origin_of};

use super::{FailureCode, Out, Phase, RunMachine, Work, early::goes_unnoticed, origins::refers};
use crate::{ActorBrief, RunEffect, fact::CriterionResult, settings::in_force};

/// How much of a tool's output stands in an event, in characters.
pub(super) const PREVIEW_CHARS: usize = 2_000;

impl RunMachine {
    /// Goes as far as the facts allow: settles what follows, starts what is ready, looks at the triggers, ends what is done.
    pub(super) fn advance(&mut self, out: &mut Out) {
        if self.leaving.is_some() || self.phase != Phase::Executing || self.fault.is_some() {
            return;
        }
        if self.ended_by_person {
            self.skip_open(out);
        }
        self.settle(out);
        self.withdraw_questions(|run, task| run.state.tasks.get(task).is_some_and(|known| !known.status.is_open()), out);
        self.start_ready(out);
        self.consider(out);
        self.grow(out);
        self.watch_time(out);
        self.wait_or_end(out);
    }

    /// Makes every change of status that follows from the graph alone.
    pub(super) fn settle(&mut self, out: &mut Out) {
        loop {
            let (frontier, state) = self.frontier();
            let changes = frontier.next_changes(state);
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

    pub(super) fn set_task(&mut self, task: &TaskId, to: TaskStatus, reason: Option<String>, out: &mut Out) {
        self.change_task(task, to, false, reason, out);
    }

    fn change_task(&mut self, task: &TaskId, to: TaskStatus, for_good: bool, reason: Option<String>, out: &mut Out) {
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
        if self.decision.is_some() {
            return;
        }
        let slots = usize::try_from(self.input.settings.max_parallel.max(1)).unwrap_or(1);
        loop {
            let free = slots.saturating_sub(self.open.tasks());
            if free == 0 {
                return;
            }
            let (frontier, state) = self.frontier();
            let ready = frontier.ready(state, free);
            if ready.is_empty() {
                return;
            }
            for task in ready {
                self.start_task(&task, out);
                if self.leaving.is_some() || self.fault.is_some() {
                    return;
                }
            }
            self.settle(out);
        }
    }

    fn start_task(&mut self, task: &TaskId, out: &mut Out) {
        let Some(known) = self.state.tasks.get(task) else { return };
        let (kind, attempt) = (known.spec.kind, known.attempts + 1);
        if let Some((bound, detail)) = self.count_bound(task, kind) {
            return self.bound_reached(bound, &detail, out);
        }
        self.set_task(task, TaskStatus::Running, None, out);
        let execution = *self.executions.entry(task.clone()).or_insert(1);
        let id = attempt_name(task, execution, attempt);
        match kind {
            TaskKind::Tool => self.call_tool(task, id, out),
            TaskKind::Actor | TaskKind::Group => {
                let (known, origins, marks) = (self.known.clone(), self.origins_of_actor(task), self.input.settings.trust.is_some());
                let (frontier, state) = self.frontier();
                let Some(brief) = ActorBrief::new(state, task, frontier.graph().dependencies(task), marks) else {
                    self.fault = Some(format!("nothing can be said of the task {task}"));
                    return;
                };
                let effect = RunEffect::StartActor { brief: Box::new(brief), task: task.clone(), execution, origins, known };
                self.issue(id, effect, Work::Task(task.clone()), out);
            }
        }
    }

    /// Calls the tool of a tool task: references are put in, then the approval mode is asked.
    fn call_tool(&mut self, task: &TaskId, id: String, out: &mut Out) {
        let Some(spec) = self.state.tasks.get(task).map(|known| Box::new(known.spec.clone())) else { return };
        let name = spec.tool.clone().unwrap_or_default();
        let Some(sheet) = self.sheet(&name).map(Arc::clone) else {
            return self.cannot_begin(task, format!("Unknown tool: {name}"), None, out);
        };
        let parameters = match expand(&spec.parameters, Some(&sheet.definition.parameters), &self.state) {
            Ok(parameters) => parameters,
            Err(error) => return self.cannot_begin(task, error.to_string(), None, out),
        };
        let origins = self.origins_of_call(refers(&spec));
        let rules = in_force(&self.input.rules, &self.state.consents);
        let checked = match sheet.check_read(parameters) {
            Ok(checked) => checked,
            Err(error) => return self.cannot_begin(task, error.to_string(), None, out),
        };
        let permissions = Permissions {
            trust: self.input.settings.trust,
            origins: &origins,
            handed_over: self.was_handed_over(&spec),
            ..Permissions::new(self.input.settings.approval, &rules)
        };
        let call = match permissions.decide(&sheet, checked) {
            Permission::Allow(call) => call,
            Permission::Deny { reason } => return self.cannot_begin(task, reason, Some(FailureCause::Denied), out),
            Permission::Ask(open) if self.input.settings.unattended => {
                return self.cannot_begin(task, open.unanswered().to_string(), Some(FailureCause::Denied), out);
            }
            Permission::Ask(open) => {
                let Some(answer) = self.approval(task, open.parameters(), &open.question(), out) else { return };
                let Ok(ConsentedCall { call, remember }) = open.answered(&answer) else {
                    return self.cannot_begin(task, "a person refused the call".to_owned(), Some(FailureCause::Denied), out);
                };
                if !remember.is_empty() {
                    let rules = remember.iter().map(ToString::to_string).collect();
                    self.emit(ProgressEvent::ConsentGiven { task: task.clone(), rules }, out);
                }
                call
            }
        };
        if self.input.tells_every_end {
            self.withdraw_approvals(task, out);
        }
        let parameters = call.parameters().clone();
        self.emit(ProgressEvent::ToolCallStarted { task: task.clone(), call: id.clone(), tool: name, parameters }, out);
        let read_only = goes_unnoticed(&sheet);
        self.issue(id, RunEffect::CallTool { spec, call, read_only, early: false }, Work::Task(task.clone()), out);
    }

    /// Whether a person handed over this very call with the plan. What a model has added or changed since was seen by nobody.
    fn was_handed_over(&self, spec: &TaskSpec) -> bool {
        let plan = self.input.plan.as_ref().filter(|_| self.input.settings.plan_approved);
        let handed_over = plan.and_then(|plan| {
            // As a rule the tasks stand where they stood in it.
            let here = self.state.tasks.get_index_of(&spec.id).and_then(|at| plan.tasks.get(at));
            here.filter(|known| known.id == spec.id).or_else(|| plan.tasks.iter().find(|known| known.id == spec.id))
        });
        handed_over.is_some_and(|known| known.tool == spec.tool && known.parameters == spec.parameters)
    }

    /// What an actor has told may have used a bound up, or call for another look at the plan.
    pub(super) fn after_report(&mut self, event: &ProgressEvent, out: &mut Out) {
        if self.state.tool_calls > self.bounds.max_tool_calls {
            let detail = format!("{} tool calls were allowed", self.bounds.max_tool_calls);
            return self.bound_reached("tool_calls", &detail, out);
        }
        if matches!(event, ProgressEvent::EvidenceAdded { .. } | ProgressEvent::ModelCalled { .. }) {
            self.advance(out);
        }
    }

    /// Passes on what an actor tells of its own task, each event once, and decides nothing. What does not fit the state is dropped: an actor's
    /// words can never break the run. Whether it was passed on.
    pub(super) fn hear(
        &mut self,
        task: &TaskId,
        execution: u32,
        call: Option<&str>,
        number: u64,
        event: &ProgressEvent,
        out: &mut Out,
    ) -> bool {
        let known = self.state.tasks.contains_key(task);
        if !known || !may_come_from_actor(event, task) || self.executions.get(task) != Some(&execution) {
            return false;
        }
        if self.input.tells_every_end && self.state.tasks.get(task).is_some_and(|known| known.status.is_settled()) {
            // The end of its calls was told when it was given up.
            return false;
        }
        let actor = effect_prefix(task, execution, call);
        let next = self.reported.entry(actor).or_insert(0);
        if number < *next {
            return false;
        }
        *next = number + 1;
        // The list of a task is that of the actor which works for the plan.
        if self.input.lists_apart && call.is_some() && matches!(event, ProgressEvent::TodosChanged { .. }) {
            return false;
        }
        let fits = self.take_in(event).is_ok();
        if fits {
            out.emit(event.clone());
        }
        fits
    }

    pub(super) fn task_ended(
        &mut self,
        task: &TaskId,
        conclusion: &Conclusion,
        checks: &[CriterionResult],
        duration_ms: u64,
        out: &mut Out,
    ) {
        let mut conclusion = self.with_origins(task, conclusion.clone());
        let (outcome, text) = end_of_call(&conclusion);
        self.tell_call_end(task, outcome, text, duration_ms, out);
        self.tell_checks(Some(task), checks, out);
        let unmet: Vec<String> = checks
            .iter()
            .filter(|check| check.passed == Some(false))
            .map(|check| format!("{:?} does not hold: {}", check.criterion, check.reason))
            .collect();
        if conclusion.outcome == Outcome::Success && !unmet.is_empty() {
            conclusion.outcome = Outcome::Failure;
            conclusion.error = Some(format!("reported as done, but {}", unmet.join("; ")));
            conclusion.cause = Some(FailureCause::Criteria);
        }
        self.conclude(task, &conclusion, out);
        self.advance(out);
    }

    /// Tells how the call of a tool task ended, which has no actor to tell of it. Every call that was told of has an end.
    pub(super) fn tell_call_end(&mut self, task: &TaskId, outcome: CallOutcome, text: &str, duration_ms: u64, out: &mut Out) {
        let Some(known) = self.state.tasks.get(task).filter(|known| known.spec.kind == TaskKind::Tool) else { return };
        let call = attempt_name(task, self.executions.get(task).copied().unwrap_or(1), known.attempts);
        let output = text.chars().take(PREVIEW_CHARS).collect();
        let tool = known.spec.tool.clone().unwrap_or_default();
        let origin = self.sheet(&tool).and_then(|sheet| origin_of(sheet, &known.spec.parameters));
        self.emit(ProgressEvent::ToolCallFinished { task: task.clone(), call, tool, outcome, output, origin, duration_ms }, out);
    }

    /// Settles a running task by what its attempt came to.
    pub(super) fn conclude(&mut self, task: &TaskId, conclusion: &Conclusion, out: &mut Out) {
        self.attempt_ended(task, conclusion, out);
        match conclusion.outcome {
            Outcome::Success => {
                self.growth.completed();
                self.set_task(task, TaskStatus::Completed, None, out);
            }
            Outcome::InDoubt => {
                self.growth.failed(task.as_str());
                self.change_task(task, TaskStatus::Failed, true, conclusion.error.clone(), out);
                self.error_seen("in-doubt", task, "the outcome of the task is unknown", conclusion, out);
            }
            // An attempt that was stopped on request ends as revoked: one that ends so by itself counts, or it could go on for ever.
            Outcome::Failure | Outcome::Interrupted => {
                if conclusion.cause == Some(FailureCause::Conflict) {
                    self.error_seen("conflict", task, "two tasks changed the same files at once", conclusion, out);
                }
                self.attempt_failed(task, conclusion, out);
            }
        }
    }

    /// Fails a task for good before anything was done: another try would only say the same.
    fn cannot_begin(&mut self, task: &TaskId, error: String, cause: Option<FailureCause>, out: &mut Out) {
        self.growth.failed(task.as_str());
        self.attempt_ended(task, &failure(error.clone(), cause), out);
        self.change_task(task, TaskStatus::Failed, true, Some(error), out);
    }

    fn attempt_ended(&mut self, task: &TaskId, conclusion: &Conclusion, out: &mut Out) {
        self.doubt_open_calls(task, out);
        self.emit(ProgressEvent::TaskConcluded { task: task.clone(), conclusion: conclusion.clone() }, out);
        *self.executions.entry(task.clone()).or_insert(1) += 1;
        self.withdraw_questions(|_, asked_by| asked_by == task, out);
    }

    fn attempt_failed(&mut self, task: &TaskId, conclusion: &Conclusion, out: &mut Out) {
        let Some(known) = self.state.tasks.get(task) else { return };
        let mut after = known.clone();
        after.failures += 1;
        let grows = self.is_emergent() && self.can_replan();
        let may_fail_so_often = if grows {
            self.growth.failed(task.as_str());
            after.failures < self.input.settings.growth.max_failures
        } else {
            may_retry(&after, &self.input.settings.triggers)
        };
        let again = match conclusion.cause {
            // It is the run that is left, not the task that is given up.
            Some(FailureCause::Model) => true,
            Some(FailureCause::Denied) => false,
            _ => may_fail_so_often,
        };
        let error = conclusion.error.clone().unwrap_or_else(|| conclusion.summary.clone());
        if grows && !again {
            return self.hold_back(task, &error, out);
        }
        self.change_task(task, TaskStatus::Failed, !again, Some(error.clone()), out);
        if again {
            self.set_task(task, TaskStatus::Pending, Some("to be tried again".to_owned()), out);
        }
        if conclusion.cause == Some(FailureCause::Model) {
            let output = self.failed(FailureCode::ModelUnavailable, error, Some(super::ending::MODEL_HINT.to_owned()));
            self.leave(output, out);
        }
    }

    /// An outcome that nobody knows is evidence for the planner, never a reason to repeat the call blindly. So is a conflict, also where the task is
    /// tried again: others of the plan may change the same files.
    fn error_seen(&mut self, name: &str, task: &TaskId, what: &str, conclusion: &Conclusion, out: &mut Out) {
        let Ok(id) = EvidenceId::new(format!("{name}-{}", self.state.evidence.len() + 1)) else { return };
        let evidence = Evidence {
            id,
            at: self.now,
            task: Some(task.clone()),
            kind: EvidenceKind::Error,
            significance: Significance::High,
            content: format!("{what} ({task}): {}", conclusion.error.as_ref().unwrap_or(&conclusion.summary)),
            processed: false,
            origins: conclusion.origins.clone(),
        };
        self.emit(ProgressEvent::EvidenceAdded { evidence }, out);
    }
}

/// The name of an attempt at a task, and so of the call of a tool task.
pub(super) fn attempt_name(task: &TaskId, execution: u32, attempt: u32) -> String {
    format!("{task}/{execution}/{attempt}")
}

pub(super) fn failure(error: String, cause: Option<FailureCause>) -> Conclusion {
    Conclusion::without_result(Outcome::Failure, error, cause)
}

/// What is told of the call of a tool task that came to this.
pub(super) fn end_of_call(conclusion: &Conclusion) -> (CallOutcome, &str) {
    let outcome = match conclusion.outcome {
        Outcome::Success => CallOutcome::Ok,
        Outcome::Failure => CallOutcome::Error,
        Outcome::Interrupted => CallOutcome::Cancelled,
        Outcome::InDoubt => CallOutcome::InDoubt,
    };
    (outcome, conclusion.error.as_ref().or(conclusion.text.as_ref()).unwrap_or(&conclusion.summary))
}

/// An actor speaks of its own task, and decides nothing about the run.
fn may_come_from_actor(event: &ProgressEvent, own: &TaskId) -> bool {
    match event {
        ProgressEvent::ActorCreated { task, .. }
        | ProgressEvent::ConsentGiven { task, .. }
        | ProgressEvent::ToolCallStarted { task, .. }
        | ProgressEvent::ToolCallFinished { task, .. }
        | ProgressEvent::ProgressReported { task, .. }
        | ProgressEvent::TodosChanged { task, .. }
        | ProgressEvent::ActorNudged { task, .. }
        | ProgressEvent::ActorTold { task, .. }
        | ProgressEvent::HistoryCompacted { task, .. } => task == own,
        ProgressEvent::ModelCalled { task, .. } => task.as_ref() == Some(own),
        ProgressEvent::EvidenceAdded { evidence } => evidence.task.as_ref() == Some(own),
        _ => false,
    }
}
