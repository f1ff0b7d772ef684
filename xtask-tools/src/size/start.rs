//! Cost of `aime --version` and `aime runs list`.
//!
//! Limits on elapsed time would fail on a busy machine. Two other measures replace it: the system calls, which are the same in each start
//! and reveal needless set-up; and the processor time, which other processes hardly affect.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Number of starts.
const STARTS: usize = 20;
/// Limit on processor time. A start takes a few milliseconds; the rest is room for a slow machine. A runtime, a journal or settings that
/// are opened needlessly show in the limits below.
const CPU_BOUND: Duration = Duration::from_millis(20);
/// Limit on system calls. Loading four libraries and printing a line takes about 80.
const CALLS_BOUND: usize = 150;
/// Limit for `aime runs list`. With a search for settings and a missing journal it takes about 180.
const LIST_CALLS_BOUND: usize = 260;

/// Measured start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// `aime --version`.
    Version,
    /// `aime runs list`, in a folder without runs.
    List,
}

impl Start {
    pub(super) const ALL: [Self; 2] = [Self::Version, Self::List];

    pub(super) const fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Version => &["--version"],
            Self::List => &["runs", "list"],
        }
    }

    /// Returns the command line.
    pub(super) fn line(self) -> String {
        format!("aime {}", self.arguments().join(" "))
    }

    const fn most_calls(self) -> usize {
        match self {
            Self::Version => CALLS_BOUND,
            Self::List => LIST_CALLS_BOUND,
        }
    }

    fn command(self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.args(self.arguments()).current_dir(folder).env_remove(CARGOS_PATH).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }
}

/// With this variable, which cargo sets, the loader searches further folders for each library first.
const CARGOS_PATH: &str = "LD_LIBRARY_PATH";

/// Medians of many starts.
pub(super) struct Starts {
    start: Start,
    wall: Duration,
    /// None if the system does not report it.
    cpu: Option<Duration>,
}

impl Starts {
    /// Starts the program many times in this folder, one after the other.
    pub(super) fn measure(start: Start, program: &Path, folder: &Path) -> Result<Self> {
        let (mut walls, mut cpus) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            let begun = Instant::now();
            let mut child = start.command(program, folder).stderr(Stdio::null()).spawn().context("could not start aime")?;
            let cpu = cpu_of_ended(&child);
            let status = child.wait().context("could not wait for aime")?;
            walls.push(begun.elapsed());
            if !status.success() {
                bail!("`{}` failed ({status})", start.line());
            }
            cpus.extend(cpu);
        }
        Ok(Self { start, wall: median(walls).unwrap_or_default(), cpu: median(cpus) })
    }

    /// Describes an exceeded limit.
    pub(super) fn fault(&self) -> Option<String> {
        let cpu = self.cpu.filter(|cpu| *cpu > CPU_BOUND)?;
        Some(format!("`{}` takes {cpu:.1?} on the processor; at most {CPU_BOUND:?} are meant", self.start.line()))
    }
}

impl fmt::Display for Starts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "median of {STARTS}: {:.1?} in all", self.wall)?;
        match self.cpu {
            Some(cpu) => write!(f, ", {cpu:.1?} on the processor; at most {CPU_BOUND:?}"),
            None => write!(f, "; this system does not tell its time on the processor"),
        }
    }
}

