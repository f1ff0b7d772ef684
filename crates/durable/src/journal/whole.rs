//! Integrity checks of the file, by SQLite.

use rusqlite::Row;

use super::{Journal, JournalError};

/// Maximum number of faults of the file that are reported.
const MAX_FAULTS: u32 = 20;

impl Journal {
    /// Returns the faults that SQLite finds in the file: in its pages, its indexes, and rows without an owner.
    /// Returns at most 20, and none if the file is intact. Reads the whole file and blocks meanwhile.
    ///
    /// # Errors
    /// [`JournalError::Damaged`] if the file cannot be checked.
    pub fn faults_of_file(&self) -> Result<Vec<String>, JournalError> {
        self.read(|connection| {
            let mut check = connection.prepare(&format!("PRAGMA integrity_check({MAX_FAULTS})"))?;
            let lines = check.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
            let mut faults: Vec<String> = lines.into_iter().filter(|line| line != "ok").collect();
            let mut orphans = connection.prepare("PRAGMA foreign_key_check")?;
            let orphan = |row: &Row<'_>| Ok(format!("a row of {} belongs to no {}", row.get::<_, String>(0)?, row.get::<_, String>(2)?));
            for orphan in orphans.query_map([], orphan)?.take(MAX_FAULTS as usize) {
                faults.push(orphan?);
            }
            faults.dedup();
            Ok(faults)
        })
    }
}
