//! Watches the resources of a confined program while it runs, and kills it if it exceeds its limits.
//!
//! A fork bomb leaves little of the machine to other processes. So the watch has a thread of its own with a higher priority where possible
//! (as root, to whom the kernel's process limit does not apply). It costs little as long as the machine is not full.

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

use super::{Bound, family::ProcessTree};
use crate::ResourceLimits;

/// Interval at which the number of threads on the machine is checked.
const TICK: Duration = Duration::from_millis(20);
/// Number of ticks after which the command itself is checked in any case.
pub(super) const OFTEN: u32 = 10;
/// The same for a long-running program: a check costs milliseconds, and the program may run for hours.
pub(super) const SELDOM: u32 = 100;
/// Highest priority.
const FIRST: i32 = -20;

/// Watch of a command. Dropping it ends the watch.
#[derive(Debug)]
pub(super) struct Watch {
    over: Arc<AtomicBool>,
    bound: Arc<OnceLock<Bound>>,
}

impl Watch {
    /// Starts to watch a command that leads a process group: after this many ticks, and whenever the machine fills up.
    pub(super) fn over(family: ProcessTree, leader: Option<u32>, limits: ResourceLimits, ticks: u32) -> Self {
        let found = Arc::new(OnceLock::new());
        let find = Arc::clone(&found);
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let started = thread::Builder::new()
            .name("aime-watch".to_owned())
            .spawn(move || watch_limits(family, leader, (limits, ticks), &ended, &find));
        if let Err(error) = started {
            tracing::warn!(%error, "cannot monitor the command's resource use");
        }
        Self { over, bound: found }
    }

    /// Returns the exceeded limit, if the command was killed for that.
    pub(super) fn exceeded(&self) -> Option<Bound> {
        self.bound.get().copied()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

fn watch_limits(
    mut family: ProcessTree,
    leader: Option<u32>,
    (limits, ticks): (ResourceLimits, u32),
    over: &AtomicBool,
    found: &OnceLock<Bound>,
) {
    // Only root may do this; the kernel limits the processes of other users.
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
            // Set before the kill, so that the reason is known when the process ends.
            found.get_or_init(|| bound);
            // Kill the group atomically, then the processes that have left it.
            if let Some(group) = leader.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            family.end();
            return;
        }
        // Other programs have filled the machine.
        before = threads();
    }
}

/// Returns the number of threads on the machine.
fn threads() -> u64 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let total = load.split_ascii_whitespace().nth(3).and_then(|field| field.split_once('/')?.1.parse().ok());
    total.unwrap_or_default()
}
