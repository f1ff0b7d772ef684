//! Appending to one stream of a run.

use std::{collections::VecDeque, sync::Arc};

use futures::future::BoxFuture;
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    Journal, JournalError, Loaded, LoadedSnapshot,
    error::{is_orphan, is_taken},
    rows::{Json, Row, Rows, checksum},
};
use crate::{Commit, Machine, Sink, UnixMillis};

/// The stream of the run itself: the only one whose events are kept and numbered for readers.
pub const RUN_STREAM: &str = "";

/// Maximum number of appends of one stream that are on their way to the disk before the next one waits.
const UNDER_WAY: usize = 256;

/// Damage that a load has found, and its repair by the next append.
#[derive(Debug)]
pub(super) struct StreamDamage {
    /// Records from this one on go.
    pub(super) from: i64,
    /// Number of the last record at the load. If it has changed, another writer continues the stream.
    pub(super) last: i64,
    /// All remaining rows of the stream, written anew, because the row of an event depends on the appends.
    pub(super) rows: Vec<Row>,
}

/// Writer of one stream. It tracks the end of the stream, and is fenced off if another writer has appended since.
pub struct StreamWriter {
    journal: Journal,
    run: Arc<str>,
    stream: Arc<str>,
    end: End,
    /// The stream's number, once something of it is durable.
    id: Option<i64>,
    /// The appends that are on their way to the disk, in order, each with the end that it came after.
    pending: VecDeque<(PendingAppend, End)>,
}

/// An append on its way. It gives the number of the stream.
type PendingAppend = BoxFuture<'static, Result<Option<i64>, JournalError>>;

/// End of a stream from a writer's view.
#[derive(Clone)]
struct End {
    /// The number of the next record.
    next: i64,
    /// Events so far.
    events: i64,
    cut: Option<Arc<StreamDamage>>,
    last: UnixMillis,
}

impl StreamWriter {
    pub(super) fn new(journal: Journal, run: &str, stream: &str) -> Self {
        let end = End { next: 0, events: 0, cut: None, last: UnixMillis::MIN };
        Self { journal, run: run.into(), stream: stream.into(), end, id: None, pending: VecDeque::new() }
    }

    /// Continues after what was loaded of this stream.
    #[must_use]
    pub fn after<M: Machine>(mut self, loaded: &Loaded<M>) -> Self {
        let (next, events, cut) = (number(loaded.facts.len()) + 1, number(loaded.events), loaded.cut.clone());
        self.end = End { next, events, cut, last: loaded.last_at() };
        self
    }

    /// Continues after where the stream leaves its machine.
    #[must_use]
    pub fn after_snapshot<M: Machine>(mut self, snapshot: &LoadedSnapshot<M>) -> Self {
        self.end =
            End { next: snapshot.facts + 1, events: number(snapshot.state.events()), cut: snapshot.cut.clone(), last: snapshot.last_at };
        self
    }

    /// Makes a commit durable, whole or not at all. Facts get the next numbers of the stream; in the run's own
    /// stream, events get the next numbers of the run. Simultaneous appends of many streams share one transaction.
    ///
    /// If the future is dropped before it is ready, the commit is either queued or not begun; the next append or
    /// flush reports a failure. The first append of a stream may not have begun while it waits for those of many
    /// others: see [`Journal`].
    ///
    /// # Errors
    /// [`JournalError::Fenced`] if another writer has appended since; [`JournalError::NoRun`] if the run was deleted;
    /// errors of the disk.
    pub async fn append<M: Machine>(&mut self, commit: Commit<'_, M>) -> Result<(), JournalError> {
        self.encode_and_queue(&commit).await?;
        self.flush().await
    }

    /// Queues a commit for the disk, after those before it. It is durable when [`flush`](Self::flush) has returned. Waits for earlier commits
    /// while too many are on their way.
    ///
    /// # Errors
    /// As [`append`](Self::append), and the errors of earlier commits.
    pub async fn queue<M: Machine>(&mut self, commit: &Commit<'_, M>) -> Result<(), JournalError> {
        self.encode_and_queue(commit).await?;
        self.flush_to(UNDER_WAY).await
    }

