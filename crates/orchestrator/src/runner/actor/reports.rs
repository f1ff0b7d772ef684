//! Reports of actors to the run.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use aime_actor_factory::ActorMachine;
use aime_durable::{Commit, JournalError, Sink, StreamWriter, UnixMillis};
use aime_progress_management::ProgressEvent;

use super::Attempt;
use crate::{BudgetError, RunFact};

/// Forwards an actor's events to the run with their numbers, so that the run can drop those it has seen.
pub(super) struct Reports {
    attempt: Arc<Attempt>,
    /// The call that the actor answers, if another actor delegated to it.
    call: Option<String>,
    next: u64,
}

impl Reports {
    pub(super) const fn new(attempt: Arc<Attempt>, call: Option<String>) -> Self {
        Self { attempt, call, next: 0 }
    }

    pub(super) fn send(&mut self, event: ProgressEvent) {
        let number = self.next;
        self.next += 1;
        let Attempt { task, execution, facts, leads, audit, .. } = self.attempt.as_ref();
        if let Some(uses) = audit {
            return uses.observe(&event);
        }
        let call = self.call.clone();
        let fact = match leads {
            true => RunFact::LeadReported { call, number, event },
            false => RunFact::ActorReported { task: task.clone(), execution: *execution, call, number, event },
        };
        // If the run is gone, it finds the event in the actor's journal later.
        let _gone = facts.send(fact);
    }
}

/// Calls for which the run's budget leaves no room, by their names in events.
#[derive(Default)]
pub(super) struct RefusedCalls(Mutex<BTreeMap<String, BudgetError>>);

impl RefusedCalls {
    fn put(&self, call: String, error: BudgetError) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(call, error);
    }

    pub(super) fn take(&self, call: &str) -> Option<BudgetError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(call)
    }
}

/// The journal stream of an actor, which reports each event once it is durable. It counts a tool call against the
/// budget before the call is made.
pub(super) struct ReportingStream {
    pub(super) writer: StreamWriter,
    pub(super) reports: Reports,
    pub(super) refused: Arc<RefusedCalls>,
    /// Appended events that are reported once they are durable.
    pub(super) pending: Vec<ProgressEvent>,
}

impl Sink<ActorMachine> for ReportingStream {
    type Error = JournalError;

    async fn append(&mut self, commit: Commit<'_, ActorMachine>) -> Result<(), JournalError> {
        for event in commit.events.iter() {
            if let ProgressEvent::ToolCallStarted { call, .. } = &event.fact
                && let Err(error) = self.reports.attempt.runner.budget.count_tool_call()
            {
                self.refused.put(call.clone(), error);
            }
        }
        self.writer.queue(&commit).await?;
        self.pending.extend(commit.events.into_owned().into_iter().map(|event| event.fact));
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), JournalError> {
        self.writer.flush().await?;
        std::mem::take(&mut self.pending).into_iter().for_each(|event| self.reports.send(event));
        Ok(())
    }

    fn last(&self) -> UnixMillis {
        Sink::<ActorMachine>::last(&self.writer)
    }
}
