//! Why a model could not be fetched.

use std::{io, path::PathBuf};

/// Why a model is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// It is not here, and nothing may be fetched.
    #[error("{model} is not here ({} is missing), and offline mode forbids to fetch its {}", file.display(), shown_size(*.bytes))]
    Offline {
        /// The model.
        model: String,
        /// Bytes that would be fetched.
        bytes: u64,
        /// Where its file would be.
        file: PathBuf,
    },
    /// The disk is too full.
    #[error("not enough space in {}: {} needed, {} free", folder.display(), shown_size(*.needed), shown_size(*.free))]
    NoSpace {
        /// The folder of models.
        folder: PathBuf,
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// No source gave the pinned bytes.
    #[error("{model} could not be fetched{}{}", listed(.failures), rest(*.kept))]
    AllFailed {
        /// The model.
        model: String,
        /// Why each source failed, in the order in which they were asked.
        failures: Vec<SourceFailure>,
        /// Bytes that were fetched and are kept for the next time.
        kept: u64,
        /// Where its file would be.
        file: PathBuf,
    },
    /// The folder of models cannot be made.
    #[error("the folder {} for models cannot be made: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The reason of the operating system.
        source: io::Error,
    },
    /// The lock that keeps others from fetching the same model cannot be taken.
    #[error("{} cannot be locked: {source}", path.display())]
    Lock {
        /// The lock.
        path: PathBuf,
        /// The reason of the operating system.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason of the operating system.
        source: io::Error,
    },
}

/// A source that did not give the pinned bytes.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {error}")]
pub struct SourceFailure {
    /// Which source, for people.
    pub place: String,
    /// Why it failed.
    pub error: SourceError,
}

/// Why a source did not give the pinned bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// No connection.
    #[error("no connection: {reason}")]
    Unreachable {
        /// What the network said.
        reason: String,
    },
    /// The server does not give the file.
    #[error("the server answered {status}")]
    Status {
        /// The HTTP status and its meaning.
        status: String,
    },
    /// The server gives something else.
    #[error("{reason}")]
    Answer {
        /// What is wrong with it.
        reason: String,
    },
    /// The connection broke before the end, more than once without a further byte.
    #[error("it broke off after {} of {}: {reason}", shown_size(*.done), shown_size(*.total))]
    Cut {
        /// Bytes that are here.
        done: u64,
        /// Bytes of the file.
        total: u64,
        /// What the network said.
        reason: String,
    },
    /// The bytes are not the pinned ones.
    #[error("{what} is not what was pinned: SHA-256 {found}, expected {expected}; it was removed and nothing of it was used")]
    Checksum {
        /// The file or part.
        what: String,
        /// What its bytes hash to.
        found: String,
        /// What they must hash to.
        expected: String,
    },
    /// The package client is not there.
    #[error("the package client is missing: {reason} (install python3 with pip)")]
    NoClient {
        /// What was tried.
        reason: String,
    },
    /// The package client did not download a package.
    #[error("pip could not download {package}: {message}")]
    Client {
        /// The package.
        package: String,
        /// What it said last.
        message: String,
    },
    /// A wheel does not hold what it should.
    #[error("the wheel of {package} cannot be used: {reason}; it was removed and nothing of it was used")]
    Wheel {
        /// The package.
        package: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The disk is too full for this source, which needs more for a while.
    #[error("not enough space: {} needed, {} free", shown_size(*.needed), shown_size(*.free))]
    NoSpace {
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
}

impl SourceError {
    /// Whether the same server may give the rest a moment later.
    pub(super) const fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Status { .. } | Self::Cut { .. })
    }
}

/// Why a source was left: its own failure, or one of the disk, that no other source mends.
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

/// Bytes for people: `1.12 GB`, `52 MB`.
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
