//! Errors of a memory, with their fixes.

use std::{
    io,
    path::{Path, PathBuf},
};

use rusqlite::ErrorCode;

/// Reason why a memory database cannot be opened, read or written, or a knowledge folder cannot be indexed. Each text names
/// the place and the fix.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The folder of the file cannot be made.
    #[error("cannot create the folder {} for the memory database: check its permissions", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The file cannot be opened.
    #[error("cannot open the memory database {}: check that it is a file and that you may read and write it and its folder", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// The file is something else.
    #[error("{} is not an aime memory database: move it away, or name another file", path.display())]
    NotAMemory {
        /// The file.
        path: PathBuf,
    },
    /// A later version of aime wrote the file.
    #[error("the memory database {} has schema {found}, and this version reads up to {known}: use the newer version that wrote it", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema of the file.
        found: u32,
        /// The schema that is known here.
        known: u32,
    },
    /// The file is not as SQLite left it.
    #[error(
        "the memory database {} is damaged: copy what is left with `sqlite3 FILE .recover`, or move it away to begin anew (knowledge is then indexed again, memories are gone)",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// There is no room for the file to grow.
    #[error("no room left to write the memory database {}: free some disk space", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file may only be read.
    #[error("the memory database {} may only be read: make it and its folder writable", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Another process has been writing for longer than the wait for it.
    #[error("another process keeps the memory database {} locked: wait for it or stop it", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The folder of documents cannot be read.
    #[error("cannot read the knowledge folder {}: check that it is there and that you may read it", path.display())]
    KnowledgeFolder {
        /// The folder.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// Anything else.
    #[error("the memory database {} cannot be used", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
}

impl MemoryError {
    /// Reads SQLite's error as what it means for this file.
    pub(crate) fn from_sqlite(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::NotADatabase) => Self::NotAMemory { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, source: error },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Self::Open { path, source: error },
            _ => Self::Sqlite { path, source: error },
        }
    }
}
