//! The live states of many runs, safe to read from any thread.

use std::sync::Arc;

use dashmap::{DashMap, Entry};

use crate::{FoldError, ProgressEvent, ProgressState, RunId, Timestamp};

/// The current state of each run. Reading returns an immutable snapshot behind an [`Arc`] and holds no lock.
#[derive(Debug, Default)]
pub struct LiveStore {
    runs: DashMap<RunId, Arc<ProgressState>>,
}

/// Reason why an event was not applied.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// The run is not in the store.
    #[error("the run {:?} is not live", .run.as_str())]
    UnknownRun {
        /// The run.
        run: RunId,
    },
    /// The event does not follow from the state.
    #[error("the event does not follow from the state of the run {:?}", .run.as_str())]
    Fold {
        /// The run.
        run: RunId,
        /// The error of the fold.
        source: FoldError,
    },
}

impl LiveStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the current state of a run.
    #[must_use]
    pub fn get(&self, run: &RunId) -> Option<Arc<ProgressState>> {
        self.runs.get(run).map(|state| Arc::clone(state.value()))
    }

    /// Sets the state of a run that was folded elsewhere, for example by a resume. Returns the previous state.
    pub fn insert(&self, run: RunId, state: impl Into<Arc<ProgressState>>) -> Option<Arc<ProgressState>> {
        self.runs.insert(run, state.into())
    }

    /// Applies an event and returns the new state. A `run_started` starts a new run. Events of one run are applied one
    /// after the other, also from several threads.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the run is not live or the event does not follow; the state is then unchanged.
    pub fn apply(&self, run: &RunId, at: Timestamp, event: &ProgressEvent) -> Result<Arc<ProgressState>, StoreError> {
        let refused = |source| StoreError::Fold { run: run.clone(), source };
        match self.runs.entry(run.clone()) {
            Entry::Occupied(mut entry) => {
                // Copies the state only if somebody still reads the previous one.
                Arc::make_mut(entry.get_mut()).apply(at, event).map_err(refused)?;
                Ok(Arc::clone(entry.get()))
            }
            Entry::Vacant(entry) => match event {
                ProgressEvent::RunStarted { .. } => {
                    let state = Arc::new(ProgressState::start(at, event).map_err(refused)?);
                    entry.insert(Arc::clone(&state));
                    Ok(state)
                }
                _ => Err(StoreError::UnknownRun { run: run.clone() }),
            },
        }
    }

    /// Applies events in order, like [`apply`](Self::apply), without events of other threads in between. Leaves out
    /// those that do not follow.
    ///
    /// # Errors
    ///
    /// [`StoreError`] of the first event that was left out.
    pub fn apply_all<'a>(&self, run: &RunId, events: impl IntoIterator<Item = (Timestamp, &'a ProgressEvent)>) -> Result<(), StoreError> {
        let mut events = events.into_iter().peekable();
        let unknown = || StoreError::UnknownRun { run: run.clone() };
        let refused = |source| StoreError::Fold { run: run.clone(), source };
        let mut first = Ok(());
        let mut state = match self.runs.entry(run.clone()) {
            Entry::Occupied(entry) => entry.into_ref(),
            Entry::Vacant(entry) => {
                let Some((at, event)) = events.next_if(|(_, event)| matches!(event, ProgressEvent::RunStarted { .. })) else {
                    return if events.peek().is_none() { Ok(()) } else { Err(unknown()) };
                };
                entry.insert(Arc::new(ProgressState::start(at, event).map_err(refused)?))
            }
        };
        if events.peek().is_none() {
            return Ok(());
        }
        // Copies the state only if somebody still reads the previous one.
        let state = Arc::make_mut(state.value_mut());
        for (at, event) in events {
            let taken = state.apply(at, event).map_err(refused);
            first = first.and(taken);
        }
        first
    }

    /// Removes a run.
    pub fn remove(&self, run: &RunId) -> Option<Arc<ProgressState>> {
        self.runs.remove(run).map(|(_, state)| state)
    }

    /// Returns the live runs, sorted.
    #[must_use]
    pub fn runs(&self) -> Vec<RunId> {
        let mut runs: Vec<RunId> = self.runs.iter().map(|entry| entry.key().clone()).collect();
        runs.sort_unstable();
        runs
    }
}

#[cfg(test)]
mod tests;
