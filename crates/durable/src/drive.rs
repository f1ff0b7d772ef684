//! The only loop.

#[cfg_attr(not(feature = "journal"), expect(dead_code, reason = "the journal alone takes snapshots"))]
mod loaded_machine;

use std::{borrow::Cow, collections::BTreeMap};

pub use loaded_machine::LoadedMachine;
#[cfg(feature = "journal")]
pub(crate) use loaded_machine::Snapshot;

use crate::{Commit, EffectId, Host, Issue, Machine, Order, Outbox, Reason, Recorded, UnixMillis};

/// Starting point of a machine.
pub enum Resume<M: Machine> {
    /// Start from the input.
    Fresh(Recorded<M::Input>),
    /// Resume from a journal: the facts are replayed, `then` is applied as new, and effects without an answer are
    /// issued again.
    Journal {
        /// Input of the machine.
        input: Recorded<M::Input>,
        /// Every fact of the journal, in order.
        facts: Vec<Recorded<M::Fact>>,
        /// Number of events in the journal, to detect a divergence.
        events: usize,
        /// New facts that come before all others, such as "resumed".
        then: Vec<Recorded<M::Fact>>,
    },
    /// Resume from the state that the journal leads to. `then` is applied as new, and effects without an answer are
    /// issued again.
    LoadedMachine {
        /// The machine.
        state: Box<LoadedMachine<M>>,
        /// New facts that come before all others, such as "resumed".
        then: Vec<Recorded<M::Fact>>,
    },
}

/// A machine as its journal leaves it.
pub struct Replayed<M: Machine> {
    /// Machine in its current state.
    pub machine: M,
    /// Every event since its start, each with the time of its fact.
    pub events: Vec<Recorded<M::Event>>,
    /// Output of the last fact, if the machine ended or asked to be suspended with it.
    pub output: Option<M::Output>,
}

/// Applies a journal's facts and issues nothing. Gives the state and events that a live run with these facts gave.
#[must_use]
pub fn replay<M: Machine>(input: &Recorded<M::Input>, facts: &[Recorded<M::Fact>]) -> Replayed<M> {
    let (run, output) = Run::replay(input, facts);
    Replayed { machine: run.machine, events: run.events, output }
}

/// A machine that gave its output.
pub struct Ended<M: Machine> {
    /// Machine in its final state.
    pub machine: M,
    /// Output of the machine.
    pub output: M::Output,
}

/// Reason why a machine stopped without an output.
#[derive(Debug, thiserror::Error)]
pub enum DriveError<E> {
    /// The host cannot continue.
    #[error(transparent)]
    Host(E),
    /// The journal's facts lead this machine to other events than those recorded: it was written by another version, or is damaged.
    #[error("the journal diverges: it holds {recorded} events where a replay gives {replayed}")]
    Diverged {
        /// Events in the journal.
        recorded: usize,
        /// Events of the replay.
        replayed: usize,
    },
    /// An effect is in progress of which the snapshot has only the name, and the machine does not issue it again.
    #[error("what the effect {0} was to do is not known any more: this is a fault in the program")]
    Forgotten(EffectId),
    /// Nothing is in progress and nothing can arrive, so the machine would wait forever.
    #[error("the machine waits for nothing")]
    Idle,
}

/// Runs a machine on a host until it gives its output.
///
/// Facts are applied, then committed together with the events that follow, then their effects are issued: once the
/// commit is durable, unless all of them [may be repeated](Machine::is_repeatable). The input and the output of a
/// machine are durable at once. An answer to an effect that is not in progress (a duplicate, or a result after an
/// acknowledged revoke) never reaches the machine; a result that comes between a revoke and its acknowledgement is
/// turned into the acknowledgement.
///
/// # Errors
/// The host's own, and [`DriveError::Diverged`] when the journal belongs to another machine.
pub fn drive<M, H>(host: &mut H, resume: Resume<M>) -> impl Future<Output = Result<Ended<M>, DriveError<H::Error>>> + Send
where
    M: Machine,
    H: Host<M> + Send,
{
    // Before the first wait, so that the resume data need not be held while the machine is driven.
    let begun = begin(resume);
    async move {
        let (mut run, incoming, output) = begun?;
        if let Some(output) = output {
            return Ok(Ended { machine: run.machine, output });
        }
        run.go_on(host, incoming).await.map(|output| Ended { machine: run.machine, output })
    }
}

