//! Errors of downloads.

use std::{io, path::PathBuf};

/// Reason why a model is missing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The model is missing, and downloads are disabled.
    #[error("{model} is not here ({} is missing), and offline mode forbids to fetch its {}", file.display(), shown_size(*.bytes))]
    Offline {
        /// The model.
        model: String,
        /// Size of the download, in bytes.
        bytes: u64,
        /// Path that its file would have.
        file: PathBuf,
    },
    /// The disk is too full.
    #[error("not enough space in {}: {} needed, {} free", folder.display(), shown_size(*.needed), shown_size(*.free))]
    NoSpace {
        /// The folder of models.
        folder: PathBuf,
        /// Required space, in bytes.
        needed: u64,
        /// Free space, in bytes.
        free: u64,
    },
    /// No source provided the pinned bytes.
    #[error("{model} could not be fetched{}{}", listed(.failures), rest(*.kept))]
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
    #[error("the folder {} for models cannot be made: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The lock against concurrent downloads of the model cannot be taken.
    #[error("{} cannot be locked: {source}", path.display())]
    Lock {
        /// Path of the lock.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// Source that did not provide the pinned bytes.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {error}")]
pub struct SourceFailure {
    /// Description of the source, for people.
    pub place: String,
    /// Reason of the failure.
    pub error: SourceError,
}

/// Reason why a source did not provide the pinned bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The server is unreachable.
    #[error("no connection: {reason}")]
    Unreachable {
        /// Error of the network.
        reason: String,
    },
    /// The server refuses the file.
    #[error("the server answered {status}")]
    Status {
        /// HTTP status and its meaning.
        status: String,
    },
    /// The server sends something other than the file.
    #[error("{reason}")]
    Answer {
        /// Description of the difference.
        reason: String,
    },
    /// The connection broke repeatedly without any new byte.
    #[error("it broke off after {} of {}: {reason}", shown_size(*.done), shown_size(*.total))]
    Cut {
        /// Number of bytes received.
        done: u64,
        /// Size of the file, in bytes.
        total: u64,
        /// Error of the network.
        reason: String,
    },
    /// The bytes are not the pinned ones.
    #[error("{what} is not what was pinned: SHA-256 {found}, expected {expected}; it was removed and nothing of it was used")]
    Checksum {
        /// File or part.
        what: String,
        /// Hash of the received bytes.
        found: String,
        /// Pinned hash.
        expected: String,
    },
    /// The package client is missing.
    #[error("the package client is missing: {reason} (install python3 with pip)")]
    NoClient {
        /// Commands that were tried.
        reason: String,
    },
    /// The package client failed to download a package.
    #[error("pip could not download {package}: {message}")]
    Client {
        /// The package.
        package: String,
        /// Last message of the client.
        message: String,
    },
    /// A wheel lacks the expected content.
    #[error("the wheel of {package} cannot be used: {reason}; it was removed and nothing of it was used")]
    Wheel {
        /// The package.
        package: String,
        /// Description of the fault.
        reason: String,
    },
    /// The disk is too full for this source, which temporarily needs more space.
    #[error("not enough space: {} needed, {} free", shown_size(*.needed), shown_size(*.free))]
    NoSpace {
        /// Required space, in bytes.
        needed: u64,
        /// Free space, in bytes.
        free: u64,
    },
}

impl SourceError {
    /// Returns true if the same server may provide the rest a moment later.
    pub(super) const fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Status { .. } | Self::Cut { .. })
    }
}

/// Reason to give up a source: its own failure, or a disk error that no other source can avoid.
#[derive(Debug)]
pub(super) enum Trouble {
    Source(SourceError),
    Disk(io::Error),
}

impl From<SourceError> for Trouble {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl From<io::Error> for Trouble {
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

fn listed(failures: &[SourceFailure]) -> String {
    failures.iter().map(|failure| format!("\n  {failure}")).collect()
}

fn rest(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { format!("\n  {} are kept for the next time", shown_size(bytes)) }
}
