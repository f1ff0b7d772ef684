//! World of a run: time, moments at which it can be cut, and its effects.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering},
    },
};

use aime_durable::{Clock, Disk, Fate, UnixMillis};
use aime_orchestrator::Orchestrator;
use tokio::{sync::Notify, time::Instant};

use crate::{Scenario, chance::Chances};

/// Maximum number of random deaths in one run.
const MAX_DEATHS: u64 = 4;

/// A moment at which a run can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// The journal is written.
    Write,
    /// A tool call begins.
    ToolBegins,
    /// A tool has taken effect, but its result was not received yet.
    ToolEnds,
    /// A model request begins.
    ModelBegins,
    /// A model has answered, but the answer was not received yet.
    ModelEnds,
}

/// Place and kind of a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Number of the moment, from 0.
    pub at: u64,
    /// Fate of the write, if the moment is one; at any other moment the process dies.
    pub fate: Fate,
}

/// Counts of the calls with one key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Number of calls that began.
    pub(crate) begun: u32,
    /// Number of calls that took effect.
    pub(crate) done: u32,
}

/// World of one run, over all its lives.
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) chances: Chances,
    cut: Option<Cut>,
    /// Moments so far.
    trace: Mutex<Vec<Moment>>,
    deaths: AtomicU64,
    /// Number of writes that the disk refused: the life then ends as after a crash.
    refusals: AtomicU64,
    dead: AtomicBool,
    /// True for writes outside of the run: they succeed and do not count as moments.
    aside: AtomicBool,
    died: Notify,
    /// Time at the start of the present life in milliseconds since the Unix epoch, and its instant in the virtual time of the runtime.
    now: Mutex<(UnixMillis, Option<Instant>)>,
    /// Offset of the clock in milliseconds, after people have moved it.
    moved: AtomicI64,
    effects: Mutex<BTreeMap<String, Tally>>,
    /// Number of running tool calls.
    pub(crate) at_work: AtomicU64,
    /// Number of tokens in all answers.
    pub(crate) tokens: AtomicU64,
    /// Number of performed external events.
    pub(crate) external_events: AtomicUsize,
    /// Violated invariants.
    faults: Mutex<Vec<String>>,
    /// Orchestrator that executes the run now.
    pub(crate) orchestrator: Mutex<Option<Orchestrator>>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) fn new(scenario: Scenario, cut: Option<Cut>) -> Self {
        Self {
            chances: Chances(scenario.seed),
            scenario,
            cut,
            trace: Mutex::default(),
            deaths: AtomicU64::new(0),
            refusals: AtomicU64::new(0),
            dead: AtomicBool::new(false),
            aside: AtomicBool::new(false),
            died: Notify::new(),
            now: Mutex::new((1_000_000, None)),
            moved: AtomicI64::new(0),
            effects: Mutex::default(),
            at_work: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
            external_events: AtomicUsize::new(0),
            faults: Mutex::default(),
            orchestrator: Mutex::default(),
        }
    }

    /// Starts the life of a new process, within a runtime of its own.
    pub(crate) fn begin_life(&self) {
        self.dead.store(false, Ordering::Relaxed);
        self.at_work.store(0, Ordering::Relaxed);
        lock(&self.now).1 = Some(Instant::now());
    }

    /// Ends the life of the process.
    pub(crate) fn end_life(&self) {
        let mut now = lock(&self.now);
        // The next process starts a second later.
        *now = (elapsed(*now) + 1_000, None);
        drop(now);
        lock(&self.orchestrator).take();
    }

    /// Sets the flag for writes outside of the run.
    pub(crate) fn aside(&self, aside: bool) {
        self.aside.store(aside, Ordering::Relaxed);
    }

    /// Waits until the process dies.
    pub(crate) async fn death(&self) {
        self.died.notified().await;
    }

    /// Returns true if a life was cut off: by its death, or by a disk that refused all writes.
    pub(crate) fn was_cut_off(&self) -> bool {
        self.deaths() + self.refusals.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn deaths(&self) -> u64 {
        self.deaths.load(Ordering::Relaxed)
    }

    /// Passes a moment of an effect, at which the process may die.
    pub(crate) async fn moment(&self, moment: Moment) {
        if self.passes(moment).is_some() {
            self.die();
        }
        if self.dead.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    fn die(&self) {
        self.deaths.fetch_add(1, Ordering::Relaxed);
        self.dead.store(true, Ordering::Relaxed);
        self.died.notify_one();
    }

    /// Counts a moment, and returns the fate of the run if it is cut there.
    fn passes(&self, moment: Moment) -> Option<Fate> {
        let at = {
            let mut trace = lock(&self.trace);
            trace.push(moment);
            trace.len() as u64 - 1
        };
        if let Some(cut) = self.cut.filter(|cut| cut.at == at) {
            return Some(cut.fate);
        }
        let odds = self.scenario.odds;
        if self.deaths() < MAX_DEATHS && self.chances.happens(&format!("death/{at}"), odds.deaths) {
            return self.chances.of(&format!("fate/{at}")).choice([Fate::Unreported, Fate::Lost, Fate::Torn]);
        }
        if self.deaths() < MAX_DEATHS && moment == Moment::Write && self.chances.happens(&format!("disk/{at}"), odds.disk_fails) {
            let fate = self.chances.of(&format!("fate/{at}")).choice([Fate::Full, Fate::Broken, Fate::Twice]);
            self.refusals.fetch_add(u64::from(fate != Some(Fate::Twice)), Ordering::Relaxed);
            return fate;
        }
        None
    }

    pub(crate) fn trace(&self) -> Vec<Moment> {
        lock(&self.trace).clone()
    }

    pub(crate) fn clock(&self, seconds: i64) {
        self.moved.fetch_add(seconds * 1_000, Ordering::Relaxed);
    }

    pub(crate) fn tally(&self, key: &str, count: impl FnOnce(&mut Tally)) {
        count(lock(&self.effects).entry(key.to_owned()).or_default());
    }

    pub(crate) fn effects(&self) -> BTreeMap<String, Tally> {
        lock(&self.effects).clone()
    }

    pub(crate) fn fault(&self, fault: String) {
        lock(&self.faults).push(fault);
    }

    pub(crate) fn take_faults(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.faults))
    }
}

fn elapsed((begun, since): (UnixMillis, Option<Instant>)) -> UnixMillis {
    begun + since.map_or(0, |since| i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX))
}

impl Clock for World {
    fn now(&self) -> UnixMillis {
        elapsed(*lock(&self.now)) + self.moved.load(Ordering::Relaxed)
    }
}

/// Disk of the current world.
pub(crate) struct WorldDisk(pub(crate) Arc<World>);

impl Disk for WorldDisk {
    fn fate(&self) -> Fate {
        if self.0.aside.load(Ordering::Relaxed) {
            return Fate::Written;
        }
        if self.0.dead.load(Ordering::Relaxed) {
            // A dead process writes nothing.
            return Fate::Lost;
        }
        let fate = self.0.passes(Moment::Write).unwrap_or_default();
        if matches!(fate, Fate::Unreported | Fate::Lost | Fate::Torn) {
            self.0.die();
        }
        fate
    }
}
