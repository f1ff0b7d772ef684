//! What a run comes to.

use aime_progress::RunStatus;
use serde::{Deserialize, Serialize};

/// How a run ended, or was left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOutput {
    /// Where it stands.
    pub status: RunStatus,
    /// Why it did not reach its goal, or why it was left.
    pub error: Option<RunFailure>,
}

/// Why a run did not reach its goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFailure {
    /// What kind of failure.
    pub code: FailureCode,
    /// In words.
    pub message: String,
    /// How to mend it.
    pub hint: Option<String>,
}

/// The kinds of failure; each has its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// A person ended it for good.
    Cancelled,
    /// It was stopped.
    Interrupted,
    /// A fault in aime.
    Internal,
}
