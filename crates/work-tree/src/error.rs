//! Errors of work trees.

use std::path::PathBuf;

use aime_sandbox::{FileError, ProcessEnd, ProcessError};

use crate::NoCommit;

/// Reason why a state of a folder could not be recorded, transferred or merged.
#[derive(Debug, thiserror::Error)]
pub enum WorkTreeError {
    /// `git` could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// `git` failed.
    #[error("git could not {what}: {}", if stderr.is_empty() { format!("{end:?}") } else { stderr.clone() })]
    Git {
        /// Purpose of the command.
        what: &'static str,
        /// End of the command.
        end: ProcessEnd,
        /// Its output.
        stderr: String,
    },
    /// `git` printed more than the limit.
    #[error("git says too much when it is to {what}: {bytes} bytes")]
    TooMuch {
        /// Purpose of the command.
        what: &'static str,
        /// Size of the output in bytes.
        bytes: u64,
    },
    /// `git` printed no commit where one was expected.
    #[error(transparent)]
    Commit(#[from] NoCommit),
    /// A file of the repository, or of a bundle, could not be read or written.
    #[error("{path} cannot be used: {source}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A file of the folder could not be changed.
    #[error(transparent)]
    Entry(#[from] FileError),
    /// The changes exceed the maximum size of a transfer.
    #[error("what changed takes {bytes} bytes, and {most} may be handed over at once; let .gitignore name what need not travel")]
    TooLarge {
        /// Size in bytes.
        bytes: u64,
        /// Maximum in bytes.
        most: u64,
    },
    /// The folder contains files that no check-out has written, and a check-out would delete them.
    #[error("{folder} is not empty, and trees are checked out over what is in it: name an empty folder")]
    NotEmpty {
        /// Path of the folder.
        folder: PathBuf,
    },
    /// Another process uses the repository of the folder.
    #[error("another process works with the states of {folder}: let it end, or take another folder")]
    InUse {
        /// Path of the folder.
        folder: PathBuf,
    },
    /// Existing files that are part of no state would be overwritten.
    #[error("{} would be overwritten, and nobody knows what is in it: move it away", paths.join(", "))]
    InTheWay {
        /// Paths of the files.
        paths: Vec<String>,
    },
    /// A state from another host contains files that belong to one host only.
    #[error("{commit} holds {path}, which is of each host alone and is not taken")]
    NotTaken {
        /// The commit.
        commit: String,
        /// Path of such a file.
        path: String,
    },
    /// A file of a state is missing in the repository.
    #[error("the repository is not whole: {stderr}")]
    Incomplete {
        /// Output of `git`.
        stderr: String,
    },
    /// The bundle does not contain the expected commit.
    #[error("the bundle does not hold {commit}")]
    Missing {
        /// The commit.
        commit: String,
    },
}
