//! Contract of a host, as tests that any host can run. With feature `contract-tests`.
//!
//! Implement [`Hosts`] to open your host, then call [`all`] in a test. A host in this process is opened as `(host,
//! kept)`; a host that drives elsewhere, such as on an engine, implements [`Opened`] for its actions there. The
//! clauses are the same for both.

mod toy;
mod world;

use std::{collections::HashSet, fmt, sync::Arc};

pub use toy::{LATE, Sum, Toy, ToyEffect, ToyEvent, ToyFact, ToyInput};
pub use world::{StartedEffect, World};

use crate::{Commit, Ended, Host, Machine, Recorded, Resume, UnixMillis, drive, replay};

/// A clause of the contract that a host broke, in words.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct ContractViolation(pub String);

impl ContractViolation {
    /// Wraps any error.
    pub fn because(error: impl fmt::Debug) -> Self {
        Self(format!("{error:?}"))
    }
}

/// Stored state of a toy.
#[derive(Debug, Clone)]
pub struct StoredToy {
    /// Input of the machine.
    pub input: Recorded<ToyInput>,
    /// Facts in order.
    pub facts: Vec<Recorded<ToyFact>>,
    /// Events in order.
    pub events: Vec<Recorded<ToyEvent>>,
}

/// Makes the hosts to be tested. Runs are named by the tests.
pub trait Hosts {
    /// A run as a host has it; `(host, kept)` for a host in this process.
    type Opened: Opened;

    /// Opens a run as a new process would: as a host that continues after the stored state, and that state, if there
    /// is any.
    fn open(&self, run: &str, world: Arc<World>) -> impl Future<Output = Result<Self::Opened, ContractViolation>>;
}

/// Run that a host can continue.
pub trait Opened: Sized {
    /// Returns the state that was stored when it was opened; `None` for a new one.
    fn kept(self) -> Option<StoredToy>;

    /// Enters it as a kill would have left it. It was new before.
    fn enter(self, kept: &StoredToy) -> impl Future<Output = Result<(), ContractViolation>>;

    /// Drives the run to its end: from [`INPUT`] at [`BEGUN`], or from the stored state, of which every effect
    /// without an answer is issued again.
    fn finish(self) -> impl Future<Output = Result<Sum, ContractViolation>>;
}

impl<H: Host<Toy, Error: fmt::Debug> + Send> Opened for (H, Option<StoredToy>) {
    fn kept(self) -> Option<StoredToy> {
        self.1
    }

    async fn enter(mut self, StoredToy { input, facts, events }: &StoredToy) -> Result<(), ContractViolation> {
        self.0.commit(Commit { input: Some(input), facts, events: events.into() }).await.map_err(ContractViolation::because)
    }

    async fn finish(self) -> Result<Sum, ContractViolation> {
        let (mut host, kept) = self;
        let resume = match kept {
            None => Resume::Fresh(Recorded { at: BEGUN, fact: INPUT }),
            Some(StoredToy { input, facts, events }) => Resume::Journal { input, facts, events: events.len(), then: Vec::new() },
        };
        let Ended { output, .. } = drive(&mut host, resume).await.map_err(ContractViolation::because)?;
        Ok(output)
    }
}

/// Input of every run of the tests.
pub const INPUT: ToyInput = ToyInput { lanes: 3, steps: 4 };
/// When it starts.
pub const BEGUN: UnixMillis = 1_000;

/// Checks every clause in turn.
///
/// # Errors
/// The first clause that is broken.
pub async fn all(hosts: &impl Hosts) -> Result<(), ContractViolation> {
    replaying_gives_the_live_run(hosts).await?;
    a_kill_between_any_two_facts_changes_nothing(hosts).await?;
    duplicate_facts_change_nothing(hosts).await?;
    results_after_a_revoke_change_nothing(hosts).await?;
    of_two_hosts_one_continues(hosts).await
}

/// Replaying what is kept gives the output and the events of the live run.
///
/// # Errors
/// If it does not.
pub async fn replaying_gives_the_live_run(hosts: &impl Hosts) -> Result<(), ContractViolation> {
    let sum = go(hosts, "replay", Arc::default()).await?;
    let kept = load_stored(hosts, "replay").await?;
    let replayed = replay::<Toy>(&kept.input, &kept.facts);
    same("the output of the live run", sum, INPUT.expected())?;
    same("the output of a replay", replayed.output, Some(sum))?;
    same("the events of a replay", replayed.events, kept.events)
}

