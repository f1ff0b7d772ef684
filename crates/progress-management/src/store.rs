//! The live states of many runs, safe to read from anywhere.

use std::sync::Arc;

use dashmap::{DashMap, Entry};

use crate::{FoldError, ProgressEvent, ProgressState, RunId, Timestamp};

/// The present state of each run. Reading gives a snapshot behind an [`Arc`]: it does not change any more and holds no lock.
#[derive(Debug, Default)]
pub struct LiveStore {
    runs: DashMap<RunId, Arc<ProgressState>>,
}

/// Why an event was not taken in.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// The run is not here.
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
        /// Why not.
        source: FoldError,
    },
}

impl LiveStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The state of a run as it is now.
    #[must_use]
    pub fn get(&self, run: &RunId) -> Option<Arc<ProgressState>> {
        self.runs.get(run).map(|state| Arc::clone(state.value()))
    }

    /// Sets the state of a run, for a run that was folded elsewhere (a resume). The former state is returned.
    pub fn insert(&self, run: RunId, state: impl Into<Arc<ProgressState>>) -> Option<Arc<ProgressState>> {
        self.runs.insert(run, state.into())
    }

    /// Takes an event in and returns the state after it. A `run_started` begins a new run. Events of one run are taken in
    /// one after the other, also from several threads.
    ///
    /// # Errors
    /// [`StoreError`] where the run is not live or the event does not follow; the state is then as before.
    pub fn apply(&self, run: &RunId, at: Timestamp, event: &ProgressEvent) -> Result<Arc<ProgressState>, StoreError> {
        let refused = |source| StoreError::Fold { run: run.clone(), source };
        match self.runs.entry(run.clone()) {
            Entry::Occupied(mut entry) => {
                // Copies the state only where somebody still reads the former one.
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

    /// Takes events in, in order, as [`apply`](Self::apply) does, without anybody between them. Those that do not follow are left out.
    ///
    /// # Errors
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
        // Copies the state only where somebody still reads the former one.
        let state = Arc::make_mut(state.value_mut());
        for (at, event) in events {
            let taken = state.apply(at, event).map_err(refused);
            first = first.and(taken);
        }
        first
    }

    /// Takes a run out.
    pub fn remove(&self, run: &RunId) -> Option<Arc<ProgressState>> {
        self.runs.remove(run).map(|(_, state)| state)
    }

    /// The live runs, sorted.
    #[must_use]
    pub fn runs(&self) -> Vec<RunId> {
        let mut runs: Vec<RunId> = self.runs.iter().map(|entry| entry.key().clone()).collect();
        runs.sort_unstable();
        runs
    }
}

#[cfg(test)]
mod tests;
