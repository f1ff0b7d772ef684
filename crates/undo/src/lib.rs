#![doc = include_str!("../README.md")]

mod chain;
mod check;
mod diff;
mod entry;
mod error;
mod known_path;
mod log;
mod name;
mod objects;
mod plan;
mod recorder;
mod restore;
mod scan;
mod scope;
mod store;
mod system;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod undo_data;

pub use check::{UndoFaults, check, repair};
pub use diff::{LineDiff, line_diff};
pub use entry::{Author, Change, Entry, UnrecordedReason};
pub use error::UndoError;
pub use log::UnrecordedEntry;
pub use plan::{Conflict, ConflictKind, UndoPlan};
pub use recorder::{Content, ImportedWork, PathChange, PathComparison, Recorder, RecordingGuard, UndoResult};
pub use restore::Failed;
pub use scan::ScanCounts;
pub use scope::Scope;
pub use store::{UndoSettings, clean, forget};
pub use undo_data::{UndoData, Work};
