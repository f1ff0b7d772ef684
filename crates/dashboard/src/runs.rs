//! What a dashboard shows, and what it passes on: whoever opens one gives it the runs.

use aime_report::ReportView;
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

/// The runs of a folder. What is given is without secrets.
pub trait Runs: Send + Sync + 'static {
    /// All of them, the latest first. Blocks while it reads.
    ///
    /// # Errors
    /// [`Refusal`] where they cannot be read.
    fn list(&self) -> Result<Vec<RunEntry>, Refusal>;

    /// One of them as it stands. Blocks while it reads.
    ///
    /// # Errors
    /// [`Refusal`], of the kind [`Problem::NotFound`] where there is no such run.
    fn look(&self, run: &str) -> Result<Looked, Refusal>;

    /// At most `most` events of a run, those with a number above `after`, in order. Blocks while it reads.
    ///
    /// # Errors
    /// [`Refusal`], as [`Runs::look`].
    fn events(&self, run: &str, after: u64, most: usize) -> Result<Vec<Event>, Refusal>;

    /// Says something to a run; gives what came of it in a sentence.
    fn act<'a>(&'a self, run: &'a str, act: Act) -> BoxFuture<'a, Result<String, Refusal>>;
}

/// A run in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunEntry {
    /// Its id.
    pub run_id: String,
    /// Where it stands, in one word.
    pub status: String,
    /// The goal, cut.
    pub goal: String,
    /// When it began: RFC 3339, UTC.
    pub created: String,
    /// When something was last written of it.
    pub updated: String,
}

/// A run as it stands.
#[derive(Debug, Clone)]
pub struct Looked {
    /// What is shown of it.
    pub view: ReportView,
    /// What it came to, or how it stands: `aime.result/v1`.
    pub result: Value,
    /// The questions that wait for a person, the first one first.
    pub questions: Vec<Asked>,
    /// The number of its last event.
    pub seq: u64,
    /// Whether a process carries it out now.
    pub driven: bool,
    /// Whether it has ended for good.
    pub over: bool,
}

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Unique in the run.
    pub id: String,
    /// `question`, `approval`, `escalation`.
    pub kind: String,
    /// Its words.
    pub question: String,
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its number, from 1, without gaps.
    pub seq: u64,
    /// `aime.event/v1`.
    pub document: Value,
}

/// What a person says to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// The answer to its first open question.
    Answer {
        /// The answer.
        text: String,
    },
    /// Something that nobody asked.
    Tell {
        /// The task whose actor is meant; the run itself without one.
        task: Option<String>,
        /// The words.
        text: String,
    },
    /// Stop, so that it can be resumed.
    Pause,
    /// End it for good, or take one task out of it.
    Cancel {
        /// The task; the whole run without one.
        task: Option<String>,
    },
}

/// Why something is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What kind of problem it is.
    pub problem: Problem,
    /// What failed.
    pub message: String,
    /// The mend.
    pub hint: Option<String>,
}

/// The kinds of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// There is no such run.
    NotFound,
    /// It cannot be done as things stand.
    Refused,
    /// Something is wrong here.
    Fault,
}
