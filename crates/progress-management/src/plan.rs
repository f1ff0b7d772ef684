//! The plan document, `aime.plan/v1`, which a planner or a person writes.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Criterion, Owner, TaskId};

/// The `schema` member of a plan document.
pub const PLAN_SCHEMA: &str = "aime.plan/v1";

fn plan_schema() -> String {
    PLAN_SCHEMA.to_owned()
}

/// A plan: the strategic part says why, the task graph says what.
///
/// Reading it with serde is strict about types and checks no rule between tasks;
/// [`ProgressState`](crate::ProgressState) refuses a plan that breaks one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Always `aime.plan/v1`.
    #[serde(default = "plan_schema")]
    pub schema: String,
    /// Goal of the plan.
    #[serde(default)]
    pub goal: String,
    /// Approach, phases, risks and success criteria.
    #[serde(default)]
    pub strategic: Strategic,
    /// The tactical part: the tasks in display order.
    pub tasks: Vec<Arc<TaskSpec>>,
    /// Edges besides the plain dependencies that tasks name themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<Edge>,
}

/// The strategic part of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Strategic {
    /// Way to the goal, in a sentence or two.
    pub approach: String,
    /// Stages of the work, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// Things that may go wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub risks: Vec<Risk>,
    /// Conditions that must hold at the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub success_criteria: Vec<Criterion>,
    /// How sure the planner is that the plan reaches the goal; absent if it did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
}

/// A confidence between 0 and 1, in steps of 0.01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Confidence(u8);

impl JsonSchema for Confidence {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Confidence".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "number", "minimum": 0, "maximum": 1})
    }
}

impl TryFrom<f64> for Confidence {
    type Error = &'static str;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a percentage fits")]
    fn try_from(share: f64) -> Result<Self, Self::Error> {
        if (0.0..=1.0).contains(&share) { Ok(Self((share * 100.0).round() as u8)) } else { Err("a confidence is a number from 0 to 1") }
    }
}

impl From<Confidence> for f64 {
    fn from(Confidence(percent): Confidence) -> Self {
        Self::from(percent) / 100.0
    }
}

/// A stage of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Name of the phase.
    pub name: String,
    /// State that is reached at the end of the phase.
    #[serde(default)]
    pub objective: String,
}

/// A risk, with the response to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Risk {
    /// Event that may happen.
    pub description: String,
    /// Response to the event.
    #[serde(default)]
    pub mitigation: String,
}

/// Executor of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// An actor, with a model.
    Actor,
    /// The runtime itself: one tool call, no model.
    Tool,
    /// No executor: the task has children and settles with them.
    Group,
}

/// Amount of reasoning before the task's model answers, in the words of `[models.NAME] effort`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningEffort {
    /// No reasoning.
    None,
    /// The least that the model can do.
    Minimal,
    /// Little reasoning.
    Low,
    /// The usual amount.
    Medium,
    /// Much reasoning.
    High,
    /// More than `high`.
    XHigh,
    /// The most that the model may do.
    Max,
}

impl ReasoningEffort {
    /// All levels, from the least to the most.
    pub const ALL: [Self; 7] = [Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::XHigh, Self::Max];

    /// Returns the word for the level in plans.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// One task of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskSpec {
    /// Identifier, unique in the plan.
    pub id: TaskId,
    /// Short title.
    #[serde(default)]
    pub name: String,
    /// Executor of the task.
    pub kind: TaskKind,
    /// Work to be done, for an actor.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Conditions that must hold for the task to count as done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completion_criteria: Vec<Criterion>,
    /// Name of the tool, for a tool task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Parameters of the tool; may hold references `@{steps.ID.result}`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// Profile of the actor; chosen by the runtime when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Model of the actor, as in `[models.NAME]`; that of the profile or of the goal's category when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Reasoning effort of that model; when absent, that of the profile, else the model's own setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    /// Tool bundles for the actor, in addition to those of its profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bundles: Vec<String>,
    /// Tools that the actor does not get, whatever their source; `NAME*` denies all that begin with `NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied_tools: Vec<String>,
    /// Skills to include whole in the actor's prompt, in addition to those of its profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Resources that the task needs for itself, such as `port:8080`: tasks that name the same resource do not run at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclusive: Vec<String>,
    /// Tasks that must be completed first.
    #[serde(default)]
    pub dependencies: Vec<TaskId>,
    /// Group that this task belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// Phase of the task, by name. Ready tasks of an earlier phase run first. A task without a phase belongs to the phase of its
    /// group; a group may also have the name of its phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Estimated duration in seconds, for the scheduler; not a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort_seconds: Option<u32>,
}

