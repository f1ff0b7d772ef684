//! Integrity checks of the file: by SQLite, and by the hashes of the blobs.

use rusqlite::{Row, params};

use super::{Journal, JournalError};

/// Maximum number of faults of the file that are reported.
const MOST: u32 = 20;

/// A blob with which something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobFault {
    /// The hash under which it is kept.
    pub hash: String,
    /// Kind of the fault.
    pub kind: BlobFaultKind,
}

/// Fault of a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobFaultKind {
    /// A run keeps it, and it is not there.
    Missing,
    /// The bytes do not match the hash.
    Damaged,
    /// No run keeps it.
    Unused,
}

impl Journal {
    /// Returns the faults that SQLite finds in the file: in its pages, its indexes, and rows without an owner.
    /// Returns at most 20, and none if the file is intact. Reads the whole file and blocks meanwhile.
    ///
    /// # Errors
    /// [`JournalError::Damaged`] if the file cannot be checked.
    pub fn faults_of_file(&self) -> Result<Vec<String>, JournalError> {
        self.read(|connection| {
            let mut check = connection.prepare(&format!("PRAGMA integrity_check({MOST})"))?;
            let told = check.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
            let mut faults: Vec<String> = told.into_iter().filter(|line| line != "ok").collect();
            let mut orphans = connection.prepare("PRAGMA foreign_key_check")?;
            let orphan = |row: &Row<'_>| Ok(format!("a row of {} belongs to no {}", row.get::<_, String>(0)?, row.get::<_, String>(2)?));
            for orphan in orphans.query_map([], orphan)?.take(MOST as usize) {
                faults.push(orphan?);
            }
            faults.dedup();
            Ok(faults)
        })
    }

    /// Returns the faults of the blobs that a run keeps, and of those that no run keeps. Reads them one by one and
    /// blocks meanwhile.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn faults_of_blobs(&self, run: &str) -> Result<Vec<BlobFault>, JournalError> {
        self.read(|connection| {
            let mut faults = Vec::new();
            let mut kept = connection.prepare(
                "SELECT blob_use.hash, blob.body FROM blob_use LEFT JOIN blob USING (hash) WHERE blob_use.run = ?1 ORDER BY blob_use.hash",
            )?;
            let mut rows = kept.query(params![run])?;
            while let Some(row) = rows.next()? {
                let hash: String = row.get(0)?;
                let kind = match row.get_ref(1)?.as_bytes_or_null()? {
                    None => BlobFaultKind::Missing,
                    Some(body) if blake3::hash(body).to_hex().as_str() != hash => BlobFaultKind::Damaged,
                    Some(_) => continue,
                };
                faults.push(BlobFault { hash, kind });
            }
            let mut unused = connection.prepare("SELECT hash FROM blob WHERE hash NOT IN (SELECT hash FROM blob_use) ORDER BY hash")?;
            for hash in unused.query_map([], |row| row.get(0))? {
                faults.push(BlobFault { hash: hash?, kind: BlobFaultKind::Unused });
            }
            Ok(faults)
        })
    }

    /// Deletes the blobs that no run keeps, and returns their number.
    ///
    /// # Errors
    /// Errors of the disk.
    pub async fn drop_unused_blobs(&self) -> Result<usize, JournalError> {
        self.write(|path, connection| {
            connection
                .execute("DELETE FROM blob WHERE hash NOT IN (SELECT hash FROM blob_use)", [])
                .map_err(|error| JournalError::from_sqlite(path, error))
        })
        .await
    }
}
