//! Errors of file access.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use aime_messages::{Describe, Message, message};

use super::{EntryKind, RESERVED_FOLDER};

/// Reason why a file was not read or written. Each variant contains the path as requested.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path is empty.
    #[error("{}", self.describe())]
    Empty,
    /// The path contains a NUL byte, which would end it early.
    #[error("{}", self.describe())]
    NulByte {
        /// Path as requested.
        path: PathBuf,
    },
    /// The path leaves the folder by `..`, or is absolute and outside of it.
    #[error("{}", self.describe())]
    Outside {
        /// Path as requested.
        path: PathBuf,
        /// Folder that must not be left.
        folder: PathBuf,
    },
    /// The path begins with `~`.
    #[error("{}", self.describe())]
    Home {
        /// Path as requested.
        path: PathBuf,
    },
    /// The path begins with a drive, on a system without drives.
    #[error("{}", self.describe())]
    Drive {
        /// Path as requested.
        path: PathBuf,
    },
    /// A link leads out of the folder.
    #[error("{}", self.describe())]
    LinkOutside {
        /// Path as requested.
        path: PathBuf,
    },
    /// A link with a missing target: it is unknown what a write would create.
    #[error("{}", self.describe())]
    DanglingLink {
        /// Path as requested.
        path: PathBuf,
    },
    /// The path belongs to the runtime.
    #[error("{}", self.describe())]
    Reserved {
        /// Path as requested.
        path: PathBuf,
    },
    /// The path leads to a protected place, but its name does not say so.
    #[error("{}", self.describe())]
    Protected {
        /// Path as requested.
        path: PathBuf,
        /// The protected place.
        place: PathBuf,
    },
    /// The file or folder does not exist.
    #[error("{}", self.describe())]
    NotFound {
        /// Path as requested.
        path: PathBuf,
    },
    /// The path is not a regular file.
    #[error("{}", self.describe())]
    NotAFile {
        /// Path as requested.
        path: PathBuf,
        /// Type of the entry.
        kind: EntryKind,
    },
    /// The path, or a part of it, is not a folder.
    #[error("{}", self.describe())]
    NotAFolder {
        /// Path as requested.
        path: PathBuf,
    },
    /// The file is too large to be read or written whole.
    #[error("{}", self.describe())]
    TooLarge {
        /// Path as requested.
        path: PathBuf,
        /// Size in bytes.
        size: u64,
        /// Limit in bytes.
        limit: u64,
    },
    /// The file is read-only for every user.
    #[error("{}", self.describe())]
    ReadOnly {
        /// Path as requested.
        path: PathBuf,
    },
    /// The operating system refused the access.
    #[error("{}", self.describe())]
    Io {
        /// Path as requested.
        path: PathBuf,
        /// Attempted action, such as `read`.
        action: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl Describe for FileError {
    fn describe(&self) -> Message {
        match self {
            Self::Empty => message!("file-path-empty"),
            Self::NulByte { path } => message!("file-path-nul", path = path.to_string_lossy().escape_debug()),
            Self::Outside { path, folder } => message!("file-outside", path = path.display(), folder = folder.display()),
            Self::Home { path } => message!("file-home", path = path.display()),
            Self::Drive { path } => message!("file-drive", path = path.display()),
            Self::LinkOutside { path } => message!("file-link-outside", path = path.display()),
            Self::DanglingLink { path } => message!("file-dangling-link", path = path.display()),
            Self::Reserved { path } => message!("file-reserved", path = path.display(), folder = RESERVED_FOLDER),
            Self::Protected { path, place } => message!("file-protected", path = path.display(), place = place.display()),
            Self::NotFound { path } => message!("file-not-found", path = path.display()),
            Self::NotAFile { path, kind: EntryKind::Folder } => message!("file-is-folder", path = path.display()),
            Self::NotAFile { path, .. } => message!("file-is-special", path = path.display()),
            Self::NotAFolder { path } => message!("file-not-a-folder", path = path.display()),
            Self::TooLarge { path, size, limit } => message!("file-too-large", path = path.display(), size, limit),
            Self::ReadOnly { path } => message!("file-read-only", path = path.display()),
            Self::Io { path, action, source } => message!("file-failed", path = path.display(), action, error = source),
        }
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
