//! Execution of a machine's effects in this process.

use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{EffectId, Issue, Machine, Reason};

/// Does effects. The only part that meets the world.
pub trait EffectRunner<M: Machine>: Send + Sync + 'static {
    /// Does one effect and gives the fact that answers it ([`Machine::answers`] names the effect's id).
    ///
    /// It should end soon once `context.cancel` fires, by any answer: the machine gets [`Machine::revoked`] instead. If it has not ended by
    /// the host's deadline, its future is dropped.
    fn run(self: Arc<Self>, issue: Issue<M::Effect>, context: EffectContext<M>) -> BoxFuture<'static, M::Fact>;

    /// Returns the answer to an effect that has panicked. Without it the machine would wait forever.
    fn failed(&self, effect: FailedEffect<'_>) -> M::Fact;
}

/// An effect whose doing has panicked, or ended without an answer.
#[derive(Debug, Clone, Copy)]
pub struct FailedEffect<'a> {
    /// Name of the effect.
    pub id: &'a EffectId,
    /// Kind of the effect, as [`Machine::kind`] names it.
    pub kind: &'static str,
    /// Error message.
    pub message: &'a str,
}

/// Context of an effect, besides the effect itself.
pub struct EffectContext<M: Machine> {
    /// Fires when the effect is no longer wanted.
    pub cancel: CancellationToken,
    /// Takes facts that answer no effect, such as reports on the way.
    pub facts: FactSender<M>,
    pub(super) reason: Arc<OnceLock<Reason>>,
}

impl<M: Machine> EffectContext<M> {
    /// Creates a context for an effect that no host of this process has issued.
    #[must_use]
    pub fn new(cancel: CancellationToken, facts: FactSender<M>) -> Self {
        Self { cancel, facts, reason: Arc::default() }
    }

    /// Returns the reason of the revocation; `None` while the effect is still wanted.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.reason.get().cloned()
    }
}

/// Sends facts into a running machine, from anywhere.
pub struct FactSender<M: Machine> {
    pub(super) channel: mpsc::UnboundedSender<Sent<M>>,
    /// True if a host of this process commits the facts.
    pub(super) is_committed: bool,
}

/// A fact in the channel.
pub(super) struct Sent<M: Machine> {
    // Boxed: a channel has room for many at once, and most hosts are given few.
    pub(super) fact: Box<M::Fact>,
    /// Takes a signal once the fact is committed.
    pub(super) committed: Option<oneshot::Sender<()>>,
}

impl<M: Machine> Sent<M> {
    pub(super) fn new(fact: M::Fact) -> Self {
        Self { fact: Box::new(fact), committed: None }
    }
}

impl<M: Machine> FactSender<M> {
    /// Sends a fact; false if the machine is gone. It is durable only once the machine's host has committed it.
    pub fn send(&self, fact: M::Fact) -> bool {
        self.channel.send(Sent::new(fact)).is_ok()
    }

    /// Sends a fact and waits until the machine's host has committed it, so that it survives the end of this process; false if the machine
    /// is gone. Returns at once if the machine is driven elsewhere (see [`fact_channel`]): its host commits the facts with the answer.
    pub async fn commit(&self, fact: M::Fact) -> bool {
        if !self.is_committed {
            return self.send(fact);
        }
        let (sender, committed) = oneshot::channel();
        let sent = Sent { committed: Some(sender), ..Sent::new(fact) };
        self.channel.send(sent).is_ok() && committed.await.is_ok()
    }
}

impl<M: Machine> Clone for FactSender<M> {
    fn clone(&self) -> Self {
        Self { channel: self.channel.clone(), is_committed: self.is_committed }
    }
}

/// Creates a channel of facts to a machine that is driven elsewhere. The receiver returns the facts of the sender in
/// order.
#[must_use]
pub fn fact_channel<M: Machine>() -> (FactSender<M>, FactReceiver<M>) {
    let (channel, receiver) = mpsc::unbounded_channel();
    (FactSender { channel, is_committed: false }, FactReceiver(receiver))
}

/// Receiver of the facts that were sent: see [`fact_channel`].
pub struct FactReceiver<M: Machine>(mpsc::UnboundedReceiver<Sent<M>>);

impl<M: Machine> FactReceiver<M> {
    /// Waits for the next fact; returns `None` once every sender is dropped. Cancel-safe: no fact is lost if the
    /// future is dropped.
    pub async fn next(&mut self) -> Option<M::Fact> {
        self.0.recv().await.map(|sent| *sent.fact)
    }

    /// Returns the next fact, if one has come.
    pub fn ready(&mut self) -> Option<M::Fact> {
        self.0.try_recv().ok().map(|sent| *sent.fact)
    }
}
