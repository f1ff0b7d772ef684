//! What a dashboard shows, and what it passes on: whoever opens one gives it the runs.

use aime_report::ReportView;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The runs of one or several folders. What is given is without secrets. A run is named by its id, or, where it is of another folder than the first, by `FOLDER:ID`.
pub trait Runs: Send + Sync + 'static {
    /// The names of the folders in which runs may be started; the first is taken where none is named.
    fn folders(&self) -> Vec<String>;

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

    /// Whether a process carries it out now. It is asked often, and blocks while it looks.
    ///
    /// # Errors
    /// [`Refusal`], as [`Runs::look`].
    fn is_driven(&self, run: &str) -> Result<bool, Refusal>;

    /// At most `most` events of a run, those with a number above `after`, in order. Blocks while it reads.
    ///
    /// # Errors
    /// [`Refusal`], as [`Runs::look`].
    fn events(&self, run: &str, after: u64, most: usize) -> Result<Vec<Event>, Refusal>;

    /// What holds all of these words, in whatever case: goals and events, of the latest run first. Blocks while it reads.
    ///
    /// # Errors
    /// [`Refusal`] where the runs cannot be read.
    fn search(&self, words: &[String]) -> Result<Found, Refusal>;

    /// Begins a run, which goes on by itself; gives its name once it can be looked at.
    fn start(&self, new: NewRun) -> BoxFuture<'_, Result<String, Refusal>>;

    /// Says something to a run, or has it go on; gives what came of it in a sentence.
    fn act<'a>(&'a self, run: &'a str, act: Act) -> BoxFuture<'a, Result<String, Refusal>>;
}

/// A run that is to be started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRun {
    /// What is to be reached.
    pub goal: String,
    /// One of [`Runs::folders`].
    #[serde(default)]
    pub folder: Option<String>,
    /// How the goal is worked on; it is found out where none is named.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// What is done without asking; the settings say where none is named.
    #[serde(default)]
    pub approve: Option<Approve>,
}

/// How a goal is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// As the goal asks for.
    Auto,
    /// One actor.
    Direct,
    /// A few steps in a row.
    Simple,
    /// A graph of tasks.
    Complex,
    /// A few tasks that grow by what is found.
    Emergent,
}

/// What may be done without asking. That everything may is nothing that can be said from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approve {
    /// Reading.
    Ask,
    /// Reading, and writing files of the folder.
    Edits,
    /// Reading; nothing else is done at all.
    ReadOnly,
}

/// A run in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunEntry {
    /// How it is named here.
    pub run: String,
    /// Its id.
    pub run_id: String,
    /// The folder that it is of.
    pub folder: String,
    /// Where it stands, in one word.
    pub status: String,
    /// The goal, cut.
    pub goal: String,
    /// When it began: RFC 3339, UTC.
    pub created: String,
    /// When something was last written of it.
    pub updated: String,
}

/// What a search has found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The places, those of the latest run first.
    pub hits: Vec<Hit>,
    /// Whether there may be more: the search is bounded.
    pub more: bool,
}

/// A place that a search has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// How its run is named here.
    pub run: String,
    /// The goal of that run, cut.
    pub goal: String,
    /// The number of the event; 0 for the goal itself.
    pub seq: u64,
    /// The type of the event.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it was: RFC 3339, UTC.
    pub time: String,
    /// What stands around the first of the words.
    pub text: String,
}

/// A run as it stands.
#[derive(Debug, Clone)]
pub struct Looked {
    /// How it is named here.
    pub run: String,
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
    /// Whether it has ended and takes a follow-up.
    pub takes_follow_up: bool,
}

impl Looked {
    /// Whether nothing of it will change any more: it has ended, and whoever carried it out has put away what it kept.
    pub(crate) const fn is_settled(&self) -> bool {
        self.over && !self.driven
    }
}

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Unique in the run.
    pub id: String,
    /// `question`, `approval`, `escalation`.
    pub kind: String,
    /// The task that waits.
    pub task: Option<String>,
    /// Its words.
    pub question: String,
    /// Whether `always` is an answer to it.
    pub always: bool,
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its number, from 1, without gaps.
    pub seq: u64,
    /// `aime.event/v1`.
    pub document: Value,
}

/// What a person says to a run, or does with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// The answer to an open question.
    Answer {
        /// The question. Without one the first is meant; with one no other is answered, also where this one no longer waits.
        question: Option<String>,
        /// The answer.
        text: String,
        /// Whether a run that was left goes on then.
        resume: bool,
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
    /// Go on, where it was left.
    Resume,
    /// Go on after its end.
    Continue {
        /// The next goal.
        goal: String,
    },
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
    /// There is no such run or folder.
    NotFound,
    /// It cannot be done as things stand.
    Refused,
    /// Something is wrong here.
    Fault,
}
