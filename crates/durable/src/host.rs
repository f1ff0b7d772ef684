//! A host does the waiting for a machine.

use std::{borrow::Cow, future::ready};

use crate::{EffectId, Issue, Machine, Reason, UnixMillis};

/// A fact and when the host learnt it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded<F> {
    /// Milliseconds since the Unix epoch.
    pub at: UnixMillis,
    /// Content of the fact.
    pub fact: F,
}

/// Records that become durable together: facts, and the events that follow from them.
pub struct Commit<'a, M: Machine> {
    /// Input of the machine; with the first commit only.
    pub input: Option<&'a Recorded<M::Input>>,
    /// The facts that were applied, in order.
    pub facts: &'a [Recorded<M::Fact>],
    /// The events that follow, each with the time of its fact. Owned where a machine is driven, so that the receiver can pass them on.
    pub events: Cow<'a, [Recorded<M::Event>]>,
}

/// Starts effects, waits for facts, and makes them durable.
pub trait Host<M: Machine> {
    /// Error after which the host cannot continue.
    type Error: Send;

    /// Starts an effect and returns at once.
    fn issue(&mut self, effect: Issue<M::Effect>);

    /// Stops an effect and returns at once. The host acknowledges with the fact [`Machine::revoked`], within a deadline of its own.
    fn revoke(&mut self, id: &EffectId, why: Reason);

    /// Waits for at least one fact and gives as many as are ready.
    fn next(&mut self) -> impl Future<Output = Result<Vec<Recorded<M::Fact>>, Self::Error>> + Send;

    /// Takes in facts and events to be made durable, whole or not at all, in the order in which they come. They are so when
    /// [`flush`](Host::flush) has returned, if not before.
    fn commit(&mut self, commit: Commit<'_, M>) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Waits until all that was committed is durable; at once for a host that makes each commit so. Effects that must not be repeated
    /// unnoticed are issued after it has returned.
    fn flush(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        ready(Ok(()))
    }
}
