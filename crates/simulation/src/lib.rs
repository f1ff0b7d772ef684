#![doc = include_str!("../README.md")]

mod chance;
mod check;
mod counts;
mod cuts;
mod life;
mod long;
mod model;
mod patches;
mod people;
mod scenario;
mod stage;
mod story;
mod tools;
mod world;

pub use counts::Counts;
pub use cuts::{cuts_of, uncut};
pub use long::{Long, LongError, LongStory};
pub use scenario::Scenario;
pub use stage::{Stage, StageError};
pub use story::{Story, play};
pub use world::{Cut, Moment};

/// Returns the number of open files of this process, if the system reports it.
#[must_use]
pub fn open_files() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count())
}

/// Returns a measure of this process's memory in bytes, if the system reports it: `VmRSS:` is the current size, `VmHWM:` the maximum so
/// far.
#[must_use]
pub fn memory(measure: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(measure))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}
