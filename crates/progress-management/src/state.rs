//! The progress of a run: the fold of its events.

use aime_messages::Message;
use foldhash::fast::RandomState;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    CostByRole, Criterion, Decision, Edge, Evidence, MergeConflict, ModelCost, Owner, PlanId, PlanMode, QuestionId, Strategic, Task,
    TaskId, Timestamp,
};

/// Status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The first plan is being made.
    Planning,
    /// Tasks are in progress.
    Executing,
    /// A patch is being made while tasks continue.
    Replanning,
    /// A person must answer first.
    WaitingForHuman,
    /// The goal was reached.
    Completed,
    /// The goal was not reached.
    Failed,
    /// A person ended the run.
    Cancelled,
    /// The run was stopped and can be resumed.
    Interrupted,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// Identifier of the question, unique in the run.
    pub id: QuestionId,
    /// Time of the question.
    pub at: Timestamp,
    /// Task that waits for the answer, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Kind of question: `question`, `approval`, `escalation`, `blocked`, `criterion`.
    pub kind: String,
    /// Text of the question.
    pub question: Message,
    /// Text of the answer; absent until there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

impl Question {
    /// Returns true if a person may answer a question of this kind without words. The run then goes on.
    #[must_use]
    pub fn takes_empty_answer(kind: &str) -> bool {
        matches!(kind, "blocked" | "escalation")
    }
}

/// A criterion that a patch replaced because evidence shows that it was wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmendedCriterion {
    /// Task of the completion criterion; absent for a success criterion of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Number of the criterion in its list, from 1.
    pub number: u32,
    /// The former criterion.
    pub from: Criterion,
    /// The new criterion.
    pub to: Criterion,
    /// Evidence that the former criterion was wrong.
    pub evidence: String,
    /// Version of the plan that the patch made.
    pub version: u32,
}

/// Method by which a criterion was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckMethod {
    /// aime ran the command or examined the file.
    Executed,
    /// A model judged it.
    Audited,
    /// Nobody checked it.
    #[default]
    Unchecked,
}

impl CheckMethod {
    /// Returns its word in events and results.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Audited => "audited",
            Self::Unchecked => "unchecked",
        }
    }
}

/// A criterion with the result of its last check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedCriterion {
    /// Task of the criterion; absent for a success criterion of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The criterion in words.
    pub criterion: String,
    /// Owner of the criterion.
    pub owner: Owner,
    /// Method of the check.
    pub how: CheckMethod,
    /// True if the criterion holds; absent if the check could not decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// Evidence for the result.
    pub evidence: Message,
    /// Number of recorded changes of files of the run before the check; absent if changes are not recorded. The result of a command stays
    /// valid until the next change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<u64>,
}

/// The result of a check of a criterion before the work on it began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriedCriterion {
    /// Task of the criterion; absent for a success criterion of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The criterion in words.
    pub criterion: String,
    /// True if it held.
    pub held: bool,
}

/// A goal of a run and the answer to it. A follow-up begins a new turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// Goal of the turn.
    pub goal: String,
    /// Start time of the turn.
    pub started_at: Timestamp,
    /// Answer to the goal; absent until there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// Tasks by id, in plan order. Their hash is fast, and differs in each process.
pub type Tasks = IndexMap<TaskId, Task, RandomState>;

/// The whole state of a run. Only [`ProgressState::apply`] changes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressState {
    /// Identifier of the plan.
    pub plan_id: PlanId,
    /// Goal of the run.
    pub goal: String,
    /// Mode of the run, once chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<PlanMode>,
    /// Category of the goal, once chosen.
    #[serde(default)]
    pub category: String,
    /// Status of the run.
    pub status: RunStatus,
    /// Version of the plan: 0 before the first plan.
    pub version: u32,
    /// Time of the first plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_at: Option<Timestamp>,
    /// Strategic part of the plan.
    pub strategic: Strategic,
    /// Success criteria that did not hold at their last check. No patch removes them from the plan, unless a person has said
    /// something about the run since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet_criteria: Vec<Criterion>,
    /// Criteria that were checked, each with the result of its last check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<CheckedCriterion>,
    /// Criteria that were checked before the work on them began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<TriedCriterion>,
    /// Criteria that were amended, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amended: Vec<AmendedCriterion>,
    /// Merge conflicts between the changes of tasks, resolved or not, in the order of the tasks' ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<MergeConflict>,
    /// Tasks in plan order.
    #[schemars(with = "std::collections::BTreeMap<String, Task>")]
    pub tasks: Tasks,
    /// Edges besides the dependencies that tasks name themselves.
    pub edges: Vec<Edge>,
    /// Evidence reported so far.
    pub evidence: Vec<Evidence>,
    /// Changes of the plan, in order.
    pub decisions: Vec<Decision>,
    /// Questions to people.
    pub questions: Vec<Question>,
    /// Rules for calls that people have allowed permanently since the start of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consents: Vec<String>,
    /// Cost of all model calls.
    pub spent: ModelCost,
    /// Cost of the model calls by requester.
    #[serde(default, skip_serializing_if = "CostByRole::is_nothing")]
    pub spent_by: CostByRole,
    /// Number of tool calls that were started.
    pub tool_calls: u64,
    /// Start time of the run.
    pub started_at: Timestamp,
    /// Time of the last progress: a change of status, a report, a tool call or a model call.
    pub last_progress_at: Timestamp,
    /// Time of the last replan that changed the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_replan_at: Option<Timestamp>,
    /// Final answer of the last turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Turns of a run that was continued after its end, in order; empty for a run of one turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
}
