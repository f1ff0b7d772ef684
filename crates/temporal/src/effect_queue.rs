//! Host of a machine that is driven in a workflow. They exchange effects and facts through a queue.
//!
//! A workflow may only wait for futures of its engine, and these must not leave the workflow's thread. So the host
//! itself waits for nothing, and [`drive_workflow`](crate::drive_workflow) works on the other side of the queue.

use std::{
    convert::Infallible,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use aime_durable::{Commit, EffectId, Host, Issue, Machine, Reason, Recorded, UnixMillis};

/// Request of a machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Command<E> {
    /// Start an effect.
    Issue(Issue<E>),
    /// Stop one.
    Revoke(EffectId, Reason),
}

/// Facts that a machine took in, and the events that followed.
pub struct Step<M: Machine> {
    /// The facts, in order.
    pub facts: Vec<Recorded<M::Fact>>,
    /// The events, each with the time of its fact.
    pub events: Vec<Recorded<M::Event>>,
}

struct QueueState<M: Machine> {
    commands: Vec<Command<M::Effect>>,
    steps: Vec<Step<M>>,
    facts: Vec<Recorded<M::Fact>>,
}

/// Exchange between a host and the code that carries out its effects.
pub struct EffectQueue<M: Machine>(Arc<Mutex<QueueState<M>>>);

/// Drives a machine whose effects are carried out by a durable engine. Facts are durable before they come here, with the history of the
/// engine, so nothing is committed by the host itself.
pub struct QueueHost<M: Machine>(Arc<Mutex<QueueState<M>>>);

impl<M: Machine> QueueHost<M> {
    /// Creates a host and its queue.
    #[must_use]
    pub fn new() -> (Self, EffectQueue<M>) {
        let state = Arc::new(Mutex::new(QueueState { commands: Vec::new(), steps: Vec::new(), facts: Vec::new() }));
        (Self(Arc::clone(&state)), EffectQueue(state))
    }
}

fn open<M: Machine>(state: &Mutex<QueueState<M>>) -> MutexGuard<'_, QueueState<M>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M: Machine> EffectQueue<M> {
    /// Takes the commands, in the machine's order.
    #[must_use]
    pub fn take_commands(&self) -> Vec<Command<M::Effect>> {
        std::mem::take(&mut open(&self.0).commands)
    }

    /// Takes the steps of the machine since the last call.
    #[must_use]
    pub fn steps(&self) -> Vec<Step<M>> {
        std::mem::take(&mut open(&self.0).steps)
    }

    /// Adds facts that were learnt at a time. The driver of the host polls it next.
    pub fn push_facts(&self, at: UnixMillis, facts: impl IntoIterator<Item = M::Fact>) {
        open(&self.0).facts.extend(facts.into_iter().map(|fact| Recorded { at, fact }));
    }
}

impl<M: Machine> Host<M> for QueueHost<M> {
    type Error = Infallible;

    fn issue(&mut self, effect: Issue<M::Effect>) {
        open(&self.0).commands.push(Command::Issue(effect));
    }

    fn revoke(&mut self, id: &EffectId, why: Reason) {
        open(&self.0).commands.push(Command::Revoke(id.clone(), why));
    }

    async fn next(&mut self) -> Result<Vec<Recorded<M::Fact>>, Infallible> {
        // No waker is needed, because the code that adds facts polls again.
        let facts = poll_fn(|_| match std::mem::take(&mut open(&self.0).facts) {
            facts if facts.is_empty() => Poll::Pending,
            facts => Poll::Ready(facts),
        });
        Ok(facts.await)
    }

    async fn commit(&mut self, commit: Commit<'_, M>) -> Result<(), Infallible> {
        let step = Step { facts: commit.facts.to_vec(), events: commit.events.into_owned() };
        open(&self.0).steps.push(step);
        Ok(())
    }
}
