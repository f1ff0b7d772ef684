//! Atomic writes of files.

use std::{
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use cap_std::fs::{Dir, OpenOptions, Permissions};

use super::{
    ConfinedFolder, EntryKind, FileError, MAX_FILE_BYTES,
    error::fault,
    path::{InnerPath, reserved},
    plain::replaced,
    protected::is_protected,
    system,
};

/// Result of writing a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteResult {
    /// Path relative to the folder.
    pub path: PathBuf,
    /// True if the file did not exist before.
    pub created: bool,
}

/// Counter that makes names of temporary files unique in this process.
static TEMPORARY: AtomicU64 = AtomicU64::new(0);

impl ConfinedFolder {
    /// Writes a file atomically: into a new file beside it that then replaces it. Creates missing folders, keeps the mode of a replaced
    /// file, and follows a link inside the folder. Written by the superuser, the file keeps its owner; a new one has that of its folder.
    ///
    /// # Errors
    /// [`FileError`], naming the path. The old file then stays unchanged.
    pub fn write(&self, path: impl AsRef<Path>, bytes: &[u8]) -> Result<WriteResult, FileError> {
        self.write_as(path, bytes, None)
    }

    /// Writes a file atomically, with a mode if one is given: that of a file that it replaces under another name.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write).
    pub fn write_as(&self, path: impl AsRef<Path>, bytes: &[u8], mode: Option<u32>) -> Result<WriteResult, FileError> {
        let inside = self.inside(path.as_ref())?;
        inside.must_name_a_file()?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(FileError::TooLarge { path: inside.requested, size: bytes.len() as u64, limit: MAX_FILE_BYTES });
        }
        let target = self.target(&inside)?;
        let mut written = None;
        self.watched(&target, &mut || written = Some(self.write_at(&target, &inside, bytes, mode)));
        // Write even if the observer did not call `make`.
        written.unwrap_or_else(|| self.write_at(&target, &inside, bytes, mode))
    }

    /// Reports a change to the observer, if there is one.
    fn watched(&self, target: &Path, make: &mut dyn FnMut()) {
        match &self.watcher {
            Some(watcher) => watcher.change(target, make),
            None => make(),
        }
    }

    fn write_at(&self, target: &Path, inside: &InnerPath, bytes: &[u8], mode: Option<u32>) -> Result<WriteResult, FileError> {
        let failed = |error| fault(&inside.requested, "written", error);
        let not_a_file = |kind| FileError::NotAFile { path: inside.requested.clone(), kind };
        let (parent, name) = match (target.parent(), target.file_name()) {
            (Some(parent), Some(name)) => (parent, Path::new(name)),
            _ => return Err(not_a_file(EntryKind::Folder)),
        };
        let folder = self.made_folder(parent).map_err(failed)?;
        let permissions = match folder.symlink_metadata(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
            Ok(old) if !old.is_file() => return Err(not_a_file(old.file_type().into())),
            Ok(old) if old.permissions().readonly() => return Err(FileError::ReadOnly { path: inside.requested.clone() }),
            Ok(old) => Some(old.permissions()),
        };
        let created = permissions.is_none();
        let permissions = mode.and_then(system::permissions).or(permissions);
        replace(&folder, name, bytes, permissions).map_err(failed)?;
        Ok(WriteResult { path: inside.path.clone(), created })
    }

    /// Removes a regular file. For a link, removes the link and keeps its target.
    ///
    /// # Errors
    /// [`FileError`], naming the path.
    pub fn remove_file(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let inside = self.inside(path.as_ref())?;
        inside.must_name_a_file()?;
        // The parent may be a link inside the folder; the last name is taken literally.
        let name = inside.path.file_name().map(PathBuf::from).unwrap_or_default();
        let target = match inside.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => {
                self.handle().canonicalize(parent).map_err(|error| fault(&inside.requested, "removed", error))?.join(name)
            }
            _ => name,
        };
        if reserved(&target) || reserved(&inside.path) {
            return Err(FileError::Reserved { path: inside.requested });
        }
        self.must_say_what_it_is(&target, &inside)?;
        let mut removed = None;
        self.watched(&target, &mut || removed = Some(self.handle().remove_file(&target)));
        removed.unwrap_or_else(|| self.handle().remove_file(&target)).map_err(|error| fault(&inside.requested, "removed", error))
    }

    /// Returns the real path of a file to write, with links resolved as far as the path exists. Refuses the runtime's own folder.
    fn target(&self, inside: &InnerPath) -> Result<PathBuf, FileError> {
        let mut existing = inside.path.as_path();
        let mut missing = Vec::new();
        let real = loop {
            match self.handle().canonicalize(existing) {
                Ok(real) => break real,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(fault(&inside.requested, "written", error)),
            }
            if self.handle().symlink_metadata(existing).is_ok() {
                return Err(FileError::DanglingLink { path: inside.requested.clone() });
            }
            missing.extend(existing.file_name());
            existing = match existing.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => break PathBuf::new(),
            };
        };
        let target: PathBuf = real.iter().chain(missing.into_iter().rev()).collect();
        if reserved(&target) || reserved(&inside.path) {
            return Err(FileError::Reserved { path: inside.requested.clone() });
        }
        self.must_say_what_it_is(&target, inside)?;
        Ok(target)
    }

    /// Refuses a path that leads to a protected place by a link or into a bare repository, if its own name does not say so: permission for
    /// the call was decided by the name.
    fn must_say_what_it_is(&self, target: &Path, inside: &InnerPath) -> Result<(), FileError> {
        let protected = is_protected(target) || self.in_bare_repository(target);
        if protected && !is_protected(&inside.path) {
            return Err(FileError::Protected { path: inside.requested.clone(), place: target.to_path_buf() });
        }
        Ok(())
    }

    /// Returns true for the settings or a hook of a bare repository, whatever the name of its folder.
    fn in_bare_repository(&self, target: &Path) -> bool {
        let repository = |folder: &Path| {
            let there = |name: &str| self.handle().exists(folder.join(name));
            there("HEAD") && there("objects") && there("refs")
        };
        let names = ["hooks", "config", "config.worktree"];
        let within = |path: &Path| path.file_name().is_some_and(|name| names.iter().any(|known| name.eq_ignore_ascii_case(known)));
        target.ancestors().filter(|path| within(path)).filter_map(Path::parent).any(repository)
    }
}

/// Creates something under an unused name, and returns that name.
pub(super) fn temporary<T>(mut make: impl FnMut(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    loop {
        let number = TEMPORARY.fetch_add(1, Ordering::Relaxed);
        let name = PathBuf::from(format!(".aime-{}-{number}.tmp", std::process::id()));
        match make(&name) {
            Ok(made) => return Ok((name, made)),
            // A crash has left this name behind.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

fn replace(folder: &Dir, name: &Path, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let (temporary, mut file) = temporary(|name| folder.open_with(name, &options))?;
    let written = (|| {
        file.write_all(bytes)?;
        // This takes some permission bits away.
        system::give_owner(&file, || replaced(folder, name));
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        folder.rename(&temporary, folder, name)
    })();
    if written.is_err()
        && let Err(error) = folder.remove_file(&temporary)
    {
        tracing::warn!(%error, file = %temporary.display(), "a temporary file is left");
    }
    written
}
