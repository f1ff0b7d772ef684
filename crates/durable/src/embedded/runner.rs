//! Who does a machine's effects in this process.

use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{EffectId, Issue, Machine, Reason};

/// Does effects. The only part that meets the world.
pub trait EffectRunner<M: Machine>: Send + Sync + 'static {
    /// Does one effect and gives the fact that answers it ([`Machine::answers`] names the effect's id).
    ///
    /// It should end soon once `context.cancel` fires, by any answer: the machine gets [`Machine::revoked`] instead. If it has not ended by
    /// the host's deadline, its future is dropped.
    fn run(self: Arc<Self>, issue: Issue<M::Effect>, context: EffectContext<M>) -> BoxFuture<'static, M::Fact>;

    /// The answer to an effect whose doing has panicked. Without it the machine would wait for ever.
    fn failed(&self, id: &EffectId, message: &str) -> M::Fact;
}

/// What an effect is given besides its wish.
pub struct EffectContext<M: Machine> {
    /// Fires when the effect is no longer wanted.
    pub cancel: CancellationToken,
    /// Takes facts that answer no effect, such as reports on the way.
    pub facts: FactSender<M>,
    pub(super) why: Arc<OnceLock<Reason>>,
}

impl<M: Machine> EffectContext<M> {
    /// Why it is no longer wanted; none while it is.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.why.get().cloned()
    }
}

/// Sends facts into a running machine, from anywhere.
pub struct FactSender<M: Machine>(pub(super) mpsc::UnboundedSender<Box<M::Fact>>);

impl<M: Machine> FactSender<M> {
    /// Sends a fact; false if the machine is gone. It is durable only once the machine's host has committed it.
    pub fn send(&self, fact: M::Fact) -> bool {
        self.0.send(Box::new(fact)).is_ok()
    }
}

impl<M: Machine> Clone for FactSender<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
