//! File access confined to one folder.

mod error;
mod path;
mod plain;
mod protected;
#[cfg(unix)]
#[path = "folder/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "folder/windows.rs"]
mod system;
mod write;

#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::{
    ffi::OsString,
    fmt,
    fs::File,
    io::{self, Read},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use cap_std::{
    ambient_authority,
    fs::{Dir, FileType},
};

pub use error::FileError;
pub use plain::{EntryFacts, Stamp};
pub use protected::is_protected;
pub use write::WriteResult;

use error::fault;
use path::InnerPath;

/// Maximum bytes of a file that is read or written whole.
pub const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// Folder inside a working folder that belongs to the runtime. A [`ConfinedFolder`] refuses to write there.
pub const RESERVED_FOLDER: &str = ".aime";

/// A folder that no path can leave: not by `..`, not by an absolute path, not by a link. Cheap to clone.
///
/// Paths are relative to the folder, or absolute and inside it. `..` is resolved lexically (`a/../b` is `b`) and must not climb above the
/// folder. The kernel resolves links beneath an open handle of the folder, so a link that is swapped in concurrently cannot lead out
/// either.
///
/// Calls block; in async code, make them on a thread for blocking work.
#[derive(Debug, Clone)]
pub struct ConfinedFolder {
    folder: Arc<Folder>,
    /// Absolute paths that lead to the folder through links.
    aliases: Vec<PathBuf>,
    watcher: Option<Arc<dyn WatchChanges>>,
    /// True if entries of the runtime's own folder may be changed.
    has_reserved: bool,
}

/// Observer of the changes by [`ConfinedFolder::write`] and [`ConfinedFolder::remove_file`].
pub trait WatchChanges: fmt::Debug + Send + Sync {
    /// Called for each change of a file. `make` makes the change; call it exactly once, even if examining the file before or after it
    /// fails. The change may create missing folders above the file. `path` is relative to the folder, and not a link.
    fn change(&self, path: &Path, make: &mut dyn FnMut());
}

#[derive(Debug)]
struct Folder {
    handle: Dir,
    /// Path without links.
    canonical: PathBuf,
}

/// Type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, a FIFO, a socket.
    Other,
}

impl EntryKind {
    /// Returns `file`, `folder`, `link` or `other`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "folder",
            Self::Link => "link",
            Self::Other => "other",
        }
    }
}

impl From<FileType> for EntryKind {
    fn from(kind: FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Other
        }
    }
}

/// Metadata of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    /// Type of the file; links are followed.
    pub kind: EntryKind,
    /// Size in bytes.
    pub size: u64,
    /// True if no user may write the file.
    pub read_only: bool,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// Name, which may not be UTF-8.
    pub name: OsString,
    /// Type of the entry; links are not followed.
    pub kind: EntryKind,
    /// Size in bytes.
    pub size: u64,
}

