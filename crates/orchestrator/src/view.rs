//! A run, read from its journal.

use std::{collections::BTreeSet, sync::Arc};

use aime_durable::{EventRecord, Journal, Recorded, replay};
use aime_llm::Image;
use aime_progress_management::{Inconsistency, ProgressState, RunId, Timestamp};
use aime_tools::ToolSpec;

use crate::{Bounds, OrchestratorError, PublishedEvent, RunFact, RunInput, RunMachine, RunOutput, RunSettings, RunStatusView, run_status};

/// A run as its journal describes it.
#[derive(Debug, Clone)]
pub struct RunView {
    pub(crate) input: RunInput,
    /// State of the run.
    pub state: ProgressState,
    /// Every event.
    pub events: Vec<PublishedEvent>,
    /// Latest output, if the run was suspended or has ended.
    pub output: Option<RunOutput>,
    /// The bounds in force.
    pub bounds: Bounds,
    /// Names of the bounds that the run has reached so far.
    pub bounds_reached: BTreeSet<String>,
    /// Number of actors used.
    pub actors: u32,
    /// True if the run cannot be resumed.
    pub is_over: bool,
    /// True if the run has ended and can be continued with a follow-up.
    pub takes_follow_up: bool,
    /// True if a lead works on the run.
    pub led: bool,
    /// Description of the damaged part of the journal, which the view leaves out.
    pub damage: Option<String>,
    /// Contradictions in the state. There are none unless aime has a bug. Such a run is not resumed.
    pub inconsistencies: Vec<Inconsistency>,
}

/// Reads a run from its journal.
///
/// # Errors
/// [`OrchestratorError`] when there is no such run or the journal cannot be read.
pub fn view(journal: &Journal, run: &RunId) -> Result<RunView, OrchestratorError> {
    let loaded = journal.load::<RunMachine>(run.as_str(), "")?;
    let Some(loaded) = loaded else { return Err(OrchestratorError::NoSuchRun { run: run.to_string() }) };
    Ok(RunView { damage: loaded.damage, ..view_from_facts(loaded.input, &loaded.facts) })
}

/// Builds the view of a run from its input and the facts it has journaled since, from any storage.
#[must_use]
pub fn view_from_facts(input: Recorded<RunInput>, facts: &[Recorded<RunFact>]) -> RunView {
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
        is_over: over,
        takes_follow_up: replayed.machine.refuses_follow_up().is_none(),
        led: replayed.machine.is_led(),
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
    pub fn tools(&self) -> &[Arc<ToolSpec>] {
        &self.input.tools
    }

    /// Returns true if the run has a model to plan with.
    #[must_use]
    pub const fn can_plan(&self) -> bool {
        self.input.can_plan
    }

    /// Updates an earlier view of a run and returns the number of events that it read: only the new ones, or all of
    /// them if the journal no longer begins with the events of the earlier view. The other members come from
    /// [`run_status`], which reads a snapshot and the facts after it.
    ///
    /// # Errors
    ///
    /// [`OrchestratorError`] when the run no longer exists or the journal cannot be read; the view is then unchanged.
    pub fn renew(&mut self, journal: &Journal, run: &RunId) -> Result<usize, OrchestratorError> {
        if let Some(new) = self.grown(journal, run) {
            return Ok(new);
        }
        *self = view(journal, run)?;
        Ok(self.events.len())
    }

    /// Appends new events and returns their number, or `None` if they do not follow the known ones.
    fn grown(&mut self, journal: &Journal, run: &RunId) -> Option<usize> {
        let RunStatusView {
            input,
            state,
            output,
            bounds,
            bounds_reached,
            actors,
            is_over: over,
            takes_follow_up,
            led,
            events,
            damage,
            inconsistencies,
            ..
        } = run_status(journal, run).ok()?;
        if damage.is_some() || self.damage.is_some() {
            return None;
        }
        let new = events.checked_sub(self.events.len())?;
        let read = |record: EventRecord| {
            let event = serde_json::from_str(&record.body).ok()?;
            Some(PublishedEvent { seq: record.seq, at: Timestamp::from_millis(record.at), event })
        };
        // The last known event is read again, because another run of the same name would have a different one.
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
        (self.state, self.output, self.actors, self.is_over, self.inconsistencies) = (state, output, actors, over, inconsistencies);
        (self.bounds, self.bounds_reached) = (bounds, bounds_reached);
        (self.takes_follow_up, self.led) = (takes_follow_up, led);
        Some(new)
    }
}
