//! What a workflow starts from: a machine's input, or its journal so far.

use std::collections::BTreeSet;

use aime_durable::{EffectId, Issue, Machine, Recorded, Resume, UnixMillis};
use serde::{Deserialize, Serialize};

/// A fact or event and its time, as it is written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dated<T> {
    /// Milliseconds since the Unix epoch.
    pub at: UnixMillis,
    /// What was learnt, or happened.
    pub what: T,
}

impl<T> From<Recorded<T>> for Dated<T> {
    fn from(recorded: Recorded<T>) -> Self {
        Self { at: recorded.at, what: recorded.fact }
    }
}

impl<T> From<Dated<T>> for Recorded<T> {
    fn from(dated: Dated<T>) -> Self {
        Self { at: dated.at, fact: dated.what }
    }
}

/// Where a machine begins in a workflow.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(serialize = "", deserialize = ""))]
pub struct Begin<M: Machine> {
    /// What it started from, and when.
    pub input: Dated<M::Input>,
    /// What it took in before this workflow; none for a machine that is new.
    #[serde(default)]
    pub journal: Option<SoFar<M>>,
}

/// A machine's journal so far. A machine is a fold of its facts, so this is the machine itself in the form that has the least versions.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(serialize = "", deserialize = ""))]
pub struct SoFar<M: Machine> {
    /// Every fact, in order.
    pub facts: Vec<Dated<M::Fact>>,
    /// How many events followed.
    pub events: usize,
    /// What was wanted and never begun: it is no repetition when it is begun now.
    #[serde(default)]
    pub not_begun: BTreeSet<EffectId>,
    /// New facts that come before all others.
    #[serde(default)]
    pub then: Vec<M::Fact>,
}

impl<M: Machine> Begin<M> {
    /// A machine that is new.
    #[must_use]
    pub fn fresh(at: UnixMillis, input: M::Input) -> Self {
        Self { input: Dated { at, what: input }, journal: None }
    }

    /// Where [`drive`](aime_durable::drive) begins; new facts were learnt at `now`.
    #[must_use]
    pub fn resume(self, now: UnixMillis) -> Resume<M> {
        let input = self.input.into();
        match self.journal {
            None => Resume::Fresh(input),
            Some(SoFar { facts, events, then, .. }) => Resume::Journal {
                input,
                facts: facts.into_iter().map(Recorded::from).collect(),
                events,
                then: then.into_iter().map(|fact| Recorded { at: now, fact }).collect(),
            },
        }
    }

    /// Whether an effect was begun before this workflow, so that nobody knows how far it came.
    #[must_use]
    pub fn was_begun(&self, issue: &Issue<M::Effect>) -> bool {
        issue.reissued && !self.journal.as_ref().is_some_and(|journal| journal.not_begun.contains(&issue.id))
    }
}
