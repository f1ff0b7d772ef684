//! Snapshots of machines, and the state that a snapshot and the facts after it lead to.

use aime_messages::stored::with_ids;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{OpenEffect, Resume, Run};
use crate::{EffectId, Issue, Machine, Outbox, Reason, Recorded, UnixMillis};

/// Machine after one of its facts, with the names of the effects in progress.
#[derive(Deserialize)]
#[serde(bound = "M: Machine")]
pub(crate) struct Snapshot<M: Machine> {
    machine: M,
    under_way: BTreeMap<EffectId, Option<Reason>>,
}

#[derive(Serialize)]
#[serde(bound = "M: Machine")]
struct SnapshotRef<'a, M: Machine> {
    machine: &'a M,
    under_way: BTreeMap<&'a EffectId, Option<&'a Reason>>,
}

/// Machine in the state that its journal leads to, ready to continue.
pub struct LoadedMachine<M: Machine> {
    pub(super) run: Run<M>,
    pub(super) output: Option<M::Output>,
    /// Events since the machine's start.
    events: usize,
    /// Facts that were applied to come here.
    replayed: usize,
}

impl<M: Machine> LoadedMachine<M> {
    /// Returns a machine that has only started.
    pub(crate) fn started(input: &Recorded<M::Input>) -> Self {
        Self::of(Run::start(input), 0)
    }

    /// Restores a snapshot after a fact of this time, before which there were this number of events.
    pub(crate) fn after(snapshot: Snapshot<M>, at: UnixMillis, events: usize) -> Self {
        let forgotten = |(id, revoked)| (id, OpenEffect { waiting: None, forgotten: true, revoked });
        let run = Run {
            machine: snapshot.machine,
            out: Outbox::default(),
            open_effects: snapshot.under_way.into_iter().map(forgotten).collect(),
            orders: Vec::new(),
            input: None,
            facts: Vec::new(),
            events: Vec::new(),
            now: at,
        };
        Self::of(run, events)
    }

    fn of(run: Run<M>, events: usize) -> Self {
        let mut state = Self { run, output: None, events, replayed: 0 };
        state.forget_events();
        state
    }

    /// Applies the next fact of the journal.
    pub(crate) fn learn(&mut self, fact: &Recorded<M::Fact>) {
        self.output = self.run.learn_again(fact);
        self.replayed += 1;
        self.forget_events();
    }

    /// Drops the events, which were published when they happened, and only counts them.
    fn forget_events(&mut self) {
        self.events += self.run.events.len();
        self.run.events.clear();
    }

    /// Returns the machine in its current state.
    #[must_use]
    pub const fn machine(&self) -> &M {
        &self.run.machine
    }

    /// Returns the output of the last fact, if the machine ended or asked to be suspended with it.
    #[must_use]
    pub const fn output(&self) -> Option<&M::Output> {
        self.output.as_ref()
    }

    /// Returns the time of the last fact. A clock that was set back can make it earlier than those before it.
    #[must_use]
    pub const fn now(&self) -> UnixMillis {
        self.run.now
    }

    /// Returns the number of events that followed from its facts.
    #[must_use]
    pub const fn events(&self) -> usize {
        self.events
    }

    /// Returns the number of facts that were applied: those after the snapshot, or all.
    #[must_use]
    pub const fn replayed(&self) -> usize {
        self.replayed
    }

    /// Returns the point at which [`drive`](crate::drive) continues; `then` are new facts that precede all others,
    /// such as "resumed".
    #[must_use]
    pub fn resume(mut self, then: Vec<Recorded<M::Fact>>) -> Resume<M> {
        self.run.mark_reissued();
        Resume::LoadedMachine { state: Box::new(self), then }
    }

    /// Returns the snapshot as it is kept: JSON, which [`Snapshot`] reads.
    pub(crate) fn snapshot(&self) -> serde_json::Result<Vec<u8>> {
        let under_way = self.run.open_effects.iter().map(|(id, under_way)| (id, under_way.revoked.as_ref())).collect();
        with_ids(|| serde_json::to_vec(&SnapshotRef { machine: &self.run.machine, under_way }))
    }
}

impl<M: Machine> Run<M> {
    /// Makes the machine issue again the effects of which the snapshot has only the name. Revoked effects are
    /// acknowledged instead.
    pub(super) fn recall(&mut self) -> Result<(), EffectId> {
        let mut recalled = Vec::new();
        for (id, under_way) in self.open_effects.iter_mut().filter(|(_, under_way)| under_way.forgotten && under_way.revoked.is_none()) {
            let effect = self.machine.again(id).ok_or_else(|| id.clone())?;
            under_way.waiting = Some(Box::new(Issue { id: id.clone(), effect, reissued: true }));
            under_way.forgotten = false;
            recalled.push(id.clone());
        }
        // They were issued before what came since.
        self.orders.splice(..0, recalled);
        Ok(())
    }
}