impl Plan {
    /// The only task of a run that works on its goal without a plan.
    pub const DIRECT_TASK: &str = "main";

    /// Returns true if the run works on its goal without a plan.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        matches!(self.tasks.as_slice(), [task] if task.id.as_str() == Self::DIRECT_TASK)
    }

    /// Returns a plan of these tasks. [`check`](Self::check) validates it.
    #[must_use]
    pub fn new(goal: impl Into<String>, tasks: impl IntoIterator<Item = TaskSpec>) -> Self {
        Self {
            schema: plan_schema(),
            goal: goal.into(),
            strategic: Strategic::default(),
            tasks: tasks.into_iter().map(Arc::new).collect(),
            edges: Vec::new(),
        }
    }

    /// Returns the plan with this owner for all its criteria.
    #[must_use]
    pub fn owned_by(mut self, owner: Owner) -> Self {
        let of_tasks = self.tasks.iter_mut().flat_map(|task| &mut Arc::make_mut(task).completion_criteria);
        of_tasks.chain(&mut self.strategic.success_criteria).for_each(|criterion| criterion.owner = owner);
        self
    }

    /// Returns the plan as a revision of `former`: criteria of that plan keep their owner, new ones get `owner`.
    #[must_use]
    pub fn revised(mut self, former: &Self, owner: Owner) -> Self {
        let of_tasks = former.tasks.iter().flat_map(|task| &task.completion_criteria);
        let known: Vec<&Criterion> = of_tasks.chain(&former.strategic.success_criteria).collect();
        let of_tasks = self.tasks.iter_mut().flat_map(|task| &mut Arc::make_mut(task).completion_criteria);
        for criterion in of_tasks.chain(&mut self.strategic.success_criteria) {
            criterion.owner = known.iter().find(|known| known.check == criterion.check).map_or(owner, |known| known.owner);
        }
        self
    }
}

impl TaskSpec {
    /// Returns a task for the runtime: one call of `tool`.
    #[must_use]
    pub fn tool(id: TaskId, tool: impl Into<String>, parameters: Map<String, Value>) -> Self {
        Self { kind: TaskKind::Tool, tool: Some(tool.into()), parameters, ..Self::actor(id, "") }
    }

    /// Adds dependencies to the task.
    #[must_use]
    pub fn after(mut self, dependencies: impl IntoIterator<Item = TaskId>) -> Self {
        self.dependencies.extend(dependencies);
        self
    }

    /// Returns an actor task with nothing but an id and a description.
    #[must_use]
    pub fn actor(id: TaskId, description: impl Into<String>) -> Self {
        Self {
            id,
            name: String::new(),
            kind: TaskKind::Actor,
            description: description.into(),
            completion_criteria: Vec::new(),
            tool: None,
            parameters: Map::new(),
            profile: None,
            model: None,
            effort: None,
            bundles: Vec::new(),
            denied_tools: Vec::new(),
            skills: Vec::new(),
            exclusive: Vec::new(),
            dependencies: Vec::new(),
            parent: None,
            phase: None,
            effort_seconds: None,
        }
    }

    /// Returns the name, or the best substitute.
    #[must_use]
    pub fn title(&self) -> &str {
        [self.name.as_str(), self.description.as_str()].into_iter().find(|text| !text.is_empty()).unwrap_or(self.id.as_str())
    }
}

/// Meaning of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EdgeType {
    /// The target waits until the source is completed.
    Dependency,
    /// Like a dependency, but the target is skipped if the condition does not hold.
    Conditional,
    /// The target runs if the source has failed for good.
    Rollback,
}

/// An edge between two tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// Task that comes first.
    pub from: TaskId,
    /// Task that follows.
    pub to: TaskId,
    /// Meaning of the edge.
    #[serde(rename = "type")]
    pub kind: EdgeType,
    /// Condition of a conditional edge: `@{steps.ID.result.path} OP literal`, or `@{steps.ID.status} == completed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
}
