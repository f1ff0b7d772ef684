//! One process drives a run.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Number of attempts at a lock that another process holds. The next constant is the wait between them.
const TRIES: usize = 25;
const RETRY_DELAY: Duration = Duration::from_millis(4);

/// Exclusive lock of a run. The system releases it when this value is dropped and when the process ends in any way.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

/// Reason why a run cannot be locked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error("{} is held by {}: wait for it or stop it", path.display(), pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}")))]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The process, if it has written its number.
        pid: Option<u32>,
    },
    /// The file cannot be made or locked.
    #[error("cannot lock {}: check that you may write its folder", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: Arc<io::Error>,
    },
}

impl RunLock {
    /// Takes the lock of this file, which is created if necessary and kept when the lock is released. Does not wait
    /// for the holder, only for brief [checks](RunLock::is_held) by others.
    ///
    /// # Errors
    /// [`LockError::Locked`] if another process, or this one, holds it.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let fault = |source| LockError::Io { path: path.to_owned(), source: Arc::new(source) };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(fault)?;
        }
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(fault)?;
        match try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // The holder may not have written its process id yet, or may prevent reading; the number is absent
                // then.
                let read = file.take(32).read_to_string(&mut text).ok();
                let pid = read.and_then(|_| text.trim().parse().ok());
                return Err(LockError::Locked { path: path.to_owned(), pid });
            }
            Err(TryLockError::Error(source)) => return Err(fault(source)),
        }
        let mut write = || {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        write().map_err(fault)?;
        Ok(Self { _file: file })
    }

    /// Returns true if a process holds the lock of this file. It creates no file, and prevents nobody from taking the
    /// lock.
    #[must_use]
    pub fn is_held(path: &Path) -> bool {
        let Ok(file) = File::open(path) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}

/// Tries for a moment, because a process that only checks a lock holds it during the check.
fn try_lock(file: &File) -> Result<(), TryLockError> {
    for _ in 1..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(RETRY_DELAY),
            done => return done,
        }
    }
    file.try_lock()
}
