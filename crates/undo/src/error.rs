//! Errors of recording and undoing.

use std::{
    io,
    path::{Path, PathBuf},
};

use aime_durable::ContentError;
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
    #[error("{} could not be {action}: {source}", path.display())]
    Store {
        /// Path of the file.
        path: PathBuf,
        /// Attempted action, such as `read`.
        action: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The disk is nearly full: the remaining space is reserved for the journal.
    #[error("only {} MB are free on the disk", .free / 1_000_000)]
    NoSpace {
        /// Free space in bytes.
        free: u64,
    },
    /// Stored data has been damaged.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
    },
    /// A newer version of aime has written the file.
    #[error("{} is of the form {found}, which this aime does not know; use a newer one", path.display())]
    Newer {
        /// Path of the file.
        path: PathBuf,
        /// Schema version of the file.
        found: String,
    },
    /// The task is still running: its changes are unknown until it ends.
    #[error("the task {task} is at work; it can be undone when it has ended")]
    AtWork {
        /// Id of the task.
        task: String,
    },
    /// Recording has stopped.
    #[error("{reason}")]
    Lost {
        /// Reason.
        reason: String,
    },
}

/// Returns a function for `map_err` that wraps an error of the store at a path.
pub(crate) fn store(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> UndoError {
    let path = path.to_path_buf();
    move |source| UndoError::Store { path, action, source }
}
