//! A task during the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CommandCheck, Origin, TaskSpec, Timestamp};

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Waits for its dependencies.
    Pending,
    /// Could start at once.
    Ready,
    /// Is being carried out.
    Running,
    /// Cannot start: a dependency cannot be satisfied, or it is held back.
    Blocked,
    /// Done, and its criteria hold.
    Completed,
    /// Tried and not done.
    Failed,
    /// Will not be done.
    Skipped,
    /// Failed, and what it had done was undone.
    RolledBack,
}

/// A task: its specification and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// What is to be done.
    pub spec: TaskSpec,
    /// Where it stands.
    pub status: TaskStatus,
    /// How often it was started, interruptions included.
    #[serde(default)]
    pub attempts: u32,
    /// How often it failed since it was planned or last let run again by a patch.
    #[serde(default)]
    pub failures: u32,
    /// Failed, and will not be retried: what depends on it cannot be satisfied.
    #[serde(default)]
    pub failed_for_good: bool,
    /// While blocked: held back by a patch or by its own actor, so that only `unblock_task` releases it.
    /// A task that is blocked by its dependencies alone is not held.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Why it is blocked, skipped or pending again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The plan version that brought it.
    pub version: u32,
    /// When it last started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it last settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// What its last attempt came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Conclusion>,
    /// The last report of its actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ProgressReport>,
    /// Its actor's TODO list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<crate::TodoItem>,
    /// What its actor does right now, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// The actor that was last made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<TaskActor>,
    /// The call by which another actor has taken it over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
}

/// The actor of a task, and why it is what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskActor {
    /// Its name in the run.
    pub actor: String,
    /// Its profile.
    pub profile: String,
    /// Its model.
    pub model: String,
    /// Its tools.
    pub tools: Vec<String>,
    /// The skills that it was given whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// How long its model thinks, if that is not the model's own setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// How many answers of the model it may use.
    pub max_steps: u32,
    /// Why this profile and these tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// How an attempt at a task ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conclusion {
    /// Whether the work was done.
    pub outcome: Outcome,
    /// What was done, or why not, in a few sentences.
    pub summary: String,
    /// The whole text that came back, where it is more than the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The structured result, which other tasks may refer to by a path; null where there is only text.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub result: Value,
    /// What was made: paths, addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// The beginning of what the last call of a tool showed that succeeded and did not only write: for the tasks after this one, where a small model did
    /// the work. Its summary says that it is done, and seldom what was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What kind of thing went wrong, where that decides what happens next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<FailureCause>,
    /// Commands by which the actor says that its work can be checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CommandCheck>,
    /// What the actor lacks to go on, where it is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
    /// Where the texts come from that it may have been made from and that nobody vouches for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
}

/// What kind of failure an attempt came to, where that decides what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The actor used up its steps.
    Steps,
    /// The model could not be used: unreachable, refused, no key.
    Model,
    /// A person or the approval mode does not allow what the task needs.
    Denied,
    /// The work was reported as done and a completion criterion does not hold.
    Criteria,
    /// What it did to files is left out, since it conflicts with what others did meanwhile.
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

/// How an attempt ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The work was done.
    Success,
    /// It was not.
    Failure,
    /// It was stopped before its end; it may go on later.
    Interrupted,
    /// A call was begun and nobody knows whether it took effect. Not retried without a decision.
    InDoubt,
}

/// What an actor says of its work while it goes on.
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
    pub fn new(spec: TaskSpec, version: u32) -> Self {
        Self {
            spec,
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
        }
    }
}

impl Conclusion {
    /// Returns the text that other tasks read: the whole text, or the summary if there is no other.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or(&self.summary)
    }
}
