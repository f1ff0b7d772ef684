#![doc = include_str!("../README.md")]

#[cfg(any(test, feature = "contract-tests"))]
pub mod contract;
#[cfg(feature = "content")]
mod content;
mod drive;
mod embedded;
mod host;
#[cfg(feature = "journal")]
mod journal;
mod machine;

#[cfg(feature = "content")]
pub use content::{ContentError, ContentStore, FolderStore, check_name, content_name, private_folder};
pub use drive::{DriveError, Ended, LoadedMachine, Replayed, Resume, drive, replay};
pub use embedded::{
    Clock, EffectContext, EffectRunner, EmbeddedHost, FactReceiver, FactSender, FailedEffect, FencedWriter, MemoryStream, Sink,
    SystemClock, execute_effect, fact_channel,
};
pub use host::{Commit, Host, Recorded};
#[cfg(feature = "journal")]
pub use journal::{
    EventRecord, Journal, JournalError, Loaded, LoadedSnapshot, LockError, Message, NewRun, NewSnapshot,
    RUN_STREAM, RunLock, RunRecord, SnapshotRecord, StreamWriter,
};
#[cfg(any(test, feature = "simulation"))]
pub use journal::{Disk, Fate};
pub use machine::{EffectId, Issue, Machine, Order, Outbox, Reason, UnixMillis};
