//! The runs of a journal: their list, their events, and their end.

use std::sync::Arc;

use rusqlite::{OptionalExtension, Row, params};

use super::{Journal, JournalError, RUN_STREAM, error::is_taken, stream::number};
use crate::UnixMillis;

/// The most characters of a goal that are kept as a title.
const TITLE: usize = 200;

/// A run to be entered.
#[derive(Debug, Clone)]
pub struct NewRun<'a> {
    /// Permanent name of the run.
    pub id: &'a str,
    /// When it begins.
    pub at: UnixMillis,
    /// The version of its machine.
    pub machine_version: u32,
    /// The goal; cut to 200 characters.
    pub title: &'a str,
    /// Status in the caller's words.
    pub status: &'a str,
}

/// A run as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// Name of the run.
    pub id: String,
    /// When it began.
    pub created_at: UnixMillis,
    /// When something was last written of it, to the second; the time of the last status where that is later.
    pub updated_at: UnixMillis,
    /// The version of its machine.
    pub machine_version: u32,
    /// The goal, cut.
    pub title: String,
    /// Status in the caller's words.
    pub status: String,
}

impl RunRecord {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            created_at: row.get(1)?,
            updated_at: row.get(2)?,
            machine_version: row.get(3)?,
            title: row.get(4)?,
            status: row.get(5)?,
        })
    }
}

/// An event as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// Number of the event in the run: 1, 2, 3, … without a gap.
    pub seq: u64,
    /// When it happened.
    pub at: UnixMillis,
    /// The version of the machine that emitted it.
    pub version: u32,
    /// JSON.
    pub body: String,
}

const RUN: &str = "SELECT id, created_at, updated_at, machine_version, title, status FROM run";

impl Journal {
    /// Creates a run; call it before any append to its streams. The write is queued at once, even if the future is
    /// dropped, so that the next append can share its transaction.
    ///
    /// # Errors
    /// [`JournalError::RunExists`], and errors of the disk.
    pub fn create_run(&self, run: NewRun<'_>) -> impl Future<Output = Result<(), JournalError>> + Send + use<> {
        let (id, title): (Arc<str>, String) = (run.id.into(), run.title.chars().take(TITLE).collect());
        let (at, version, status) = (run.at, run.machine_version, run.status.to_owned());
        self.write(move |path, connection| {
            connection
                .prepare_cached(
                    "INSERT INTO run (id, created_at, updated_at, machine_version, title, status) VALUES (?1, ?2, ?2, ?3, ?4, ?5)",
                )
                .and_then(|mut insert| insert.execute(params![id, at, version, title, status]))
                .map(|_| ())
                .map_err(|error| match is_taken(&error) {
                    true => JournalError::RunExists { run: Arc::clone(&id) },
                    false => JournalError::from_sqlite(path, error),
                })
        })
    }

    /// Returns every run, the latest first.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn runs(&self) -> Result<Vec<RunRecord>, JournalError> {
        self.read(|connection| {
            let mut select = connection.prepare_cached(&format!("{RUN} ORDER BY created_at DESC, id DESC"))?;
            select.query_map([], RunRecord::read)?.collect()
        })
    }

    /// Returns the names of a run's streams that are not empty, in order.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn streams(&self, run: &str) -> Result<Vec<String>, JournalError> {
        self.read(|connection| {
            let mut select = connection.prepare_cached("SELECT name FROM stream WHERE run = ?1 ORDER BY name")?;
            select.query_map([run], |row| row.get(0))?.collect()
        })
    }

    /// Returns the run with this id, if it exists.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn run(&self, id: &str) -> Result<Option<RunRecord>, JournalError> {
        self.read(|connection| {
            let mut select = connection.prepare_cached(&format!("{RUN} WHERE id = ?1"))?;
            select.query_row([id], RunRecord::read).optional()
        })
    }

    /// Returns at most `limit` events of a run, in order, starting with number `from` (the first is 1). Blocks while
    /// it reads.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn events(&self, run: &str, from: u64, limit: usize) -> Result<Vec<EventRecord>, JournalError> {
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut select = connection.prepare_cached(
                "SELECT last_event, at, version, events FROM entry
                 WHERE stream = (SELECT id FROM stream WHERE run = ?1 AND name = ?2) AND last_event >= ?3 ORDER BY last_event, last_fact",
            )?;
            let (mut found, mut rows) = (Vec::new(), select.query(params![run, RUN_STREAM, from])?);
            while found.len() < limit
                && let Some(row) = rows.next()?
            {
                let (last, at, version, events) = (row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get_ref(3)?.as_str()?);
                // `last` is the number of the last event in the row. A damaged row may hold any number, so the
                // subtraction saturates.
                let behind = (0..events.lines().count()).rev().map(number);
                let numbered = events.lines().zip(behind.map(|behind| last.saturating_sub(behind))).filter(|(_, seq)| *seq >= from);
                let record = |(body, seq): (&str, i64)| EventRecord {
                    seq: u64::try_from(seq).unwrap_or_default(),
                    at,
                    version,
                    body: body.to_owned(),
                };
                found.extend(numbered.take(limit - found.len()).map(record));
            }
            Ok(found)
        })
    }

    /// Sets the status of a run. The write is queued at once, even if the future is dropped.
    ///
    /// # Errors
    /// [`JournalError::NoRun`], and those of the disk.
    pub fn set_status(&self, run: &str, at: UnixMillis, status: &str) -> impl Future<Output = Result<(), JournalError>> + Send + use<> {
        let (run, status): (Arc<str>, String) = (run.into(), status.to_owned());
        self.write(move |path, connection| {
            let changed = connection
                .prepare_cached("UPDATE run SET status = ?2, updated_at = max(updated_at, ?3) WHERE id = ?1")
                .and_then(|mut update| update.execute(params![run, status, at]))
                .map_err(|error| JournalError::from_sqlite(path, error))?;
            require_run(changed, &run)
        })
    }

    /// Deletes a run with all its own data: facts, events and messages. A process that still drives it fails at its
    /// next append.
    ///
    /// # Errors
    /// [`JournalError::NoRun`], and those of the disk.
    pub async fn delete_run(&self, run: &str) -> Result<(), JournalError> {
        let run: Arc<str> = run.into();
        self.write(move |path, connection| {
            let changed = connection
                .execute("DELETE FROM run WHERE id = ?1", params![run])
                .map_err(|error| JournalError::from_sqlite(path, error))?;
            require_run(changed, &run)
        })
        .await
    }
}

/// Returns an error if a change affected no run.
fn require_run(changed: usize, run: &Arc<str>) -> Result<(), JournalError> {
    if changed == 0 {
        return Err(JournalError::NoRun { run: Arc::clone(run) });
    }
    Ok(())
}
