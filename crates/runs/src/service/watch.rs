//! Watches a run as it happens, whichever process drives it.

use std::time::Duration;

use aime_durable::Journal;
use aime_orchestrator::{Bounds, PublishedEvent, run_status};
use aime_progress_management::{ProgressEvent, RunId, RunStatus};

use super::Runs;
use crate::RunsError;

/// Polling interval: another process writes the journal.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// Number of consecutive polls without a new event after which the lock is checked for a driving process.
const IDLE_POLLS: u32 = 7;
/// Largest number of events that are read at once.
const MAX_EVENTS: usize = 500;

/// Run that is watched.
pub struct RunWatch<'a> {
    run: RunId,
    journal: Journal,
    runs: &'a Runs,
    /// Sequence number of the last event.
    last_event: u64,
    /// Number of consecutive polls without a new event.
    quiet: u32,
    /// True if it has ended for good.
    is_over: bool,
}

/// Update on a watched run.
#[derive(Debug)]
pub enum WatchUpdate {
    /// The next events, in order.
    Events(Vec<PublishedEvent>),
    /// There are no further events for now.
    Quiet {
        /// True if some process drives the run. If not, all its events were told; it may be resumed.
        driven: bool,
    },
}

impl Runs {
    /// Returns the watch of a run, from its first event.
    pub fn watch(&self, run: &RunId) -> Result<RunWatch<'_>, RunsError> {
        Ok(RunWatch { run: run.clone(), journal: self.setup.journal()?, runs: self, last_event: 0, quiet: 0, is_over: false })
    }
}

impl RunWatch<'_> {
    /// Returns the bounds of the run.
    pub fn bounds(&self) -> Result<Bounds, RunsError> {
        Ok(run_status(&self.journal, &self.run)?.bounds)
    }

    /// Waits for the next update.
    pub async fn next(&mut self) -> Result<WatchUpdate, RunsError> {
        loop {
            if self.quiet > 0 {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            // The check comes before the read, so that the read sees everything written until then.
            let driven = self.driven();
            let events = self.more()?;
            match driven {
                _ if !events.is_empty() => return Ok(WatchUpdate::Events(events)),
                Some(driven) => return Ok(WatchUpdate::Quiet { driven }),
                None => {}
            }
        }
    }

    /// Returns the events since the last poll.
    fn more(&mut self) -> Result<Vec<PublishedEvent>, RunsError> {
        let events = self.runs.events_in(&self.journal, &self.run, self.last_event, MAX_EVENTS)?;
        for event in &events {
            self.last_event = event.seq;
            if let ProgressEvent::RunStatusChanged { to, .. } = &event.event {
                self.is_over = matches!(to, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled);
            }
        }
        self.quiet = if events.is_empty() { self.quiet.saturating_add(1) } else { 0 };
        Ok(events)
    }

    /// Returns whether a process drives the run, or none if it is not time for that check.
    fn driven(&self) -> Option<bool> {
        if self.is_over {
            return Some(false);
        }
        (self.quiet % IDLE_POLLS == 1).then(|| self.runs.is_driven(&self.run))
    }
}
