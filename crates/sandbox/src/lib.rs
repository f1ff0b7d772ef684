#![doc = include_str!("../README.md")]

mod confine;
mod environment;
mod folder;
mod generated;
mod probe;
mod process;
mod terminal;

pub use confine::{
    Confinement, ConfinementError, ConfinementSettings, Guarantee, Launcher, Network, ProxyFactory, ResourceLimits, RunningProxy,
    UnknownGuarantee,
};
#[cfg(target_os = "linux")]
pub use confine::{LaunchError, launch};
pub use environment::{ALLOWED_VARIABLES, clean_environment, looks_secret};
pub use folder::{
    ConfinedFolder, EntryFacts, EntryKind, FileError, FileFacts, FolderEntry, MAX_FILE_BYTES, RESERVED_FOLDER, Stamp, WatchChanges,
    WriteResult, is_protected,
};
pub use generated::{CACHE_ENDINGS, CACHE_FOLDERS, CACHE_TAG, is_generated};
pub use probe::{Protection, probe};
pub use process::{
    BackgroundProcess, Bound, CapturedOutput, PROCESS_VARIABLE, ProcessEnd, ProcessError, ProcessOutcome, ProcessRequest, STDERR_HEADING,
    STDOUT_HEADING, Service, ServiceRequest, run, run_reporting,
};
pub use terminal::run_at_terminal;
