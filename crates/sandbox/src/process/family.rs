//! Finds and kills all processes that a command has started, even outside of its group.
//!
//! A process leaves its group by creating a session, and its parent when that exits. It keeps its environment, which contains the command's
//! [`Mark`]. A process that has removed the mark is found as long as its parents live. On a system without `/proc` nothing is found.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Read,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use super::{Bound, mark::Mark};
use crate::ResourceLimits;

/// Maximum number of searches for processes that dying ones have started in the meantime, and delay between them. Processes that are left
/// after that are asleep in the kernel with a pending signal, or belong to another user.
const ROUNDS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(5);

/// A process. Its start time, in ticks since boot, distinguishes it from a later one with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    pid: i32,
    started: u64,
}

/// State of a process at one scan.
struct ProcessScan {
    process: Process,
    parent: i32,
    has_memory: bool,
    /// Used memory in pages, including shared ones.
    pages: u64,
}

/// Living processes of one command.
#[derive(Debug, Clone)]
pub(super) struct ProcessTree {
    mark: Mark,
    members: BTreeSet<Process>,
}

impl ProcessTree {
    pub(super) fn new(mark: Mark) -> Self {
        Self { mark, members: BTreeSet::new() }
    }

    /// Updates the set: known processes that live, processes with the mark, and the children of both. Reads two small files for each
    /// process of the system. Returns true if no process can have been missed: a process that is just executing a program shows no
    /// environment.
    pub(super) fn look(&mut self) -> bool {
        let mut buffer = Vec::new();
        let all = processes(&mut buffer);
        let known = std::mem::take(&mut self.members);
        let mut sure = true;
        for seen in &all {
            let environment = read(seen.process.pid, "environ", &mut buffer);
            sure &= !(seen.has_memory && environment.is_some_and(<[u8]>::is_empty));
            if known.contains(&seen.process) || environment.is_some_and(|environment| self.mark.is_in(environment)) {
                self.members.insert(seen.process);
            }
        }
        loop {
            let parents: BTreeSet<i32> = self.members.iter().map(|member| member.pid).collect();
            let before = self.members.len();
            self.members.extend(all.iter().filter(|seen| parents.contains(&seen.parent)).map(|seen| seen.process));
            if self.members.len() == before {
                return sure;
            }
        }
    }

    /// Returns the first resource limit that the processes together exceed.
    pub(super) fn exceeds(&mut self, limits: ResourceLimits) -> Option<Bound> {
        self.look();
        if self.members.len() as u64 > limits.processes {
            return Some(Bound::Processes(limits.processes));
        }
        // Shared memory is counted for each process at first. Only if that exceeds the limit, it is counted exactly, which takes longer.
        let page = rustix::param::page_size() as u64;
        let mut buffer = Vec::new();
        let used: u64 = self.members.iter().filter_map(|member| Some(stat(member.pid, &mut buffer)?.pages * page)).sum();
        let exceeds = used > limits.memory_bytes
            && self.members.iter().map(|member| share(member.pid, &mut buffer)).sum::<u64>() > limits.memory_bytes;
        exceeds.then_some(Bound::Memory(limits.memory_bytes))
    }

    /// Kills all processes, and scans again until none is left: a killed process may have started another just before.
    pub(super) fn end(&mut self) {
        let mut doubted = false;
        for _ in 0..ROUNDS {
            let sure = self.look();
            if self.members.is_empty() && (sure || doubted) {
                return;
            }
            doubted = self.members.is_empty();
            for member in &self.members {
                kill(*member);
            }
            thread::sleep(PAUSE);
        }
        tracing::warn!(left = self.members.len(), "processes of a command do not end");
    }
}

/// Returns the visible living processes of the system.
fn processes(buffer: &mut Vec<u8>) -> Vec<ProcessScan> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(|pid| stat(pid, buffer)).collect()
}

/// Parses the status of a living process; `None` for a zombie.
fn stat(pid: i32, buffer: &mut Vec<u8>) -> Option<ProcessScan> {
    // The name in parentheses can contain any character. After it come the state, the parent and, as fields 22 and 23 of the whole line,
    // the start time and the memory, which is zero for kernel threads.
    let text = String::from_utf8_lossy(read(pid, "stat", buffer)?);
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let alive = !matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    let has_memory = fields.next()? != "0";
    let pages = fields.next()?.parse().unwrap_or_default();
    alive.then_some(ProcessScan { process: Process { pid, started }, parent, has_memory, pages })
}

/// Returns the memory of a process in bytes, including its share of shared memory.
fn share(pid: i32, buffer: &mut Vec<u8>) -> u64 {
    let text = read(pid, "smaps_rollup", buffer).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok()).unwrap_or_default() << 10
}

/// Reads a file of a process; `None` if the process is gone or belongs to another user.
fn read<'a>(pid: i32, file: &str, buffer: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    buffer.clear();
    File::open(format!("/proc/{pid}/{file}")).ok()?.read_to_end(buffer).ok()?;
    Some(buffer)
}

/// Kills this process, and no later one with the same id.
fn kill(process: Process) {
    let Some(pid) = Pid::from_raw(process.pid) else {
        return;
    };
    let is_still_there = || stat(process.pid, &mut Vec::new()).is_some_and(|seen| seen.process == process);
    #[cfg(target_os = "linux")]
    if let Ok(held) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        // The handle refers to the checked process, or that one is dead and the signal has no effect.
        if is_still_there() {
            log_failed_kill(rustix::process::pidfd_send_signal(held, Signal::KILL), process);
        }
        return;
    }
    if is_still_there() {
        log_failed_kill(kill_process(pid, Signal::KILL), process);
    }
}

fn log_failed_kill(sent: rustix::io::Result<()>, process: Process) {
    if let Err(error) = sent {
        tracing::debug!(%error, pid = process.pid, "a process could not be killed");
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn sees_this_process_and_its_parent() {
        let this = i32::try_from(std::process::id()).unwrap();
        let mut buffer = Vec::new();
        let all = processes(&mut buffer);
        let seen = all.iter().find(|seen| seen.process.pid == this).unwrap();
        assert_eq!(seen.parent, i32::try_from(std::os::unix::process::parent_id()).unwrap());
        assert!(seen.has_memory && seen.process.started > 0);
        assert!(read(this, "environ", &mut buffer).is_some());
    }

    #[test]
    fn a_later_process_with_the_id_of_an_earlier_is_spared() {
        // A mistake would kill this test process.
        let this = i32::try_from(std::process::id()).unwrap();
        let now = stat(this, &mut Vec::new()).unwrap().process;
        kill(Process { started: now.started - 1, ..now });
    }
}
