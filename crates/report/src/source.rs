//! Input of a report.

use aime_progress_management::{ProgressEvent, ProgressState, RunId, Timestamp};

/// Data on a run. The report is a function of it.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// The run.
    pub run: &'a RunId,
    /// State of the run: the fold of its events.
    pub state: &'a ProgressState,
    /// All events in order, each with its time.
    pub events: Vec<(Timestamp, &'a ProgressEvent)>,
    /// Reason why it did not reach its goal, or why it was left.
    pub failure: Option<Failure>,
    /// Changes in its folder. Without this record, the report shows the changes that the file tools reported.
    pub files: Option<Vec<FileSource>>,
    /// Further remarks, for example on a damaged journal.
    pub notes: Vec<String>,
    /// Time at which the report is made.
    pub made_at: Timestamp,
}

/// Reason why a run did not reach its goal.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Failure {
    /// The kind of failure in one word.
    pub code: String,
    /// Description of the failure.
    pub message: String,
    /// Hint on how to correct it.
    pub hint: Option<String>,
}

/// Change of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSource {
    /// Path relative to the working folder; invalid UTF-8 is replaced.
    pub path: String,
    /// Tasks, or else tools, that may have changed it. Empty if the run did not.
    pub authors: Vec<String>,
    /// Content before the run.
    pub before: Content,
    /// Content that the run left.
    pub after: Content,
}

/// Content at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Nothing,
    /// A file with these bytes.
    File(Vec<u8>),
    /// A folder.
    Folder,
    /// A link to this target.
    Link(String),
    /// Content that is not shown, with the reason.
    Unknown(String),
}

/// Size of the largest file whose content a report compares, in bytes. A [`Source`] need not contain larger ones.
pub const MAX_COMPARED: u64 = 512 * 1024;
