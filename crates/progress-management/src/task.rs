//! A task during the run.

use std::{collections::BTreeMap, sync::Arc};

use aime_messages::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CommandCheck, Origin, TaskId, TaskSpec, Timestamp};

/// Status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Waiting for its dependencies.
    Pending,
    /// Able to start at once.
    Ready,
    /// In progress.
    Running,
    /// Unable to start: a dependency cannot be satisfied, or the task is held back.
    Blocked,
    /// Done; its criteria hold.
    Completed,
    /// Attempted without success.
    Failed,
    /// Not to be done any more.
    Skipped,
    /// Failed; its effects were undone.
    RolledBack,
}

/// A task: its specification and its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Specification of the task.
    pub spec: Arc<TaskSpec>,
    /// Status of the task.
    pub status: TaskStatus,
    /// Number of starts, interruptions included.
    #[serde(default)]
    pub attempts: u32,
    /// Number of failures since the task was planned or a patch last let it run again.
    #[serde(default)]
    pub failures: u32,
    /// True if the task failed and will not be retried; its dependents cannot be satisfied.
    #[serde(default)]
    pub failed_for_good: bool,
    /// While blocked: true if a patch or the task's own actor holds it back, so that only `unblock_task` releases it.
    /// A task that is blocked by its dependencies alone is not held.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Reason why the task is blocked, skipped or pending again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Message>,
    /// Version of the plan that added the task.
    pub version: u32,
    /// Time of the last start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Time at which the task last settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// Conclusion of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Conclusion>,
    /// Last progress report of the actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ProgressReport>,
    /// TODO list of the actor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<crate::TodoItem>,
    /// Current activity of the actor, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// Actor that was last created for the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<TaskActor>,
    /// Call by which another actor claimed the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// Former dependencies that were taken out of the plan without a replacement: the task lacks their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_dependencies: Vec<TaskId>,
}

/// The actor of a task, with the reasons for its choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskActor {
    /// Identifier of the actor in the run.
    pub actor: String,
    /// Name of the actor for people: the profile and the task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Purpose of the actor in one sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Profile of the actor.
    pub profile: String,
    /// Model of the actor.
    pub model: String,
    /// Tools of the actor.
    pub tools: Vec<String>,
    /// Skills included whole in the actor's prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Texts of the skills that the profile defines, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inline_skills: BTreeMap<String, String>,
    /// Reasoning effort of the model, if it differs from the model's own setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Temperature of the model, 0 to 2; absent for the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Maximum number of model answers for the actor.
    pub max_steps: u32,
    /// Time at which the actor was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Reasons for the profile and the tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// Conclusion of an attempt at a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conclusion {
    /// Outcome in one word.
    pub outcome: Outcome,
    /// Work done, or the reason why it was not, in a few sentences.
    pub summary: String,
    /// Whole text of the answer, if it is longer than the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Structured result, which other tasks may refer to by a path; null if there is only text.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub result: Value,
    /// Paths or addresses of things made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// Beginning of the output of the last successful tool call that did not only write. Recorded for small models, whose summary
    /// says that the work is done but seldom what was found. Later tasks read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<String>,
    /// Error, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Message>,
    /// Advice to a person on how to fix the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<Message>,
    /// Kind of failure, if it decides what happens next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<FailureCause>,
    /// Commands by which the work can be checked, as the actor names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CommandCheck>,
    /// Things that a blocked actor needs to continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
    /// Untrusted origins of the texts that this conclusion may be based on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
    /// Folder that holds the changes of the attempt if they were not merged, relative to the working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmerged: Option<String>,
}

/// Kind of failure of an attempt, if it decides what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The actor used up its steps.
    Steps,
    /// The model could not be used: unreachable, refused, no key.
    Model,
    /// A person or the approval mode does not allow what the task needs.
    Denied,
    /// The actor reported success, but a completion criterion does not hold.
    Criteria,
    /// The actor's changes to files were left out, because they conflict with changes that others made meanwhile.
    Conflict,
    /// The actor reported that the task cannot be done.
    Reported,
    /// The actor reported that it lacks something to do the task.
    Blocked,
}

impl FailureCause {
    /// Returns true if another attempt would end in the same way, so that the task has failed for good.
    #[must_use]
    pub const fn is_final(self) -> bool {
        match self {
            Self::Denied | Self::Reported | Self::Blocked => true,
            Self::Steps | Self::Model | Self::Criteria | Self::Conflict => false,
        }
    }
}

/// Outcome of an attempt, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The work was done.
    Success,
    /// The work was not done.
    Failure,
    /// The work was stopped before its end; it may continue later.
    Interrupted,
    /// A call began, and it is unknown if it took effect. Not retried without a decision.
    InDoubt,
}

/// An actor's report on its work in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressReport {
    /// A word or two: `in progress`, `searching`, `50%`.
    pub status: String,
    /// A sentence.
    pub message: String,
}

impl Task {
    /// Returns a new task of the plan: pending, never started.
    #[must_use]
    pub fn new(spec: impl Into<Arc<TaskSpec>>, version: u32) -> Self {
        Self {
            spec: spec.into(),
            status: TaskStatus::Pending,
            attempts: 0,
            failures: 0,
            failed_for_good: false,
            held: false,
            reason: None,
            version,
            started_at: None,
            finished_at: None,
            conclusion: None,
            report: None,
            todos: Vec::new(),
            activity: None,
            actor: None,
            claimed_by: None,
            lost_dependencies: Vec::new(),
        }
    }

    /// Returns the specification to change it. The plan that shares it stays as it is.
    pub fn spec_mut(&mut self) -> &mut TaskSpec {
        Arc::make_mut(&mut self.spec)
    }
}

impl Conclusion {
    /// Returns the text that other tasks read: the whole text, or the summary if there is no other.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or(&self.summary)
    }

    /// Returns true if the actor of the attempt can continue its conversation: it was stopped, or its model could not be used.
    #[must_use]
    pub fn can_continue(&self) -> bool {
        self.outcome == Outcome::Interrupted || self.cause == Some(FailureCause::Model)
    }
}
