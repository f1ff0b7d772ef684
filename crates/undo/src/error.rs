//! Errors of recording and undoing.

use std::{
    io,
    path::{Path, PathBuf},
};

use aime_durable::ContentError;
use aime_messages::{Describe, Message, message};
use aime_sandbox::FileError;

/// Reason why changes could not be recorded or undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// A file of the folder could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A content could not be stored, or is missing or damaged.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The undo data could not be read or written.
    #[error("{}", self.describe())]
    Store {
        /// Path of the file.
        path: PathBuf,
        /// Attempted action, such as `read`.
        action: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The disk is nearly full: the remaining space is reserved for the journal.
    #[error("{}", self.describe())]
    NoSpace {
        /// Free space in bytes.
        free: u64,
    },
    /// Stored data has been damaged.
    #[error("{}", self.describe())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
    },
    /// A newer version of aime has written the file.
    #[error("{}", self.describe())]
    Newer {
        /// Path of the file.
        path: PathBuf,
        /// Schema version of the file.
        found: String,
    },
    /// The task is still running: its changes are unknown until it ends.
    #[error("{}", self.describe())]
    AtWork {
        /// Id of the task.
        task: String,
    },
    /// Recording has stopped.
    #[error("{}", self.describe())]
    Lost {
        /// Reason.
        reason: Message,
    },
}

impl Describe for UndoError {
    fn describe(&self) -> Message {
        match self {
            Self::File(error) => error.describe(),
            Self::Content(error) => error.describe(),
            Self::Store { path, action, source } => message!("file-failed", path = path.display(), action, error = source),
            Self::NoSpace { free } => message!("undo-no-space", megabytes = free / 1_000_000),
            Self::Damaged { path } => message!("undo-damaged", path = path.display()),
            Self::Newer { path, found } => message!("undo-newer", path = path.display(), schema = found),
            Self::AtWork { task } => message!("undo-task-running", task),
            Self::Lost { reason } => reason.clone(),
        }
    }
}

/// Returns a function for `map_err` that wraps an error of the store at a path.
pub(crate) fn store(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> UndoError {
    let path = path.to_path_buf();
    move |source| UndoError::Store { path, action, source }
}
