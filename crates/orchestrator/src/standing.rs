//! Where a run stands, without its past: from its latest snapshot and what came after it.

use std::collections::BTreeSet;

use aime_durable::{Journal, JournalError, RUN_STREAM, Stood};
use aime_progress::{Inconsistency, ProgressState, RunId};

use crate::{Bounds, OrchestratorError, RunInput, RunMachine, RunOutput};

/// A run as it stands. What a [`RunView`](crate::RunView) tells, without the events.
#[derive(Debug, Clone)]
pub struct RunStanding {
    /// What it started from.
    pub input: RunInput,
    /// Where it stands.
    pub state: ProgressState,
    /// What it came to last, if it was left or has ended.
    pub output: Option<RunOutput>,
    /// The bounds in force.
    pub bounds: Bounds,
    /// The names of the bounds that it has reached so far.
    pub bounds_reached: BTreeSet<String>,
    /// How many actors were used.
    pub actors: u32,
    /// It cannot be resumed.
    pub over: bool,
    /// How many events it has had.
    pub events: usize,
    /// How many facts were replayed to tell all this.
    pub replayed: usize,
    /// What of its journal was damaged and is left out.
    pub damage: Option<String>,
    /// Each snapshot that could not be used, and why. Nothing is lost by it.
    pub unused: Vec<String>,
    /// What in its state contradicts itself: nothing, unless there is a fault in aime. Such a run is not resumed.
    pub inconsistencies: Vec<Inconsistency>,
}

/// Where a run stands. Unlike [`view`](crate::view) it does not read what a snapshot sums up.
///
/// # Errors
/// [`OrchestratorError`] when there is no such run or the journal cannot be read.
pub fn standing(journal: &Journal, run: &RunId) -> Result<RunStanding, OrchestratorError> {
    Ok(RunStanding::of(&stand(journal, run)?))
}

/// The run's machine, ready to go on.
pub(crate) fn stand(journal: &Journal, run: &RunId) -> Result<Stood<RunMachine>, OrchestratorError> {
    let stood = journal.stand::<RunMachine>(run.as_str(), RUN_STREAM).map_err(|error| match error {
        JournalError::Diverged { detail, .. } => {
            OrchestratorError::Unreplayable { run: run.to_string(), reason: format!("the journal diverges: {detail}") }
        }
        other => other.into(),
    })?;
    stood.ok_or_else(|| OrchestratorError::NoSuchRun { run: run.to_string() })
}

impl RunStanding {
    pub(crate) fn of(stood: &Stood<RunMachine>) -> Self {
        let Stood { input, standing, damage, unused, .. } = stood;
        let machine = standing.machine();
        Self {
            inconsistencies: machine.state().inconsistencies(),
            input: input.fact.clone(),
            state: machine.state().clone(),
            output: standing.output().cloned(),
            bounds: machine.bounds().clone(),
            bounds_reached: machine.bounds_reached().clone(),
            actors: machine.actors(),
            over: machine.is_over(),
            events: standing.events(),
            replayed: standing.replayed(),
            damage: damage.clone(),
            unused: unused.clone(),
        }
    }
}
