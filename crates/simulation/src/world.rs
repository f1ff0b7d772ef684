//! What a run meets: time, moments at which it can be cut, and the effects that it has had.

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

/// The most deaths of one run that come by chance.
const MOST_DEATHS: u64 = 4;

/// A moment at which a run can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Something is written to the journal.
    Write,
    /// A tool is about to do something.
    ToolBegins,
    /// A tool has done it, and nobody has heard of it.
    ToolEnds,
    /// A model is asked.
    ModelBegins,
    /// It has answered, and nobody has heard of it.
    ModelEnds,
}

/// Where and how a run is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The number of the moment, from 0.
    pub at: u64,
    /// What becomes of the write, if it is one; at any other moment the process dies.
    pub fate: Fate,
}

/// What a tool has done under one key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// How often it was called.
    pub(crate) begun: u32,
    /// How often it took effect.
    pub(crate) done: u32,
}

/// What one run meets, over all its lives.
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) chances: Chances,
    cut: Option<Cut>,
    /// The moments so far.
    trace: Mutex<Vec<Moment>>,
    deaths: AtomicU64,
    /// How often the disk refused a write: the life ends as after a crash.
    refusals: AtomicU64,
    dead: AtomicBool,
    /// What is written now is no part of the run: the disk keeps it, and it is no moment.
    aside: AtomicBool,
    died: Notify,
    /// Milliseconds since the Unix epoch when the present life began, and its beginning in the runtime's time.
    now: Mutex<(UnixMillis, Option<Instant>)>,
    /// By how much somebody has moved the clock, in milliseconds.
    moved: AtomicI64,
    effects: Mutex<BTreeMap<String, Tally>>,
    /// Calls of tools under way.
    pub(crate) at_work: AtomicU64,
    /// Tokens of all answers.
    pub(crate) tokens: AtomicU64,
    /// How many deeds of people are done.
    pub(crate) deeds: AtomicUsize,
    /// What was found wrong.
    faults: Mutex<Vec<String>>,
    /// Whoever carries the run out now.
    pub(crate) carrier: Mutex<Option<Orchestrator>>,
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
            deeds: AtomicUsize::new(0),
            faults: Mutex::default(),
            carrier: Mutex::default(),
        }
    }

    /// A new process begins, within a runtime of its own.
    pub(crate) fn begin_life(&self) {
        self.dead.store(false, Ordering::Relaxed);
        self.at_work.store(0, Ordering::Relaxed);
        lock(&self.now).1 = Some(Instant::now());
    }

    /// The process is gone.
    pub(crate) fn end_life(&self) {
        let mut now = lock(&self.now);
        // The next one begins a second later.
        *now = (elapsed(*now) + 1_000, None);
        drop(now);
        lock(&self.carrier).take();
    }

    /// Whether what is written from now on is no part of the run.
    pub(crate) fn aside(&self, aside: bool) {
        self.aside.store(aside, Ordering::Relaxed);
    }

    /// Waits until the process dies.
    pub(crate) async fn death(&self) {
        self.died.notified().await;
    }

    /// Whether a life was cut off: by its death, or by a disk that took nothing more.
    pub(crate) fn was_cut_off(&self) -> bool {
        self.deaths() + self.refusals.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn deaths(&self) -> u64 {
        self.deaths.load(Ordering::Relaxed)
    }

    /// A moment in an effect: the process may end in it.
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

    /// Counts a moment, and says how the run is cut in it, if it is.
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
        if self.deaths() < MOST_DEATHS && self.chances.happens(&format!("death/{at}"), odds.deaths) {
            return self.chances.of(&format!("fate/{at}")).choice([Fate::Kept, Fate::Lost, Fate::Torn]);
        }
        if self.deaths() < MOST_DEATHS && moment == Moment::Write && self.chances.happens(&format!("disk/{at}"), odds.disk_fails) {
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

/// The disk of whatever world is on the stage.
pub(crate) struct WorldDisk(pub(crate) Arc<World>);

impl Disk for WorldDisk {
    fn fate(&self) -> Fate {
        if self.0.aside.load(Ordering::Relaxed) {
            return Fate::Written;
        }
        if self.0.dead.load(Ordering::Relaxed) {
            // Who is dead writes nothing.
            return Fate::Lost;
        }
        let fate = self.0.passes(Moment::Write).unwrap_or_default();
        if matches!(fate, Fate::Kept | Fate::Lost | Fate::Torn) {
            self.0.die();
        }
        fate
    }
}
