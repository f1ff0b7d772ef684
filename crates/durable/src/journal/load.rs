//! Reading one stream back, up to its last good record.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;

use super::{
    Journal, JournalError, RUN_STREAM,
    rows::{Rows, checksum},
    stream::{Cut, number},
};
use crate::{Machine, Recorded, Resume, UnixMillis, replay};

/// What a journal holds of one machine.
pub struct Loaded<M: Machine> {
    /// What it started from.
    pub input: Recorded<M::Input>,
    /// Every fact, in order.
    pub facts: Vec<Recorded<M::Fact>>,
    /// How many events followed from them.
    pub events: usize,
    /// What was damaged, if anything was, in words for people. The facts above are those before it; the next append takes away the rest
    /// and mends the events.
    pub damage: Option<String>,
    pub(super) cut: Option<Arc<Cut>>,
}

impl<M: Machine> Loaded<M> {
    pub(crate) fn whole(input: Recorded<M::Input>, facts: Vec<Recorded<M::Fact>>, events: usize) -> Self {
        Self { input, facts, events, damage: None, cut: None }
    }

    /// Where [`drive`](crate::drive) goes on; `then` are new facts that come before all others, such as "resumed".
    #[must_use]
    pub fn resume(self, then: Vec<Recorded<M::Fact>>) -> Resume<M> {
        Resume::Journal { input: self.input, facts: self.facts, events: self.events, then }
    }

    /// The time of the last record.
    #[must_use]
    pub fn last_at(&self) -> UnixMillis {
        self.facts.last().map_or(self.input.at, |fact| fact.at.max(self.input.at))
    }
}

/// A row as it was read.
pub(super) struct Record<T> {
    pub(super) seq: i64,
    pub(super) version: u32,
    pub(super) events: usize,
    /// None if the checksum does not fit.
    pub(super) recorded: Option<serde_json::Result<Recorded<T>>>,
}

impl<T: DeserializeOwned> Record<T> {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (seq, at, version, events) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        let body = row.get_ref(5)?.as_bytes()?;
        let intact = row.get::<_, i64>(4)? == checksum(seq, at, version, events, body);
        let recorded = intact.then(|| serde_json::from_slice(body).map(|fact| Recorded { at, fact }));
        Ok(Self { seq, version, events: usize::try_from(events).unwrap_or_default(), recorded })
    }
}

pub(super) const COLUMNS: &str = "SELECT seq, at, version, events, checksum, body FROM fact WHERE run = ?1 AND stream = ?2";

impl Journal {
    /// Reads a stream; none if nothing was written to it. Blocks while it reads.
    ///
    /// What is damaged is cut: a record that cannot be read, is not as it was written, or is missing ends the stream before it.
    ///
    /// # Errors
    /// [`JournalError::Beginning`] if there is no good record at all, [`JournalError::OtherVersion`] and [`JournalError::Unreadable`] if
    /// another version wrote it, and those of the disk.
    pub fn load<M: Machine>(&self, run: &str, stream: &str) -> Result<Option<Loaded<M>>, JournalError> {
        self.read(|connection| {
            // Facts and events are compared, so both are read as of one moment while others write.
            let moment = connection.unchecked_transaction()?;
            Ok(Loading { journal: self, connection: &moment, run, stream }.load::<M>())
        })?
    }
}

pub(super) struct Loading<'a> {
    pub(super) journal: &'a Journal,
    pub(super) connection: &'a Connection,
    pub(super) run: &'a str,
    pub(super) stream: &'a str,
}

