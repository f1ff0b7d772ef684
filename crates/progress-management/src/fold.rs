//! The fold: events determine the progress of a run. Nothing else changes it.

use std::sync::Arc;

use aime_messages::Message;
use serde_json::{Map, Value};

use crate::{
    CheckedCriterion, CostByRole, EvidenceId, EvidenceKind, Faults, IllegalTransition, ModelCost, PlanId, ProgressEvent, ProgressState,
    Question, QuestionId, RunStatus, Strategic, Task, TaskActor, TaskId, TaskStatus, TimedEvent, Timestamp, TriedCriterion, Turn,
};

/// Reason why an event does not follow from the state.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FoldError {
    /// The first event is not `run_started`.
    #[error("the first event of a run is run_started, not {found}")]
    NotStarted {
        /// The first event; `nothing` if there was none.
        found: &'static str,
    },
    /// A second `run_started`.
    #[error("the run has started already")]
    AlreadyStarted,
    /// A task that the plan does not have.
    #[error("the plan has no task {:?}", .task.as_str())]
    UnknownTask {
        /// The task.
        task: TaskId,
    },
    /// The status machine has no such row.
    #[error("task {:?}: {illegal}", .task.as_str())]
    IllegalTransition {
        /// The task.
        task: TaskId,
        /// The transition.
        illegal: IllegalTransition,
    },
    /// The event assumes another status of the task.
    #[error("task {:?} is {actual}, but the event expects {expected}", .task.as_str())]
    StatusMismatch {
        /// The task.
        task: TaskId,
        /// Status in the event.
        expected: TaskStatus,
        /// Status in the state.
        actual: TaskStatus,
    },
    /// The event assumes another status of the run.
    #[error("the run is {actual}, but the event expects {expected}")]
    RunStatusMismatch {
        /// Status in the event.
        expected: RunStatus,
        /// Status in the state.
        actual: RunStatus,
    },
    /// The event's version is not the next one.
    #[error("the plan has version {current}; the next is {}, not {found}", .current + 1)]
    VersionGap {
        /// The plan's version.
        current: u32,
        /// The version of the event.
        found: u32,
    },
    /// The plan breaks a rule.
    #[error("the plan is not valid:\n{0}")]
    Plan(Faults),
    /// The patch breaks a rule.
    #[error("the patch is not valid:\n{0}")]
    Patch(Faults),
    /// Evidence that was never reported.
    #[error("there is no evidence {:?}", .evidence.as_str())]
    UnknownEvidence {
        /// The evidence.
        evidence: EvidenceId,
    },
    /// Evidence that was reported before.
    #[error("there is evidence {:?} already", .evidence.as_str())]
    DuplicateEvidence {
        /// The evidence.
        evidence: EvidenceId,
    },
    /// A question that was never asked.
    #[error("there is no question {:?}", .question.as_str())]
    UnknownQuestion {
        /// The question.
        question: QuestionId,
    },
    /// A question that was asked before.
    #[error("there is a question {:?} already", .question.as_str())]
    DuplicateQuestion {
        /// The question.
        question: QuestionId,
    },
    /// A question that was already answered.
    #[error("the question {:?} was answered already", .question.as_str())]
    AlreadyAnswered {
        /// The question.
        question: QuestionId,
    },
    /// An error in a sequence of events.
    #[error("event {position} ({name}) does not follow from those before it")]
    At {
        /// Position of the event, from 0.
        position: usize,
        /// Kind of the event.
        name: &'static str,
        /// The error.
        source: Box<FoldError>,
    },
}

/// Folds a run's events, from its first one, into its state.
///
/// # Errors
///
/// [`FoldError::At`] with the first event that does not follow, or [`FoldError::NotStarted`].
pub fn fold<'a>(events: impl IntoIterator<Item = &'a TimedEvent>) -> Result<ProgressState, FoldError> {
    let mut events = events.into_iter().enumerate();
    let (_, first) = events.next().ok_or(FoldError::NotStarted { found: "nothing" })?;
    let mut state = ProgressState::start(first.at, &first.event)?;
    for (position, TimedEvent { at, event }) in events {
        state.apply(*at, event).map_err(|source| FoldError::At { position, name: event.name(), source: Box::new(source) })?;
    }
    Ok(state)
}

