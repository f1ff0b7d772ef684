//! Errors of a journal, with their fixes.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::ErrorCode;

use crate::FencedWriter;

/// Reason why a journal cannot be opened, read or written. Each text names the place, and the fix unless only the caller knows it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The folder of the file cannot be made.
    #[error("cannot create the folder {} for the journal: check its permissions", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: Arc<io::Error>,
    },
    /// The file cannot be opened.
    #[error("cannot open the journal {}: check that it is a file and that you may read and write it and its folder", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Error of SQLite.
        #[source]
        source: Arc<rusqlite::Error>,
    },
    /// The file is something else.
    #[error("{} is not a journal of aime", path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
    },
    /// A later version of aime wrote the file.
    #[error("the journal {} has schema {found}, and this version reads up to {known}: use the newer version that wrote it", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema of the file.
        found: u32,
        /// The schema that is known here.
        known: u32,
    },
    /// The file is not as SQLite left it.
    #[error("the journal {} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Error of SQLite.
        #[source]
        source: Arc<rusqlite::Error>,
    },
    /// There is no room for the file to grow.
    #[error("no room left to write the journal {}: free some disk space and resume", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file may only be read.
    #[error("the journal {} may only be read: make it and its folder writable", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Another process has been writing for longer than the wait for it.
    #[error("another process keeps the journal {} locked: wait for it or stop it", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Another writer has appended since.
    #[error("another process continues run {run} (stream {stream:?}): leave it to that one, or stop it and resume")]
    Fenced {
        /// The run.
        run: Arc<str>,
        /// The stream within it.
        stream: Arc<str>,
    },
    /// The journal does not have the run.
    #[error("there is no run {run} in the journal")]
    NoRun {
        /// The run.
        run: Arc<str>,
    },
    /// The id is taken.
    #[error("a run named {run} exists already")]
    RunExists {
        /// The run.
        run: Arc<str>,
    },
    /// The input of the run cannot be read, so there is nothing to resume from.
    #[error("the beginning of run {run} (stream {stream:?}) is damaged ({detail}): start a new run")]
    Beginning {
        /// The run.
        run: Arc<str>,
        /// The stream within it.
        stream: Arc<str>,
        /// Description of the fault.
        detail: String,
    },
    /// A machine of another version wrote the stream and would understand it differently.
    #[error(
        "run {run} (stream {stream:?}) has format {found}, and this version of aime reads format {known}: resume it with the version that began it"
    )]
    OtherVersion {
        /// The run.
        run: Arc<str>,
        /// The stream within it.
        stream: Arc<str>,
        /// The machine's version in the journal.
        found: u32,
        /// The machine's version here.
        known: u32,
    },
    /// A record is undamaged, but this machine cannot parse it.
    #[error("record {seq} of run {run} (stream {stream:?}) cannot be read by this version: resume it with the version that wrote it")]
    Unreadable {
        /// The run.
        run: Arc<str>,
        /// The stream within it.
        stream: Arc<str>,
        /// The record.
        seq: i64,
        /// Error of serde.
        #[source]
        source: Arc<serde_json::Error>,
    },
    /// The facts lead this machine to other events than those recorded.
    #[error("run {run} (stream {stream:?}) cannot be replayed: {detail}; another version of aime wrote it, or it is damaged")]
    Diverged {
        /// The run.
        run: Arc<str>,
        /// The stream within it.
        stream: Arc<str>,
        /// The counts.
        detail: String,
    },
    /// A record has no JSON form.
    #[error("a record of run {run} (stream {stream:?}) cannot be written as JSON: this is a fault in the program")]
    Encode {
        /// The run.
        run: Arc<str>,
        /// The stream within it.
        stream: Arc<str>,
        /// Error of serde.
        #[source]
        source: Arc<serde_json::Error>,
    },
    /// The journal was closed, or its writer has died.
    #[error("the journal {} is closed: open it again", path.display())]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// Anything else.
    #[error("the journal {} cannot be used", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Error of SQLite.
        #[source]
        source: Arc<rusqlite::Error>,
    },
}

impl From<FencedWriter> for JournalError {
    fn from(_: FencedWriter) -> Self {
        Self::Fenced { run: "in memory".into(), stream: "".into() }
    }
}

impl JournalError {
    /// Reads SQLite's error as what it means for this file.
    pub(crate) fn from_sqlite(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::NotADatabase) => Self::NotAJournal { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, source: Arc::new(error) },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Self::Open { path, source: Arc::new(error) },
            _ => Self::Sqlite { path, source: Arc::new(error) },
        }
    }
}

/// Returns true if the error says that a key exists already.
pub(super) fn is_taken(error: &rusqlite::Error) -> bool {
    extended(error, &[rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY, rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE])
}

/// Returns true if the error says that a row refers to a missing one.
pub(super) fn is_orphan(error: &rusqlite::Error) -> bool {
    extended(error, &[rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY])
}

fn extended(error: &rusqlite::Error, codes: &[i32]) -> bool {
    error.sqlite_error().is_some_and(|error| codes.contains(&error.extended_code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_its_own_text_with_the_file_and_the_hint() {
        let cases = [
            (rusqlite::ffi::SQLITE_FULL, "no room left", "free some disk space"),
            (rusqlite::ffi::SQLITE_READONLY, "may only be read", "writable"),
            (rusqlite::ffi::SQLITE_READONLY_DBMOVED, "may only be read", "writable"),
            (rusqlite::ffi::SQLITE_BUSY, "locked", "wait"),
            (rusqlite::ffi::SQLITE_NOTADB, "not a journal", ""),
            (rusqlite::ffi::SQLITE_CORRUPT, "damaged", ""),
            (rusqlite::ffi::SQLITE_CANTOPEN, "cannot open", "check"),
            (rusqlite::ffi::SQLITE_IOERR, "cannot be used", ""),
        ];
        for (code, what, hint) in cases {
            let fault = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
            let text = JournalError::from_sqlite(Path::new("some/aime.db"), fault).to_string();
            assert!(text.contains("some/aime.db") && text.contains(what) && text.contains(hint), "{code}: {text}");
        }
    }
}
