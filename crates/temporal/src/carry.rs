//! The loop of a workflow: the machine goes as far as it can, its wishes are begun, what has ended comes back as facts.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    future::poll_fn,
    pin::pin,
    task::{Context, Poll},
};

use aime_durable::{DriveError, EffectId, Ended, Issue, Machine, Reason, Recorded, Resume, UnixMillis, drive};
use futures::{FutureExt as _, future::LocalBoxFuture};

use crate::effect_queue::{Command, TemporalHost};

/// Begins effects by means of an engine, and collects facts from outside. All of it must be deterministic on replay.
pub trait Carrier<M: Machine> {
    /// Returns the engine's time.
    fn now(&self) -> UnixMillis;

    /// Begins an effect. Its command goes out with the first poll, which follows at once.
    fn begin(&mut self, issue: Issue<M::Effect>) -> RunningEffect<M>;

    /// Requests the end of an effect. Its result after that acknowledges the revocation.
    fn revoke(&mut self, id: &EffectId, why: &Reason);

    /// Returns the facts from outside since the last call, such as answers of people. If there are none, it wakes the
    /// context when some arrive.
    fn arrived(&mut self, context: &mut Context<'_>) -> Vec<M::Fact>;

    /// Receives the facts that the machine has taken in, and the events that followed.
    fn took(&mut self, facts: &[Recorded<M::Fact>], events: &[Recorded<M::Event>]);

    /// Continues to send the pending reports. Returns true if all are sent.
    fn settle(&mut self, _: &mut Context<'_>) -> bool {
        true
    }

    /// Returns true if the history is so long that the machine should continue in a new one.
    fn wants_to_leave(&self) -> bool {
        false
    }

    /// Returns true if an effect must wait for the new history. Otherwise a workflow with effects always in progress
    /// would never leave the old one.
    fn puts_off(&self, _: &M::Effect) -> bool {
        false
    }
}

/// Effect in progress.
pub struct RunningEffect<M: Machine> {
    /// Facts of the effect: intermediate ones, and last the one that answers it.
    pub facts: LocalBoxFuture<'static, Vec<M::Fact>>,
    /// True if the effect would be lost if the workflow continued in a new history. An effect that only waits, such
    /// as a timer, is begun again there.
    pub holds: bool,
}

/// Outcome of carrying a machine.
pub enum CarryOutcome<M: Machine> {
    /// The machine gave its output.
    Ended(Ended<M>),
    /// The machine continues in a new history.
    Continued {
        /// Wishes that were not begun: they are no repetition when they are begun there.
        not_begun: Vec<EffectId>,
        /// Facts from outside that the machine has not taken in. They are its first facts in the new history.
        then: Vec<M::Fact>,
    },
}

/// Drives a machine in a workflow until it ends, or must continue in a new history. Effects are polled in the order
/// of their issue.
///
/// # Errors
/// [`DriveError`]; the host itself cannot fail.
pub async fn carry<M: Machine>(resume: Resume<M>, carrier: &mut impl Carrier<M>) -> Result<CarryOutcome<M>, DriveError<Infallible>> {
    let (mut host, desk) = TemporalHost::<M>::new();
    let mut driven = pin!(drive(&mut host, resume));
    let mut open: Vec<RunningEffect<M>> = Vec::new();
    // Wishes that are not begun, since the history is to be left.
    let mut held: Vec<Command<M::Effect>> = Vec::new();
    poll_fn(|context| {
        loop {
            let driven = driven.as_mut().poll(context);
            for step in desk.steps() {
                carrier.took(&step.facts, &step.events);
            }
            if let Poll::Ready(ended) = driven {
                return Poll::Ready(ended.map(CarryOutcome::Ended));
            }
            held.extend(desk.take_commands());
            let leaves = carrier.wants_to_leave() && !open.iter().any(|begun| begun.holds);
            if leaves && carrier.settle(context) {
                let not_begun = held.drain(..).filter_map(issued).collect();
                return Poll::Ready(Ok(CarryOutcome::Continued { not_begun, then: carrier.arrived(context) }));
            }
            let wishes = if leaves { Vec::new() } else { std::mem::take(&mut held) };
            let revoked: BTreeSet<EffectId> = wishes.iter().filter_map(revoked).collect();
            for wish in wishes {
                match wish {
                    // An effect that is both postponed and revoked is begun and revoked, because each effect needs
                    // its answer.
                    Command::Issue(issue) if carrier.puts_off(&issue.effect) && !revoked.contains(&issue.id) => {
                        held.push(Command::Issue(issue))
                    }
                    Command::Issue(issue) => open.push(carrier.begin(issue)),
                    Command::Revoke(id, why) => carrier.revoke(&id, &why),
                }
            }
            let mut facts = carrier.arrived(context);
            open.retain_mut(|begun| match begun.facts.poll_unpin(context) {
                Poll::Ready(ended) => {
                    facts.extend(ended);
                    false
                }
                Poll::Pending => true,
            });
            if facts.is_empty() {
                return Poll::Pending;
            }
            desk.push_facts(carrier.now(), facts);
        }
    })
    .await
}

fn revoked<E>(wish: &Command<E>) -> Option<EffectId> {
    match wish {
        Command::Issue(_) => None,
        Command::Revoke(id, _) => Some(id.clone()),
    }
}

fn issued<E>(wish: Command<E>) -> Option<EffectId> {
    match wish {
        Command::Issue(issue) => Some(issue.id),
        Command::Revoke(..) => None,
    }
}

#[cfg(test)]
mod tests;
