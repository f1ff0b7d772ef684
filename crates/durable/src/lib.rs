//! Durable state machines: `Machine`, `Host`, `drive`, and a journal on SQLite.

mod drive;
mod host;
mod machine;

pub use drive::{DriveError, Ended, Resume, drive};
pub use host::{Commit, Host, Recorded};
pub use machine::{EffectId, Issue, Machine, Order, Outbox, Reason, UnixMillis};
