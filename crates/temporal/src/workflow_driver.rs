//! The loop of a workflow: the machine goes as far as it can, its effects are started, and their results come back as facts.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    future::poll_fn,
    pin::pin,
    task::{Context, Poll},
};

use aime_durable::{DriveError, EffectId, Ended, Issue, Machine, Reason, Recorded, Resume, UnixMillis, drive};
use futures::{FutureExt as _, future::LocalBoxFuture};

use crate::effect_queue::{Command, QueueHost};

/// Starts effects on an engine, and collects facts from outside. All of it must be deterministic on replay.
pub trait WorkflowDriver<M: Machine> {
    /// Returns the engine's time.
    fn now(&self) -> UnixMillis;

    /// Begins an effect. Its command goes out with the first poll, which follows at once.
    fn begin(&mut self, issue: Issue<M::Effect>) -> RunningEffect<M>;

    /// Requests the end of an effect. Its result after that acknowledges the revocation.
    fn revoke(&mut self, id: &EffectId, why: &Reason);

    /// Returns the facts from outside since the last call, such as answers of people. If there are none, it wakes the
    /// context when some arrive.
    fn external_facts(&mut self, context: &mut Context<'_>) -> Vec<M::Fact>;

    /// Receives the facts that the machine has taken in, and the events that followed.
    fn observe(&mut self, facts: &[Recorded<M::Fact>], events: &[Recorded<M::Event>]);

    /// Continues to send the pending reports. Returns true if all are sent.
    fn flush_reports(&mut self, _: &mut Context<'_>) -> bool {
        true
    }

    /// Returns true if the history is so long that the machine should continue in a new one.
    fn should_continue_as_new(&self) -> bool {
        false
    }

    /// Returns true if an effect must wait for the new history. Otherwise a workflow whose effects never
    /// all end would never continue in a new history.
    fn defers(&self, _: &M::Effect) -> bool {
        false
    }
}

/// Effect in progress.
pub struct RunningEffect<M: Machine> {
    /// Facts of the effect: intermediate ones, and last the one that answers it.
    pub facts: LocalBoxFuture<'static, Vec<M::Fact>>,
    /// True if the effect would be lost if the workflow continued in a new history. An effect that only waits, such
    /// as a timer, is begun again there.
    pub blocks_continuation: bool,
}

impl<M: Machine> RunningEffect<M> {
    /// Returns an effect that does work, which a new history would not know of.
    pub fn working(facts: impl Future<Output = Vec<M::Fact>> + 'static) -> Self {
        Self { facts: facts.boxed_local(), blocks_continuation: true }
    }

    /// Returns an effect that only waits. It can be started again in a new history.
    pub fn waiting(facts: impl Future<Output = Vec<M::Fact>> + 'static) -> Self {
        Self { facts: facts.boxed_local(), blocks_continuation: false }
    }
}

/// Outcome of driving a machine.
pub enum DriveOutcome<M: Machine> {
    /// The machine gave its output.
    Ended(Ended<M>),
    /// The machine continues in a new history.
    Continued {
        /// Effects that were not started here. Starting them there is no repetition.
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
pub async fn drive_workflow<M: Machine>(
    resume: Resume<M>,
    driver: &mut impl WorkflowDriver<M>,
) -> Result<DriveOutcome<M>, DriveError<Infallible>> {
    let (mut host, queue) = QueueHost::<M>::new();
    let mut driven = pin!(drive(&mut host, resume));
    let mut open: Vec<RunningEffect<M>> = Vec::new();
    // Commands that wait for the new history.
    let mut held: Vec<Command<M::Effect>> = Vec::new();
    poll_fn(|context| {
        loop {
            let driven = driven.as_mut().poll(context);
            for step in queue.steps() {
                driver.observe(&step.facts, &step.events);
            }
            if let Poll::Ready(ended) = driven {
                return Poll::Ready(ended.map(DriveOutcome::Ended));
            }
            held.extend(queue.take_commands());
            let continues = driver.should_continue_as_new() && !open.iter().any(|begun| begun.blocks_continuation);
            if continues && driver.flush_reports(context) {
                let not_begun = held.drain(..).filter_map(issued).collect();
                return Poll::Ready(Ok(DriveOutcome::Continued { not_begun, then: driver.external_facts(context) }));
            }
            let commands = if continues { Vec::new() } else { std::mem::take(&mut held) };
            let revoked: BTreeSet<EffectId> = commands.iter().filter_map(revoked).collect();
            for command in commands {
                match command {
                    // An effect that is both postponed and revoked is begun and revoked, because each effect needs
                    // its answer.
                    Command::Issue(issue) if driver.defers(&issue.effect) && !revoked.contains(&issue.id) => {
                        held.push(Command::Issue(issue))
                    }
                    Command::Issue(issue) => open.push(driver.begin(issue)),
                    Command::Revoke(id, why) => driver.revoke(&id, &why),
                }
            }
            let mut facts = driver.external_facts(context);
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
            queue.push_facts(driver.now(), facts);
        }
    })
    .await
}

fn revoked<E>(command: &Command<E>) -> Option<EffectId> {
    match command {
        Command::Issue(_) => None,
        Command::Revoke(id, _) => Some(id.clone()),
    }
}

fn issued<E>(command: Command<E>) -> Option<EffectId> {
    match command {
        Command::Issue(issue) => Some(issue.id),
        Command::Revoke(..) => None,
    }
}

#[cfg(test)]
mod tests;