/// Machine that is ready to continue, its new facts, and its output if it does not continue.
type LoadedRun<M> = (Box<Run<M>>, Vec<Recorded<<M as Machine>::Fact>>, Option<<M as Machine>::Output>);

fn begin<M: Machine, E>(resume: Resume<M>) -> Result<LoadedRun<M>, DriveError<E>> {
    let (run, then, output) = match resume {
        Resume::Fresh(input) => (Run::fresh(input), Vec::new(), None),
        Resume::Journal { input, facts, events, then } => {
            let (mut run, output) = Run::replay(&input, &facts);
            if run.events.len() != events {
                return Err(DriveError::Diverged { recorded: events, replayed: run.events.len() });
            }
            run.events.clear();
            (run, then, output)
        }
        Resume::LoadedMachine { state, then } => (state.run, then, state.output),
    };
    let output = output.filter(|_| then.is_empty());
    Ok((Box::new(run), then, output))
}

/// An effect that has no answer yet.
struct OpenEffect<E> {
    /// Effect before it is handed to the host. Boxed, because issued effects do not need the room and would make the
    /// map eleven times as large.
    waiting: Option<Box<Issue<E>>>,
    /// True if it was issued before a snapshot, which keeps names alone, so that no host of this process has it.
    forgotten: bool,
    /// Reason of the revocation, once the machine has revoked the effect.
    revoked: Option<Reason>,
}

/// A machine with what it has ordered and what is not yet durable.
struct Run<M: Machine> {
    machine: M,
    out: Outbox<M>,
    open_effects: BTreeMap<EffectId, OpenEffect<M::Effect>>,
    /// Effects to hand over or revoke after the next commit, in the order in which the machine asked.
    orders: Vec<EffectId>,
    input: Option<Box<Recorded<M::Input>>>,
    facts: Vec<Recorded<M::Fact>>,
    events: Vec<Recorded<M::Event>>,
    /// The time of the last fact, for acknowledgements that `drive` makes itself.
    now: UnixMillis,
}

impl<M: Machine> Run<M> {
    fn start(input: &Recorded<M::Input>) -> Self {
        let mut out = Outbox::default();
        let machine = M::start(input.at, &input.fact, &mut out);
        let mut run = Self {
            machine,
            out,
            open_effects: BTreeMap::new(),
            orders: Vec::new(),
            input: None,
            facts: Vec::new(),
            events: Vec::new(),
            now: input.at,
        };
        run.collect();
        run
    }

    fn fresh(input: Recorded<M::Input>) -> Self {
        let mut run = Self::start(&input);
        run.input = Some(Box::new(input));
        run
    }

    fn replay(input: &Recorded<M::Input>, facts: &[Recorded<M::Fact>]) -> (Self, Option<M::Output>) {
        let mut run = Self::start(input);
        let mut output = None;
        for recorded in facts {
            output = run.learn_again(recorded);
        }
        run.mark_reissued();
        (run, output)
    }

    /// Applies a fact of the journal.
    fn learn_again(&mut self, recorded: &Recorded<M::Fact>) -> Option<M::Output> {
        if let Some(id) = M::answers(&recorded.fact) {
            self.open_effects.remove(id);
        }
        self.now = recorded.at;
        let output = self.machine.apply(recorded.at, &recorded.fact, &mut self.out);
        self.collect();
        output
    }

    fn mark_reissued(&mut self) {
        for issue in self.open_effects.values_mut().filter_map(|under_way| under_way.waiting.as_mut()) {
            issue.reissued = true;
        }
    }

    /// Moves what the machine put out to where it waits for the commit.
    fn collect(&mut self) {
        let (orders, events) = self.out.take();
        let at = self.now;
        self.events.extend(events.into_iter().map(|fact| Recorded { at, fact }));
        for order in orders {
            match order {
                Order::Issue(id, _) if self.open_effects.contains_key(&id) => {
                    tracing::warn!(effect = %id, "an effect under way was issued again; the second is dropped");
                }
                Order::Issue(id, effect) => {
                    let waiting = Some(Box::new(Issue { id: id.clone(), effect, reissued: false }));
                    self.open_effects.insert(id.clone(), OpenEffect { waiting, forgotten: false, revoked: None });
                    self.orders.push(id);
                }
                Order::Revoke(id, why) => {
                    if let Some(under_way) = self.open_effects.get_mut(&id)
                        && under_way.revoked.is_none()
                    {
                        under_way.revoked = Some(why);
                        self.orders.push(id);
                    }
                }
            }
        }
    }

