//! Files confined to one folder.

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
pub use write::Written;

use error::fault;
use path::Inside;

/// The most bytes of a file that is read or written whole.
pub const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// The folder inside a working folder that belongs to the runtime: nothing is written there through a [`ConfinedFolder`].
pub const RESERVED_FOLDER: &str = ".aime";

/// A folder that no path leads out of: not `..`, not an absolute path, not a link. Cheap to clone.
///
/// Paths are relative to the folder, or absolute and inside it. `..` is taken lexically (`a/../b` is `b`) and must not climb above the
/// folder. The kernel resolves links beneath an open handle of the folder, so a link that is swapped in between does not help either.
///
/// Calls block; from async code make them on a thread for blocking work.
#[derive(Debug, Clone)]
pub struct ConfinedFolder {
    folder: Arc<Folder>,
    /// Absolute paths that lead to the folder through links.
    aliases: Vec<PathBuf>,
    watcher: Option<Arc<dyn WatchChanges>>,
}

/// Sees each change that [`ConfinedFolder::write`] and [`ConfinedFolder::remove_file`] make.
pub trait WatchChanges: fmt::Debug + Send + Sync {
    /// A file is about to be changed. `make` makes the change and is to be called once, whatever comes of looking at the file before and
    /// after it; missing folders above the file may come with it. `path` is relative to the folder, and no link.
    fn change(&self, path: &Path, make: &mut dyn FnMut());
}

#[derive(Debug)]
struct Folder {
    handle: Dir,
    /// Without links.
    canonical: PathBuf,
}

/// What stands at a path.
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
    /// `file`, `folder`, `link` or `other`.
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

/// What is known of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    /// What it is; links are followed.
    pub kind: EntryKind,
    /// Its size in bytes.
    pub size: u64,
    /// Nobody may write it.
    pub read_only: bool,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its name, which may be no UTF-8.
    pub name: OsString,
    /// What it is; a link is a link.
    pub kind: EntryKind,
    /// Its size in bytes.
    pub size: u64,
}

impl ConfinedFolder {
    /// Opens a folder, with the rights of the process.
    ///
    /// # Errors
    /// [`FileError::NotFound`], [`FileError::NotAFolder`] and those of the operating system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let named = |error| fault(path, "opened", error);
        let given = std::path::absolute(path).map_err(named)?;
        let canonical = given.canonicalize().map_err(named)?;
        let handle = Dir::open_ambient_dir(&canonical, ambient_authority()).map_err(named)?;
        let folder = Self { folder: Arc::new(Folder { handle, canonical }), aliases: Vec::new(), watcher: None };
        Ok(folder.also_named(&given))
    }

    /// The same folder, which absolute paths may also name by way of `path`: the folder itself or one above it, through links. The path is ignored
    /// where it does not lead there.
    #[must_use]
    pub fn also_named(mut self, path: &Path) -> Self {
        let plain = path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
        let beneath = path.canonicalize().ok().filter(|_| plain);
        let beneath = beneath.and_then(|real| Some(self.path().strip_prefix(real).ok()?.to_path_buf()));
        // Joining an empty path would end the name in `/`.
        let name = beneath.map(|beneath| path.components().chain(beneath.components()).collect::<PathBuf>());
        if let Some(name) = name.filter(|name| name != self.path() && !self.aliases.contains(name)) {
            self.aliases.push(name);
        }
        self
    }

    /// Other absolute paths of the folder, through links.
    #[must_use]
    pub fn aliases(&self) -> &[PathBuf] {
        &self.aliases
    }

    /// The same folder with somebody who sees each change of a file.
    #[must_use]
    pub fn watched_by(mut self, watcher: Arc<dyn WatchChanges>) -> Self {
        self.watcher = Some(watcher);
        self
    }

    /// The folder itself: absolute and without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder.canonical
    }

    /// The path of a file relative to the folder, without `.` and `..`; `.` for the folder itself. Looks at no file.
    ///
    /// # Errors
    /// [`FileError::Empty`], [`FileError::NulByte`], [`FileError::Outside`].
    pub fn relative(&self, path: impl AsRef<Path>) -> Result<PathBuf, FileError> {
        Ok(self.inside(path.as_ref())?.path)
    }

    /// The same with links followed: where the file really is, relative to the folder. It must exist.
    ///
    /// # Errors
    /// [`FileError`], naming the path.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Result<PathBuf, FileError> {
        let inside = self.inside(path.as_ref())?;
        let real = self.handle().canonicalize(&inside.path).map_err(|error| fault(&inside.shown, "found", error))?;
        Ok(if real.as_os_str().is_empty() { PathBuf::from(".") } else { real })
    }

    /// What is known of a file without reading it. Links are followed.
    ///
    /// # Errors
    /// [`FileError`], naming the path.
    pub fn facts(&self, path: impl AsRef<Path>) -> Result<FileFacts, FileError> {
        self.facts_inside(&self.inside(path.as_ref())?)
    }

    fn facts_inside(&self, inside: &Inside) -> Result<FileFacts, FileError> {
        let metadata = self.handle().metadata(&inside.path).map_err(|error| fault(&inside.shown, "found", error))?;
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
        let file = self.handle().open_with(&inside.path, &options).map_err(|error| fault(&inside.shown, "opened", error))?.into_std();
        // It may have been swapped since it was looked at.
        let metadata = file.metadata().map_err(|error| fault(&inside.shown, "opened", error))?;
        if metadata.is_file() { Ok(file) } else { Err(FileError::NotAFile { path: inside.shown, kind: EntryKind::Other }) }
    }

    fn must_be_a_file(&self, inside: &Inside) -> Result<(), FileError> {
        match self.facts_inside(inside)?.kind {
            EntryKind::File => Ok(()),
            kind => Err(FileError::NotAFile { path: inside.shown.clone(), kind }),
        }
    }

    /// Reads a regular file whole, up to [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    /// [`FileError`], naming the path; [`FileError::TooLarge`] over the limit.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Vec<u8>, FileError> {
        let path = path.as_ref();
        let file = self.open_file(path)?;
        let shown = self.inside(path)?.shown;
        let size = file.metadata().map_err(|error| fault(&shown, "read", error))?.len();
        let mut bytes = Vec::new();
        if size <= MAX_FILE_BYTES {
            // A file may grow while it is read, or be one of those that tell no size.
            file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| fault(&shown, "read", error))?;
        }
        let size = size.max(bytes.len() as u64);
        if size > MAX_FILE_BYTES { Err(FileError::TooLarge { path: shown, size, limit: MAX_FILE_BYTES }) } else { Ok(bytes) }
    }

    /// The entries of a folder, sorted by name.
    ///
    /// # Errors
    /// [`FileError`], naming the path; [`FileError::NotAFolder`] for anything else.
    pub fn read_dir(&self, path: impl AsRef<Path>) -> Result<Vec<FolderEntry>, FileError> {
        let inside = self.inside(path.as_ref())?;
        let listed = |error| fault(&inside.shown, "listed", error);
        let mut entries = self.handle().read_dir(&inside.path).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(listed)?;
        entries.sort_by_key(cap_std::fs::DirEntry::file_name);
        // What vanishes while it is listed is left out.
        let facts = entries.into_iter().filter_map(|entry| Some((entry.file_name(), entry.metadata().ok()?)));
        Ok(facts.map(|(name, facts)| FolderEntry { name, kind: facts.file_type().into(), size: facts.len() }).collect())
    }

    fn handle(&self) -> &Dir {
        &self.folder.handle
    }

    fn inside(&self, path: &Path) -> Result<Inside, FileError> {
        Inside::new(path, self.path(), &self.aliases)
    }
}
