//! The result document, `aime.result/v1`.

use std::fmt;

use aime_messages::{Message, message};
use aime_progress_management::{
    AmendedCriterion, CheckMethod, CheckedCriterion, CostByRole, Criterion, EvidenceKind, MergeConflict, ModelCost, Owner, PlanMetadata,
    ProgressState, RunId, RunStatus, TaskId, TaskKind, TaskStatus,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{FailureCode, RunFailure, RunOutput};

/// The `schema` member of a result.
pub(crate) const RESULT_SCHEMA: &str = "aime.result/v1";

/// Result of a run, for other programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// Always `aime.result/v1`.
    pub schema: String,
    /// Identifier of the run.
    pub run_id: RunId,
    /// Status of the run.
    pub status: RunStatus,
    /// Final answer; empty until there is one.
    pub answer: String,
    /// Version of the plan.
    pub plan_version: u32,
    /// Metadata of the plan; absent before the first plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanMetadata>,
    /// All tasks with their results.
    pub tasks: Vec<TaskResult>,
    /// Criteria of the plan and of its tasks, and the checks that actors named, each with the result of its last check.
    #[serde(default)]
    pub criteria: Vec<CriterionOutcome>,
    /// Criteria that were amended.
    #[serde(default)]
    pub amended: Vec<AmendedCriterion>,
    /// Conflicts between the changes of tasks, resolved or not.
    #[serde(default)]
    pub conflicts: Vec<MergeConflict>,
    /// Number of repairs of the plan; planned growth does not count.
    pub replans: u32,
    /// Cost of the model calls.
    pub usage: ModelCost,
    /// Cost of the model calls by requester.
    #[serde(default)]
    pub usage_by: CostByRole,
    /// Duration from the start to the last progress, in milliseconds.
    pub duration_ms: u64,
    /// Reason why the goal was not reached, or why the run was suspended.
    pub error: Option<RunFailure>,
    /// Further remarks, such as a hook that failed at the end, or a message by a person that came too late.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Message>,
}

/// One task in a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskResult {
    /// Identifier of the task.
    pub id: String,
    /// Title of the task.
    pub name: String,
    /// Status of the task.
    pub status: TaskStatus,
    /// Number of starts.
    pub attempts: u32,
    /// Summary of the last attempt.
    pub summary: String,
    /// Error, or the reason why the task was not done.
    pub error: Option<Message>,
    /// Paths or addresses of things made.
    pub references: Vec<String>,
}

/// A criterion in a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CriterionOutcome {
    /// `N` for success criterion number N of the plan, `TASK/N` for criterion number N of a task; checks that its actor named follow.
    pub id: String,
    /// The criterion in words.
    pub text: String,
    /// Owner of the criterion.
    pub owner: Owner,
    /// Method of the check.
    pub how: CheckMethod,
    /// True if the criterion holds; null if the check could not decide.
    pub holds: Option<bool>,
    /// Evidence for the result, or the reason why it was not checked.
    pub evidence: Message,
    /// True if the criterion held already before the work, and so proves nothing about it; absent if nobody checked it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_before: Option<bool>,
}

/// Returns all criteria of a run with their latest results.
pub(crate) fn criteria(state: &ProgressState) -> Vec<CriterionOutcome> {
    let mut found = of_list(state, None, &state.strategic.success_criteria);
    for task in state.tasks.values() {
        found.extend(of_list(state, Some(&task.spec.id), &task.spec.completion_criteria));
    }
    found
}

/// Returns the criteria of a task, or of the plan: first those that it names, then others that were checked.
fn of_list(state: &ProgressState, task: Option<&TaskId>, named: &[Criterion]) -> Vec<CriterionOutcome> {
    let checked: Vec<&CheckedCriterion> = state.checked.iter().filter(|known| known.task.as_ref() == task).collect();
    let mut found: Vec<CriterionOutcome> = Vec::new();
    let id = |number: usize| task.map_or_else(|| number.to_string(), |task| format!("{task}/{number}"));
    let outcome = |number: usize, known: &CheckedCriterion| CriterionOutcome {
        id: id(number),
        text: known.criterion.clone(),
        owner: known.owner,
        how: known.how,
        holds: known.holds,
        evidence: known.evidence.clone(),
        held_before: state.held_before(task, &known.criterion),
    };
    for criterion in named {
        let (number, text) = (found.len() + 1, criterion.to_string());
        let known = checked.iter().find(|known| known.criterion == text);
        let unchecked = || CriterionOutcome {
            id: id(number),
            text: text.clone(),
            owner: criterion.owner,
            how: CheckMethod::Unchecked,
            holds: None,
            evidence: Message::default(),
            held_before: state.held_before(task, &text),
        };
        found.push(known.map_or_else(unchecked, |known| outcome(number, known)));
    }
    // The list leaves out criteria that were amended or are no longer in the plan.
    for known in checked.iter().filter(|known| known.owner == Owner::Actor) {
        found.push(outcome(found.len() + 1, known));
    }
    found
}

