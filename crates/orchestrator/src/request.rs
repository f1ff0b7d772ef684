//! Request of a run, and the means to watch and stop it.

use aime_llm::Image;
use aime_progress_management::{Plan, RunId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{LeadConversation, ModelUse, PublishedEvent, RunSettings};

/// The most images that a goal may have.
pub const MAX_GOAL_IMAGES: usize = 20;

/// Request of a run.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// Name of the run, unique in this journal.
    pub run: RunId,
    /// The goal.
    pub goal: String,
    /// Images that belong to the goal.
    pub images: Vec<Image>,
    /// A plan that a person handed over.
    pub plan: Option<Plan>,
    /// Model calls that the plan took, if [`Orchestrator::plan`](crate::Orchestrator::plan) made it. The run counts
    /// them as its own.
    pub planning: Vec<ModelUse>,
    /// Conversation of the lead that made the plan. The lead of the run continues it.
    pub conversation: Option<LeadConversation>,
    /// Settings of the run.
    pub settings: RunSettings,
}

impl RunRequest {
    /// Returns the request of a goal with the default settings.
    #[must_use]
    pub fn new(run: RunId, goal: impl Into<String>) -> Self {
        Self {
            run,
            goal: goal.into(),
            images: Vec::new(),
            plan: None,
            planning: Vec::new(),
            conversation: None,
            settings: RunSettings::default(),
        }
    }
}

/// Makes a request of this goal with a new run name.
impl From<String> for RunRequest {
    fn from(goal: String) -> Self {
        Self::new(new_run_id(), goal)
    }
}

/// Makes a request of this goal with a new run name.
impl From<&str> for RunRequest {
    fn from(goal: &str) -> Self {
        Self::from(goal.to_owned())
    }
}

/// Returns a new run name. Names sort by their time of creation.
#[must_use]
pub fn new_run_id() -> RunId {
    #[expect(clippy::expect_used, reason = "hexadecimal digits are an identifier")]
    RunId::new(uuid::Uuid::now_v7().simple().to_string()).expect("an identifier")
}

/// Lets a caller watch and stop a run.
#[derive(Debug, Clone)]
pub struct RunControl {
    /// Cancel it to stop the run so that it can be resumed.
    pub stop: CancellationToken,
    /// Receives every event once it is durable. The [`view`](crate::view) of the run has those from before a resume.
    pub events: mpsc::UnboundedSender<PublishedEvent>,
}

impl RunControl {
    /// Returns a control and the receiver of the events. The channel closes when the run ends.
    #[must_use]
    pub fn new() -> (Self, mpsc::UnboundedReceiver<PublishedEvent>) {
        let (events, watch) = mpsc::unbounded_channel();
        (Self { stop: CancellationToken::new(), events }, watch)
    }
}
