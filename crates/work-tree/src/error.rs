//! What may go wrong.

use std::path::PathBuf;

use aime_sandbox::{ProcessEnd, ProcessError};

use crate::NoCommit;

/// Why a state of a folder could not be taken, handed over or joined.
#[derive(Debug, thiserror::Error)]
pub enum WorkTreeError {
    /// `git` could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// `git` could not do it.
    #[error("git could not {what}: {}", if said.is_empty() { format!("{end:?}") } else { said.clone() })]
    Git {
        /// What it was to do.
        what: &'static str,
        /// How it ended.
        end: ProcessEnd,
        /// What it said.
        said: String,
    },
    /// `git` said more than is read.
    #[error("git says too much when it is to {what}: {bytes} bytes")]
    TooMuch {
        /// What it was to do.
        what: &'static str,
        /// How much.
        bytes: u64,
    },
    /// `git` named no commit where it should have.
    #[error(transparent)]
    Commit(#[from] NoCommit),
    /// A file of the repository, or of a bundle, could not be read or written.
    #[error("{path} cannot be used: {source}")]
    File {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The changes are more than may be handed over at once.
    #[error("what changed takes {bytes} bytes, and {most} may be handed over at once; let .gitignore name what need not travel")]
    TooLarge {
        /// How much.
        bytes: u64,
        /// The bound.
        most: u64,
    },
    /// The folder holds what was not put there by check-outs, and they would delete it.
    #[error("{folder} is not empty, and trees are checked out over what is in it: name an empty folder")]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
    },
    /// Another process works with the states of the folder.
    #[error("another process works with the states of {folder}: let it end, or take another folder")]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// What is there, and no state knows, would be overwritten.
    #[error("{} would be overwritten, and nobody knows what is in it: move it away", paths.join(", "))]
    InTheWay {
        /// The files.
        paths: Vec<String>,
    },
    /// A state of another host holds what is of this host alone.
    #[error("{commit} holds {path}, which is of each host alone and is not taken")]
    NotTaken {
        /// The commit.
        commit: String,
        /// What it holds.
        path: String,
    },
    /// A file of a state is not in the repository.
    #[error("the repository is not whole: {said}")]
    Incomplete {
        /// What `git` says.
        said: String,
    },
    /// The bundle does not hold the commit that it is said to hold.
    #[error("the bundle does not hold {commit}")]
    Missing {
        /// The commit.
        commit: String,
    },
}
