//! A run, read from its journal.

use aime_durable::{Journal, Recorded, replay};
use aime_progress::{Inconsistency, ProgressState, RunId, Timestamp};

use crate::{Bounds, OrchestratorError, PublishedEvent, RunInput, RunMachine, RunOutput};

/// A run as its journal tells it.
#[derive(Debug, Clone)]
pub struct RunView {
    /// What it started from.
    pub input: RunInput,
    /// Where it stands.
    pub state: ProgressState,
    /// Every event.
    pub events: Vec<PublishedEvent>,
    /// What it came to last, if it was left or has ended.
    pub output: Option<RunOutput>,
    /// The bounds in force.
    pub bounds: Bounds,
    /// How many actors were used.
    pub actors: u32,
    /// It cannot be resumed.
    pub over: bool,
    /// What of its journal was damaged and is left out.
    pub damage: Option<String>,
    /// What in its state contradicts itself: nothing, unless there is a fault in aime. Such a run is not resumed.
    pub inconsistencies: Vec<Inconsistency>,
}

/// Reads a run from its journal.
///
/// # Errors
/// [`OrchestratorError`] when there is no such run or the journal cannot be read.
pub fn view(journal: &Journal, run: &RunId) -> Result<RunView, OrchestratorError> {
    let loaded = journal.load::<RunMachine>(run.as_str(), "")?;
    let Some(loaded) = loaded else { return Err(OrchestratorError::NoSuchRun { run: run.to_string() }) };
    let replayed = replay::<RunMachine>(&loaded.input, &loaded.facts);
    let events: Vec<PublishedEvent> = replayed
        .events
        .into_iter()
        .zip(1_u64..)
        .map(|(Recorded { at, fact }, seq)| PublishedEvent { seq, at: Timestamp::from_millis(at), event: fact })
        .collect();
    let over = replayed.machine.is_over();
    Ok(RunView {
        inconsistencies: replayed.machine.state().inconsistencies(),
        input: loaded.input.fact,
        state: replayed.machine.state().clone(),
        events,
        bounds: replayed.machine.bounds().clone(),
        actors: replayed.machine.actors(),
        output: replayed.output,
        over,
        damage: loaded.damage,
    })
}