/// Whichever fact was the last to be kept before a kill, the run ends as it would have, and starts nothing again that was answered.
///
/// # Errors
/// If it does not.
pub async fn a_kill_between_any_two_facts_changes_nothing(hosts: &impl Hosts) -> Result<(), ContractViolation> {
    go(hosts, "whole", Arc::default()).await?;
    let whole = load_stored(hosts, "whole").await?;
    for facts in 0..=whole.facts.len() {
        let (name, world) = (format!("killed-{facts}"), Arc::<World>::default());
        let before = seed(hosts, &name, &whole, facts).await?;
        same(&format!("the output after a kill at fact {facts}"), go(hosts, &name, Arc::clone(&world)).await?, INPUT.expected())?;
        for started in world.started() {
            same(&format!("{}, answered before the kill, starts again", started.id), before.answered.contains(&started.id), false)?;
            same(&format!("{} is said to be issued again", started.id), started.reissued, before.issued.contains(&started.id))?;
        }
        let events = load_stored(hosts, &name).await?.events;
        same(&format!("the events after a kill at fact {facts}"), sorted(&events), sorted(&whole.events))?;
    }
    Ok(())
}

/// Checks that an answer that arrives twice is applied once.
///
/// # Errors
/// If it is not.
pub async fn duplicate_facts_change_nothing(hosts: &impl Hosts) -> Result<(), ContractViolation> {
    same("the output", go(hosts, "twice", Arc::new(World::repeating())).await?, INPUT.expected())?;
    let kept = load_stored(hosts, "twice").await?;
    let answered: Vec<_> = kept.facts.iter().filter_map(|fact| Toy::answers(&fact.fact)).collect();
    same("the number of effects answered", answered.iter().collect::<HashSet<_>>().len(), answered.len())
}

/// Checks that a result after a revoke is applied as the acknowledgement of the revoke.
///
/// # Errors
/// If it is not.
pub async fn results_after_a_revoke_change_nothing(hosts: &impl Hosts) -> Result<(), ContractViolation> {
    same("the output", go(hosts, "late", Arc::default()).await?, INPUT.expected())?;
    let late = |fact: &Recorded<ToyFact>| matches!(fact.fact, ToyFact::Done { value: LATE, .. });
    same("a late result is kept", load_stored(hosts, "late").await?.facts.iter().any(late), false)
}

/// Checks that of two hosts that continue the same run, exactly one succeeds; the other fails and has changed
/// nothing.
///
/// # Errors
/// If both or none continue.
pub async fn of_two_hosts_one_continues(hosts: &impl Hosts) -> Result<(), ContractViolation> {
    go(hosts, "first", Arc::default()).await?;
    let whole = load_stored(hosts, "first").await?;
    seed(hosts, "two", &whole, whole.facts.len() / 2).await?;
    let (one, other) = (hosts.open("two", Arc::default()).await?, hosts.open("two", Arc::default()).await?);
    let outcomes = futures::join!(one.finish(), other.finish());
    let sums = [&outcomes.0, &outcomes.1].into_iter().flatten().copied().collect::<Vec<_>>();
    same("the outputs of two hosts on one run", sums, vec![INPUT.expected()])?;
    let kept = load_stored(hosts, "two").await?;
    same("the events of a replay", replay::<Toy>(&kept.input, &kept.facts).events, kept.events)
}

/// Drives a run to its end.
async fn go(hosts: &impl Hosts, run: &str, world: Arc<World>) -> Result<Sum, ContractViolation> {
    hosts.open(run, world).await?.finish().await
}

async fn load_stored(hosts: &impl Hosts, run: &str) -> Result<StoredToy, ContractViolation> {
    let kept = hosts.open(run, Arc::default()).await?.kept();
    kept.ok_or_else(|| ContractViolation(format!("nothing is kept of {run}")))
}

/// State of a run's effects at its kill.
struct EffectsAtKill {
    answered: HashSet<crate::EffectId>,
    issued: HashSet<crate::EffectId>,
}

/// Enters a run as a kill would have left it: with the first facts of another, and the events that follow from them.
async fn seed(hosts: &impl Hosts, run: &str, whole: &StoredToy, facts: usize) -> Result<EffectsAtKill, ContractViolation> {
    let facts = whole.facts.get(..facts).unwrap_or(&whole.facts);
    let events = replay::<Toy>(&whole.input, facts).events;
    let left = StoredToy { input: whole.input.clone(), facts: facts.to_vec(), events };
    hosts.open(run, Arc::default()).await?.enter(&left).await?;
    let mut out = crate::Outbox::default();
    let mut toy = Toy::start(whole.input.at, &whole.input.fact, &mut out);
    for fact in facts {
        toy.apply(fact.at, &fact.fact, &mut out);
    }
    let issued = out.orders().iter().filter_map(|order| match order {
        crate::Order::Issue(id, _) => Some(id.clone()),
        crate::Order::Revoke(..) => None,
    });
    let answered = facts.iter().filter_map(|fact| Toy::answers(&fact.fact).cloned());
    Ok(EffectsAtKill { answered: answered.collect(), issued: issued.collect() })
}

fn sorted(events: &[Recorded<ToyEvent>]) -> Vec<&ToyEvent> {
    let mut events: Vec<_> = events.iter().map(|event| &event.fact).collect();
    events.sort();
    events
}

fn same<T: PartialEq + fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), ContractViolation> {
    if found == expected {
        return Ok(());
    }
    Err(ContractViolation(format!("{what}: {found:?}, where it should be {expected:?}")))
}