    async fn encode_and_queue<M: Machine>(&mut self, commit: &Commit<'_, M>) -> Result<(), JournalError> {
        let place = if commit.input.is_some() { Some(self.journal.place().await?) } else { None };
        let append = Append { _place: place, ..self.encode(commit)? };
        let Some(row) = append.rows.last() else { return Ok(()) };
        let after = End { next: row.last_fact + 1, events: row.last_event, cut: None, last: row.at.max(self.end.last) };
        let written = self.journal.write(move |path, connection| append.write(connection).map_err(|fault| fault.at(path, &append)));
        self.pending.push_back((Box::pin(written), std::mem::replace(&mut self.end, after)));
        Ok(())
    }

    /// Waits until all queued work is durable.
    ///
    /// # Errors
    /// The error of the first append that failed. Appends queued after it fail too, since a stream has no gaps, and the
    /// writer returns to the position before it.
    pub async fn flush(&mut self) -> Result<(), JournalError> {
        self.flush_to(0).await
    }

    async fn flush_to(&mut self, most: usize) -> Result<(), JournalError> {
        while self.pending.len() > most {
            // It stays in its place while it is waited for, so that a flush that is dropped forgets nothing.
            let Some((written, _)) = self.pending.front_mut() else { break };
            let outcome = written.await;
            let before = self.pending.pop_front();
            match (outcome, before) {
                (Err(error), Some((_, before))) => {
                    self.end = before;
                    self.pending.clear();
                    return Err(error);
                }
                (outcome, _) => self.id = outcome?,
            }
        }
        Ok(())
    }

    /// Removes the damage that the load found, and rewrites the events that follow from the remaining facts, as the
    /// next append would do. Does nothing if there is no damage.
    ///
    /// # Errors
    /// As [`StreamWriter::append`].
    pub async fn repair<M: Machine>(&mut self) -> Result<(), JournalError> {
        if self.end.cut.is_none() {
            return Ok(());
        }
        let append = self.encode(&Commit::<M> { input: None, facts: &[], events: (&[]).into() })?;
        self.journal.write(move |path, connection| append.write(connection).map_err(|fault| fault.at(path, &append))).await?;
        self.end.cut = None;
        Ok(())
    }

    fn encode<M: Machine>(&self, commit: &Commit<'_, M>) -> Result<Append, JournalError> {
        // Number 0 is the input's alone.
        let first = if commit.input.is_some() { self.end.next } else { self.end.next.max(1) };
        let rows = Rows::of(commit, first, self.end.events, self.publishes()).map_err(|source| JournalError::Encode {
            run: Arc::clone(&self.run),
            stream: Arc::clone(&self.stream),
            source: Arc::new(source),
        })?;
        let last = rows.last().map_or(self.end.last, |row| row.at);
        Ok(Append {
            run: Arc::clone(&self.run),
            stream: Arc::clone(&self.stream),
            id: self.id,
            version: M::VERSION,
            first,
            rows,
            cut: self.end.cut.clone(),
            touches: second(last) > second(self.end.last),
            _place: None,
        })
    }

    fn publishes(&self) -> bool {
        &*self.stream == RUN_STREAM
    }
}

impl<M: Machine> Sink<M> for StreamWriter {
    type Error = JournalError;

    async fn append(&mut self, commit: Commit<'_, M>) -> Result<(), JournalError> {
        self.queue(&commit).await
    }

    async fn flush(&mut self) -> Result<(), JournalError> {
        StreamWriter::flush(self).await
    }

    fn last(&self) -> UnixMillis {
        self.end.last
    }
}

/// Converts a count for SQLite. The fallback is unreachable, because no count is that high.
pub(super) fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns the second of a time.
fn second(at: UnixMillis) -> i64 {
    at.div_euclid(1_000)
}

