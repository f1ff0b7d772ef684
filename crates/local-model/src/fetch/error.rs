//! Errors of downloads.

use std::{io, path::PathBuf};

use aime_messages::{Describe, Message, message};

/// Reason why a model is missing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The model is missing, and downloads are disabled.
    #[error("{}", self.describe())]
    Offline {
        /// The model.
        model: String,
        /// Size of the download, in bytes.
        bytes: u64,
        /// Path that its file would have.
        file: PathBuf,
    },
    /// The disk is too full.
    #[error("{}", self.describe())]
    NoSpace {
        /// The folder of models.
        folder: PathBuf,
        /// Required space, in bytes.
        needed: u64,
        /// Free space, in bytes.
        free: u64,
    },
    /// No source provided the pinned bytes.
    #[error("{}", self.describe())]
    AllFailed {
        /// The model.
        model: String,
        /// Failure of each source, in the order in which they were tried.
        failures: Vec<SourceFailure>,
        /// Number of downloaded bytes that are kept for the next attempt.
        kept: u64,
        /// Path that its file would have.
        file: PathBuf,
    },
    /// The folder of models cannot be created.
    #[error("{}", self.describe())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The lock against concurrent downloads of the model cannot be taken.
    #[error("{}", self.describe())]
    Lock {
        /// Path of the lock.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("{}", self.describe())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// Source that did not provide the pinned bytes.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.describe())]
pub struct SourceFailure {
    /// Description of the source, for people.
    pub place: Message,
    /// Reason of the failure.
    pub error: SourceError,
}

/// Reason why a source did not provide the pinned bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The server is unreachable.
    #[error("{}", self.describe())]
    Unreachable {
        /// Error of the network.
        reason: String,
    },
    /// The server refuses the file.
    #[error("{}", self.describe())]
    Status {
        /// HTTP status and its meaning.
        status: String,
    },
    /// The server sends something other than the file.
    #[error("{}", self.describe())]
    Answer {
        /// Description of the difference.
        reason: String,
    },
    /// The connection broke repeatedly without any new byte.
    #[error("{}", self.describe())]
    Cut {
        /// Number of bytes received.
        done: u64,
        /// Size of the file, in bytes.
        total: u64,
        /// Error of the network.
        reason: String,
    },
    /// The bytes are not the pinned ones.
    #[error("{}", self.describe())]
    Checksum {
        /// File or part.
        what: String,
        /// Hash of the received bytes.
        found: String,
        /// Pinned hash.
        expected: String,
    },
    /// The package client is missing.
    #[error("{}", self.describe())]
    NoClient {
        /// Commands that were tried.
        reason: String,
    },
    /// The package client failed to download a package.
    #[error("{}", self.describe())]
    Client {
        /// The package.
        package: String,
        /// Last message of the client.
        message: String,
    },
    /// A wheel lacks the expected content.
    #[error("{}", self.describe())]
    Wheel {
        /// The package.
        package: String,
        /// Description of the fault.
        reason: String,
    },
    /// The disk is too full for this source, which temporarily needs more space.
    #[error("{}", self.describe())]
    NoSpace {
        /// Required space, in bytes.
        needed: u64,
        /// Free space, in bytes.
        free: u64,
    },
}

impl Describe for FetchError {
    fn describe(&self) -> Message {
        match self {
            Self::Offline { model, bytes, file } => message!("fetch-offline", model, file = file.display(), size = shown_size(*bytes)),
            Self::NoSpace { folder, needed, free } => {
                message!("fetch-full", folder = folder.display(), needed = shown_size(*needed), free = shown_size(*free))
            }
            Self::AllFailed { model, failures, kept, .. } => {
                let mut lines = vec![message!("fetch-all-failed", model)];
                lines.extend(failures.iter().map(Describe::describe));
                lines.extend((*kept > 0).then(|| message!("fetch-kept", size = shown_size(*kept))));
                Message::lines(&lines)
            }
            Self::Folder { folder, source } => message!("fetch-folder", folder = folder.display(), error = source),
            Self::Lock { path, source } => message!("fetch-lock", file = path.display(), error = source),
            Self::Write { path, source } => message!("not-written", file = path.display(), reason = source),
        }
    }
}

impl Describe for SourceFailure {
    fn describe(&self) -> Message {
        message!("fetch-from", place = self.place, reason = self.error.describe())
    }
}

impl Describe for SourceError {
    fn describe(&self) -> Message {
        match self {
            Self::Unreachable { reason } => message!("fetch-no-connection", why = reason),
            Self::Status { status } => message!("fetch-status", status),
            Self::Answer { reason } => Message::text(reason),
            Self::Cut { done, total, reason } => {
                message!("fetch-broke", done = shown_size(*done), total = shown_size(*total), why = reason)
            }
            Self::Checksum { what, found, expected } => message!("fetch-checksum", what, found, expected),
            Self::NoClient { reason } => message!("fetch-no-client", why = reason),
            Self::Client { package, message } => message!("fetch-pip", package, why = message),
            Self::Wheel { package, reason } => message!("fetch-wheel", package, reason),
            Self::NoSpace { needed, free } => message!("fetch-no-space", needed = shown_size(*needed), free = shown_size(*free)),
        }
    }
}

impl SourceError {
    /// Returns true if the same server may provide the rest a moment later.
    pub(super) const fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Status { .. } | Self::Cut { .. })
    }
}

/// Reason to give up a source: its own failure, or a disk error that no other source can avoid.
#[derive(Debug)]
pub(super) enum SourceAbort {
    Source(SourceError),
    Disk(io::Error),
}

impl From<SourceError> for SourceAbort {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl From<io::Error> for SourceAbort {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

/// Formats a size for people: `1.12 GB`, `52 MB`.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn shown_size(bytes: u64) -> String {
    match bytes {
        1_000_000_000.. => format!("{:.2} GB", bytes as f64 / 1e9),
        1_000_000.. => format!("{} MB", bytes / 1_000_000),
        1_000.. => format!("{} kB", bytes / 1_000),
        _ => format!("{bytes} bytes"),
    }
}
