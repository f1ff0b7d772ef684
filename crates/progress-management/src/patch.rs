//! The plan patch, `aime.patch/v1`: the only way to change a plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Confidence, Criterion, Edge, Owner, Phase, ReasoningEffort, Risk, TaskId, TaskSpec};

/// The `schema` member of a patch document.
pub const PATCH_SCHEMA: &str = "aime.patch/v1";

fn patch_schema() -> String {
    PATCH_SCHEMA.to_owned()
}

/// A list of changes that is applied completely or not at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanPatch {
    /// Always `aime.patch/v1`.
    #[serde(default = "patch_schema")]
    pub schema: String,
    /// Reason for the changes.
    #[serde(default)]
    pub reasoning: String,
    /// Changes, in order.
    pub changes: Vec<PlanChange>,
}

/// One change of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum PlanChange {
    /// Adds a task. With `replaces`, dependents of those tasks depend on this one instead, and those tasks are skipped.
    AddTask {
        /// The new task.
        task: Box<TaskSpec>,
        /// Failed, blocked or waiting tasks that it replaces.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replaces: Vec<TaskId>,
    },
    /// Changes members of a task that has not run. Absent members stay.
    ModifyTask {
        /// The task.
        id: TaskId,
        /// Changed members.
        change: Box<TaskChange>,
    },
    /// Removes a task from the plan: it becomes skipped.
    RemoveTask {
        /// The task.
        id: TaskId,
        /// Reason for the removal.
        #[serde(default)]
        reason: String,
    },
    /// Replaces several tasks by one.
    MergeTasks {
        /// Tasks to merge, at least two.
        ids: Vec<TaskId>,
        /// Task that replaces them.
        task: Box<TaskSpec>,
    },
    /// Holds a task back.
    BlockTask {
        /// The task.
        id: TaskId,
        /// Reason for the block.
        #[serde(default)]
        reason: String,
    },
    /// Lets a blocked or failed task run again.
    UnblockTask {
        /// The task.
        id: TaskId,
    },
    /// Stops a running task's actor; the task becomes skipped.
    CancelTask {
        /// The task.
        id: TaskId,
        /// Reason for the cancellation.
        #[serde(default)]
        reason: String,
        /// The one who cancels the task; the lead if absent.
        #[serde(default, skip_serializing_if = "Owner::is_default")]
        by: Owner,
    },
    /// Adds an edge.
    AddEdge {
        /// The edge.
        edge: Edge,
    },
    /// Removes an edge, or a plain dependency.
    RemoveEdge {
        /// Task that comes first.
        from: TaskId,
        /// Task that follows.
        to: TaskId,
    },
    /// Changes members of the strategic part. Absent members stay.
    SetStrategic {
        /// Changed members.
        strategic: StrategicChange,
    },
    /// Replaces a criterion that evidence shows to be wrong. Only a person replaces those of a person or of the project.
    AmendCriterion {
        /// Task of the completion criterion; absent for a success criterion of the plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Number of the criterion, from 1.
        number: u32,
        /// The new criterion.
        criterion: Criterion,
        /// Evidence that the former criterion is wrong.
        #[serde(default)]
        evidence: String,
        /// The one who replaces it; the lead if absent.
        #[serde(default, skip_serializing_if = "Owner::is_default")]
        by: Owner,
    },
}

/// The members of the strategic part that a patch may change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StrategicChange {
    /// New way to the goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approach: Option<String>,
    /// New stages of the work, the whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Vec<Phase>>,
    /// New risks, the whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risks: Option<Vec<Risk>>,
    /// New success criteria, the whole list. Criteria of a person or of the project, and those that did not hold when they were
    /// checked, are kept as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_criteria: Option<Vec<Criterion>>,
    /// New confidence that the plan reaches the goal, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
}

/// The members of a task that a patch may change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TaskChange {
    /// New name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// New description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// New completion criteria, the whole list. Criteria of a person or of the project are kept as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_criteria: Option<Vec<Criterion>>,
    /// New tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// New parameters, the whole object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Map<String, Value>>,
    /// New profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// New model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// New reasoning effort of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    /// New tool bundles, the whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundles: Option<Vec<String>>,
    /// New list of tools that the actor does not get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied_tools: Option<Vec<String>>,
    /// New skills, the whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    /// New list of resources that the task needs for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclusive: Option<Vec<String>>,
    /// New dependencies, the whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<TaskId>>,
    /// New estimate of the duration, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort_seconds: Option<u32>,
}
