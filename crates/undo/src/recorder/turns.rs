//! How several keep the changes of one run: one at a time writes, and whoever is at work can be told from whoever is gone.

use std::{
    fs::{self, File, OpenOptions},
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{UndoError, error::store, system::private_file};

/// Whose turn it is to read and write a log.
#[derive(Debug)]
pub(super) struct Turns {
    path: PathBuf,
    file: Arc<File>,
}

/// Nobody else reads or writes, until this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    file: Arc<File>,
}

/// Somebody is at work, until this is dropped or the process is gone.
#[derive(Debug)]
pub(super) struct AtWork {
    path: PathBuf,
    locked: File,
}

impl Turns {
    /// Of the log in a folder.
    pub(super) fn open(folder: &Path) -> Result<Self, UndoError> {
        let path = folder.join("lock");
        Ok(Self { file: Arc::new(lock_file(&path)?), path })
    }

    /// Waits until nobody else has it.
    pub(super) fn take(&self) -> Result<Turn, UndoError> {
        self.file.lock().map_err(store(&self.path, "locked"))?;
        Ok(Turn { file: Arc::clone(&self.file) })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // What cannot be given back goes with the file.
        drop(self.file.unlock());
    }
}

impl AtWork {
    /// Says so to others, by a number that nobody has.
    pub(super) fn begin(folder: &Path, number: u64) -> Result<Self, UndoError> {
        let path = at_work(folder, number);
        let file = lock_file(&path)?;
        file.lock().map_err(store(&path, "locked"))?;
        Ok(Self { path, locked: file })
    }

    /// As when the process is killed.
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

/// Whether somebody is. What one left who is gone is removed.
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
