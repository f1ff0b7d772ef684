//! The output of a run.

use aime_messages::Message;
use aime_progress_management::RunStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NextStep;

/// The end of a run, or the way it was suspended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOutput {
    /// Its status.
    pub status: RunStatus,
    /// The reason, if it did not reach its goal or was suspended.
    pub error: Option<RunFailure>,
}

/// The reason why a run did not reach its goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunFailure {
    /// The kind of failure.
    pub code: FailureCode,
    /// The failure in words.
    pub message: Message,
    /// The next step for the user, in words.
    pub hint: Option<Message>,
    /// The same for programs, which may word it with their own commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStep>,
}

impl RunFailure {
    /// Creates a failure whose hint is the next step, if there is one.
    #[must_use]
    pub fn new(code: FailureCode, message: impl Into<Message>, next: Option<NextStep>) -> Self {
        Self { code, message: message.into(), hint: next.as_ref().map(Message::text), next }
    }
}

/// The kinds of failure; each has its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureCode {
    /// The goal was not reached.
    GoalNotReached,
    /// The model could not be used.
    ModelUnavailable,
    /// A bound was reached.
    BoundReached,
    /// A person must answer.
    WaitingForHuman,
    /// A person ended the run permanently.
    Cancelled,
    /// The run was stopped.
    Interrupted,
    /// A fault in aime.
    Internal,
}
