//! Journal in memory whose disk fails on command, for tests of failing runs. With feature `simulation`.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rusqlite::{Connection, ffi};
use tokio::sync::{Semaphore, watch};

use super::{
    Journal, JournalError, schema,
    writer::{Job, Writer, commit},
};

/// File name in messages.
const PATH: &str = "in-memory.db";

/// Fate of one write. After a fate that is never reported, the process behaves as if dead: everything that waits for
/// the write waits forever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Fate {
    /// The write succeeds and is reported.
    #[default]
    Written,
    /// The write succeeds, and the process dies before it is reported.
    Unreported,
    /// The process or the power fails before any of it is durable.
    Lost,
    /// The write is begun and rolled back when the file is opened again. It is never reported.
    Torn,
    /// The write is executed a second time, as after a lost answer; only the first is reported.
    Twice,
    /// The disk is full: nothing is written, and the error is reported.
    Full,
    /// The disk fails: nothing is written, and the error is reported.
    Broken,
}

/// Decides what becomes of each write.
pub trait Disk: Send + Sync {
    /// Called once for each write, in their order.
    fn fate(&self) -> Fate;
}

/// Writes where it is asked to, on one connection that also reads.
pub(super) struct Simulated {
    connection: Mutex<Connection>,
    disk: Arc<dyn Disk>,
    /// Jobs that are never answered.
    silent: Mutex<Vec<Box<dyn Job>>>,
    commits: watch::Sender<u64>,
}

impl Simulated {
    pub(super) fn commits(&self) -> watch::Receiver<u64> {
        self.commits.subscribe()
    }

    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self, mut job: Box<dyn Job>, path: &Path) {
        let outcome = match self.disk.fate() {
            Fate::Written => self.commit(&mut job, path),
            Fate::Twice => {
                let first = self.commit(&mut job, path);
                // The second finds its place taken.
                drop(self.commit(&mut job, path));
                first
            }
            fate @ (Fate::Unreported | Fate::Lost | Fate::Torn) => {
                match fate {
                    Fate::Unreported => drop(self.commit(&mut job, path)),
                    Fate::Torn => torn(&self.connection(), job.as_mut()),
                    _ => {}
                }
                self.silent.lock().unwrap_or_else(PoisonError::into_inner).push(job);
                return;
            }
            Fate::Full => Err(JournalError::Full { path: path.to_owned() }),
            Fate::Broken => {
                Err(JournalError::from_sqlite(path, rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR_WRITE), None)))
            }
        };
        self.commits.send_modify(|commits| *commits += u64::from(outcome.is_ok()));
        job.answer(outcome);
    }

    fn commit(&self, job: &mut Box<dyn Job>, path: &Path) -> Result<(), JournalError> {
        let outcome = commit(&self.connection(), std::slice::from_mut(job), path).pop();
        outcome.unwrap_or_else(|| Err(JournalError::Closed { path: path.to_owned() }))
    }
}

/// Does a write and takes it back.
fn torn(connection: &Connection, job: &mut dyn Job) {
    if connection.execute_batch("BEGIN IMMEDIATE").is_ok() {
        // The transaction is rolled back, so the result does not matter.
        drop(job.work(connection));
        drop(connection.execute_batch("ROLLBACK"));
    }
}

impl Journal {
    /// Creates an empty journal in memory; `disk` decides the fate of each write. All work is done in the calling
    /// thread: the same calls always give the same journal. Clones share the journal, also after a simulated death.
    ///
    /// # Errors
    /// [`JournalError::Sqlite`] if there is not enough memory.
    pub fn simulated(disk: Arc<dyn Disk>) -> Result<Self, JournalError> {
        let path: Arc<Path> = Path::new(PATH).into();
        let connection = Mutex::new(schema::in_memory(&path)?);
        let simulated = Simulated { connection, disk, silent: Mutex::default(), commits: watch::Sender::new(0) };
        let writer = Writer::simulated(simulated, &path);
        // Jobs that are never answered keep their permits.
        Ok(Self::with(writer, path, Semaphore::MAX_PERMITS))
    }
}

#[cfg(test)]
mod tests;