impl ProgressState {
    /// Returns whether a criterion held before the work on it began; `None` if nobody checked it then.
    #[must_use]
    pub fn held_before(&self, task: Option<&TaskId>, criterion: &str) -> Option<bool> {
        self.tried.iter().find(|tried| tried.task.as_ref() == task && tried.criterion == criterion).map(|tried| tried.held)
    }

    /// Returns the state of a run that has just started.
    #[must_use]
    pub fn new(plan_id: PlanId, goal: impl Into<String>, at: Timestamp) -> Self {
        Self {
            plan_id,
            goal: goal.into(),
            mode: None,
            category: String::new(),
            status: RunStatus::Planning,
            version: 0,
            planned_at: None,
            strategic: Strategic::default(),
            unmet_criteria: Vec::new(),
            checked: Vec::new(),
            tried: Vec::new(),
            amended: Vec::new(),
            conflicts: Vec::new(),
            tasks: crate::Tasks::default(),
            edges: Vec::new(),
            evidence: Vec::new(),
            decisions: Vec::new(),
            questions: Vec::new(),
            consents: Vec::new(),
            spent: ModelCost::default(),
            spent_by: CostByRole::default(),
            tool_calls: 0,
            started_at: at,
            last_progress_at: at,
            last_replan_at: None,
            answer: None,
            turns: Vec::new(),
        }
    }

    /// Returns the state after a run's first event.
    ///
    /// # Errors
    ///
    /// [`FoldError::NotStarted`] if it is not `run_started`.
    pub fn start(at: Timestamp, event: &ProgressEvent) -> Result<Self, FoldError> {
        match event {
            ProgressEvent::RunStarted { plan_id, goal, .. } => Ok(Self::new(plan_id.clone(), goal.clone(), at)),
            other => Err(FoldError::NotStarted { found: other.name() }),
        }
    }