impl RunResult {
    /// Returns the result of a run in its current state.
    #[must_use]
    pub fn new(run_id: RunId, state: &ProgressState, output: &RunOutput) -> Self {
        let tasks = state.tasks.values().map(|task| {
            let conclusion = task.conclusion.as_ref();
            let failed = !matches!(task.status, TaskStatus::Completed);
            let error = conclusion.and_then(|conclusion| conclusion.error.clone()).or_else(|| task.reason.clone());
            TaskResult {
                id: task.spec.id.to_string(),
                name: task.spec.title().to_owned(),
                status: task.status,
                attempts: if task.spec.kind == TaskKind::Group { 0 } else { task.attempts },
                summary: conclusion.map(|conclusion| conclusion.summary.clone()).unwrap_or_default(),
                error: error.filter(|_| failed),
                references: conclusion.map(|conclusion| conclusion.references.clone()).unwrap_or_default(),
            }
        });
        Self {
            schema: RESULT_SCHEMA.to_owned(),
            run_id,
            status: output.status,
            answer: state.answer.clone().unwrap_or_default(),
            plan_version: state.version,
            plan: state.plan_metadata(),
            tasks: tasks.collect(),
            criteria: criteria(state),
            amended: state.amended.clone(),
            conflicts: state.conflicts.clone(),
            replans: u32::try_from(state.decisions.iter().filter(|decision| decision.is_replan()).count()).unwrap_or(u32::MAX),
            usage: state.spent,
            usage_by: state.spent_by,
            duration_ms: state.last_progress_at.millis_since(state.started_at),
            error: output.error.clone(),
            notes: unused_words(state, output),
        }
    }

    /// Returns the result of a run that failed to start. Nothing was done, and no journal records it.
    #[must_use]
    pub fn unbegun(run_id: RunId, failure: RunFailure) -> Self {
        Self {
            schema: RESULT_SCHEMA.to_owned(),
            run_id,
            status: failure.code.status(),
            answer: String::new(),
            plan_version: 0,
            plan: None,
            tasks: Vec::new(),
            criteria: Vec::new(),
            amended: Vec::new(),
            conflicts: Vec::new(),
            replans: 0,
            usage: ModelCost::default(),
            usage_by: CostByRole::default(),
            duration_ms: 0,
            error: Some(failure),
            notes: Vec::new(),
        }
    }
}

/// Returns the messages of people that nobody used in an ended run: those to the run that came too late or for which the
/// planner found no usable patch, and those to a task whose actor did not read them. A message that an actor received or
/// a decision used counts as processed.
fn unused_words(state: &ProgressState, output: &RunOutput) -> Vec<Message> {
    let ended = match &output.error {
        None => output.status == RunStatus::Completed,
        Some(error) => error.code == FailureCode::GoalNotReached,
    };
    let messages = state.evidence.iter().filter(|evidence| ended && evidence.kind == EvidenceKind::UserInput && !evidence.processed);
    let unused = messages.map(|evidence| {
        let text = Message::text(&evidence.content);
        match &evidence.task {
            Some(task) => message!("words-unread", task, text),
            None => message!("words-unused", text),
        }
    });
    unused.collect()
}

impl fmt::Display for FailureCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FailureCode {
    /// Returns the word for a result document.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::GoalNotReached => "goal_not_reached",
            Self::ModelUnavailable => "model_unavailable",
            Self::BoundReached => "bound_reached",
            Self::WaitingForHuman => "waiting_for_human",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::Internal => "internal",
        }
    }

    /// Returns the status of a run that ended or was suspended for this reason.
    const fn status(self) -> RunStatus {
        match self {
            Self::WaitingForHuman => RunStatus::WaitingForHuman,
            Self::Cancelled => RunStatus::Cancelled,
            Self::Interrupted => RunStatus::Interrupted,
            Self::GoalNotReached | Self::ModelUnavailable | Self::BoundReached | Self::Internal => RunStatus::Failed,
        }
    }

    /// Returns the exit code of the command.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::GoalNotReached | Self::Cancelled => 1,
            Self::ModelUnavailable => 3,
            Self::BoundReached => 4,
            Self::WaitingForHuman => 5,
            Self::Internal => 6,
            Self::Interrupted => 130,
        }
    }
}