/// One commit on its way.
struct Append {
    run: Arc<str>,
    stream: Arc<str>,
    id: Option<i64>,
    version: u32,
    /// The number of its first fact.
    first: i64,
    rows: Vec<Row>,
    cut: Option<Arc<StreamDamage>>,
    /// True if the record has a later second than the last one of the stream. Within one second the run's time is
    /// already up to date.
    touches: bool,
    /// Permit of a stream's first append; released when it is written.
    _place: Option<OwnedSemaphorePermit>,
}

enum Fault {
    Fenced,
    NoRun,
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        match () {
            () if is_taken(&error) => Self::Fenced,
            () if is_orphan(&error) => Self::NoRun,
            () => Self::Sqlite(error),
        }
    }
}

impl Fault {
    fn at(self, path: &std::path::Path, append: &Append) -> JournalError {
        let (run, stream) = (Arc::clone(&append.run), Arc::clone(&append.stream));
        match self {
            Self::Fenced => JournalError::Fenced { run, stream },
            Self::NoRun => JournalError::NoRun { run },
            Self::Sqlite(error) => JournalError::from_sqlite(path, error),
        }
    }
}

impl Append {
    /// Gives the number of the stream, where something was appended.
    fn write(&self, connection: &Connection) -> Result<Option<i64>, Fault> {
        if let Some(cut) = &self.cut {
            self.repair(connection, cut)?;
        }
        let Some(last) = self.rows.last() else { return Ok(None) };
        let stream = self.advance(connection, self.first - 1, last.last_fact)?;
        self.insert(connection, stream, &self.rows)?;
        if self.touches {
            let mut touch = connection.prepare_cached("UPDATE run SET updated_at = max(updated_at, ?2) WHERE id = ?1")?;
            touch.execute(params![self.run, last.at])?;
        }
        Ok(Some(stream))
    }

    /// Moves the end of the stream from fact `from` to fact `to`, and returns the stream. It fails if another writer
    /// has appended, or if an earlier append has failed, because there are no gaps. Creates the stream if it does not
    /// exist.
    fn advance(&self, connection: &Connection, from: i64, to: i64) -> Result<i64, Fault> {
        let mut update = connection.prepare_cached("UPDATE stream SET last_fact = ?3 WHERE id = ?1 AND last_fact = ?2")?;
        let mut is_there = |id: &i64| update.execute([*id, from, to]).map(|changed| changed == 1);
        if let Some(id) = self.id
            && is_there(&id)?
        {
            return Ok(id);
        }
        let mut select = connection.prepare_cached("SELECT id FROM stream WHERE run = ?1 AND name = ?2")?;
        if let Some(id) = select.query_row(params![self.run, self.stream], |row| row.get(0)).optional()? {
            return if is_there(&id)? { Ok(id) } else { Err(Fault::Fenced) };
        }
        let mut insert = connection.prepare_cached("INSERT INTO stream (run, name, last_fact) VALUES (?1, ?2, ?3)")?;
        let id = insert.insert(params![self.run, self.stream, to])?;
        if from > 0 { Err(Fault::Fenced) } else { Ok(id) }
    }

    fn insert(&self, connection: &Connection, stream: i64, rows: &[Row]) -> Result<(), Fault> {
        let mut insert = connection.prepare_cached(
            "INSERT INTO entry (stream, last_fact, last_event, at, version, checksum, facts, events) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        for Row { at, last_fact, last_event, facts, events } in rows {
            let checksum = checksum(*last_fact, *at, self.version, *last_event, facts);
            insert.execute(params![stream, last_fact, last_event, at, self.version, checksum, Json(facts), Json(events)])?;
        }
        Ok(())
    }

    /// Takes away what is damaged, and writes what stays anew.
    fn repair(&self, connection: &Connection, cut: &StreamDamage) -> Result<(), Fault> {
        let stream = self.advance(connection, cut.last, cut.from - 1)?;
        connection.execute("DELETE FROM entry WHERE stream = ?1", [stream])?;
        // Snapshots that depend on the deleted facts.
        connection
            .execute("DELETE FROM snapshot WHERE run = ?1 AND stream = ?2 AND seq >= ?3", params![self.run, self.stream, cut.from])?;
        self.insert(connection, stream, &cut.rows)
    }
}
