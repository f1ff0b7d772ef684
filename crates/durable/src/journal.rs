//! The journal: runs, facts and events in one SQLite file.
//!
//! One thread writes and commits all waiting work together. Any number of readers, also in other processes, can read
//! meanwhile.

mod error;
mod inbox;
mod load;
mod lock;
mod rows;
mod runs;
mod schema;
#[cfg(any(test, feature = "simulation"))]
mod simulated;
mod snapshot;
mod stream;
mod whole;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

pub use error::JournalError;
pub use inbox::Message;
pub use load::Loaded;
pub use lock::{LockError, RunLock};
pub use runs::{EventRecord, NewRun, RunRecord};
#[cfg(any(test, feature = "simulation"))]
pub use simulated::{Disk, Fate};
pub use snapshot::{LoadedSnapshot, NewSnapshot, SnapshotRecord};
pub use stream::{RUN_STREAM, StreamWriter};

use writer::Writer;

/// Readers that are kept open for the next reading.
const READERS: usize = 4;

/// Streams whose beginnings may be on their way to the disk. A beginning holds all that its machine starts from: of thousands that begin at the same
/// time, the others wait before theirs is put into writing.
const BEGINNINGS: usize = 64;

/// An open journal. Clones share it; the last one to go waits until all that was queued is written. At most 64 streams begin at the same time.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
}

struct Shared {
    // First, so that readers are closed before the writer, whose last connection folds the write-ahead log into the file.
    readers: Mutex<Vec<Connection>>,
    writer: Writer,
    path: Arc<Path>,
    beginnings: Arc<Semaphore>,
}

impl Journal {
    /// Opens a journal, and creates it and its folder if they do not exist. Blocks for some milliseconds.
    ///
    /// # Errors
    /// [`JournalError::NotAJournal`], [`JournalError::Newer`], [`JournalError::Damaged`], [`JournalError::ReadOnly`]
    /// and others, each with the file and the fix.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        let path: Arc<Path> = path.as_ref().into();
        let connection = schema::open(&path)?;
        let writer = Writer::start(move || Ok(connection), &path)?;
        Ok(Self::with(writer, path, BEGINNINGS))
    }

    /// Returns a journal whose file is opened, and created if necessary, at the first write. That write, and those
    /// after it, fail as [`open`](Self::open) does. A read before it fails if there is no file.
    ///
    /// # Errors
    /// [`JournalError::Closed`] if no thread can be started.
    pub fn at_first_write(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        let path: Arc<Path> = path.as_ref().into();
        let file = Arc::clone(&path);
        let writer = Writer::start(move || schema::open(&file), &path)?;
        Ok(Self::with(writer, path, BEGINNINGS))
    }

    fn with(writer: Writer, path: Arc<Path>, beginnings: usize) -> Self {
        let beginnings = Arc::new(Semaphore::new(beginnings));
        Self { shared: Arc::new(Shared { readers: Mutex::default(), writer, path, beginnings }) }
    }

    /// Waits until another stream may begin.
    async fn place(&self) -> Result<OwnedSemaphorePermit, JournalError> {
        let closed = |_| JournalError::Closed { path: self.path().to_owned() };
        Arc::clone(&self.shared.beginnings).acquire_owned().await.map_err(closed)
    }

    /// Returns the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Writes a stream of a run from its beginning; to continue one, add [`after`](StreamWriter::after). The run's own stream is
    /// [`RUN_STREAM`]; others, such as one for each actor, have names of the caller's choice.
    #[must_use]
    pub fn stream(&self, run: &str, stream: &str) -> StreamWriter {
        StreamWriter::new(self.clone(), run, stream)
    }

    /// Returns a counter that changes with each commit of this process. The caller must poll for commits of other
    /// processes.
    #[must_use]
    pub fn commits(&self) -> watch::Receiver<u64> {
        self.shared.writer.commits()
    }

    /// Waits until all work queued before is written, including work of a host that was dropped before its commit was
    /// answered.
    ///
    /// # Errors
    /// Errors of the disk.
    pub async fn flush(&self) -> Result<(), JournalError> {
        self.write(|_, _| Ok(())).await
    }

    /// Writes on the writer's thread. Queued at once, complete when durable.
    fn write<T, F>(&self, mut work: F) -> impl Future<Output = Result<T, JournalError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnMut(&Path, &Connection) -> Result<T, JournalError> + Send + 'static,
    {
        let path = Arc::clone(&self.shared.path);
        self.shared.writer.write(move |connection| work(&path, connection))
    }

    /// Reads on a connection of its own, here and now.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, JournalError> {
        #[cfg(any(test, feature = "simulation"))]
        if let Some(simulated) = self.shared.writer.simulation() {
            return work(&simulated.connection()).map_err(|error| JournalError::from_sqlite(self.path(), error));
        }
        let readers = || self.shared.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = readers().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => schema::open_reader(self.path())?,
        };
        let outcome = work(&connection).map_err(|error| JournalError::from_sqlite(self.path(), error));
        let mut idle = readers();
        if idle.len() < READERS {
            idle.push(connection);
        }
        outcome
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("path", &PathBuf::from(self.path())).finish()
    }
}

#[cfg(test)]
mod tests;
