//! Messages to a run from other processes, such as a person's answer.

use std::sync::Arc;

use rusqlite::params;

use super::{Journal, JournalError, error::is_orphan};
use crate::UnixMillis;

/// A message that waits for its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Number of the message; later messages have higher ones.
    pub id: i64,
    /// When it was put.
    pub at: UnixMillis,
    /// JSON, in the caller's form.
    pub body: String,
}

impl Journal {
    /// Adds a message for a run and returns its number.
    ///
    /// # Errors
    /// [`JournalError::NoRun`], and errors of the disk.
    pub async fn inbox_put(&self, run: &str, at: UnixMillis, body: &str) -> Result<i64, JournalError> {
        let (run, body): (Arc<str>, String) = (run.into(), body.to_owned());
        self.write(move |path, connection| {
            connection
                .prepare_cached("INSERT INTO inbox (run, at, body) VALUES (?1, ?2, ?3)")
                .and_then(|mut insert| insert.insert(params![run, at, body]))
                .map_err(|error| match is_orphan(&error) {
                    true => JournalError::NoRun { run: Arc::clone(&run) },
                    false => JournalError::from_sqlite(path, error),
                })
        })
        .await
    }

    /// Returns the messages that a run has not taken yet, oldest first. They stay until
    /// [`inbox_take`](Self::inbox_take).
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn inbox(&self, run: &str) -> Result<Vec<Message>, JournalError> {
        self.read(|connection| {
            let mut select = connection.prepare_cached("SELECT id, at, body FROM inbox WHERE run = ?1 AND taken = 0 ORDER BY id")?;
            select.query_map([run], |row| Ok(Message { id: row.get(0)?, at: row.get(1)?, body: row.get(2)? }))?.collect()
        })
    }

    /// Marks a message as taken. Call it after the fact made from the message is durable. After a crash in between
    /// the message is read again, so the machine must drop an answer to a question that is no longer open. Returns
    /// true if the message was not taken before.
    ///
    /// # Errors
    /// Errors of the disk.
    pub async fn inbox_take(&self, message: i64) -> Result<bool, JournalError> {
        self.write(move |path, connection| {
            connection
                .prepare_cached("UPDATE inbox SET taken = 1 WHERE id = ?1 AND taken = 0")
                .and_then(|mut update| update.execute([message]))
                .map(|changed| changed == 1)
                .map_err(|error| JournalError::from_sqlite(path, error))
        })
        .await
    }
}
