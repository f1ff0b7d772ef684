//! The seam to a person.

use aime_progress::{QuestionId, TaskId};
use futures::future::BoxFuture;

/// A question on its way to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HumanQuestion {
    /// Unique in the run.
    pub id: QuestionId,
    /// `question`, `approval`, `escalation`.
    pub kind: String,
    /// The task that waits, if one does.
    pub task: Option<TaskId>,
    /// The words.
    pub text: String,
}

/// How people are asked.
pub trait HumanChannel: Send + Sync {
    /// Asks and waits for the answer. `None` when nobody is there now: the run is then left waiting, and holds nothing.
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>>;
}

/// Nobody is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyThere;

impl HumanChannel for NobodyThere {
    fn ask(&self, _: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { None })
    }
}
