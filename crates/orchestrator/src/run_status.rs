//! The status of a run, computed from its latest snapshot and the facts after it.

use std::collections::BTreeSet;

use aime_durable::{Journal, JournalError, LoadedSnapshot, RUN_STREAM};
use aime_progress_management::{Inconsistency, ProgressState, RunId};

use crate::{Bounds, OrchestratorError, RunInput, RunMachine, RunOutput, RunSettings};

/// The status of a run: a [`RunView`](crate::RunView) without the events.
#[derive(Debug, Clone)]
pub struct RunStatusView {
    pub(crate) input: RunInput,
    /// The progress state.
    pub state: ProgressState,
    /// The last output, if the run was suspended or has ended.
    pub output: Option<RunOutput>,
    /// The bounds in force.
    pub bounds: Bounds,
    /// The names of the bounds that were reached so far.
    pub bounds_reached: BTreeSet<String>,
    /// The number of actors so far.
    pub actors: u32,
    /// True if the run has ended and cannot be resumed.
    pub is_over: bool,
    /// True if it has ended and takes a follow-up.
    pub takes_follow_up: bool,
    /// True if a lead works on it, which remembers what was said.
    pub led: bool,
    /// The number of its events.
    pub events: usize,
    /// The number of its facts.
    pub facts: usize,
    /// The number of facts that were replayed for this view.
    pub replayed: usize,
    /// Description of the damaged part of its journal, which is left out.
    pub damage: Option<String>,
    /// Each snapshot that could not be used, and the reason. The facts are still complete.
    pub unused: Vec<String>,
    /// Contradictions in its state, which are bugs of aime. Such a run is not resumed.
    pub inconsistencies: Vec<Inconsistency>,
}

/// Returns the status of a run. Unlike [`view`](crate::view) it does not read the facts before the latest snapshot.
///
/// # Errors
/// [`OrchestratorError`] when there is no such run or the journal cannot be read.
pub fn run_status(journal: &Journal, run: &RunId) -> Result<RunStatusView, OrchestratorError> {
    Ok(RunStatusView::of(&load_machine(journal, run)?))
}

/// Returns the machine of a run, ready to continue.
pub(crate) fn load_machine(journal: &Journal, run: &RunId) -> Result<LoadedSnapshot<RunMachine>, OrchestratorError> {
    let snapshot = journal.load_machine::<RunMachine>(run.as_str(), RUN_STREAM).map_err(|error| match error {
        JournalError::Diverged { detail, .. } => {
            OrchestratorError::Unreplayable { run: run.to_string(), reason: format!("the journal diverges: {detail}") }
        }
        other => other.into(),
    })?;
    snapshot.ok_or_else(|| OrchestratorError::NoSuchRun { run: run.to_string() })
}

impl RunStatusView {
    /// Returns the settings that the run began with.
    #[must_use]
    pub const fn settings(&self) -> &RunSettings {
        &self.input.settings
    }

    /// Returns true if the run has a model to plan with.
    #[must_use]
    pub const fn can_plan(&self) -> bool {
        self.input.can_plan
    }

    pub(crate) fn of(snapshot: &LoadedSnapshot<RunMachine>) -> Self {
        let LoadedSnapshot { input, state, damage, unused, .. } = snapshot;
        let machine = state.machine();
        Self {
            inconsistencies: machine.state().inconsistencies(),
            input: input.fact.clone(),
            state: machine.state().clone(),
            output: state.output().cloned(),
            bounds: machine.bounds().clone(),
            bounds_reached: machine.bounds_reached().clone(),
            actors: machine.actors(),
            is_over: machine.is_over(),
            takes_follow_up: machine.refuses_follow_up().is_none(),
            led: machine.is_led(),
            events: state.events(),
            facts: snapshot.facts(),
            replayed: state.replayed(),
            damage: damage.clone(),
            unused: unused.clone(),
        }
    }
}