/// Returns the processor time of an ended child that was not waited for. Linux keeps it in `/proc` until the wait.
fn cpu_of_ended(child: &Child) -> Option<Duration> {
    let file = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", child.id())).ok();
    while !file("stat")?.rsplit(')').next()?.trim_start().starts_with('Z') {
        thread::sleep(Duration::from_micros(200));
    }
    file("schedstat")?.split_ascii_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

fn median(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// System calls of one start.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Calls {
    count: usize,
    /// Calls that start a thread or a process, or use the network.
    needless: Vec<String>,
    /// Opened files, without libraries.
    opened: Vec<String>,
}

impl Calls {
    /// Starts the program under `strace`; none if that is not installed.
    pub(super) fn trace(start: Start, program: &Path, folder: &Path) -> Result<Option<Self>> {
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-e", "signal=none"]).arg(program).args(start.arguments()).current_dir(folder);
        command.env_remove(CARGOS_PATH).stdin(Stdio::null()).stdout(Stdio::null());
        match command.output() {
            Ok(output) if output.status.success() => Ok(Some(Self::read(&String::from_utf8_lossy(&output.stderr)))),
            Ok(output) => bail!("strace failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).context("could not start strace"),
        }
    }

    /// Parses the output of `strace -f`.
    fn read(trace: &str) -> Self {
        let mut calls = Self::default();
        for line in trace.lines() {
            // Lines have the form `[pid 12] name(arguments) = result`. An interrupted call has two lines and counts once.
            let call = line.strip_prefix("[pid").and_then(|rest| rest.split_once("] ")).map_or(line, |(_, call)| call).trim_start();
            let Some((name, arguments)) = call.split_once('(') else {
                continue;
            };
            if name.is_empty() || name.starts_with('<') {
                continue;
            }
            calls.count += 1;
            let file = || arguments.split('"').nth(1).unwrap_or_default();
            match name {
                "clone" | "clone3" | "fork" | "vfork" | "socket" => calls.needless.push(name.to_owned()),
                "open" | "openat" if !arguments.contains(" = -1 ") && !is_loader(file()) => calls.opened.push(file().to_owned()),
                _ => {}
            }
        }
        calls
    }

    /// Describes the exceeded limits.
    pub(super) fn faults(&self, start: Start) -> Vec<String> {
        let mut faults = Vec::new();
        let most = start.most_calls();
        if self.count > most {
            faults.push(format!("`{}` makes {} system calls; at most {most} are meant", start.line(), self.count));
        }
        if start != Start::Version {
            return faults;
        }
        faults.extend(
            self.needless.iter().map(|name| format!("`aime --version` calls {name}: it needs no thread, no process and no network")),
        );
        faults.extend(self.opened.iter().map(|file| format!("`aime --version` opens {file}: it needs no file")));
        faults
    }
}

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (needless, opened) = (self.needless.len(), self.opened.len());
        write!(f, "{} system calls; {needless} start something, {opened} open a file", self.count)
    }
}

/// Returns true for files that the loader opens for every program, and that Rust's runtime opens to find the limits of the stack.
fn is_loader(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or_default();
    name.ends_with(".so") || name.contains(".so.") || file == "/proc/self/maps"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read() {
        let lean = "execve(\"/x/aime\", [\"/x/aime\", \"--version\"], 0x7ffe /* 39 vars */) = 0\n\
            openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = 3\n\
            openat(AT_FDCWD, \"/lib/x86_64-linux-gnu/libc.so.6\", O_RDONLY|O_CLOEXEC) = 3\n\
            openat(AT_FDCWD, \"/proc/self/maps\", O_RDONLY|O_CLOEXEC) = 3\n\
            openat(AT_FDCWD, \"/etc/none\", O_RDONLY) = -1 ENOENT (No such file or directory)\n\
            write(1, \"aime 0.1.0\\n\", 11)      = 11\nexit_group(0)                     = ?\n";
        let calls = Calls::read(lean);
        assert_eq!(calls, Calls { count: 7, ..Calls::default() });
        assert_eq!(calls.faults(Start::Version), Vec::<String>::new());

        let heavy = "clone3({flags=CLONE_VM}, 88) = 12\n[pid    12] openat(AT_FDCWD, \"/home/me/.config/aime/config.toml\", O_RDONLY <unfinished ...>\n\
            socket(AF_INET, SOCK_STREAM, 0) = 4\n[pid    12] <... openat resumed>) = 3\n";
        let calls = Calls::read(heavy);
        assert_eq!(calls.count, 3);
        assert_eq!(calls.faults(Start::Version).len(), 3, "{:?}", calls.faults(Start::Version));
        assert!(calls.faults(Start::Version)[2].contains("config.toml"));

        let many = Calls::read(&"brk(NULL) = 0x55\n".repeat(CALLS_BOUND + 1));
        assert_eq!((many.faults(Start::Version).len(), many.faults(Start::List).len()), (1, 0));
        assert_eq!(Calls::read(heavy).faults(Start::List), Vec::<String>::new(), "what lists runs may look at files");
    }

    #[test]
    fn the_median_is_held_to_its_bound() {
        let times = |micros: &[u64]| micros.iter().copied().map(Duration::from_micros).collect::<Vec<_>>();
        assert_eq!(median(times(&[9, 1, 5])), Some(Duration::from_micros(5)));
        assert_eq!(median(Vec::new()), None);
        let starts = |cpu: Option<u64>| Starts { start: Start::Version, wall: Duration::from_secs(9), cpu: cpu.map(Duration::from_millis) };
        assert_eq!(starts(Some(20)).fault(), None, "the time that passes is no fault");
        assert_eq!(starts(None).fault(), None);
        assert!(starts(Some(21)).fault().unwrap().contains("21"));
    }
}
