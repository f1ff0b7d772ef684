//! What a report is made from.

use aime_progress::{ProgressEvent, ProgressState, RunId, Timestamp};

/// What is known of a run: the report is a function of it.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// The run.
    pub run: &'a RunId,
    /// Where it stands: the fold of its events.
    pub state: &'a ProgressState,
    /// All that happened, in order, each with its time.
    pub events: Vec<(Timestamp, &'a ProgressEvent)>,
    /// Why it did not reach its goal, or why it was left.
    pub failure: Option<Failure>,
    /// What it changed in its folder; none where that was not kept, and then what its file tools told is shown.
    pub files: Option<Vec<FileSource>>,
    /// What else is to be said, such as that the journal is damaged.
    pub notes: Vec<String>,
    /// When the report is made.
    pub made_at: Timestamp,
}

/// Why a run did not reach its goal.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Failure {
    /// The kind of failure in one word.
    pub code: String,
    /// In words.
    pub message: String,
    /// How to mend it.
    pub hint: Option<String>,
}

/// What became of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSource {
    /// Relative to the working folder; what is no UTF-8 in it is replaced.
    pub path: String,
    /// The tasks, or else the tools, that may have changed it; nobody of the run where it is empty.
    pub by: Vec<String>,
    /// What stood there before the run.
    pub before: Content,
    /// What the run left there.
    pub after: Content,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Nothing,
    /// A file with these bytes.
    File(Vec<u8>),
    /// A folder.
    Folder,
    /// A link to this place.
    Link(String),
    /// Something whose content is not shown, and why.
    Unknown(String),
}

/// The largest file whose content a report compares, in bytes. Whoever makes a [`Source`] need not read larger ones.
pub const MAX_COMPARED: u64 = 512 * 1024;
