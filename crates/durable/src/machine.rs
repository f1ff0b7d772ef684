//! A machine is pure: it learns from facts alone and answers with effects and events.

use std::{borrow::Borrow, fmt, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Milliseconds since the Unix epoch, UTC.
pub type UnixMillis = i64;

/// Names one effect for ever: `task/attempt/step`. The same machine gives the same effect the same id on every replay. A clone shares the text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectId(Arc<str>);

impl EffectId {
    /// Creates an id from its text.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the text of the id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for EffectId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// A pure state machine. No clock, randomness, environment or order of a hash map inside: time comes with each fact.
pub trait Machine: Serialize + DeserializeOwned + Sized + Send + 'static {
    /// Raised when an old journal would be understood differently.
    const VERSION: u32;
    /// The version of the machine's own form, for machines of which snapshots are taken: raised with every change of what is serialised.
    /// A snapshot of another version is left alone, and every fact is replayed. None is taken of a machine that has no such version.
    const SNAPSHOT: Option<u32> = None;
    /// Input from which the machine starts.
    type Input: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// Answer of the world to the machine.
    type Fact: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// Action that the machine requests.
    type Effect: Clone + Send + Sync + 'static;
    /// Notification for users.
    type Event: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// Result of the machine.
    type Output: Clone + Send + 'static;

    /// Starts. Called once for each journal, and again for each replay.
    fn start(at: UnixMillis, input: &Self::Input, out: &mut Outbox<Self>) -> Self;

    /// Applies one fact. Returns the output when the machine has ended or asks to be suspended until it is resumed.
    fn apply(&mut self, at: UnixMillis, fact: &Self::Fact, out: &mut Outbox<Self>) -> Option<Self::Output>;

    /// Returns the effect that this fact answers, if it answers one. An effect has exactly one answer; `drive` drops
    /// every further one.
    fn answers(fact: &Self::Fact) -> Option<&EffectId>;

    /// Returns the fact that acknowledges that an effect was revoked.
    fn revoked(id: &EffectId, why: &Reason) -> Self::Fact;

    /// Returns the name of an effect's kind, such as `model` or `tool`.
    fn kind(effect: &Self::Effect) -> &'static str;

    /// Returns true if an effect may be repeated unnoticed: it changes nothing outside and costs next to nothing.
    /// Such an effect need not wait until the facts that led to it are durable. By default no effect is repeatable.
    fn is_repeatable(_effect: &Self::Effect) -> bool {
        false
    }

    /// Returns an effect in progress once more, because a snapshot keeps effects by their names alone. A machine with
    /// snapshots must implement it, unless the first fact after a resume always revokes the effects in progress.
    fn again(&self, _id: &EffectId) -> Option<Self::Effect> {
        None
    }
}

/// Reason why an effect is revoked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The run is being stopped and may be resumed.
    Stopped,
    /// The plan no longer needs it.
    Cancelled,
    /// The effect exceeded its deadline.
    Deadline,
}

/// An effect on its way to a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Issue<E> {
    /// Name of the effect.
    pub id: EffectId,
    /// Requested effect.
    pub effect: E,
    /// True if a previous process issued the effect and its progress is unknown.
    pub reissued: bool,
}

/// Collector of the orders and events that follow from a fact.
pub struct Outbox<M: Machine> {
    pub(crate) orders: Vec<Order<M::Effect>>,
    pub(crate) events: Vec<M::Event>,
}

/// Order of a machine to its host.
#[derive(Debug, Clone, PartialEq)]
pub enum Order<E> {
    /// Start an effect.
    Issue(EffectId, E),
    /// Stop one.
    Revoke(EffectId, Reason),
}

impl<M: Machine> Default for Outbox<M> {
    fn default() -> Self {
        Self { orders: Vec::new(), events: Vec::new() }
    }
}

impl<M: Machine> Outbox<M> {
    /// Requests the start of an effect.
    pub fn issue(&mut self, id: EffectId, effect: M::Effect) {
        self.orders.push(Order::Issue(id, effect));
    }

    /// Requests that an effect be stopped. Its acknowledgement is the fact [`Machine::revoked`]; a later result is
    /// dropped.
    pub fn revoke(&mut self, id: EffectId, why: Reason) {
        self.orders.push(Order::Revoke(id, why));
    }

    /// Publishes an event.
    pub fn emit(&mut self, event: M::Event) {
        self.events.push(event);
    }

    /// Returns the orders so far, for tests of a machine without a host.
    #[must_use]
    pub fn orders(&self) -> &[Order<M::Effect>] {
        &self.orders
    }

    /// Returns the events so far.
    #[must_use]
    pub fn events(&self) -> &[M::Event] {
        &self.events
    }

    /// Empties it; for tests of a machine without a host.
    pub fn take(&mut self) -> (Vec<Order<M::Effect>>, Vec<M::Event>) {
        (std::mem::take(&mut self.orders), std::mem::take(&mut self.events))
    }
}
