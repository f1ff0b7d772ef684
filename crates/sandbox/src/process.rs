//! Running a process within limits.

mod background;
mod capture;
#[cfg(unix)]
mod family;
#[cfg(unix)]
mod guardian;
mod mark;
mod run;
mod service;
mod start;
#[cfg(unix)]
#[path = "process/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "process/windows.rs"]
mod system;
#[cfg(unix)]
mod watch;

#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::{collections::BTreeMap, ffi::OsString, fmt, io, path::PathBuf, time::Duration};

pub use background::BackgroundProcess;
pub use mark::VARIABLE as PROCESS_VARIABLE;
pub use run::run;
pub use service::{Service, ServiceRequest};
pub(crate) use system::remove_at_end;

use crate::Confinement;

/// What to run and within which limits.
#[derive(Debug, Clone)]
pub struct ProcessRequest {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it runs.
    pub working_folder: PathBuf,
    /// The whole environment: nothing is inherited, and only the mark `AIME_PROCESS` is added.
    pub environment: BTreeMap<OsString, OsString>,
    /// What it reads on standard input.
    pub input: Vec<u8>,
    /// The time it may take; then it and all that it started is killed.
    pub time_limit: Duration,
    /// How many bytes of each stream are kept: the first half and the last half.
    pub output_limit: usize,
    /// What it may read, write, reach and take.
    pub confinement: Confinement,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// It ran out of time and was killed.
    TimedOut,
    /// It was cancelled and was killed.
    Cancelled,
    /// It took more than it may, with all that it started, and was killed.
    Exceeded(Bound),
}

/// What a command took too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// It may run so many processes at once.
    Processes(u64),
    /// It may use so many bytes of memory.
    Memory(u64),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processes(most) => write!(f, "more than {most} processes at once (sandbox.processes)"),
            Self::Memory(most) => write!(f, "more than {} MB of memory (sandbox.memory_mb)", most >> 20),
        }
    }
}

/// What came of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessOutcome {
    /// How it ended.
    pub end: ProcessEnd,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// The hosts that were refused to it, in words, with what would allow them.
    pub refused: Vec<String>,
}

/// A stream, as much of it as was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The bytes; with a gap in the middle where some were left out.
    pub bytes: Vec<u8>,
    /// How many bytes came in all.
    pub total: u64,
}

/// Why a process could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// A NUL byte ends a string for the operating system: the program would be given something else.
    #[error("{place} holds a NUL byte, which cannot be given to a program; leave it out")]
    NulByte {
        /// Which text holds it.
        place: String,
    },
    /// There is no such program.
    #[error("the program `{program}` was not found; install it, or put its folder on PATH")]
    ProgramNotFound {
        /// As asked for.
        program: String,
    },
    /// The working folder is not a folder.
    #[error("the working folder {} is not a folder that can be entered", folder.display())]
    WorkingFolder {
        /// As asked for.
        folder: PathBuf,
    },
    /// The operating system refused to start it.
    #[error("the program `{program}` could not be started: {source}")]
    Start {
        /// As asked for.
        program: String,
        /// The reason of the operating system, such as a file that is not executable or arguments that are too long.
        source: io::Error,
    },
    /// The program lies where commands may not read.
    #[error("`{program}` was not run: commands may not read {0}; the user can allow it: sandbox.read = [\"{0}\"]", place.parent().unwrap_or(place).display())]
    ProgramHidden {
        /// As asked for.
        program: String,
        /// The path of the program.
        place: PathBuf,
    },
    /// The folder for temporary files is missing, full, or closed to this user.
    #[error("`{program}` was not run: no folder for its temporary files can be made in {}: {source}; set TMPDIR to a folder that is there and has room", folder.display())]
    TemporaryFolder {
        /// As asked for.
        program: String,
        /// The intended place.
        folder: PathBuf,
        /// The reason of the operating system.
        source: io::Error,
    },
    /// It may only run confined, and that cannot be done.
    #[error("`{program}` was not run: {reason}")]
    Unconfined {
        /// As asked for.
        program: String,
        /// Why, with the mend.
        reason: String,
    },
    /// The operating system does not say how it ended.
    #[error("the end of `{program}` could not be learnt: {source}")]
    Wait {
        /// As asked for.
        program: String,
        /// The reason of the operating system.
        source: io::Error,
    },
}
