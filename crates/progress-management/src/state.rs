//! The progress of a run: the fold of its events.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Criterion, Decision, Edge, Evidence, Owner, PlanId, PlanMode, QuestionId, Spent, SpentBy, Strategic, Task, TaskId, Timestamp};

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The first plan is being made.
    Planning,
    /// Tasks are carried out.
    Executing,
    /// A patch is being made while tasks go on.
    Replanning,
    /// A person must answer first.
    WaitingForHuman,
    /// The goal was reached.
    Completed,
    /// It was not.
    Failed,
    /// A person ended it.
    Cancelled,
    /// It was stopped and can go on.
    Interrupted,
}

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// Unique in the run.
    pub id: QuestionId,
    /// When it was asked.
    pub at: Timestamp,
    /// The task that waits for the answer, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// `question`, `approval`, `escalation`.
    pub kind: String,
    /// The question.
    pub question: String,
    /// The answer, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// A criterion that a patch replaced, because evidence shows that it was wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmendedCriterion {
    /// The task whose completion criterion it is; absent for a success criterion of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Its number in the list, from 1.
    pub number: u32,
    /// The former criterion.
    pub from: Criterion,
    /// The criterion that took its place.
    pub to: Criterion,
    /// What shows that the former one was wrong.
    pub evidence: String,
    /// The version of the plan that this made.
    pub version: u32,
}

/// How a criterion was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckMethod {
    /// aime ran the command, or looked at the file.
    Executed,
    /// A model judged it.
    Audited,
    /// Nobody checked it.
    #[default]
    Unchecked,
}

/// A criterion as it was found when it was last checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedCriterion {
    /// The task whose criterion it is; absent for a success criterion of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The criterion, in words.
    pub criterion: String,
    /// The owner.
    pub owner: Owner,
    /// How it was checked.
    pub how: CheckMethod,
    /// Whether it holds; absent when nobody could tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// What shows it.
    pub evidence: String,
    /// The tool calls of the run until then: as long as there is no further one, what holds still holds.
    pub tool_calls: u64,
}

/// A goal of a run and the answer to it. A follow-up begins a new turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// The goal.
    pub goal: String,
    /// When the turn began.
    pub started_at: Timestamp,
    /// The answer; absent as long as there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// Everything known of a run. It changes by [`ProgressState::apply`] alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressState {
    /// The plan.
    pub plan_id: PlanId,
    /// What is wanted.
    pub goal: String,
    /// The way of working, once chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<PlanMode>,
    /// The category of the goal, once chosen.
    #[serde(default)]
    pub category: String,
    /// Where the run stands.
    pub status: RunStatus,
    /// The plan's version: 0 before the first plan.
    pub version: u32,
    /// The strategic part.
    pub strategic: Strategic,
    /// The success criteria that did not hold when they were last looked at. No patch takes them out of the plan, unless a
    /// person has said something of the run since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet_criteria: Vec<Criterion>,
    /// The criteria that were checked, each as it was found last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<CheckedCriterion>,
    /// The criteria that were amended, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amended: Vec<AmendedCriterion>,
    /// The tasks in plan order.
    #[schemars(with = "std::collections::BTreeMap<String, Task>")]
    pub tasks: IndexMap<TaskId, Task>,
    /// Edges besides the dependencies that tasks name themselves.
    pub edges: Vec<Edge>,
    /// What was learnt.
    pub evidence: Vec<Evidence>,
    /// How the plan was changed.
    pub decisions: Vec<Decision>,
    /// What was asked of people.
    pub questions: Vec<Question>,
    /// What people have allowed for good since the run began, as rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consents: Vec<String>,
    /// What it has cost.
    pub spent: Spent,
    /// The same by who asked; journals from before it was told apart have only the sum.
    #[serde(default, skip_serializing_if = "SpentBy::is_nothing")]
    pub spent_by: SpentBy,
    /// Tool calls that were started.
    pub tool_calls: u64,
    /// When it began.
    pub started_at: Timestamp,
    /// When something last moved: a status, a report, a tool or model call.
    pub last_progress_at: Timestamp,
    /// When the plan was last changed by a replan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_replan_at: Option<Timestamp>,
    /// The final answer, of the last turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The turns of a run that was continued after its end, in order; empty for a run with a single one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
}
