#![doc = include_str!("../README.md")]

#[cfg(feature = "content")]
mod content;
#[cfg(any(test, feature = "contract-tests"))]
pub mod contract;
mod drive;
mod embedded;
mod host;
#[cfg(feature = "journal")]
mod journal;
mod machine;
mod run_folder;
#[cfg(feature = "journal")]
pub mod sqlite;

#[cfg(feature = "content")]
pub use content::{ContentError, ContentStore, FolderStore, check_name, content_name, private_folder};
pub use drive::{DriveError, Ended, LoadedMachine, Replayed, Resume, drive, replay};
pub use embedded::{
    Clock, EffectContext, EffectRunner, EmbeddedHost, FactReceiver, FactSender, FailedEffect, FencedWriter, MemoryStream, Sink,
    SystemClock, execute_effect, fact_channel,
};
pub use host::{Commit, Host, Recorded};
#[cfg(any(test, feature = "simulation"))]
pub use journal::{Disk, Fate};
#[cfg(feature = "journal")]
pub use journal::{
    EventRecord, Journal, JournalError, Loaded, LoadedSnapshot, LockError, Message, NewRun, NewSnapshot, RUN_STREAM, RunLock, RunRecord,
    SnapshotRecord, StreamWriter,
};
pub use machine::{EffectId, Issue, Machine, Order, Outbox, Reason, UnixMillis};
pub use run_folder::{run_folder, runs_folder};
