//! One fetch of a model at a time, across processes.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    time::Duration,
};

/// Between two looks at a lock that another holds.
const LOOK: Duration = Duration::from_millis(200);

/// A held lock. The operating system lets go of it when this is dropped or the process ends in any way; the empty file stays, because
/// removing it would let two others hold one each.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock; `waiting` is called once where another holds it.
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
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
    }
}
