//! Storage of large values, which are kept once, under the hash of their content.

use std::sync::Arc;

use rusqlite::{OptionalExtension, params};

use super::{Journal, JournalError, error::is_orphan};

impl Journal {
    /// Stores a blob for a run and returns its BLAKE3 hash (64 hexadecimal digits). The same bytes are stored once;
    /// they are deleted with the last run that keeps them. SQLite holds at most 1 GB in one blob.
    ///
    /// # Errors
    /// [`JournalError::NoRun`], and errors of the disk.
    pub async fn put_blob(&self, run: &str, body: Vec<u8>) -> Result<String, JournalError> {
        let hash = blake3::hash(&body).to_hex().to_string();
        let (run, key): (Arc<str>, String) = (run.into(), hash.clone());
        self.write(move |path, connection| {
            let put = || {
                let mut insert = connection.prepare_cached("INSERT INTO blob (hash, body) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
                insert.execute(params![key, body])?;
                let mut keep = connection.prepare_cached("INSERT INTO blob_use (hash, run) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
                keep.execute(params![key, run])
            };
            put().map(|_| ()).map_err(|error| match is_orphan(&error) {
                true => JournalError::NoRun { run: Arc::clone(&run) },
                false => JournalError::from_sqlite(path, error),
            })
        })
        .await?;
        Ok(hash)
    }

    /// Returns the bytes with this hash, if they are kept. Blocks while it reads.
    ///
    /// # Errors
    /// [`JournalError::DamagedBlob`] if the bytes are no longer those that were put, and those of the disk.
    pub fn get_blob(&self, hash: &str) -> Result<Option<Vec<u8>>, JournalError> {
        let body: Option<Vec<u8>> = self.read(|connection| {
            let mut select = connection.prepare_cached("SELECT body FROM blob WHERE hash = ?1")?;
            select.query_row([hash], |row| row.get(0)).optional()
        })?;
        match body {
            Some(body) if blake3::hash(&body).to_hex().as_str() != hash => {
                Err(JournalError::DamagedBlob { path: self.path().to_owned(), hash: hash.to_owned() })
            }
            body => Ok(body),
        }
    }
}
