//! Interface between the dashboard and the program that opens it, which provides the runs.

use aime_report::ReportView;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Runs of one or several folders. Everything returned is free of secrets. A run is named by its id or, if it is not in the first folder,
/// by `FOLDER:ID`.
pub trait Runs: Send + Sync + 'static {
    /// Returns the names of the folders in which runs may be started; the first one is the default.
    fn folders(&self) -> Vec<String>;

    /// Returns all runs, newest first, and the folders that cannot be read. Blocks while it reads.
    ///
    /// # Errors
    /// [`Refusal`] if no folder can be read.
    fn list(&self) -> Result<RunList, Refusal>;

    /// Returns the present state of a run. Blocks while it reads.
    ///
    /// # Errors
    /// [`Refusal`], of the kind [`Problem::NotFound`] if the run does not exist.
    fn details(&self, run: &str) -> Result<RunDetails, Refusal>;

    /// Returns true if a process drives the run now. It is called often, and blocks while it checks.
    ///
    /// # Errors
    /// [`Refusal`], as [`Runs::details`].
    fn is_driven(&self, run: &str) -> Result<bool, Refusal>;

    /// Returns at most `most` events of a run, in order, with numbers above `after`. Blocks while it reads.
    ///
    /// # Errors
    /// [`Refusal`], as [`Runs::details`].
    fn events(&self, run: &str, after: u64, most: usize) -> Result<Vec<Event>, Refusal>;

    /// Searches goals and events for all of these words, ignoring case. Hits of the newest run come first. Blocks while it reads.
    ///
    /// # Errors
    /// [`Refusal`] if no folder can be read.
    fn search(&self, words: &[String]) -> Result<Found, Refusal>;

    /// Starts a run, which continues by itself. Returns its name once it can be read.
    fn start(&self, new: NewRun) -> BoxFuture<'_, Result<String, Refusal>>;

    /// Starts to plan a goal for a review, without running anything. Returns the name of the draft.
    fn plan(&self, new: NewRun) -> BoxFuture<'_, Result<String, Refusal>>;

    /// Returns the drafts that wait for a review, newest first.
    fn drafts(&self) -> Vec<Draft>;

    /// Returns the present state of a draft.
    ///
    /// # Errors
    /// [`Refusal`], of the kind [`Problem::NotFound`] if the draft does not exist or was run.
    fn draft(&self, draft: &str) -> Result<Draft, Refusal>;

    /// Runs a draft, has it planned again, or drops it. Returns the name of the run if one was started.
    fn review<'a>(&'a self, draft: &'a str, review: PlanReview) -> BoxFuture<'a, Result<Option<String>, Refusal>>;

    /// Sends a message or command to a run. Returns the outcome in a sentence.
    fn act<'a>(&'a self, run: &'a str, act: Act) -> BoxFuture<'a, Result<String, Refusal>>;
}

/// Request for a new run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRun {
    /// The goal.
    pub goal: String,
    /// One of [`Runs::folders`]; the first one if absent.
    #[serde(default)]
    pub folder: Option<String>,
    /// Planning mode; derived from the goal if absent.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// Approval mode; taken from the settings if absent.
    #[serde(default)]
    pub approve: Option<Approve>,
}

/// Planning mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Derived from the goal.
    Auto,
    /// One actor.
    Direct,
    /// A short sequence of steps.
    Simple,
    /// A graph of tasks.
    Complex,
    /// A few tasks, extended by what they find.
    Emergent,
}

/// Approval mode. Deliberately, the dashboard has no mode that allows everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approve {
    /// Reading needs no consent.
    Ask,
    /// Reading, and writing files of the folder, need no consent.
    Edits,
    /// Reading only; everything else is forbidden.
    ReadOnly,
}

/// Plan that waits for a person's review. Nothing of it has run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Draft {
    /// Name of the draft, and of the run that it may become.
    pub draft: String,
    /// The goal.
    pub goal: String,
    /// True while the planner works.
    pub planning: bool,
    /// The plan, once there is one: `aime.plan/v1`.
    pub plan: Option<Value>,
    /// Estimate of its use.
    pub forecast: Option<PlanForecast>,
    /// Reason why the last planning failed. The plan before it stays.
    pub failure: Option<Refusal>,
}

/// Estimate of what a plan will use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanForecast {
    /// Requests to models.
    pub requests: u64,
    /// Tokens sent and received.
    pub tokens: u64,
    /// Price in US dollars, if it is known.
    pub cost_usd: Option<f64>,
    /// The estimate and its source in a sentence.
    pub text: String,
}

