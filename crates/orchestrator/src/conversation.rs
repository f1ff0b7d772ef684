//! Conversation of a lead that made a plan. A review of the plan and its run continue it.

use std::{fmt, sync::Arc};

use aime_actor_factory::{ActorFact, ActorInput, ActorMachine, LEAD_PREFIX, last_wake};
use aime_durable::{Commit, Journal, JournalError, Recorded, replay};
use serde::{Deserialize, Serialize};

/// Conversation of the lead that made a plan, as its journal has it. Cheap to clone.
#[derive(Clone, PartialEq)]
pub struct LeadConversation {
    input: Arc<Recorded<ActorInput>>,
    facts: Arc<[Recorded<ActorFact>]>,
}

impl fmt::Debug for LeadConversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeadConversation").field("facts", &self.facts.len()).finish_non_exhaustive()
    }
}

impl LeadConversation {
    /// Reads the conversation of a run's lead; `None` if the run has none.
    pub(crate) fn read(journal: &Journal, run: &str) -> Result<Option<Self>, JournalError> {
        let loaded = journal.load::<ActorMachine>(run, LEAD_PREFIX)?;
        Ok(loaded.map(|loaded| Self { input: Arc::new(loaded.input), facts: loaded.facts.into() }))
    }

    /// Writes the conversation into the journal of a run that has no lead yet.
    pub(crate) async fn write(&self, journal: &Journal, run: &str) -> Result<(), JournalError> {
        if journal.load::<ActorMachine>(run, LEAD_PREFIX)?.is_some() {
            return Ok(());
        }
        let events = replay::<ActorMachine>(&self.input, &self.facts).events;
        let commit = Commit::<ActorMachine> { input: Some(&self.input), facts: &self.facts, events: events.into() };
        journal.stream(run, LEAD_PREFIX).append(commit).await
    }

    /// Returns the point from which a run continues the conversation.
    pub(crate) fn position(&self) -> ConversationPosition {
        let events = replay::<ActorMachine>(&self.input, &self.facts).events.len() as u64;
        // The creation of the lead is reported before its events.
        ConversationPosition { wakes: last_wake(self.facts.iter().map(|recorded| &recorded.fact)), reports: events + 1 }
    }
}

/// Point from which a run continues the conversation of a lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConversationPosition {
    /// Number of wakes of the lead so far.
    pub(crate) wakes: u32,
    /// Number of reports that belong to the planning before, which the run counts in another way.
    pub(crate) reports: u64,
}
