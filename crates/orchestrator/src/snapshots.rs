//! Snapshots of a run's machine, taken in parallel with the run, so that a long run is resumed without replaying all of
//! its facts.

use std::sync::{Mutex, PoisonError};

use aime_durable::{Journal, JournalError, RUN_STREAM};
use aime_progress_management::RunId;
use tokio::sync::Notify;

use crate::RunMachine;

/// Least number of facts between snapshots.
const MIN_FACTS: usize = 10_000;

/// Returns the number of facts from a snapshot to the next one, if the snapshot has so many facts before it. A resume replays at most these and
/// the few that arrive while a snapshot is taken.
///
/// A snapshot costs as much as the run is long. Because the distance grows with the run, all snapshots together cost at most five times as
/// much as one of the whole run.
#[must_use]
pub const fn facts_to_next_snapshot(before: usize) -> usize {
    let share = before / 4;
    if share > MIN_FACTS { share } else { MIN_FACTS }
}

/// Counts facts, and signals when a snapshot is due.
#[derive(Debug, Default)]
pub(crate) struct SnapshotsDue {
    facts: Mutex<Facts>,
    due: Notify,
}

/// Numbers of facts.
#[derive(Debug, Default)]
struct Facts {
    /// Before the last snapshot.
    before: usize,
    /// Since the last snapshot.
    since: usize,
}

impl SnapshotsDue {
    /// Starts with these numbers of facts before the last snapshot and since.
    pub(crate) fn after(before: usize, since: usize) -> Self {
        let due = Self { facts: Mutex::new(Facts { before, since: 0 }), due: Notify::new() };
        due.count(since);
        due
    }

    /// Adds newly durable facts.
    pub(crate) fn count(&self, facts: usize) {
        let mut known = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        known.since += facts;
        if known.since >= facts_to_next_snapshot(known.before) {
            known.before += std::mem::take(&mut known.since);
            self.due.notify_one();
        }
    }

    /// Returns the number of durable facts.
    pub(crate) fn facts(&self) -> usize {
        let known = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        known.before + known.since
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
