//! Processes with limits.

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

use aime_messages::{Describe, Message, message};

pub use background::BackgroundProcess;
pub use capture::{STDERR_HEADING, STDOUT_HEADING};
pub use mark::VARIABLE as PROCESS_VARIABLE;
pub use run::{run, run_reporting};
pub use service::{Service, ServiceRequest};
pub(crate) use system::remove_at_end;

use crate::Confinement;

/// A program to run, and its limits.
#[derive(Debug, Clone)]
pub struct ProcessRequest {
    /// Program to run.
    pub program: OsString,
    /// Arguments of the program.
    pub arguments: Vec<OsString>,
    /// Working folder.
    pub working_folder: PathBuf,
    /// Complete environment: nothing is inherited, and only the mark `AIME_PROCESS` is added.
    pub environment: BTreeMap<OsString, OsString>,
    /// Standard input.
    pub input: Vec<u8>,
    /// Time limit; then the program and all that it started is killed.
    pub time_limit: Duration,
    /// Number of bytes of each stream that are kept: the first half and the last half.
    pub output_limit: usize,
    /// Files, network and resources that the program may use.
    pub confinement: Confinement,
}

/// End of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEnd {
    /// It exited with this code.
    Exited(i32),
    /// It was killed by a signal of another origin.
    Signalled(i32),
    /// It exceeded its time limit and was killed.
    TimedOut,
    /// It was cancelled and killed.
    Cancelled,
    /// It exceeded a resource limit, with all that it started, and was killed.
    Exceeded(Bound),
}

/// Exceeded resource limit of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Maximum number of simultaneous processes.
    Processes(u64),
    /// Maximum memory in bytes.
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

/// Outcome of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessOutcome {
    /// End of the process.
    pub end: ProcessEnd,
    /// Standard output.
    pub stdout: CapturedOutput,
    /// Standard error.
    pub stderr: CapturedOutput,
    /// Both streams in the order in which they arrived, with [`STDERR_HEADING`] and [`STDOUT_HEADING`] where the stream changes. What a
    /// program prints to both within an instant is in no certain order.
    pub printed: CapturedOutput,
    /// Hosts that were refused to it, with the settings that would allow them, as text.
    pub refused: Vec<String>,
}

/// The kept part of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// Kept bytes; with a gap in the middle if some were dropped.
    pub bytes: Vec<u8>,
    /// Total number of bytes in the stream.
    pub total: u64,
}

/// Reason why a process could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// A text contains a NUL byte, which would end it early for the operating system.
    #[error("{}", self.describe())]
    NulByte {
        /// Name of the text.
        place: String,
    },
    /// The program does not exist.
    #[error("{}", self.describe())]
    ProgramNotFound {
        /// Program as requested.
        program: String,
    },
    /// The working folder is not a folder.
    #[error("{}", self.describe())]
    WorkingFolder {
        /// Folder as requested.
        folder: PathBuf,
    },
    /// The operating system refused to start the program.
    #[error("{}", self.describe())]
    Start {
        /// Program as requested.
        program: String,
        /// Error of the operating system, such as a file that is not executable or arguments that are too long.
        source: io::Error,
    },
    /// Commands may not read the folder of the program.
    #[error("{}", self.describe())]
    ProgramHidden {
        /// Program as requested.
        program: String,
        /// Path of the program.
        place: PathBuf,
    },
    /// The folder for temporary files is missing, full, or not writable by this user.
    #[error("{}", self.describe())]
    TemporaryFolder {
        /// Program as requested.
        program: String,
        /// Intended folder.
        folder: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The program may only run confined, and the machine cannot confine it.
    #[error("{}", self.describe())]
    Unconfined {
        /// Program as requested.
        program: String,
        /// Reason, with the correction.
        reason: String,
    },
    /// The operating system does not report how the process ended.
    #[error("{}", self.describe())]
    Wait {
        /// Program as requested.
        program: String,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl Describe for ProcessError {
    fn describe(&self) -> Message {
        match self {
            Self::NulByte { place } => message!("process-nul", place),
            Self::ProgramNotFound { program } => message!("process-no-program", program),
            Self::WorkingFolder { folder } => message!("process-no-folder", folder = folder.display()),
            Self::Start { program, source } => message!("process-not-started", program, error = source),
            Self::ProgramHidden { program, place } => {
                message!("process-hidden", program, folder = place.parent().unwrap_or(place).display())
            }
            Self::TemporaryFolder { program, folder, source } => {
                message!("process-no-temp", program, folder = folder.display(), error = source)
            }
            Self::Unconfined { program, reason } => message!("process-unconfined", program, reason),
            Self::Wait { program, source } => message!("process-no-end", program, error = source),
        }
    }
}
