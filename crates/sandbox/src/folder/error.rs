//! Why a file was not read or written.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use super::{EntryKind, RESERVED_FOLDER};

/// Why a file was not read or written. Each names the path as it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// No path at all.
    #[error("the path is empty; `.` is the working folder")]
    Empty,
    /// A NUL byte would end the path early.
    #[error("the path {} holds a NUL byte", path.to_string_lossy().escape_debug())]
    NulByte {
        /// As asked for.
        path: PathBuf,
    },
    /// By `..`, or as an absolute path elsewhere.
    #[error("`{}` is outside of the working folder {}; use a path inside it", path.display(), folder.display())]
    Outside {
        /// As asked for.
        path: PathBuf,
        /// The folder that must not be left.
        folder: PathBuf,
    },
    /// By `~`.
    #[error("`{}` is in the home folder, and file tools stay in the working folder; use a path relative to that, or `./~` for a file of this name", path.display())]
    Home {
        /// As asked for.
        path: PathBuf,
    },
    /// By a drive, where there are none.
    #[error("`{}` names a drive of Windows, and there are none here; use a path relative to the working folder, with `/`", path.display())]
    Drive {
        /// As asked for.
        path: PathBuf,
    },
    /// By a link.
    #[error("`{}` leads out of the working folder through a link; use a path inside it", path.display())]
    LinkOutside {
        /// As asked for.
        path: PathBuf,
    },
    /// A link whose target is not there: it is not known what writing would make.
    #[error("`{}` is a link to nothing", path.display())]
    DanglingLink {
        /// As asked for.
        path: PathBuf,
    },
    /// It belongs to the runtime.
    #[error("`{}` is in {RESERVED_FOLDER}, where nothing else may be written; write elsewhere", path.display())]
    Reserved {
        /// As asked for.
        path: PathBuf,
    },
    /// Its name does not say that it makes something run later, and it does.
    #[error("`{}` leads to `{}`, whose files run later on their own; name that path itself", path.display(), place.display())]
    Protected {
        /// As asked for.
        path: PathBuf,
        /// Where it leads.
        place: PathBuf,
    },
    /// There is no such file or folder.
    #[error("`{}` does not exist", path.display())]
    NotFound {
        /// As asked for.
        path: PathBuf,
    },
    /// It is something other than a regular file.
    #[error("`{}` is {}", path.display(), refusal(*kind))]
    NotAFile {
        /// As asked for.
        path: PathBuf,
        /// What it is.
        kind: EntryKind,
    },
    /// It, or a part of the path before it, is not a folder.
    #[error("`{}` is not a folder, or a part of that path is not", path.display())]
    NotAFolder {
        /// As asked for.
        path: PathBuf,
    },
    /// It is too large to be read or written whole.
    #[error("`{}` has {size} bytes, more than the {limit} that are read or written at once", path.display())]
    TooLarge {
        /// As asked for.
        path: PathBuf,
        /// In bytes.
        size: u64,
        /// In bytes.
        limit: u64,
    },
    /// Nobody may write it.
    #[error("`{}` is read-only; make it writable first (`chmod u+w`), or write to another file", path.display())]
    ReadOnly {
        /// As asked for.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("`{}` could not be {action}: {source}", path.display())]
    Io {
        /// As asked for.
        path: PathBuf,
        /// What was tried, such as `read`.
        action: &'static str,
        /// The reason of the operating system.
        source: io::Error,
    },
}

const fn refusal(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Folder => "a folder, not a file",
        EntryKind::File | EntryKind::Link | EntryKind::Other => "a device, a pipe or a socket, not a regular file",
    }
}

/// Sorts an error of the operating system, or of cap-std, which alone refuses without an error number.
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
