//! The host in this process: effects are tokio tasks, facts come through a channel.

mod clock;
mod runner;
mod single_effect;
mod sink;

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
    time::Duration,
};

use foldhash::fast::RandomState;
use futures::{FutureExt, future::join_all};
use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, JoinHandle},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use self::runner::Sent;
use crate::{Commit, EffectId, Host, Issue, Machine, Reason, Recorded, UnixMillis};

pub use clock::{Clock, SystemClock};
pub use runner::{EffectContext, EffectRunner, FactReceiver, FactSender, FailedEffect, fact_channel};
pub use single_effect::execute_effect;
pub use sink::{FencedWriter, MemoryStream, Sink};

/// Maximum number of facts in one commit. A commit is one piece of text on its way to the journal; with this size it
/// is large enough to share the fixed cost of a commit.
const BATCH: usize = 256;
/// Interval of the check if a source of outside facts still exists.
const IDLE_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Time that a revoked effect has to end by itself.
const REVOKE_DEADLINE: Duration = Duration::from_secs(10);

/// Runs a machine's effects as tokio tasks of this process. Dropping it cancels and aborts all of them at once; [`close`](Self::close) gives
/// them time to end.
pub struct EmbeddedHost<M: Machine, R, S> {
    runner: Arc<R>,
    sink: S,
    clock: Arc<dyn Clock>,
    revoke_deadline: Duration,
    sender: mpsc::UnboundedSender<Sent<M>>,
    facts: mpsc::UnboundedReceiver<Sent<M>>,
    ready: Vec<Sent<M>>,
    /// Senders that wait for the commit of the facts that were taken last.
    committed: Vec<oneshot::Sender<()>>,
    running: HashMap<EffectId, Running, RandomState>,
    /// The last stamp: time does not run backwards within a journal.
    last: UnixMillis,
    /// True if a commit may not be durable yet.
    unflushed: bool,
    /// Function that is applied to every fact before the machine and the journal see it.
    through: Option<FactFilter<M>>,
}

type FactFilter<M> = Box<dyn Fn(<M as Machine>::Fact) -> <M as Machine>::Fact + Send + Sync>;

/// An effect that has not been answered.
struct Running {
    cancel: CancellationToken,
    reason: Arc<OnceLock<Reason>>,
    task: JoinHandle<()>,
    /// Gives up on it at the deadline, once it was revoked.
    deadline: Option<AbortHandle>,
}

impl Running {
    fn revoke(&self, why: Reason) {
        // The first reason stays.
        drop(self.reason.set(why));
        self.cancel.cancel();
    }
}

impl<M: Machine, R: EffectRunner<M>, S: Sink<M>> EmbeddedHost<M, R, S> {
    /// Creates a host whose effects `runner` executes and whose commits go to `sink`, with the system's clock and 10
    /// s for a revoked effect to end. Effects are issued within a tokio runtime.
    #[must_use]
    pub fn new(runner: Arc<R>, sink: S) -> Self {
        let (sender, facts) = mpsc::unbounded_channel();
        Self {
            last: sink.last(),
            runner,
            sink,
            clock: Arc::new(SystemClock),
            revoke_deadline: REVOKE_DEADLINE,
            sender,
            facts,
            ready: Vec::new(),
            committed: Vec::new(),
            running: HashMap::default(),
            unflushed: false,
            through: None,
        }
    }

    /// Sets a function that every fact passes before the machine and the journal see it. It must not change the
    /// effect's id.
    #[must_use]
    pub fn with_facts_through(mut self, through: impl Fn(M::Fact) -> M::Fact + Send + Sync + 'static) -> Self {
        self.through = Some(Box::new(through));
        self
    }

    /// Another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the time that a revoked effect has to end by itself.
    #[must_use]
    pub fn with_revoke_deadline(mut self, deadline: Duration) -> Self {
        self.revoke_deadline = deadline;
        self
    }

    /// Sends facts from outside, such as a request to stop or an answer. While one exists, a machine that waits for nothing else waits for it.
    #[must_use]
    pub fn sender(&self) -> FactSender<M> {
        FactSender { channel: self.sender.clone(), is_committed: true }
    }

    /// Returns the time to stamp with: the clock's, or the last stamp if the clock was set back.
    pub fn now(&mut self) -> UnixMillis {
        self.last = self.last.max(self.clock.now());
        self.last
    }

    /// Cancels the effects in progress with [`Reason::Stopped`], waits until they have ended or the deadline has
    /// passed, and aborts the rest. Their answers are dropped: on resume these effects are issued again.
    pub async fn close(mut self) {
        for running in self.running.values() {
            running.revoke(Reason::Stopped);
        }
        let tasks = self.running.values_mut().map(|running| &mut running.task);
        // Past the deadline, dropping the host aborts what is left.
        drop(timeout(self.revoke_deadline, join_all(tasks)).await);
    }

