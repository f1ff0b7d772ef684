//! Starting point of a workflow: the input of a machine, or its journal so far.

use std::collections::BTreeSet;

use aime_durable::{EffectId, Issue, Machine, Recorded, Resume, UnixMillis};
use serde::{Deserialize, Serialize};

/// A fact or event and its time, as it is written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timestamped<T> {
    /// Milliseconds since the Unix epoch.
    pub at: UnixMillis,
    /// Fact or event.
    pub what: T,
}

impl<T> From<Recorded<T>> for Timestamped<T> {
    fn from(recorded: Recorded<T>) -> Self {
        Self { at: recorded.at, what: recorded.fact }
    }
}

impl<T> From<Timestamped<T>> for Recorded<T> {
    fn from(dated: Timestamped<T>) -> Self {
        Self { at: dated.at, fact: dated.what }
    }
}

/// Starting point of a machine in a workflow.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(serialize = "", deserialize = ""))]
pub struct MachineStart<M: Machine> {
    /// Input of the machine, with its time.
    pub input: Timestamped<M::Input>,
    /// Facts that it took in before this workflow; `None` for a new machine.
    #[serde(default)]
    pub journal: Option<JournalResume<M>>,
}

/// A machine's journal so far. A machine is a fold of its facts, so this is the machine itself in the form that has the least versions.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(serialize = "", deserialize = ""))]
pub struct JournalResume<M: Machine> {
    /// Every fact, in order.
    pub facts: Vec<Timestamped<M::Fact>>,
    /// Number of events that followed.
    pub events: usize,
    /// Effects that were requested and never begun. Beginning them now is no repetition.
    #[serde(default)]
    pub not_begun: BTreeSet<EffectId>,
    /// New facts that come before all others.
    #[serde(default)]
    pub then: Vec<M::Fact>,
}

impl<M: Machine> MachineStart<M> {
    /// Creates the start of a new machine.
    #[must_use]
    pub fn fresh(at: UnixMillis, input: M::Input) -> Self {
        Self { input: Timestamped { at, what: input }, journal: None }
    }

    /// Returns the point at which [`drive`](aime_durable::drive) starts; new facts are dated `now`.
    #[must_use]
    pub fn resume(self, now: UnixMillis) -> Resume<M> {
        let input = self.input.into();
        match self.journal {
            None => Resume::Fresh(input),
            Some(JournalResume { facts, events, then, .. }) => Resume::Journal {
                input,
                facts: facts.into_iter().map(Recorded::from).collect(),
                events,
                then: then.into_iter().map(|fact| Recorded { at: now, fact }).collect(),
            },
        }
    }

    /// Returns true if an effect was begun before this workflow, so that its progress is unknown.
    #[must_use]
    pub fn was_begun(&self, issue: &Issue<M::Effect>) -> bool {
        issue.reissued && !self.journal.as_ref().is_some_and(|journal| journal.not_begun.contains(&issue.id))
    }
}
