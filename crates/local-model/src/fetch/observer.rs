//! What is told while a model is fetched.

use std::path::Path;

use super::SourceFailure;

/// Something that happened while a model is fetched.
#[derive(Debug)]
#[non_exhaustive]
pub enum FetchNews<'a> {
    /// Another process fetches the same model: this one waits for it.
    Waiting {
        /// The lock that the other holds.
        lock: &'a Path,
    },
    /// A source is asked.
    Asking {
        /// The source, for people.
        source: &'a str,
        /// Bytes that are here from before.
        kept: u64,
        /// Bytes of the file.
        total: u64,
    },
    /// More bytes are here. Told at most once for each mebibyte.
    Progress {
        /// Bytes that are here.
        done: u64,
        /// Bytes of the file.
        total: u64,
    },
    /// The connection broke; it is tried again.
    Again {
        /// Why.
        reason: &'a str,
    },
    /// What was kept from before was not right: it begins from nothing.
    BeginsAnew {
        /// The source, for people.
        source: &'a str,
    },
    /// A source failed.
    Failed {
        /// Which, and why.
        failure: &'a SourceFailure,
        /// The source that is asked next.
        next: Option<&'a str>,
    },
}

/// Is told what happens while a model is fetched. Called from async code: must not wait.
pub trait FetchObserver: Send + Sync {
    /// Something happened.
    fn tell(&self, news: &FetchNews<'_>);
}

/// Tells nobody.
impl FetchObserver for () {
    fn tell(&self, _: &FetchNews<'_>) {}
}