impl Loading<'_> {
    pub(super) fn fault(&self, error: rusqlite::Error) -> JournalError {
        JournalError::from_sqlite(self.journal.path(), error)
    }

    fn beginning(&self, detail: impl Into<String>) -> JournalError {
        JournalError::Beginning { run: self.run.into(), stream: self.stream.into(), detail: detail.into() }
    }

    /// What an intact record says, if this machine wrote it.
    pub(super) fn known<M: Machine, T>(&self, seq: i64, found: u32, recorded: serde_json::Result<T>) -> Result<T, JournalError> {
        let (run, stream, known): (Arc<str>, Arc<str>, u32) = (self.run.into(), self.stream.into(), M::VERSION);
        if found != known {
            return Err(JournalError::OtherVersion { run, stream, found, known });
        }
        recorded.map_err(|source| JournalError::Unreadable { run, stream, seq, source: Arc::new(source) })
    }

    pub(super) fn load<M: Machine>(&self) -> Result<Option<Loaded<M>>, JournalError> {
        let Some(mut loaded) = self.input::<M>()? else {
            return Ok(None);
        };
        let damage = self.facts(&mut loaded)?;
        if let Some(damage) = damage.or_else(|| self.events(loaded.events).err()) {
            self.cut(&mut loaded, damage)?;
        }
        Ok(Some(loaded))
    }

    /// What the stream started from, as yet without facts.
    pub(super) fn input<M: Machine>(&self) -> Result<Option<Loaded<M>>, JournalError> {
        let sql = format!("{COLUMNS} ORDER BY seq LIMIT 1");
        let mut statement = self.connection.prepare_cached(&sql).map_err(|error| self.fault(error))?;
        let first = statement.query_row(params![self.run, self.stream], Record::<M::Input>::read).optional();
        let Some(first) = first.map_err(|error| self.fault(error))? else {
            return Ok(None);
        };
        if first.seq != 0 {
            return Err(self.beginning("record 0 is missing"));
        }
        let recorded = first.recorded.ok_or_else(|| self.beginning("its checksum does not fit"))?;
        let input = self.known::<M, _>(0, first.version, recorded)?;
        Ok(Some(Loaded::whole(input, Vec::new(), first.events)))
    }

    /// Reads facts up to the first that is damaged, and says what is wrong with that one.
    fn facts<M: Machine>(&self, loaded: &mut Loaded<M>) -> Result<Option<String>, JournalError> {
        let sql = format!("{COLUMNS} AND seq > 0 ORDER BY seq");
        let mut statement = self.connection.prepare_cached(&sql).map_err(|error| self.fault(error))?;
        let records = statement.query_map(params![self.run, self.stream], Record::<M::Fact>::read).map_err(|error| self.fault(error))?;
        for (record, seq) in records.zip(1_i64..) {
            let record = match record {
                Ok(record) => record,
                Err(error) => return Ok(Some(format!("record {seq} cannot be read: {error}"))),
            };
            if record.seq != seq {
                return Ok(Some(format!("record {seq} is missing")));
            }
            let Some(recorded) = record.recorded else {
                return Ok(Some(format!("record {seq} is not as it was written: its checksum does not fit")));
            };
            loaded.facts.push(self.known::<M, _>(seq, record.version, recorded)?);
            loaded.events = record.events;
        }
        Ok(None)
    }

    /// Whether the run's events are all there and can be read.
    fn events(&self, expected: usize) -> Result<(), String> {
        self.events_after(0, expected)
    }

    /// Whether the run's events from after `before` on are all there and can be read.
    pub(super) fn events_after(&self, before: usize, expected: usize) -> Result<(), String> {
        if self.stream != RUN_STREAM {
            return Ok(());
        }
        let sql =
            "SELECT count(*) + ?2, coalesce(max(seq), ?2), coalesce(sum(json_valid(body)), 0) + ?2 FROM event WHERE run = ?1 AND seq > ?2";
        let found = self
            .connection
            .query_row(sql, params![self.run, number(before)], |row| Ok([row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?]))
            .map_err(|error| format!("the events cannot be read: {error}"))?;
        if found.iter().all(|count| *count == number(expected)) {
            return Ok(());
        }
        let [count, last, readable] = found;
        Err(format!("there should be {expected} events; there are {count} up to number {last}, and {readable} can be read"))
    }

    /// Ends what was loaded before the damage: its events are those that follow from the facts that are left.
    fn cut<M: Machine>(&self, loaded: &mut Loaded<M>, damage: String) -> Result<(), JournalError> {
        let sql = "SELECT max(seq) FROM fact WHERE run = ?1 AND stream = ?2";
        let last = self.connection.query_row(sql, params![self.run, self.stream], |row| row.get(0)).map_err(|error| self.fault(error))?;
        let replayed = replay::<M>(&loaded.input, &loaded.facts);
        let mut events = Rows::default();
        events.extend(&replayed.events).map_err(|source| JournalError::Encode {
            run: self.run.into(),
            stream: self.stream.into(),
            source: Arc::new(source),
        })?;
        loaded.events = events.len();
        loaded.damage = Some(format!("{damage}; {} facts before it are good", loaded.facts.len()));
        loaded.cut = Some(Arc::new(Cut { from: number(loaded.facts.len()) + 1, last, events }));
        Ok(())
    }
}