    /// Applies one event: whole, or not at all if it is refused. Accepts every kind of event; those that do not concern
    /// the state leave it unchanged.
    ///
    /// `plan_changed` applies its patch together with the changes of status that the patch itself makes (skipped,
    /// pending, blocked); there are no `task_status_changed` events for these. Changes that follow from the graph are
    /// events of their own, from [`ProgressState::next_changes`].
    ///
    /// # Errors
    ///
    /// [`FoldError`] if the event does not follow from the state.
    pub fn apply(&mut self, at: Timestamp, event: &ProgressEvent) -> Result<(), FoldError> {
        match event {
            ProgressEvent::RunStarted { .. } => return Err(FoldError::AlreadyStarted),
            ProgressEvent::Routed { mode, category, .. } => {
                self.mode = Some(*mode);
                self.category.clone_from(category);
            }
            ProgressEvent::PlanCreated { plan, .. } => {
                self.create_plan(plan)?;
                self.planned_at = Some(at);
                self.moved(at);
            }
            ProgressEvent::PlanChanged { decision } => {
                self.change_plan(at, decision)?;
                self.moved(at);
            }
            ProgressEvent::TaskStatusChanged { task, from, to, attempt, for_good, reason } => {
                let change = Transition { from: *from, to: *to, attempt: *attempt, for_good: *for_good, reason: reason.as_ref() };
                change.apply(at, self.task_mut(task)?)?;
                self.moved(at);
            }
            ProgressEvent::TaskConcluded { task, conclusion } => self.task_mut(task)?.conclusion = Some(conclusion.clone()),
            ProgressEvent::ActorCreated {
                task,
                actor,
                name,
                description,
                profile,
                model,
                tools,
                skills,
                inline_skills,
                effort,
                temperature,
                max_steps,
                created_at,
                call,
                reasons,
            } => {
                if let Some(known) = self.task_mut_if_any(task.as_ref())?
                    && call.is_none()
                {
                    known.actor = Some(TaskActor {
                        actor: actor.clone(),
                        name: name.clone(),
                        description: description.clone(),
                        profile: profile.clone(),
                        model: model.clone(),
                        tools: tools.clone(),
                        skills: skills.clone(),
                        inline_skills: inline_skills.clone(),
                        effort: effort.clone(),
                        temperature: *temperature,
                        max_steps: *max_steps,
                        created_at: *created_at,
                        reasons: reasons.clone(),
                    });
                }
            }
            ProgressEvent::TaskClaimed { task, by, call } => {
                self.task_mut(by)?;
                self.task_mut(task)?.claimed_by = Some(call.clone());
            }
            ProgressEvent::ActorNudged { task, .. } | ProgressEvent::HistoryCompacted { task, .. } => {
                self.task_mut_if_any(task.as_ref())?;
            }
            ProgressEvent::MessageDelivered { task, evidence } => {
                self.task_mut_if_any(task.as_ref())?;
                self.process(std::slice::from_ref(evidence))?;
            }
            ProgressEvent::ModelCalled { task, purpose, spent, .. } => {
                self.task_mut_if_any(task.as_ref())?;
                self.spent.add(spent);
                self.spent_by.add(purpose, task.is_some(), spent);
                self.moved(at);
            }
            ProgressEvent::ToolCallStarted { task, tool, parameters, .. } => {
                if let Some(task) = self.task_mut_if_any(task.as_ref())?
                    && task.status == TaskStatus::Running
                {
                    task.activity = Some(activity(tool, parameters));
                }
                self.tool_calls = self.tool_calls.saturating_add(1);
                self.moved(at);
            }
            ProgressEvent::ToolCallFinished { task, .. } => {
                if let Some(task) = self.task_mut_if_any(task.as_ref())? {
                    task.activity = None;
                }
                self.moved(at);
            }
            ProgressEvent::ProgressReported { task, report } => {
                if let Some(task) = self.task_mut_if_any(task.as_ref())? {
                    task.report = Some(report.clone());
                }
                self.moved(at);
            }
            ProgressEvent::TodosChanged { task, items } => self.task_mut(task)?.todos.clone_from(items),
            ProgressEvent::EvidenceAdded { evidence } => {
                if self.evidence.iter().any(|known| known.id == evidence.id) {
                    return Err(FoldError::DuplicateEvidence { evidence: evidence.id.clone() });
                }
                self.task_mut_if_any(evidence.task.as_ref())?;
                // A message of a person on the run outweighs earlier checks, because the person may be withdrawing a
                // criterion.
                if evidence.kind == EvidenceKind::UserInput && evidence.task.is_none() {
                    self.unmet_criteria.clear();
                }
                self.evidence.push(evidence.clone());
            }
            ProgressEvent::EvidenceProcessed { evidence, .. } => self.process(evidence)?,
            ProgressEvent::QuestionAsked { id, task, kind, question } => {
                if self.questions.iter().any(|known| known.id == *id) {
                    return Err(FoldError::DuplicateQuestion { question: id.clone() });
                }
                self.task_mut_if_any(task.as_ref())?;
                self.questions.push(Question {
                    id: id.clone(),
                    at,
                    task: task.clone(),
                    kind: kind.clone(),
                    question: question.clone(),
                    answer: None,
                });
            }
            ProgressEvent::QuestionAnswered { id, answer } => {
                let known = self.questions.iter_mut().find(|known| known.id == *id);
                let question = known.ok_or_else(|| FoldError::UnknownQuestion { question: id.clone() })?;
                if question.answer.is_some() {
                    return Err(FoldError::AlreadyAnswered { question: id.clone() });
                }
                question.answer = Some(answer.clone());
                self.moved(at);
            }
            ProgressEvent::ConsentGiven { task, rules } => {
                self.task_mut_if_any(task.as_ref())?;
                for rule in rules {
                    if !self.consents.contains(rule) {
                        self.consents.push(rule.clone());
                    }
                }
            }
            ProgressEvent::CriterionTried { task, criterion, held } => {
                self.task_mut_if_any(task.as_ref())?;
                if self.held_before(task.as_ref(), criterion).is_none() {
                    self.tried.push(TriedCriterion { task: task.clone(), criterion: criterion.clone(), held: *held });
                }
            }
            ProgressEvent::CriterionChecked { task, criterion, owner, how, passed, reason, changes, .. } => {
                self.task_mut_if_any(task.as_ref())?;
                match task {
                    Some(_) => self.moved(at),
                    None => self.success_criterion_checked(criterion, *passed),
                }
                self.checked.retain(|known| known.task != *task || known.criterion != *criterion);
                self.checked.push(CheckedCriterion {
                    task: task.clone(),
                    criterion: criterion.clone(),
                    owner: *owner,
                    how: *how,
                    holds: *passed,
                    evidence: reason.clone(),
                    changes: *changes,
                });
            }
            ProgressEvent::MergeConflicted { task, conflicts } => {
                self.task_mut(task)?;
                self.conflicts.retain(|known| conflicts.iter().all(|now| known.task != now.task || known.path != now.path));
                self.conflicts.extend_from_slice(conflicts);
            }
            ProgressEvent::RunStatusChanged { from, to, .. } => {
                if self.status != *from {
                    return Err(FoldError::RunStatusMismatch { expected: *from, actual: self.status });
                }
                self.status = *to;
                self.moved(at);
            }
            // The time while the run was left does not count as a stall.
            ProgressEvent::RunResumed {} => self.moved(at),
            ProgressEvent::RunContinued { goal } => {
                self.moved(at);
                let answer = self.answer.take();
                if self.turns.is_empty() {
                    self.turns.push(Turn { goal: self.goal.clone(), started_at: self.started_at, answer });
                }
                self.turns.push(Turn { goal: goal.clone(), started_at: at, answer: None });
            }
            ProgressEvent::Answered { text } => {
                self.answer = Some(text.clone());
                if let Some(turn) = self.turns.last_mut() {
                    turn.answer.clone_from(&self.answer);
                }
            }
            ProgressEvent::Recalled { .. }
            | ProgressEvent::MemoryFailed { .. }
            | ProgressEvent::PlanningStarted { .. }
            | ProgressEvent::PlanRefused { .. }
            | ProgressEvent::PlanReused { .. }
            | ProgressEvent::TriggersFired { .. }
            | ProgressEvent::ReplanSuppressed { .. }
            | ProgressEvent::BoundReached { .. }
            | ProgressEvent::RunInterrupted { .. }
            | ProgressEvent::PatchRepaired { .. }
            | ProgressEvent::LeadGaveUp {}
            | ProgressEvent::CancelRefused { .. }
            | ProgressEvent::FolderAwaited { .. }
            | ProgressEvent::HookActed(_)
            | ProgressEvent::FileChanged(_)
            | ProgressEvent::ChangesMerged { .. }
            | ProgressEvent::UndoLost { .. } => {}
        }
        Ok(())
    }

