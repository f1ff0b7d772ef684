//! Lock that permits one download of a model at a time, across processes.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    time::Duration,
};

/// Interval of the attempts to take a held lock.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Held lock. The operating system releases it when this is dropped or the process ends in any way. The empty file stays, because removing
/// it would let two other processes hold one lock each.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock; calls `waiting` once if another process holds it.
    pub(super) async fn take(path: &Path, waiting: impl FnOnce()) -> io::Result<Self> {
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        let mut waiting = Some(waiting);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => {
                    if let Some(waiting) = waiting.take() {
                        waiting();
                    }
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            }
        }
    }
}
