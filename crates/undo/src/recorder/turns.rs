//! Locks between recorders of one run: only one writes at a time, and the locks of recorders whose process is gone are released.

use std::{
    fs::{self, File, OpenOptions},
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{UndoError, error::store, system::private_file};

/// Lock for reading and writing a log.
#[derive(Debug)]
pub(super) struct Turns {
    path: PathBuf,
    file: Arc<File>,
}

/// Exclusive access to the log until this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    file: Arc<File>,
}

/// Lock of an open window, held until this is dropped or the process is gone.
#[derive(Debug)]
pub(super) struct AtWork {
    path: PathBuf,
    locked: File,
}

impl Turns {
    /// Opens the lock of the log in a folder.
    pub(super) fn open(folder: &Path) -> Result<Self, UndoError> {
        let path = folder.join("lock");
        Ok(Self { file: Arc::new(lock_file(&path)?), path })
    }

    /// Waits for exclusive access.
    pub(super) fn take(&self) -> Result<Turn, UndoError> {
        self.file.lock().map_err(store(&self.path, "locked"))?;
        Ok(Turn { file: Arc::clone(&self.file) })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // If unlocking fails, closing the file releases the lock.
        drop(self.file.unlock());
    }
}

impl AtWork {
    /// Creates the lock of a window with a new number.
    pub(super) fn begin(folder: &Path, number: u64) -> Result<Self, UndoError> {
        let path = at_work(folder, number);
        let file = lock_file(&path)?;
        file.lock().map_err(store(&path, "locked"))?;
        Ok(Self { path, locked: file })
    }

    /// Simulates a kill of the process.
    #[cfg(test)]
    pub(super) fn killed(self) {
        self.locked.unlock().unwrap();
        std::mem::forget(self);
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
        drop(self.locked.unlock());
    }
}

/// Returns true if the window's process holds the lock. Removes the lock file of a process that is gone.
pub(super) fn is_at_work(folder: &Path, number: u64) -> bool {
    let path = at_work(folder, number);
    let gone = match File::open(&path) {
        Ok(file) => file.try_lock_shared().is_ok(),
        Err(error) => return error.kind() != ErrorKind::NotFound,
    };
    if gone {
        drop(fs::remove_file(&path));
    }
    !gone
}

fn at_work(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("at-work-{number}"))
}

fn lock_file(path: &Path) -> Result<File, UndoError> {
    let mut options = OpenOptions::new();
    private_file(&mut options);
    options.read(true).write(true).create(true).truncate(false).open(path).map_err(store(path, "opened"))
}