    fn moved(&mut self, at: Timestamp) {
        self.last_progress_at = self.last_progress_at.max(at);
    }

    fn task_mut(&mut self, task: &TaskId) -> Result<&mut Task, FoldError> {
        self.tasks.get_mut(task).ok_or_else(|| FoldError::UnknownTask { task: task.clone() })
    }

    fn task_mut_if_any(&mut self, task: Option<&TaskId>) -> Result<Option<&mut Task>, FoldError> {
        task.map(|task| self.task_mut(task)).transpose()
    }

    fn create_plan(&mut self, plan: &crate::Plan) -> Result<(), FoldError> {
        if self.version != 0 {
            return Err(FoldError::VersionGap { current: self.version, found: 1 });
        }
        plan.check().map_err(FoldError::Plan)?;
        self.version = 1;
        self.strategic = plan.strategic.clone();
        self.edges.clone_from(&plan.edges);
        self.tasks = plan.tasks.iter().map(|spec| (spec.id.clone(), Task::new(Arc::clone(spec), 1))).collect();
        Ok(())
    }

    fn change_plan(&mut self, at: Timestamp, decision: &crate::Decision) -> Result<(), FoldError> {
        if self.version == 0 || self.version.checked_add(1) != Some(decision.version) {
            return Err(FoldError::VersionGap { current: self.version, found: decision.version });
        }
        self.known_evidence(&decision.evidence)?;
        let mut next = self.patched(&decision.patch, at).map_err(FoldError::Patch)?;
        next.process(&decision.evidence)?;
        if decision.is_replan() {
            next.last_replan_at = Some(at);
        }
        next.decisions.push(decision.clone());
        *self = next;
        Ok(())
    }

