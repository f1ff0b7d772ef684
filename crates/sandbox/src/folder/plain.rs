//! Access to the entry at a path itself: links are not followed, neither at the path's end nor on the way to it.
//!
//! Used to scan a folder as a whole and to restore it. A path that leads through a link has no entry here.

use std::{
    io::{self, ErrorKind, Read, Write},
    path::{Component, Path, PathBuf},
};

use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::{
    ConfinedFolder, EntryKind, FileError,
    error::fault,
    path::{InnerPath, reserved},
    system,
    write::temporary,
};

/// Identifies a state of a file without reading it. Equal stamps mean equal content, unless the file was changed within the resolution of
/// the file system's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// Device number of the file system.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Modification time of the content, in nanoseconds since the Unix epoch.
    pub modified: i64,
    /// Time of the last change of content or metadata, in nanoseconds since the Unix epoch.
    pub changed: i64,
}

/// Metadata of the entry at a path itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryFacts {
    /// Type of the entry; links are not followed.
    pub kind: EntryKind,
    /// Permission bits: the lowest 12 bits of the mode.
    pub mode: u32,
    /// Stamp of its current state.
    pub stamp: Stamp,
}

impl EntryFacts {
    fn new(metadata: &Metadata) -> Self {
        Self { kind: metadata.file_type().into(), mode: system::mode(metadata), stamp: system::stamp(metadata) }
    }
}

/// The end of a path: the open parent folder, and the name in it.
struct Spot {
    folder: Dir,
    name: PathBuf,
    shown: PathBuf,
}

