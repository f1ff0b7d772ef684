//! The plan patch, `aime.patch/v1`: the only way to change a plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Criterion, Edge, Owner, Phase, ReasoningEffort, Risk, TaskId, TaskSpec};

/// The `schema` member of a patch document.
pub const PATCH_SCHEMA: &str = "aime.patch/v1";

fn patch_schema() -> String {
    PATCH_SCHEMA.to_owned()
}

/// A list of changes that is applied whole or not at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanPatch {
    /// Always `aime.patch/v1`.
    #[serde(default = "patch_schema")]
    pub schema: String,
    /// Why the plan changes.
    #[serde(default)]
    pub reasoning: String,
    /// What changes, in order.
    pub changes: Vec<PlanChange>,
}

/// One change of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum PlanChange {
    /// Adds a task. With `replaces`, what depended on those tasks depends on this one instead, and they are skipped.
    AddTask {
        /// The new task.
        task: Box<TaskSpec>,
        /// Failed, blocked or waiting tasks whose place it takes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replaces: Vec<TaskId>,
    },
    /// Changes members of a task that has not run. Absent members stay.
    ModifyTask {
        /// The task.
        id: TaskId,
        /// What changes.
        change: Box<TaskChange>,
    },
    /// Takes a task out of the plan: it becomes skipped.
    RemoveTask {
        /// The task.
        id: TaskId,
        /// Why.
        #[serde(default)]
        reason: String,
    },
    /// Puts one task in the place of several.
    MergeTasks {
        /// The tasks that are merged, at least two.
        ids: Vec<TaskId>,
        /// The task that takes their place.
        task: Box<TaskSpec>,
    },
    /// Holds a task back.
    BlockTask {
        /// The task.
        id: TaskId,
        /// Why.
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
        /// Why.
        #[serde(default)]
        reason: String,
        /// The one who cancels it; the lead where it is left out.
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
        /// The task that comes first.
        from: TaskId,
        /// The task that follows.
        to: TaskId,
    },
    /// Changes members of the strategic part. Absent members stay.
    SetStrategic {
        /// What changes.
        strategic: StrategicChange,
    },
    /// Replaces a criterion that evidence shows to be wrong. Criteria of a person and of the project are not replaced.
    AmendCriterion {
        /// The task whose completion criterion it is; the plan's success criterion where it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The number of the criterion, from 1.
        number: u32,
        /// The criterion that takes its place.
        criterion: Criterion,
        /// What shows that the former one is wrong.
        #[serde(default)]
        evidence: String,
    },
}

/// The members of the strategic part that a patch may change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StrategicChange {
    /// Another way to the goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approach: Option<String>,
    /// Other stages of the work, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Vec<Phase>>,
    /// Other risks, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risks: Option<Vec<Risk>>,
    /// Other success criteria, whole. Those of a person, those of the project, and those that were
    /// checked and did not hold stay beside them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_criteria: Option<Vec<Criterion>>,
}

/// The members of a task that a patch may change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TaskChange {
    /// A new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A new description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Other completion criteria, whole. Those of a person and of the project stay beside them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_criteria: Option<Vec<Criterion>>,
    /// Another tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Other parameters, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Map<String, Value>>,
    /// Another profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Another model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Another effort of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    /// Other bundles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundles: Option<Vec<String>>,
    /// Other tools that the actor does not get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied_tools: Option<Vec<String>>,
    /// Other skills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    /// Other things that it needs for itself, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclusive: Option<Vec<String>>,
    /// Other dependencies, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<TaskId>>,
    /// Another estimate, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort_seconds: Option<u32>,
}
