//! Errors of work trees.

use std::path::PathBuf;

use aime_messages::{Describe, Message, message};
use aime_sandbox::{FileError, ProcessEnd, ProcessError};

use crate::{NoCommit, git::OLDEST};

/// Reason why a state of a folder could not be recorded, transferred or merged.
#[derive(Debug, thiserror::Error)]
pub enum WorkTreeError {
    /// `git` could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// There is no `git` that is new enough to merge states.
    #[error("{}", self.describe())]
    GitVersion {
        /// Version of the `git` that is there; `None` without one.
        found: Option<String>,
    },
    /// `git` failed.
    #[error("{}", self.describe())]
    Git {
        /// Its command, such as `read-tree`.
        command: String,
        /// Its exit code.
        code: i32,
        /// Its output on standard error.
        stderr: String,
    },
    /// `git` was killed or exceeded its time limit.
    #[error("{}", self.describe())]
    Killed {
        /// Its command.
        command: String,
        /// End of the command.
        end: ProcessEnd,
    },
    /// `git` printed more than the limit.
    #[error("{}", self.describe())]
    TooMuch {
        /// Its command.
        command: String,
        /// Size of the output in bytes.
        bytes: u64,
    },
    /// `git` printed no commit where one was expected.
    #[error(transparent)]
    Commit(#[from] NoCommit),
    /// A file of the repository, or of a bundle, could not be read or written.
    #[error("{}", self.describe())]
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
    #[error("{}", self.describe())]
    TooLarge {
        /// Size in bytes.
        bytes: u64,
        /// Maximum in bytes.
        most: u64,
    },
    /// The folder contains files that no check-out has written, and a check-out would delete them.
    #[error("{}", self.describe())]
    NotEmpty {
        /// Path of the folder.
        folder: PathBuf,
    },
    /// Another process uses the repository of the folder.
    #[error("{}", self.describe())]
    InUse {
        /// Path of the folder.
        folder: PathBuf,
    },
    /// Existing files that are part of no state would be overwritten.
    #[error("{}", self.describe())]
    InTheWay {
        /// Paths of the files.
        paths: Vec<String>,
    },
    /// A state from another host contains files that belong to one host only.
    #[error("{}", self.describe())]
    NotTaken {
        /// The commit.
        commit: String,
        /// Path of such a file.
        path: String,
    },
    /// A file of a state is missing in the repository.
    #[error("{}", self.describe())]
    Incomplete {
        /// Output of `git`.
        stderr: String,
    },
    /// The bundle does not contain the expected commit.
    #[error("{}", self.describe())]
    Missing {
        /// The commit.
        commit: String,
    },
}

impl Describe for WorkTreeError {
    fn describe(&self) -> Message {
        let needed = || format!("{}.{}", OLDEST.0, OLDEST.1);
        match self {
            Self::Process(error) => error.describe(),
            Self::GitVersion { found: Some(found) } => message!("git-too-old", found, needed = needed()),
            Self::GitVersion { found: None } => message!("git-missing", needed = needed()),
            Self::Git { command, code, stderr } if stderr.is_empty() => message!("git-exit-code", command, code),
            Self::Git { command, stderr, .. } => message!("git-failed", command, error = stderr),
            Self::Killed { command, end: ProcessEnd::TimedOut } => message!("git-slow", command),
            Self::Killed { command, .. } => message!("git-killed", command),
            Self::TooMuch { command, bytes } => message!("git-output", command, bytes),
            Self::Commit(error) => Message::text(error),
            Self::File { path, source } => message!("file-unusable", path = path.display(), error = source),
            Self::Entry(error) => error.describe(),
            Self::TooLarge { bytes, most } => message!("git-changes-too-large", bytes, most),
            Self::NotEmpty { folder } => message!("git-folder-not-empty", folder = folder.display()),
            Self::InUse { folder } => message!("git-folder-in-use", folder = folder.display()),
            Self::InTheWay { paths } => message!("git-in-the-way", paths = paths.join(", ")),
            Self::NotTaken { commit, path } => message!("git-not-taken", commit, path),
            Self::Incomplete { stderr } => message!("git-incomplete", error = stderr),
            Self::Missing { commit } => message!("git-no-commit", commit),
        }
    }
}
