//! Snapshots of a run's machine, taken in parallel with the run, so that a long run is resumed without replaying all of
//! its facts.

use std::sync::atomic::{AtomicUsize, Ordering};

use aime_durable::{Journal, JournalError, RUN_STREAM};
use aime_progress_management::RunId;
use tokio::sync::Notify;

use crate::RunMachine;

/// Number of facts between snapshots. A resume replays at most these and the few that arrive while a snapshot is taken.
pub const SNAPSHOT_FACTS: usize = 10_000;

/// Counts facts since the last snapshot, and signals when the next is due.
#[derive(Debug, Default)]
pub(crate) struct SnapshotsDue {
    facts: AtomicUsize,
    due: Notify,
}

impl SnapshotsDue {
    /// Starts with this number of facts since the last snapshot.
    pub(crate) fn after(facts: usize) -> Self {
        let due = Self::default();
        due.count(facts);
        due
    }

    /// Adds newly durable facts.
    pub(crate) fn count(&self, facts: usize) {
        if self.facts.fetch_add(facts, Ordering::Relaxed) + facts >= SNAPSHOT_FACTS {
            self.facts.store(0, Ordering::Relaxed);
            self.due.notify_one();
        }
    }

    /// Takes a snapshot whenever one is due, for as long as the future is polled. The run continues meanwhile: reading,
    /// replaying and serializing happen on a thread of their own.
    pub(crate) async fn take_whenever_due(&self, journal: &Journal, run: &RunId) {
        loop {
            self.due.notified().await;
            if let Err(error) = take(journal, run).await {
                tracing::warn!(%error, "no snapshot could be taken; the journal is whole, and a resume will take longer");
            }
        }
    }
}

async fn take(journal: &Journal, run: &RunId) -> Result<(), JournalError> {
    let (reader, name) = (journal.clone(), run.clone());
    let taken = tokio::task::spawn_blocking(move || reader.take_snapshot::<RunMachine>(name.as_str(), RUN_STREAM));
    match taken.await {
        Ok(Ok(Some(snapshot))) => journal.keep_snapshot(snapshot).await,
        Ok(Ok(None)) => Ok(()),
        Ok(Err(error)) => Err(error),
        Err(panic) => {
            tracing::warn!(%panic, "no snapshot could be taken");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
