//! Errors of file access.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use super::{EntryKind, RESERVED_FOLDER};

/// Reason why a file was not read or written. Each variant contains the path as requested.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path is empty.
    #[error("the path is empty; `.` is the working folder")]
    Empty,
    /// The path contains a NUL byte, which would end it early.
    #[error("the path {} holds a NUL byte", path.to_string_lossy().escape_debug())]
    NulByte {
        /// Path as requested.
        path: PathBuf,
    },
    /// The path leaves the folder by `..`, or is absolute and outside of it.
    #[error("`{}` is outside of the working folder {}; use a path inside it", path.display(), folder.display())]
    Outside {
        /// Path as requested.
        path: PathBuf,
        /// Folder that must not be left.
        folder: PathBuf,
    },
    /// The path begins with `~`.
    #[error("`{}` is in the home folder, and file tools stay in the working folder; use a path relative to that, or `./~` for a file of this name", path.display())]
    Home {
        /// Path as requested.
        path: PathBuf,
    },
    /// The path begins with a drive, on a system without drives.
    #[error("`{}` names a drive of Windows, and there are none here; use a path relative to the working folder, with `/`", path.display())]
    Drive {
        /// Path as requested.
        path: PathBuf,
    },
    /// A link leads out of the folder.
    #[error("`{}` leads out of the working folder through a link; use a path inside it", path.display())]
    LinkOutside {
        /// Path as requested.
        path: PathBuf,
    },
    /// A link with a missing target: it is unknown what a write would create.
    #[error("`{}` is a link to nothing", path.display())]
    DanglingLink {
        /// Path as requested.
        path: PathBuf,
    },
    /// The path belongs to the runtime.
    #[error("`{}` is in {RESERVED_FOLDER}, where nothing else may be written; write elsewhere", path.display())]
    Reserved {
        /// Path as requested.
        path: PathBuf,
    },
    /// The path leads to a protected place, but its name does not say so.
    #[error("`{}` leads to `{}`, whose files run later on their own; name that path itself", path.display(), place.display())]
    Protected {
        /// Path as requested.
        path: PathBuf,
        /// The protected place.
        place: PathBuf,
    },
    /// The file or folder does not exist.
    #[error("`{}` does not exist", path.display())]
    NotFound {
        /// Path as requested.
        path: PathBuf,
    },
    /// The path is not a regular file.
    #[error("`{}` is {}", path.display(), refusal(*kind))]
    NotAFile {
        /// Path as requested.
        path: PathBuf,
        /// Type of the entry.
        kind: EntryKind,
    },
    /// The path, or a part of it, is not a folder.
    #[error("`{}` is not a folder, or a part of that path is not", path.display())]
    NotAFolder {
        /// Path as requested.
        path: PathBuf,
    },
    /// The file is too large to be read or written whole.
    #[error("`{}` has {size} bytes, more than the {limit} that are read or written at once", path.display())]
    TooLarge {
        /// Path as requested.
        path: PathBuf,
        /// Size in bytes.
        size: u64,
        /// Limit in bytes.
        limit: u64,
    },
    /// The file is read-only for every user.
    #[error("`{}` is read-only; make it writable first (`chmod u+w`), or write to another file", path.display())]
    ReadOnly {
        /// Path as requested.
        path: PathBuf,
    },
    /// The operating system refused the access.
    #[error("`{}` could not be {action}: {source}", path.display())]
    Io {
        /// Path as requested.
        path: PathBuf,
        /// Attempted action, such as `read`.
        action: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
}

const fn refusal(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Folder => "a folder, not a file",
        EntryKind::File | EntryKind::Link | EntryKind::Other => "a device, a pipe or a socket, not a regular file",
    }
}

/// Classifies an error of the operating system, or of cap-std, whose own refusals have no error number.
pub(super) fn fault(path: &Path, action: &'static str, source: io::Error) -> FileError {
    let path = path.to_path_buf();
    match source.kind() {
        ErrorKind::NotFound => FileError::NotFound { path },
        ErrorKind::NotADirectory => FileError::NotAFolder { path },
        ErrorKind::IsADirectory => FileError::NotAFile { path, kind: EntryKind::Folder },
        ErrorKind::PermissionDenied if source.raw_os_error().is_none() => FileError::LinkOutside { path },
        _ => FileError::Io { path, action, source },
    }
}
