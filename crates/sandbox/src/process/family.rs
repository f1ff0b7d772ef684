//! Finding and ending all that a command has started, wherever it has gone.
//!
//! A process leaves its group when it makes a session of its own, and its parent when that exits. What it keeps is its environment, and in it
//! the command's [`Mark`]. Whoever has emptied that too is known while its parents are. On a system without `/proc` nothing is found.

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

/// How often it is looked for what a dying process may have started meanwhile, and how long it is waited between. What is then left is asleep in
/// the kernel with the signal waiting for it, or belongs to another user.
const ROUNDS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(5);

/// A process. When it started, in ticks since the machine did, tells it from a later one with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    pid: i32,
    started: u64,
}

/// A process at one look.
struct Seen {
    process: Process,
    parent: i32,
    has_memory: bool,
    /// Pages of memory that it uses, shared ones too.
    pages: u64,
}

/// The living processes that belong to one command.
#[derive(Debug, Clone)]
pub(super) struct Family {
    mark: Mark,
    members: BTreeSet<Process>,
}

impl Family {
    pub(super) fn new(mark: Mark) -> Self {
        Self { mark, members: BTreeSet::new() }
    }

    /// Looks who is there now: who was known before and lives, who carries the mark, and the children of them all. Reads two small files for
    /// each process of the system. Answers whether nobody can have been overlooked: who is just starting a program shows no environment.
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

    /// Looks what they take together: the first bound that is passed.
    pub(super) fn exceeds(&mut self, limits: ResourceLimits) -> Option<Bound> {
        self.look();
        if self.members.len() as u64 > limits.processes {
            return Some(Bound::Processes(limits.processes));
        }
        // What they share counts for each of them at first; only where that is too much is it told apart, which takes longer.
        let page = rustix::param::page_size() as u64;
        let mut buffer = Vec::new();
        let used: u64 = self.members.iter().filter_map(|member| Some(stat(member.pid, &mut buffer)?.pages * page)).sum();
        let exceeds = used > limits.memory_bytes
            && self.members.iter().map(|member| share(member.pid, &mut buffer)).sum::<u64>() > limits.memory_bytes;
        exceeds.then_some(Bound::Memory(limits.memory_bytes))
    }

    /// Kills them all, and looks again until nobody is left: who was killed may have started another just before.
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

/// The living processes of the system that can be seen.
fn processes(buffer: &mut Vec<u8>) -> Vec<Seen> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(|pid| stat(pid, buffer)).collect()
}

/// What is told about a process that lives. A zombie does not.
fn stat(pid: i32, buffer: &mut Vec<u8>) -> Option<Seen> {
    // The name in parentheses can hold anything. After it come the state, the parent, and as the 22nd and 23rd field of all the start and the
    // memory, of which the kernel's own have none.
    let text = String::from_utf8_lossy(read(pid, "stat", buffer)?);
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let alive = !matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    let has_memory = fields.next()? != "0";
    let pages = fields.next()?.parse().unwrap_or_default();
    alive.then_some(Seen { process: Process { pid, started }, parent, has_memory, pages })
}

/// Bytes of memory that a process uses, its part of what it shares among them.
fn share(pid: i32, buffer: &mut Vec<u8>) -> u64 {
    let text = read(pid, "smaps_rollup", buffer).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok()).unwrap_or_default() << 10
}

/// A file of a process; none when the process is gone or belongs to another user.
fn read<'a>(pid: i32, file: &str, buffer: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    buffer.clear();
    File::open(format!("/proc/{pid}/{file}")).ok()?.read_to_end(buffer).ok()?;
    Some(buffer)
}

/// Kills this process, and none that was given its id since.
fn kill(process: Process) {
    let Some(pid) = Pid::from_raw(process.pid) else {
        return;
    };
    let is_still_there = || stat(process.pid, &mut Vec::new()).is_some_and(|seen| seen.process == process);
    #[cfg(target_os = "linux")]
    if let Ok(held) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        // What is held is what is looked at, or it is dead and the signal reaches nobody.
        if is_still_there() {
            tell(rustix::process::pidfd_send_signal(held, Signal::KILL), process);
        }
        return;
    }
    if is_still_there() {
        tell(kill_process(pid, Signal::KILL), process);
    }
}

fn tell(sent: rustix::io::Result<()>, process: Process) {
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
        // It would be the end of this test.
        let this = i32::try_from(std::process::id()).unwrap();
        let now = stat(this, &mut Vec::new()).unwrap().process;
        kill(Process { started: now.started - 1, ..now });
    }
}