impl ConfinedFolder {
    /// Opens a folder with the rights of the process.
    ///
    /// # Errors
    /// [`FileError::NotFound`], [`FileError::NotAFolder`] and errors of the operating system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let named = |error| fault(path, "opened", error);
        let given = std::path::absolute(path).map_err(named)?;
        let canonical = given.canonicalize().map_err(named)?;
        let handle = Dir::open_ambient_dir(&canonical, ambient_authority()).map_err(named)?;
        let folder = Self { folder: Arc::new(Folder { handle, canonical }), aliases: Vec::new(), watcher: None, has_reserved: false };
        Ok(folder.also_named(&given))
    }

    /// Allows absolute paths to name the folder by `path`, too: a path of the folder or of one above it, through links. Ignores a path that
    /// does not lead there.
    #[must_use]
    pub fn also_named(mut self, path: &Path) -> Self {
        let plain = path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
        let beneath = path.canonicalize().ok().filter(|_| plain);
        let beneath = beneath.and_then(|real| Some(self.path().strip_prefix(real).ok()?.to_path_buf()));
        // Joining an empty path would append a `/`.
        let name = beneath.map(|beneath| path.components().chain(beneath.components()).collect::<PathBuf>());
        if let Some(name) = name.filter(|name| name != self.path() && !self.aliases.contains(name)) {
            self.aliases.push(name);
        }
        self
    }

    /// Returns the other absolute paths of the folder, through links.
    #[must_use]
    pub fn aliases(&self) -> &[PathBuf] {
        &self.aliases
    }

    /// Sets the observer of file changes.
    #[must_use]
    pub fn watched_by(mut self, watcher: Arc<dyn WatchChanges>) -> Self {
        self.watcher = Some(watcher);
        self
    }

    /// Lets the runtime change entries of its own folder, by the functions that follow no links.
    #[must_use]
    pub fn with_reserved(mut self) -> Self {
        self.has_reserved = true;
        self
    }

    /// Returns the absolute path of the folder without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder.canonical
    }

    /// Returns the path of a file relative to the folder, without `.` and `..`; `.` for the folder itself. Does not access the file system.
    ///
    /// # Errors
    /// [`FileError::Empty`], [`FileError::NulByte`], [`FileError::Outside`].
    pub fn relative(&self, path: impl AsRef<Path>) -> Result<PathBuf, FileError> {
        Ok(self.inside(path.as_ref())?.path)
    }

    /// Returns the real path of a file with links resolved, relative to the folder. The file must exist.
    ///
    /// # Errors
    /// [`FileError`], naming the path.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Result<PathBuf, FileError> {
        let inside = self.inside(path.as_ref())?;
        let real = self.handle().canonicalize(&inside.path).map_err(|error| fault(&inside.requested, "found", error))?;
        Ok(if real.as_os_str().is_empty() { PathBuf::from(".") } else { real })
    }

    /// Returns the metadata of a file. Follows links.
    ///
    /// # Errors
    /// [`FileError`], naming the path.
    pub fn facts(&self, path: impl AsRef<Path>) -> Result<FileFacts, FileError> {
        self.facts_inside(&self.inside(path.as_ref())?)
    }

    fn facts_inside(&self, inside: &InnerPath) -> Result<FileFacts, FileError> {
        let metadata = self.handle().metadata(&inside.path).map_err(|error| fault(&inside.requested, "found", error))?;
        let kind = EntryKind::from(metadata.file_type());
        Ok(FileFacts { kind, size: metadata.len(), read_only: metadata.permissions().readonly() })
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// [`FileError`], naming the path; [`FileError::NotAFile`] for folders, devices, FIFOs and sockets.
    pub fn open_file(&self, path: impl AsRef<Path>) -> Result<File, FileError> {
        let inside = self.inside(path.as_ref())?;
        inside.must_name_a_file()?;
        self.must_be_a_file(&inside)?;
        let options = system::reading();
        let file = self.handle().open_with(&inside.path, &options).map_err(|error| fault(&inside.requested, "opened", error))?.into_std();
        // The file may have been swapped after the check.
        let metadata = file.metadata().map_err(|error| fault(&inside.requested, "opened", error))?;
        if metadata.is_file() { Ok(file) } else { Err(FileError::NotAFile { path: inside.requested, kind: EntryKind::Other }) }
    }

    fn must_be_a_file(&self, inside: &InnerPath) -> Result<(), FileError> {
        match self.facts_inside(inside)?.kind {
            EntryKind::File => Ok(()),
            kind => Err(FileError::NotAFile { path: inside.requested.clone(), kind }),
        }
    }

    /// Reads a regular file whole, up to [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    /// [`FileError`], naming the path; [`FileError::TooLarge`] over the limit.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Vec<u8>, FileError> {
        let path = path.as_ref();
        let file = self.open_file(path)?;
        let shown = self.inside(path)?.requested;
        let size = file.metadata().map_err(|error| fault(&shown, "read", error))?.len();
        let mut bytes = Vec::new();
        if size <= MAX_FILE_BYTES {
            // A file may grow while it is read, or report no size.
            file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| fault(&shown, "read", error))?;
        }
        let size = size.max(bytes.len() as u64);
        if size > MAX_FILE_BYTES { Err(FileError::TooLarge { path: shown, size, limit: MAX_FILE_BYTES }) } else { Ok(bytes) }
    }

    /// Returns the entries of a folder, sorted by name.
    ///
    /// # Errors
    /// [`FileError`], naming the path; [`FileError::NotAFolder`] for anything else.
    pub fn read_dir(&self, path: impl AsRef<Path>) -> Result<Vec<FolderEntry>, FileError> {
        let inside = self.inside(path.as_ref())?;
        let listed = |error| fault(&inside.requested, "listed", error);
        let mut entries = self.handle().read_dir(&inside.path).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(listed)?;
        entries.sort_by_key(cap_std::fs::DirEntry::file_name);
        // Skip entries that vanish while the folder is listed.
        let facts = entries.into_iter().filter_map(|entry| Some((entry.file_name(), entry.metadata().ok()?)));
        Ok(facts.map(|(name, facts)| FolderEntry { name, kind: facts.file_type().into(), size: facts.len() }).collect())
    }

    fn handle(&self) -> &Dir {
        &self.folder.handle
    }

    fn inside(&self, path: &Path) -> Result<InnerPath, FileError> {
        InnerPath::new(path, self.path(), &self.aliases)
    }
}
