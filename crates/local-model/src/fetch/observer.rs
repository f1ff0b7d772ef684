//! Progress reports of downloads.

use std::path::Path;

use aime_messages::Message;

use super::SourceFailure;

/// An event of a download.
#[derive(Debug)]
#[non_exhaustive]
pub enum FetchEvent<'a> {
    /// Another process downloads the same model, and this one waits for it.
    Waiting {
        /// Lock that the other process holds.
        lock: &'a Path,
    },
    /// A source is being asked.
    Asking {
        /// Description of the source, for people.
        source: &'a Message,
        /// Number of bytes from an earlier download.
        kept: u64,
        /// Size of the file, in bytes.
        total: u64,
    },
    /// More bytes have arrived. Reported at most once per mebibyte.
    Progress {
        /// Number of bytes received.
        done: u64,
        /// Size of the file, in bytes.
        total: u64,
    },
    /// The connection broke and is retried.
    Again {
        /// Reason of the break.
        reason: &'a Message,
    },
    /// The bytes of an earlier download were wrong, so the download starts over.
    BeginsAnew {
        /// Description of the source, for people.
        source: &'a Message,
    },
    /// A source failed.
    Failed {
        /// The source, with its failure.
        failure: &'a SourceFailure,
        /// Next source, if there is one.
        next: Option<&'a Message>,
    },
}

/// Receives the events of a download. The methods are called from async code and must not block.
pub trait FetchObserver: Send + Sync {
    /// Receives one event.
    fn on_event(&self, event: &FetchEvent<'_>);
}

/// Ignores all events.
impl FetchObserver for () {
    fn on_event(&self, _: &FetchEvent<'_>) {}
}
