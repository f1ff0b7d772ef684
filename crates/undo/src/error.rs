//! Why changes could not be kept, or not be put back.

use std::{
    io,
    path::{Path, PathBuf},
};

use aime_sandbox::FileError;

/// Why changes could not be kept, or not be put back.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// A file of the folder could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// What is kept could not be read or written.
    #[error("{} could not be {action}: {source}", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// What was tried, such as `read`.
        action: &'static str,
        /// The reason of the operating system.
        source: io::Error,
    },
    /// The disk is nearly full: what is left is the journal's.
    #[error("only {} MB are free on the disk", .free / 1_000_000)]
    NoSpace {
        /// In bytes.
        free: u64,
    },
    /// What is kept is not what was put there.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// A newer aime has written it.
    #[error("{} is of the form {found}, which this aime does not know; use a newer one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The form.
        found: String,
    },
    /// The task is at work: what it changes is not known before it ends.
    #[error("the task {task} is at work; it can be undone when it has ended")]
    AtWork {
        /// The task.
        task: String,
    },
    /// Changes are no longer kept.
    #[error("{reason}")]
    Lost {
        /// Why.
        reason: String,
    },
}

/// For `map_err`: an error of the store at a path.
pub(crate) fn store(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> UndoError {
    let path = path.to_path_buf();
    move |source| UndoError::Store { path, action, source }
}
