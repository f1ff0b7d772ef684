//! What a run is asked for, and how it is watched and stopped.

use aime_llm::Image;
use aime_progress::{Plan, RunId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{ModelUse, PublishedEvent, RunSettings};

/// The most images that a goal may have.
pub const MAX_GOAL_IMAGES: usize = 20;

/// What is wanted.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The run's name, new in this journal.
    pub run: RunId,
    /// The goal.
    pub goal: String,
    /// Images that belong to the goal.
    pub images: Vec<Image>,
    /// A plan that a person handed over.
    pub plan: Option<Plan>,
    /// The model calls that the plan took, where [`Orchestrator::plan`](crate::Orchestrator::plan) made it: the run counts them as its own.
    pub planning: Vec<ModelUse>,
    /// How it works.
    pub settings: RunSettings,
}

impl RunRequest {
    /// A goal that is planned, with the default settings.
    #[must_use]
    pub fn new(run: RunId, goal: impl Into<String>) -> Self {
        Self { run, goal: goal.into(), images: Vec::new(), plan: None, planning: Vec::new(), settings: RunSettings::default() }
    }
}

/// A goal under a new name.
impl From<String> for RunRequest {
    fn from(goal: String) -> Self {
        Self::new(new_run_id(), goal)
    }
}

/// A goal under a new name.
impl From<&str> for RunRequest {
    fn from(goal: &str) -> Self {
        Self::from(goal.to_owned())
    }
}

/// Returns a new run name. Names sort by the time they were made at.
#[must_use]
pub fn new_run_id() -> RunId {
    #[expect(clippy::expect_used, reason = "hexadecimal digits are an identifier")]
    RunId::new(uuid::Uuid::now_v7().simple().to_string()).expect("an identifier")
}

/// How a caller watches and stops a run.
#[derive(Debug, Clone)]
pub struct RunControl {
    /// Cancel it to stop the run so that it can be resumed.
    pub stop: CancellationToken,
    /// Gets every event once it is durable. Those from before a resume stand in the [`view`](crate::view) of the run.
    pub events: mpsc::UnboundedSender<PublishedEvent>,
}

impl RunControl {
    /// A control, and where the events arrive. The channel ends with the run.
    #[must_use]
    pub fn new() -> (Self, mpsc::UnboundedReceiver<PublishedEvent>) {
        let (events, watch) = mpsc::unbounded_channel();
        (Self { stop: CancellationToken::new(), events }, watch)
    }
}
