//! Content store: each content is stored once under its hash, for all runs in a folder.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{UndoError, error::store, system};

/// Bytes that may be written before the free space is checked again.
const LOOK_EVERY: u64 = 4 * 1024 * 1024;

/// The content store. An open store holds a shared lock, which prevents a concurrent sweep.
#[derive(Debug)]
pub(crate) struct Objects {
    folder: PathBuf,
    /// Bytes that must stay free on the disk.
    reserve: u64,
    /// Bytes written since the last check of the free space.
    unlooked: AtomicU64,
    _shared: File,
}

impl Objects {
    /// Opens the store in `root`, and creates it if needed.
    pub(crate) fn open(root: &Path, reserve: u64) -> Result<Self, UndoError> {
        let folder = folder(root);
        private_folder(&folder)?;
        let lock = lock_file(root)?;
        lock.lock_shared().map_err(store(root, "locked"))?;
        Ok(Self { folder, reserve, unlooked: AtomicU64::new(LOOK_EVERY), _shared: lock })
    }

    /// Stores bytes and returns their hash. Does not write bytes that are already stored.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<String, UndoError> {
        let hash = blake3::hash(bytes).to_hex().to_string();
        let path = self.path(&hash);
        if self.has(&hash, bytes.len() as u64) {
            return Ok(hash);
        }
        self.leave_room(bytes.len() as u64)?;
        let failed = store(&path, "written");
        let parent = path.parent().unwrap_or(&self.folder);
        let put = || {
            private(parent)?;
            let mut file = tempfile::NamedTempFile::new_in(parent)?;
            file.write_all(bytes)?;
            file.persist(&path).map_err(|error| error.error)
        };
        put().map(|_| hash).map_err(failed)
    }

    /// Returns the bytes with this hash.
    pub(crate) fn get(&self, hash: &str) -> Result<Vec<u8>, UndoError> {
        read(&self.folder, hash)
    }

    /// Returns true if content with this hash and size is stored.
    pub(crate) fn has(&self, hash: &str, size: u64) -> bool {
        fs::metadata(self.path(hash)).is_ok_and(|found| found.len() == size)
    }

    fn path(&self, hash: &str) -> PathBuf {
        path_of(&self.folder, hash)
    }

    /// Fails if the write would fill the disk, because the journal of the run needs the space.
    fn leave_room(&self, wanted: u64) -> Result<(), UndoError> {
        if self.unlooked.fetch_add(wanted, Ordering::Relaxed) + wanted < LOOK_EVERY {
            return Ok(());
        }
        let free = system::free_space(&self.folder).map_err(store(&self.folder, "looked at"))?;
        if free < self.reserve.saturating_add(wanted) {
            return Err(UndoError::NoSpace { free });
        }
        self.unlooked.store(0, Ordering::Relaxed);
        Ok(())
    }
}

/// Locks the store exclusively until the result is dropped; `None` if another process has it open, or if there is no store.
pub(crate) fn alone(root: &Path) -> Result<Option<StoreLock>, UndoError> {
    if !folder(root).is_dir() {
        return Ok(None);
    }
    let lock = lock_file(root)?;
    Ok(lock.try_lock().is_ok().then_some(StoreLock { _lock: lock }))
}

/// Exclusive lock of the store.
pub(crate) struct StoreLock {
    _lock: File,
}

/// Removes contents outside of `wanted`. Returns the number of remaining bytes.
pub(crate) fn sweep(root: &Path, _alone: &StoreLock, wanted: &BTreeSet<String>) -> Result<u64, UndoError> {
    let folder = folder(root);
    let mut left = 0;
    for parent in fs::read_dir(&folder).map_err(store(&folder, "listed"))? {
        let parent = parent.map_err(store(&folder, "listed"))?.path();
        let Some(start) = parent.file_name().and_then(|name| name.to_str()) else { continue };
        for entry in fs::read_dir(&parent).map_err(store(&parent, "listed"))? {
            let entry = entry.map_err(store(&parent, "listed"))?;
            let hash = format!("{start}{}", entry.file_name().to_string_lossy());
            if wanted.contains(&hash) {
                left += entry.metadata().map_or(0, |found| found.len());
            } else {
                fs::remove_file(entry.path()).map_err(store(&entry.path(), "removed"))?;
            }
        }
        // A folder that is not empty stays.
        drop(fs::remove_dir(&parent));
    }
    Ok(left)
}

/// Returns the folder of the contents.
pub(crate) fn folder(root: &Path) -> PathBuf {
    root.join("objects")
}

/// Reads the bytes with this hash in a folder of contents.
pub(crate) fn read(folder: &Path, hash: &str) -> Result<Vec<u8>, UndoError> {
    let path = path_of(folder, hash);
    let bytes = fs::read(&path).map_err(store(&path, "read"))?;
    if blake3::hash(&bytes).to_hex().as_str() == hash { Ok(bytes) } else { Err(UndoError::Damaged { path }) }
}

pub(crate) fn path_of(folder: &Path, hash: &str) -> PathBuf {
    let (start, rest) = hash.split_at_checked(2).unwrap_or(("", hash));
    folder.join(start).join(rest)
}

/// Creates a folder that only its owner may access, because the contents may be secret.
pub(crate) fn private_folder(path: &Path) -> Result<(), UndoError> {
    private(path).map_err(store(path, "made"))
}

fn private(path: &Path) -> std::io::Result<()> {
    match system::private_folder().create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn lock_file(root: &Path) -> Result<File, UndoError> {
    let path = root.join("lock");
    let mut options = OpenOptions::new();
    system::private_file(&mut options);
    options.read(true).write(true).create(true).truncate(false).open(&path).map_err(store(&path, "opened"))
}