impl ConfinedFolder {
    /// Returns the entry at a path; `None` if there is none.
    ///
    /// # Errors
    /// [`FileError`], naming the path.
    pub fn entry(&self, path: impl AsRef<Path>) -> Result<Option<EntryFacts>, FileError> {
        let inside = self.inside(path.as_ref())?;
        if inside.path == Path::new(".") {
            let metadata = self.handle().dir_metadata().map_err(|error| fault(&inside.requested, "read", error))?;
            return Ok(Some(EntryFacts::new(&metadata)));
        }
        let spot = match self.spot_inside(inside) {
            Err(FileError::NotFound { .. } | FileError::NotAFolder { .. }) => return Ok(None),
            spot => spot?,
        };
        match spot.folder.symlink_metadata(&spot.name) {
            Ok(metadata) => Ok(Some(EntryFacts::new(&metadata))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(fault(&spot.shown, "read", error)),
        }
    }

    /// Returns the entries of a folder, sorted by name.
    ///
    /// # Errors
    /// [`FileError`], naming the path; [`FileError::NotAFolder`] for anything else, including a link to a folder.
    pub fn entries(&self, path: impl AsRef<Path>) -> Result<Vec<(PathBuf, EntryFacts)>, FileError> {
        let inside = self.inside(path.as_ref())?;
        let listed = |error| fault(&inside.requested, "listed", error);
        let folder = self.plain_folder(&inside.path).map_err(listed)?;
        let mut found = Vec::new();
        for entry in folder.entries().map_err(listed)? {
            let entry = entry.map_err(listed)?;
            match entry.metadata() {
                Ok(metadata) => found.push((PathBuf::from(entry.file_name()), EntryFacts::new(&metadata))),
                // Skip entries that vanish while the folder is listed.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(listed(error)),
            }
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(found)
    }

    /// Reads the regular file at a path whole, up to `limit` bytes, and returns its metadata during the read.
    ///
    /// # Errors
    /// [`FileError`], naming the path; [`FileError::TooLarge`] over the limit, [`FileError::NotAFile`] for other types.
    pub fn read_entry(&self, path: impl AsRef<Path>, limit: u64) -> Result<(Vec<u8>, EntryFacts), FileError> {
        let spot = self.spot(path.as_ref())?;
        let failed = |error| fault(&spot.shown, "read", error);
        let file = system::open_itself(&spot.folder, &spot.name).map_err(failed)?;
        let facts = EntryFacts::new(&file.metadata().map_err(failed)?);
        if facts.kind != EntryKind::File {
            return Err(FileError::NotAFile { path: spot.shown, kind: facts.kind });
        }
        let mut bytes = Vec::new();
        if facts.stamp.size <= limit {
            file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        }
        let size = facts.stamp.size.max(bytes.len() as u64);
        if size > limit { Err(FileError::TooLarge { path: spot.shown, size, limit }) } else { Ok((bytes, facts)) }
    }

    /// Returns the target of the link at a path, as it is written.
    ///
    /// # Errors
    /// [`FileError`], naming the path.
    pub fn read_link_entry(&self, path: impl AsRef<Path>) -> Result<PathBuf, FileError> {
        let spot = self.spot(path.as_ref())?;
        spot.folder.read_link_contents(&spot.name).map_err(|error| fault(&spot.shown, "read", error))
    }

    /// Writes a file at a path atomically, and replaces a file or link there. Its folder must exist.
    ///
    /// # Errors
    /// [`FileError`], naming the path. The former entry then stays unchanged.
    pub fn put_file(&self, path: impl AsRef<Path>, bytes: &[u8], mode: u32) -> Result<(), FileError> {
        let spot = self.spot_to_change(path.as_ref())?;
        let failed = |error| fault(&spot.shown, "written", error);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let (name, mut file) = temporary(|name| spot.folder.open_with(name, &options)).map_err(failed)?;
        let put = file.write_all(bytes).and_then(|()| {
            // This takes some permission bits away.
            system::give_owner(&file, || replaced(&spot.folder, &spot.name));
            if let Some(permissions) = system::permissions(mode) {
                file.set_permissions(permissions)?;
            }
            file.sync_all()?;
            spot.folder.rename(&name, &spot.folder, &spot.name)
        });
        spot.finish(&name, put)
    }

    /// Creates a link at a path, and replaces a file or link there. Its folder must exist; its target is not checked.
    ///
    /// # Errors
    /// [`FileError`], naming the path. The former entry then stays unchanged.
    pub fn put_link(&self, path: impl AsRef<Path>, target: &Path) -> Result<(), FileError> {
        let spot = self.spot_to_change(path.as_ref())?;
        let (name, ()) = temporary(|name| system::link(&spot.folder, target, name)).map_err(|error| fault(&spot.shown, "made", error))?;
        let put = spot.folder.rename(&name, &spot.folder, &spot.name);
        spot.finish(&name, put)
    }

    /// Creates a folder at an unused path. Only its owner may use it until [`set_mode`](Self::set_mode) is called.
    ///
    /// # Errors
    /// [`FileError`], naming the path.
    pub fn put_folder(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let spot = self.spot_to_change(path.as_ref())?;
        spot.folder.create_dir_with(&spot.name, &system::private_folder()).map_err(|error| fault(&spot.shown, "made", error))?;
        if let Ok(made) = system::open_folder_itself(&spot.folder, &spot.name) {
            system::give_owner(&made, || spot.folder.dir_metadata());
        }
        Ok(())
    }

    /// Creates the folder at a path and those above it, as far as they are missing.
    ///
    /// # Errors
    /// [`FileError`], naming the path; [`FileError::NotAFolder`] if a part of it is something else, such as a link.
    pub fn put_folders(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let inside = self.inside_to_change(path.as_ref())?;
        self.made_folder(&inside.path).map(drop).map_err(|error| fault(&inside.requested, "made", error))
    }

    /// Opens a folder through real folders only, and creates those that are missing.
    pub(super) fn made_folder(&self, path: &Path) -> io::Result<Dir> {
        let mut folder = self.handle().try_clone()?;
        for component in path.components() {
            let Component::Normal(name) = component else { continue };
            let name = Path::new(name);
            folder = match system::open_folder_itself(&folder, name) {
                Err(error) if error.kind() == ErrorKind::NotFound => make_folder(&folder, name)?,
                opened => opened?,
            };
        }
        Ok(folder)
    }

    /// Moves an entry of another folder on the same file system to a path, and replaces a file or link there. Its folder must exist. Moved
    /// by the superuser, a file gets the owner of the one that it replaces, or else that of its folder.
    ///
    /// # Errors
    /// [`FileError`], naming the path. Both entries then stay unchanged.
    pub fn take_entry(&self, path: impl AsRef<Path>, from: &Self, at: impl AsRef<Path>) -> Result<(), FileError> {
        let (from, spot) = (from.spot(at.as_ref())?, self.spot_to_change(path.as_ref())?);
        if let Ok(file) = system::open_itself(&from.folder, &from.name) {
            system::give_owner(&file, || replaced(&spot.folder, &spot.name));
        }
        from.folder.rename(&from.name, &spot.folder, &spot.name).map_err(|error| fault(&spot.shown, "written", error))
    }

    /// Removes the folder at a path, which must be empty.
    ///
    /// # Errors
    /// [`FileError`], naming the path.
    pub fn remove_empty_folder(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let spot = self.spot_to_change(path.as_ref())?;
        spot.folder.remove_dir(&spot.name).map_err(|error| fault(&spot.shown, "removed", error))
    }

    /// Sets the mode of the file or folder at a path.
    ///
    /// # Errors
    /// [`FileError`], naming the path; [`FileError::NotAFile`] for a link, which has no mode of its own.
    pub fn set_mode(&self, path: impl AsRef<Path>, mode: u32) -> Result<(), FileError> {
        let spot = self.spot_to_change(path.as_ref())?;
        let failed = |error| fault(&spot.shown, "changed", error);
        let kind = EntryKind::from(spot.folder.symlink_metadata(&spot.name).map_err(failed)?.file_type());
        if !matches!(kind, EntryKind::File | EntryKind::Folder) {
            return Err(FileError::NotAFile { path: spot.shown, kind });
        }
        // A link that replaces the entry at this moment cannot lead out of the folder.
        system::permissions(mode).map_or(Ok(()), |permissions| spot.folder.set_permissions(&spot.name, permissions)).map_err(failed)
    }

    /// Removes the file or link at a path, or the folder, which must be empty.
    ///
    /// # Errors
    /// [`FileError`], naming the path; [`FileError::NotFound`] if there is no entry.
    pub fn remove_entry(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let spot = self.spot_to_change(path.as_ref())?;
        let failed = |error| fault(&spot.shown, "removed", error);
        let kind = EntryKind::from(spot.folder.symlink_metadata(&spot.name).map_err(failed)?.file_type());
        let removed = match kind {
            EntryKind::Folder => spot.folder.remove_dir(&spot.name),
            EntryKind::File | EntryKind::Link | EntryKind::Other => spot.folder.remove_file(&spot.name),
        };
        removed.map_err(failed)
    }

    fn spot_to_change(&self, path: &Path) -> Result<Spot, FileError> {
        self.spot_inside(self.inside_to_change(path)?)
    }

    fn inside_to_change(&self, path: &Path) -> Result<InnerPath, FileError> {
        let inside = self.inside(path)?;
        if reserved(&inside.path) && !self.has_reserved { Err(FileError::Reserved { path: inside.requested }) } else { Ok(inside) }
    }

    fn spot(&self, path: &Path) -> Result<Spot, FileError> {
        self.spot_inside(self.inside(path)?)
    }

    fn spot_inside(&self, inside: InnerPath) -> Result<Spot, FileError> {
        let InnerPath { path, requested: shown } = inside;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(FileError::NotAFile { path: shown, kind: EntryKind::Folder });
        };
        match self.plain_folder(parent) {
            Ok(folder) => Ok(Spot { folder, name: PathBuf::from(name), shown }),
            Err(error) => Err(fault(&shown, "found", error)),
        }
    }

    /// Opens a folder step by step, through real folders only.
    fn plain_folder(&self, path: &Path) -> io::Result<Dir> {
        let mut folder = self.handle().try_clone()?;
        for component in path.components() {
            let Component::Normal(name) = component else { continue };
            folder = system::open_folder_itself(&folder, Path::new(name))?;
        }
        Ok(folder)
    }
}

/// Creates a folder and opens it.
fn make_folder(parent: &Dir, name: &Path) -> io::Result<Dir> {
    let is_new = match parent.create_dir(name) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    let folder = system::open_folder_itself(parent, name)?;
    if is_new {
        system::give_owner(&folder, || parent.dir_metadata());
    }
    Ok(folder)
}

/// Returns the metadata of the entry that a new one replaces, or else of its folder.
pub(super) fn replaced(folder: &Dir, name: &Path) -> io::Result<Metadata> {
    folder.symlink_metadata(name).or_else(|_| folder.dir_metadata())
}

impl Spot {
    /// Finishes a replacement: removes the temporary entry after a failure.
    fn finish(self, temporary: &Path, put: io::Result<()>) -> Result<(), FileError> {
        put.map_err(|error| {
            if let Err(error) = self.folder.remove_file(temporary) {
                tracing::warn!(%error, file = %temporary.display(), "a temporary file is left");
            }
            fault(&self.shown, "written", error)
        })
    }
}
