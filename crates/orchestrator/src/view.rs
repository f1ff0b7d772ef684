//! A run, read from its journal.

use std::{collections::BTreeSet, sync::Arc};

use aime_durable::{EventRecord, Journal, Recorded, replay};
use aime_llm::Image;
use aime_progress::{Inconsistency, ProgressState, RunId, Timestamp};
use aime_tools::ToolSheet;

use crate::{Bounds, OrchestratorError, PublishedEvent, RunFact, RunInput, RunMachine, RunOutput, RunSettings, RunStatusView, run_status};

/// A run as its journal tells it.
#[derive(Debug, Clone)]
pub struct RunView {
    pub(crate) input: RunInput,
    /// Where it stands.
    pub state: ProgressState,
    /// Every event.
    pub events: Vec<PublishedEvent>,
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
    Ok(RunView { damage: loaded.damage, ..view_of(loaded.input, &loaded.facts) })
}

/// A run by what it started from and what it has learnt since, wherever that is kept.
#[must_use]
pub fn view_of(input: Recorded<RunInput>, facts: &[Recorded<RunFact>]) -> RunView {
    let replayed = replay::<RunMachine>(&input, facts);
    let events: Vec<PublishedEvent> = replayed
        .events
        .into_iter()
        .zip(1_u64..)
        .map(|(Recorded { at, fact }, seq)| PublishedEvent { seq, at: Timestamp::from_millis(at), event: fact })
        .collect();
    let over = replayed.machine.is_over();
    RunView {
        inconsistencies: replayed.machine.state().inconsistencies(),
        input: input.fact,
        state: replayed.machine.state().clone(),
        events,
        bounds: replayed.machine.bounds().clone(),
        bounds_reached: replayed.machine.bounds_reached().clone(),
        actors: replayed.machine.actors(),
        output: replayed.output,
        over,
        damage: None,
    }
}

impl RunView {
    /// Returns the images of the goal.
    #[must_use]
    pub fn images(&self) -> &[Image] {
        &self.input.images
    }

    /// Returns the settings that the run began with.
    #[must_use]
    pub const fn settings(&self) -> &RunSettings {
        &self.input.settings
    }

    /// Returns the tools as they were known when the run began.
    #[must_use]
    pub fn tools(&self) -> &[Arc<ToolSheet>] {
        &self.input.tools
    }

    /// Whether the run had a model to plan with.
    #[must_use]
    pub const fn can_plan(&self) -> bool {
        self.input.can_plan
    }

    /// Brings what was seen of a run before up to date, and gives how many events were read for it: those that are new, and all of them only where
    /// what was seen is no beginning of what stands in the journal now. The rest is told by [`run_status`], from a snapshot and what came after it.
    ///
    /// # Errors
    /// [`OrchestratorError`] when there is no such run any more or the journal cannot be read; then nothing has changed.
    pub fn renew(&mut self, journal: &Journal, run: &RunId) -> Result<usize, OrchestratorError> {
        if let Some(new) = self.grown(journal, run) {
            return Ok(new);
        }
        *self = view(journal, run)?;
        Ok(self.events.len())
    }

    /// Takes in what is new, and how much that was; nothing where it does not follow.
    fn grown(&mut self, journal: &Journal, run: &RunId) -> Option<usize> {
        let RunStatusView { input, state, output, bounds, bounds_reached, actors, over, events, damage, inconsistencies, .. } =
            run_status(journal, run).ok()?;
        if damage.is_some() || self.damage.is_some() {
            return None;
        }
        let new = events.checked_sub(self.events.len())?;
        let read = |record: EventRecord| {
            let event = serde_json::from_str(&record.body).ok()?;
            Some(PublishedEvent { seq: record.seq, at: Timestamp::from_millis(record.at), event })
        };
        // The last one that is known is read once more: another run of the same name has another.
        let last = self.events.last()?;
        let records = journal.events(run.as_str(), last.seq, new.saturating_add(1)).ok()?;
        let mut records = records.into_iter().map_while(read);
        if records.next().as_ref() != Some(last) {
            return None;
        }
        let more: Vec<PublishedEvent> = records.collect();
        if more.len() != new {
            return None;
        }
        self.input = input;
        self.events.extend(more);
        (self.state, self.output, self.actors, self.over, self.inconsistencies) = (state, output, actors, over, inconsistencies);
        (self.bounds, self.bounds_reached) = (bounds, bounds_reached);
        Some(new)
    }
}