    /// Records the result of a check. An undecided check leaves the known result unchanged.
    fn success_criterion_checked(&mut self, criterion: &str, passed: Option<bool>) {
        let Some(passed) = passed else { return };
        self.unmet_criteria.retain(|unmet| unmet.to_string() != criterion);
        if !passed {
            self.unmet_criteria.extend(self.strategic.success_criteria.iter().find(|named| named.to_string() == criterion).cloned());
        }
    }

    fn known_evidence(&self, ids: &[EvidenceId]) -> Result<(), FoldError> {
        match ids.iter().find(|id| !self.evidence.iter().any(|known| known.id == **id)) {
            Some(id) => Err(FoldError::UnknownEvidence { evidence: id.clone() }),
            None => Ok(()),
        }
    }

    fn process(&mut self, ids: &[EvidenceId]) -> Result<(), FoldError> {
        self.known_evidence(ids)?;
        for evidence in self.evidence.iter_mut().filter(|known| ids.contains(&known.id)) {
            evidence.processed = true;
        }
        Ok(())
    }
}

struct Transition<'a> {
    from: TaskStatus,
    to: TaskStatus,
    attempt: u32,
    for_good: bool,
    reason: Option<&'a Message>,
}

impl Transition<'_> {
    fn apply(&self, at: Timestamp, task: &mut Task) -> Result<(), FoldError> {
        if task.status != self.from {
            return Err(FoldError::StatusMismatch { task: task.spec.id.clone(), expected: self.from, actual: task.status });
        }
        task.become_status(self.to, at).map_err(|illegal| FoldError::IllegalTransition { task: task.spec.id.clone(), illegal })?;
        task.reason = self.reason.cloned();
        match self.to {
            TaskStatus::Running => task.attempts = self.attempt.max(task.attempts.saturating_add(1)),
            TaskStatus::Failed => {
                task.failures = task.failures.saturating_add(1);
                task.failed_for_good = self.for_good;
            }
            // Dependencies never block a running task, so it was held.
            TaskStatus::Blocked => task.held = self.from == TaskStatus::Running,
            _ => {}
        }
        Ok(())
    }
}

impl Task {
    /// Changes a status, checks the table and keeps the members that belong to a status consistent with it. No other
    /// code changes a status.
    pub(crate) fn become_status(&mut self, to: TaskStatus, at: Timestamp) -> Result<(), IllegalTransition> {
        self.status.become_checked(to)?;
        self.status = to;
        self.held = false;
        self.activity = None;
        self.failed_for_good = false;
        match to {
            TaskStatus::Running => {
                self.started_at = Some(at);
                self.finished_at = None;
            }
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Skipped | TaskStatus::RolledBack => self.finished_at = Some(at),
            TaskStatus::Pending | TaskStatus::Ready | TaskStatus::Blocked => {}
        }
        Ok(())
    }
}

/// Returns the activity in the form `grep: TODO`: the tool and its first text parameter, on one line of at most 80
/// characters.
fn activity(tool: &str, parameters: &Map<String, Value>) -> String {
    const SHOWN: usize = 80;
    let words = parameters.values().find_map(Value::as_str).and_then(|text| text.lines().find(|line| !line.trim().is_empty()));
    let line = words.map_or_else(|| tool.to_owned(), |words| format!("{tool}: {}", words.trim()));
    if line.chars().count() <= SHOWN { line } else { line.chars().take(SHOWN - 1).chain(['…']).collect() }
}

#[cfg(test)]
mod tests;