    /// Applies what came in, up to the fact that ends the machine.
    fn apply(&mut self, incoming: Vec<Recorded<M::Fact>>) -> Option<M::Output> {
        for mut recorded in incoming {
            if let Some(id) = M::answers(&recorded.fact).cloned() {
                let Some(answered) = self.open_effects.remove(&id) else {
                    continue;
                };
                if let Some(why) = &answered.revoked {
                    recorded.fact = M::revoked(&id, why);
                }
            }
            self.now = recorded.at;
            let output = self.machine.apply(recorded.at, &recorded.fact, &mut self.out);
            self.facts.push(recorded);
            self.collect();
            if output.is_some() {
                return output;
            }
        }
        None
    }

    /// Runs the loop of the machine: apply, commit, issue, wait.
    async fn go_on<H: Host<M> + Send>(
        &mut self,
        host: &mut H,
        mut incoming: Vec<Recorded<M::Fact>>,
    ) -> Result<M::Output, DriveError<H::Error>> {
        let mut first = true;
        loop {
            let output = self.apply(std::mem::take(&mut incoming));
            if std::mem::take(&mut first) && output.is_none() {
                self.recall().map_err(DriveError::Forgotten)?;
            }
            let all_repeatable = self.all_repeatable() && output.is_none();
            if let Some(commit) = self.commit() {
                host.commit(commit).await.map_err(DriveError::Host)?;
                self.committed();
            }
            if !all_repeatable {
                host.flush().await.map_err(DriveError::Host)?;
            }
            if let Some(output) = output {
                return Ok(output);
            }
            self.order(host);
            incoming = self.acknowledgements();
            if incoming.is_empty() {
                incoming = host.next().await.map_err(DriveError::Host)?;
            }
            if incoming.is_empty() {
                return Err(DriveError::Idle);
            }
        }
    }

    /// Returns what is to be made durable. Its events are given away.
    fn commit(&mut self) -> Option<Commit<'_, M>> {
        if self.input.is_none() && self.facts.is_empty() {
            return None;
        }
        let events = Cow::Owned(std::mem::take(&mut self.events));
        Some(Commit { input: self.input.as_deref(), facts: &self.facts, events })
    }

    /// Clears the commit and frees its memory, because the next wait may be long.
    fn committed(&mut self) {
        self.input = None;
        self.facts = Vec::new();
    }

    /// Returns true if there are effects to issue and all of them may be repeated unnoticed. Without effects there is
    /// time to make the commit durable.
    fn all_repeatable(&self) -> bool {
        let repeatable = |id: &EffectId| {
            let under_way = self.open_effects.get(id).filter(|under_way| under_way.revoked.is_none());
            under_way.and_then(|under_way| under_way.waiting.as_ref()).is_some_and(|issue| M::is_repeatable(&issue.effect))
        };
        self.input.is_none() && !self.orders.is_empty() && self.orders.iter().all(repeatable)
    }

    /// Hands effects and revocations to the host.
    fn order<H: Host<M>>(&mut self, host: &mut H) {
        for id in std::mem::take(&mut self.orders) {
            let Some(under_way) = self.open_effects.get_mut(&id) else {
                continue;
            };
            match (&under_way.revoked, under_way.waiting.take()) {
                (None, Some(issue)) => host.issue(*issue),
                (Some(_), Some(issue)) => under_way.waiting = Some(issue),
                (Some(why), None) if !under_way.forgotten => host.revoke(&id, why.clone()),
                (_, None) => {}
            }
        }
    }

    /// Returns the answers to effects that were revoked before a host had them, since no host can answer these.
    fn acknowledgements(&self) -> Vec<Recorded<M::Fact>> {
        let never_begun = self.open_effects.iter().filter(|(_, under_way)| under_way.waiting.is_some() || under_way.forgotten);
        never_begun
            .filter_map(|(id, under_way)| {
                let fact = M::revoked(id, under_way.revoked.as_ref()?);
                Some(Recorded { at: self.now, fact })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
