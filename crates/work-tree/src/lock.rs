//! Exclusive use of a repository, and removal of unused states.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use tokio::task::spawn_blocking;

use crate::{WorkTree, WorkTreeError, tree::of};

/// Lock file of the repository. Its modification time is the time of the last use.
const LOCK: &str = "aime-lock";
/// Prefix of the references of named states.
const NAMES: &str = "refs/aime";

/// Exclusive right among processes to use a repository; released on drop, or when the process dies.
#[derive(Debug)]
pub struct RepositoryLock(#[expect(dead_code, reason = "it is held, and never read")] File);

impl WorkTree {
    /// Locks the repository against other processes. Also removes the locks of a killed `git`. With `awaited`, it waits for a process that
    /// holds the lock.
    ///
    /// # Errors
    /// [`WorkTreeError::InUse`] if another process holds it, without `awaited`.
    pub async fn lock(&self, awaited: bool) -> Result<RepositoryLock, WorkTreeError> {
        let repository = self.git.repository.clone();
        let path = repository.join(LOCK);
        let held = spawn_blocking(move || {
            let file = File::options().create(true).append(true).open(repository.join(LOCK))?;
            if awaited {
                file.lock()?;
            } else if let Err(error) = file.try_lock() {
                return match error {
                    TryLockError::WouldBlock => Ok(None),
                    TryLockError::Error(error) => Err(error),
                };
            }
            file.set_modified(SystemTime::now())?;
            let mut locks = vec![repository.join("index.lock"), repository.join("HEAD.lock"), repository.join("packed-refs.lock")];
            locks.extend(files(&repository.join("refs"))?.into_iter().filter(|file| file.extension().is_some_and(|end| end == "lock")));
            locks.iter().try_for_each(|lock| ignore_missing(fs::remove_file(lock)))?;
            Ok(Some(file))
        });
        let held = held.await.map_err(io::Error::other).and_then(|held| held).map_err(of(&path))?;
        held.map(RepositoryLock).ok_or_else(|| WorkTreeError::InUse { folder: self.git.folder.clone() })
    }

    /// Removes the locks of a `git` that was killed in this process, while the repository is held.
    ///
    /// # Errors
    /// [`WorkTreeError::File`].
    pub async fn free(&self) -> Result<(), WorkTreeError> {
        let lock = self.git.repository.join("index.lock");
        ignore_missing(tokio::fs::remove_file(&lock).await).map_err(of(&lock))
    }

    /// Removes the states and their names that were not used since a time, and the objects that only they need. Returns their number.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn forget(&self, unused_since: SystemTime) -> Result<usize, WorkTreeError> {
        let names = self.git.repository.join(NAMES);
        let (within, repository) = (names.clone(), self.git.repository.clone());
        let old = spawn_blocking(move || {
            let mut old = Vec::new();
            for file in files(&within)? {
                if fs::metadata(&file)?.modified()? < unused_since
                    && let Some(name) = file.strip_prefix(&repository).ok().and_then(Path::to_str)
                {
                    old.push(name.replace('\\', "/"));
                }
            }
            Ok(old)
        });
        let old = old.await.map_err(io::Error::other).and_then(|old| old).map_err(of(&names))?;
        if !old.is_empty() {
            let delete: String = old.iter().map(|name| format!("delete {name}\0\0")).collect();
            self.git.run_ok_with_input(&["update-ref", "-z", "--stdin"], delete.into_bytes()).await?;
            // The time of a name's last use is that of its file, so references must not be packed.
            self.git.run_ok(&["-c", "gc.packRefs=false", "gc", "--quiet", "--prune=now"]).await?;
        }
        Ok(old.len())
    }
}

/// Deletes the repositories beneath a folder, each in a folder of its own, that no process holds and none has held since a time. Returns
/// their number.
///
/// # Errors
/// [`WorkTreeError::File`].
pub async fn forget_repositories(beneath: PathBuf, unused_since: SystemTime) -> Result<usize, WorkTreeError> {
    let place = beneath.clone();
    let forgotten = spawn_blocking(move || {
        let mut forgotten = 0;
        for folder in entries(&beneath)? {
            for repository in entries(&folder)? {
                let Ok(lock) = File::options().append(true).open(repository.join(LOCK)) else { continue };
                if lock.metadata()?.modified()? < unused_since && lock.try_lock().is_ok() {
                    fs::remove_dir_all(&repository)?;
                    forgotten += 1;
                }
            }
            // The folder may contain another repository.
            drop(fs::remove_dir(&folder));
        }
        Ok(forgotten)
    });
    forgotten.await.map_err(io::Error::other).and_then(|forgotten| forgotten).map_err(of(&place))
}

/// Returns the entries of a folder; empty if it does not exist.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Returns the files beneath a folder, at any depth.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            if fs::symlink_metadata(&path)?.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    Ok(found)
}

/// Treats a missing file as removed.
fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}
