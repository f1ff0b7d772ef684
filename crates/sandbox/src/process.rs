//! Running a process within limits.

mod capture;
mod family;
mod guardian;
mod mark;
mod run;
mod service;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, ffi::OsString, io, path::PathBuf, time::Duration};

pub use run::run;
pub use service::{Service, ServiceRequest};

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
    /// The operating system does not say how it ended.
    #[error("the end of `{program}` could not be learnt: {source}")]
    Wait {
        /// As asked for.
        program: String,
        /// The reason of the operating system.
        source: io::Error,
    },
}