/// Review of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanReview {
    /// The plan as the person edited it, as JSON; unchanged if absent.
    pub plan: Option<String>,
    /// Decision of the person.
    pub verdict: ReviewVerdict,
}

/// Outcome of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewVerdict {
    /// Run the plan.
    Run,
    /// Have the planner change the plan as these comments say.
    Comment(String),
    /// Drop the plan.
    Drop,
}

/// List of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RunList {
    /// The runs, newest first.
    pub runs: Vec<RunEntry>,
    /// Folders whose runs are missing.
    pub unreadable: Vec<UnreadableFolder>,
}

/// Folder whose runs cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadableFolder {
    /// Name of the folder.
    pub folder: String,
    /// Reason why it cannot be read.
    #[serde(flatten)]
    pub reason: Refusal,
}

/// A run in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunEntry {
    /// Name of the run in the dashboard.
    pub run: String,
    /// Id of the run.
    pub run_id: String,
    /// Folder of the run.
    pub folder: String,
    /// Status in one word.
    pub status: String,
    /// Goal, truncated.
    pub goal: String,
    /// Start time: RFC 3339, UTC.
    pub created: String,
    /// Time of the last record.
    pub updated: String,
}

/// Result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Hits, those of the newest run first.
    pub hits: Vec<Hit>,
    /// True if there may be more hits than the limit allows.
    pub more: bool,
    /// Folders that were not searched.
    pub unreadable: Vec<UnreadableFolder>,
}

/// Hit of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// Name of its run in the dashboard.
    pub run: String,
    /// Goal of that run, truncated.
    pub goal: String,
    /// Number of the event; 0 for the goal itself.
    pub seq: u64,
    /// Type of the event.
    #[serde(rename = "type")]
    pub kind: String,
    /// Time of the event: RFC 3339, UTC.
    pub time: String,
    /// Text around the first match.
    pub text: String,
}

/// State of a run.
#[derive(Debug, Clone)]
pub struct RunDetails {
    /// Name of the run in the dashboard.
    pub run: String,
    /// Content of its report.
    pub view: ReportView,
    /// Its result, or its present state: `aime.result/v1`.
    pub result: Value,
    /// Open questions, oldest first.
    pub questions: Vec<OpenQuestion>,
    /// Number of its last event.
    pub seq: u64,
    /// True if a process drives it now.
    pub driven: bool,
    /// True if it has ended for good.
    pub is_over: bool,
    /// True if it has ended and accepts a follow-up goal.
    pub takes_follow_up: bool,
}

impl RunDetails {
    /// Returns the id of this state for a page: the number of the last event, and whether a process drives the run.
    pub(crate) fn state_id(&self) -> String {
        format!("{}{}", self.seq, if self.driven { "" } else { "-left" })
    }

    /// Returns true if nothing of it will change any more: it has ended, and no process drives it.
    pub(crate) const fn is_settled(&self) -> bool {
        self.is_over && !self.driven
    }
}

/// Question that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenQuestion {
    /// Id, unique in the run.
    pub id: String,
    /// `question`, `approval`, `escalation`, `blocked`, `criterion`.
    pub kind: String,
    /// Task that waits.
    pub task: Option<String>,
    /// Text of the question.
    pub question: String,
    /// True if `always` is a valid answer.
    pub always: bool,
}

/// Event of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its number, from 1, without gaps.
    pub seq: u64,
    /// `aime.event/v1`.
    pub document: Value,
}

/// Message or command of a person to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Answer an open question.
    Answer {
        /// Id of the question. Without one, the first open question is answered. With one, no other is, even if it is no longer open.
        question: Option<String>,
        /// The answer.
        text: String,
        /// True if a suspended run is resumed afterwards.
        resume: bool,
    },
    /// Send an unasked message.
    Tell {
        /// Task whose actor gets the message; the run itself if absent.
        task: Option<String>,
        /// Text of the message.
        text: String,
    },
    /// Stop the run so that it can be resumed.
    Pause,
    /// Resume a run that was suspended.
    Resume,
    /// Continue an ended run.
    Continue {
        /// The next goal.
        goal: String,
    },
    /// Cancel the run for good, or one of its tasks.
    Cancel {
        /// Task to cancel; the whole run if absent.
        task: Option<String>,
    },
}

/// Reason why an action fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Kind of problem.
    #[serde(skip)]
    pub problem: Problem,
    /// Description of the failure.
    pub message: String,
    /// Hint on how to correct it.
    pub hint: Option<String>,
}

/// Kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// The body of the request is no valid document.
    Invalid,
    /// There is no such run or folder.
    NotFound,
    /// The request lacks something, or the present state does not permit the action.
    Refused,
    /// The server has a fault.
    Fault,
}
