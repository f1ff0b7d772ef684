//! Looking at what a confined program takes while it runs, and ending it when that is too much.
//!
//! A program that starts others without end leaves little of the machine to anybody. So the look has a thread of its own, which goes before
//! others where it may (as root, whom the kernel does not bound), and costs little as long as the machine does not fill.

use std::{
    fs,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group, setpriority_process};

use super::{Bound, family::Family};
use crate::ResourceLimits;

/// How often it is looked whether the machine fills.
const TICK: Duration = Duration::from_millis(20);
/// After how many of these it is looked at a command itself in any case.
pub(super) const OFTEN: u32 = 10;
/// The same for a program that stays: the look costs milliseconds, and it may stay for hours.
pub(super) const SELDOM: u32 = 100;
/// Before all others.
const FIRST: i32 = -20;

/// A look at a command that goes on until it is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    over: Arc<AtomicBool>,
    found: Arc<OnceLock<Bound>>,
}

impl Watch {
    /// Begins to look at a command, which leads a process group: in any case after so many ticks, and whenever the machine fills.
    pub(super) fn over(family: Family, leader: Option<u32>, limits: ResourceLimits, ticks: u32) -> Self {
        let found = Arc::new(OnceLock::new());
        let find = Arc::clone(&found);
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let started =
            thread::Builder::new().name("aime-watch".to_owned()).spawn(move || look(family, leader, (limits, ticks), &ended, &find));
        if let Err(error) = started {
            tracing::warn!(%error, "what a command takes is not watched");
        }
        Self { over, found }
    }

    /// What the command took too much of, where it was killed for that.
    pub(super) fn exceeded(&self) -> Option<Bound> {
        self.found.get().copied()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

fn look(mut family: Family, leader: Option<u32>, (limits, ticks): (ResourceLimits, u32), over: &AtomicBool, found: &OnceLock<Bound>) {
    // Only root may; the kernel bounds the processes of anybody else.
    let _ = setpriority_process(None, FIRST);
    let mut before = threads();
    for tick in 1_u32.. {
        thread::sleep(TICK);
        if over.load(Ordering::Relaxed) {
            return;
        }
        let fills = threads().saturating_sub(before) > limits.processes;
        if !fills && !tick.is_multiple_of(ticks) {
            continue;
        }
        if let Some(bound) = family.exceeds(limits) {
            // Before it is killed, so that its end is understood.
            found.get_or_init(|| bound);
            // At one stroke, and then those that have left the group.
            if let Some(group) = leader.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            family.end();
            return;
        }
        // Others have filled it.
        before = threads();
    }
}

/// How many threads the machine runs.
fn threads() -> u64 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let total = load.split_ascii_whitespace().nth(3).and_then(|field| field.split_once('/')?.1.parse().ok());
    total.unwrap_or_default()
}