    /// Returns true if no source of facts is left.
    fn is_idle(&self) -> bool {
        self.running.is_empty() && self.facts.is_empty() && self.sender.strong_count() == 1
    }
}

impl<M, R, S> Host<M> for EmbeddedHost<M, R, S>
where
    M: Machine,
    R: EffectRunner<M>,
    S: Sink<M>,
{
    type Error = S::Error;

    fn issue(&mut self, issue: Issue<M::Effect>) {
        let (cancel, why) = (CancellationToken::new(), Arc::default());
        let context = EffectContext { cancel: cancel.clone(), facts: self.sender(), reason: Arc::clone(&why) };
        let (id, runner, sender) = (issue.id.clone(), Arc::clone(&self.runner), self.sender.clone());
        let kind = M::kind(&issue.effect);
        let task = tokio::spawn({
            let id = id.clone();
            async move {
                if let Some(why) = context.reason() {
                    drop(sender.send(Sent::new(M::revoked(&id, &why))));
                    return;
                }
                // A panic may leave the runner's own state half changed, but the state behind its locks is poisoned,
                // not unsound.
                let work = AssertUnwindSafe(async { Arc::clone(&runner).run(issue, context).await }).catch_unwind();
                let fact = match work.await {
                    Ok(fact) => fact,
                    Err(panic) => {
                        let text = panic.downcast_ref::<&str>().copied();
                        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
                        runner.failed(FailedEffect { id: &id, kind, message: text.unwrap_or("it panicked") })
                    }
                };
                // The receiver is gone only if the host is gone, so the fact is dropped.
                drop(sender.send(Sent::new(fact)));
            }
        });
        self.running.insert(id, Running { cancel, reason: why, task, deadline: None });
    }

    fn revoke(&mut self, id: &EffectId, why: Reason) {
        let Some(running) = self.running.get_mut(id) else {
            // Its answer is among the facts to come.
            return;
        };
        running.revoke(why.clone());
        if running.deadline.is_some() {
            return;
        }
        let (deadline, effect, sender, id) = (self.revoke_deadline, running.task.abort_handle(), self.sender.clone(), id.clone());
        let watch = tokio::spawn(async move {
            sleep(deadline).await;
            effect.abort();
            drop(sender.send(Sent::new(M::revoked(&id, &why))));
        });
        running.deadline = Some(watch.abort_handle());
    }

    async fn next(&mut self) -> Result<Vec<Recorded<M::Fact>>, S::Error> {
        // The next facts are requested once the last ones are committed.
        for sender in self.committed.drain(..) {
            // The future of a revoked effect may be dropped while it waits.
            let _gone = sender.send(());
        }
        while self.ready.is_empty() {
            if self.is_idle() {
                return Ok(Vec::new());
            }
            let facts = self.facts.recv_many(&mut self.ready, BATCH);
            if self.unflushed {
                // While no fact arrives there is time for the disk. A fact takes precedence over the flush.
                tokio::select! {
                    biased;
                    _ = facts => {}
                    flushed = self.sink.flush() => {
                        flushed?;
                        self.unflushed = false;
                    }
                }
            } else if self.running.is_empty() {
                // Only outside senders are left, and nothing wakes us when the last of them goes.
                drop(timeout(IDLE_POLL_INTERVAL, facts).await);
            } else {
                facts.await;
            }
        }
        let at = self.now();
        for id in self.ready.iter().filter_map(|sent| M::answers(&sent.fact)) {
            if let Some(deadline) = self.running.remove(id).and_then(|answered| answered.deadline) {
                deadline.abort();
            }
        }
        self.committed.extend(self.ready.iter_mut().filter_map(|sent| sent.committed.take()));
        let facts = self.ready.drain(..).map(|sent| *sent.fact);
        Ok(match &self.through {
            Some(through) => facts.map(|fact| Recorded { at, fact: through(fact) }).collect(),
            None => facts.map(|fact| Recorded { at, fact }).collect(),
        })
    }

    async fn commit(&mut self, commit: Commit<'_, M>) -> Result<(), S::Error> {
        let last = commit.facts.last().map(|fact| fact.at).or(commit.input.map(|input| input.at));
        self.last = self.last.max(last.unwrap_or(self.last));
        self.unflushed = true;
        self.sink.append(commit).await
    }

    async fn flush(&mut self) -> Result<(), S::Error> {
        self.sink.flush().await?;
        self.unflushed = false;
        Ok(())
    }
}

impl<M: Machine, R, S> Drop for EmbeddedHost<M, R, S> {
    fn drop(&mut self) {
        for running in self.running.values() {
            running.revoke(Reason::Stopped);
            running.task.abort();
            if let Some(deadline) = &running.deadline {
                deadline.abort();
            }
        }
    }
}

#[cfg(test)]
mod tests;
