//! Interface to a person.

use aime_messages::Message;
use aime_progress_management::{QuestionId, TaskId};
use futures::future::BoxFuture;

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HumanQuestion {
    /// Unique in the run.
    pub id: QuestionId,
    /// `question`, `approval`, `escalation`, `blocked`, `criterion`.
    pub kind: String,
    /// The task that waits, if one does.
    pub task: Option<TaskId>,
    /// Text of the question.
    pub text: Message,
}

/// Asks people questions.
pub trait HumanChannel: Send + Sync {
    /// Asks and waits for the answer. Returns `None` if nobody is there now; the run is then suspended and holds no
    /// resources.
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>>;
}

/// A channel without a person: every question stays unanswered.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHuman;

impl HumanChannel for NoHuman {
    fn ask(&self, _: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { None })
    }
}
