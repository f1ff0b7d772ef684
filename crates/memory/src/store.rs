//! The open file.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde::{Deserialize, Serialize};

use crate::{Knowledge, KnowledgeSettings, MemoryError, schema};

/// The bounds of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemorySettings {
    /// Maximum number of memories that are kept; at least 1. If there are more, the one that was written or recalled
    /// longest ago is deleted.
    pub max_entries: usize,
    /// The most characters of one memory's text that are kept.
    pub max_text_chars: usize,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self { max_entries: 1_000, max_text_chars: 8_000 }
    }
}

/// Long-term memory and knowledge in one file. Clones share it; other processes may have it open and write to it at the same time.
///
/// Everything here blocks while it reads or writes: milliseconds as a rule, and up to ten seconds while another process writes.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

struct Shared {
    connection: Mutex<Connection>,
    path: PathBuf,
    settings: MemorySettings,
}

impl MemoryStore {
    /// Opens a memory, and creates it and its folder if they do not exist.
    ///
    /// # Errors
    /// [`MemoryError::NotAMemory`], [`MemoryError::Newer`], [`MemoryError::Damaged`], [`MemoryError::ReadOnly`] and
    /// others, each with the file and the fix.
    pub fn open(path: impl AsRef<Path>, settings: MemorySettings) -> Result<Self, MemoryError> {
        let path = path.as_ref().to_owned();
        let connection = Mutex::new(schema::open(&path)?);
        Ok(Self { shared: Arc::new(Shared { connection, path, settings }) })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Returns a folder of documents. It reads nothing yet: [`Knowledge::update`] indexes the folder, and
    /// [`Knowledge::retrieve`] searches it.
    ///
    /// # Errors
    /// [`MemoryError::KnowledgeFolder`] if it is not a folder.
    pub fn knowledge(&self, folder: impl AsRef<Path>, settings: KnowledgeSettings) -> Result<Knowledge, MemoryError> {
        Knowledge::new(self.clone(), folder.as_ref(), settings)
    }

    pub(crate) fn settings(&self) -> &MemorySettings {
        &self.shared.settings
    }

    /// Reads one state of the file.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, MemoryError> {
        self.within(TransactionBehavior::Deferred, work)
    }

    /// Writes all or nothing.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, MemoryError> {
        self.within(TransactionBehavior::Immediate, work)
    }

    fn within<T>(&self, behavior: TransactionBehavior, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, MemoryError> {
        let mut connection = self.shared.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = connection.transaction_with_behavior(behavior).and_then(|transaction: Transaction<'_>| {
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        });
        outcome.map_err(|error| MemoryError::from_sqlite(self.path(), error))
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStore").field("path", &self.shared.path).field("settings", &self.shared.settings).finish()
    }
}
