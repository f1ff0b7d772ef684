//! Contents of files: each is stored once under its hash, for all runs in a folder.

use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use aime_durable::{FolderStore, content_name, private_folder};

use crate::{UndoError, error::store, system};

/// Bytes that may be written before the free space is checked again.
const LOOK_EVERY: u64 = 4 * 1024 * 1024;

/// Contents that a run adds to. An open store holds a shared lock, which prevents a concurrent sweep.
#[derive(Debug)]
pub(crate) struct Objects {
    contents: FolderStore,
    root: PathBuf,
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
        private_folder(&folder).map_err(store(&folder, "made"))?;
        let lock = lock_file(root)?;
        lock.lock_shared().map_err(store(root, "locked"))?;
        Ok(Self { contents: contents(root), root: root.to_owned(), reserve, unlooked: AtomicU64::new(LOOK_EVERY), _shared: lock })
    }

    /// Stores bytes and returns their hash. Does not write bytes that are already stored.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<String, UndoError> {
        let (hash, size) = (content_name(bytes), bytes.len() as u64);
        if !self.has(&hash, size) {
            self.leave_room(size)?;
            self.contents.put(&hash, bytes)?;
        }
        Ok(hash)
    }

    /// Returns the bytes with this hash.
    pub(crate) fn get(&self, hash: &str) -> Result<Vec<u8>, UndoError> {
        Ok(self.contents.get(hash)?)
    }

    /// Returns true if content with this hash and size is stored.
    pub(crate) fn has(&self, hash: &str, size: u64) -> bool {
        self.contents.has(hash, size)
    }

    /// Fails if the write would fill the disk, because the journal of the run needs the space.
    fn leave_room(&self, wanted: u64) -> Result<(), UndoError> {
        if self.unlooked.fetch_add(wanted, Ordering::Relaxed) + wanted < LOOK_EVERY {
            return Ok(());
        }
        let free = fs4::available_space(&self.root).map_err(store(&self.root, "read"))?;
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
    Ok(lock.try_lock().is_ok().then(|| StoreLock { contents: contents(root), _lock: lock }))
}

/// Exclusive lock of the store.
pub(crate) struct StoreLock {
    contents: FolderStore,
    _lock: File,
}

impl StoreLock {
    /// Removes contents outside of `wanted`. Returns the number of remaining bytes.
    pub(crate) fn sweep(&self, wanted: &BTreeSet<String>) -> Result<u64, UndoError> {
        Ok(self.contents.sweep(wanted)?)
    }
}

/// Returns the contents in `root`, for reading.
pub(crate) fn contents(root: &Path) -> FolderStore {
    FolderStore::new(folder(root))
}

fn folder(root: &Path) -> PathBuf {
    root.join("objects")
}

fn lock_file(root: &Path) -> Result<File, UndoError> {
    let path = root.join("lock");
    let mut options = OpenOptions::new();
    system::private_file(&mut options);
    options.read(true).write(true).create(true).truncate(false).open(&path).map_err(store(&path, "opened"))
}
