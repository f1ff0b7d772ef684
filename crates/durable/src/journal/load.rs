//! Reading one stream back, up to its last good record.

use std::sync::Arc;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};
use serde::de::{DeserializeOwned, IgnoredAny};

use super::{
    Journal, JournalError, RUN_STREAM,
    rows::{Rows, checksum},
    stream::{StreamDamage, number},
};
use crate::{Commit, Machine, Recorded, Resume, UnixMillis, replay};

/// Journal content of one machine.
pub struct Loaded<M: Machine> {
    /// Input of the machine.
    pub input: Recorded<M::Input>,
    /// Every fact, in order.
    pub facts: Vec<Recorded<M::Fact>>,
    /// Number of events that followed from the facts.
    pub events: usize,
    /// Description of the damage, if there is any. The facts above precede it; the next append removes the rest and
    /// repairs the events.
    pub damage: Option<String>,
    pub(super) cut: Option<Arc<StreamDamage>>,
}

impl<M: Machine> Loaded<M> {
    pub(crate) fn whole(input: Recorded<M::Input>, facts: Vec<Recorded<M::Fact>>, events: usize) -> Self {
        Self { input, facts, events, damage: None, cut: None }
    }

    /// Returns the point at which [`drive`](crate::drive) continues; `then` are new facts that precede all others,
    /// such as "resumed".
    #[must_use]
    pub fn resume(self, then: Vec<Recorded<M::Fact>>) -> Resume<M> {
        Resume::Journal { input: self.input, facts: self.facts, events: self.events, then }
    }

    /// Returns the time of the last record.
    #[must_use]
    pub fn last_at(&self) -> UnixMillis {
        self.facts.last().map_or(self.input.at, |fact| fact.at.max(self.input.at))
    }
}

/// A row as it was read.
pub(super) struct Entry {
    pub(super) at: UnixMillis,
    /// Number of its last fact.
    pub(super) seq: i64,
    version: u32,
    /// Events up to it.
    pub(super) events: usize,
    /// True if the checksum matches.
    intact: bool,
    facts: Vec<u8>,
    /// Number of its events that can be read.
    readable: usize,
}

impl Entry {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (seq, at, version, events) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        let facts = row.get_ref(5)?.as_bytes()?;
        let intact = row.get::<_, i64>(4)? == checksum(seq, at, version, events, facts);
        let readable = lines(row.get_ref(6)?.as_bytes()?).filter(|event| serde_json::from_slice::<IgnoredAny>(event).is_ok()).count();
        Ok(Self { at, seq, version, events: usize::try_from(events).unwrap_or_default(), intact, facts: facts.to_vec(), readable })
    }

    /// Returns the number of its first fact.
    fn first(&self) -> i64 {
        self.seq + 1 - number(lines(&self.facts).count())
    }

    /// Returns the fault of its facts, given the number that it should begin with.
    pub(super) fn damage(&self, first: i64) -> Option<String> {
        match self.intact {
            false => Some(format!("record {first} is not as it was written: its checksum does not fit")),
            true if self.first() != first => Some(format!("record {first} is missing")),
            true => None,
        }
    }

    /// Returns the fault of its events, given the number of events before them.
    pub(super) fn damage_of_events(&self, before: usize) -> Option<String> {
        let expected = self.events.saturating_sub(before);
        (self.readable != expected).then(|| {
            format!("events after number {before}: with record {} there should be {expected}, and {} can be read", self.seq, self.readable)
        })
    }
}

/// A stream as yet without facts, and what is wrong with the events that follow from its input.
type NewStream<M> = (Loaded<M>, Option<String>);

/// Returns the lines of a text.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

impl Journal {
    /// Reads a stream. Returns `None` if nothing was written to it. Blocks while it reads.
    ///
    /// Damaged records are cut: a record that is unreadable, altered or missing ends the stream before it.
    ///
    /// # Errors
    /// [`JournalError::Beginning`] if there is no good record at all, [`JournalError::OtherVersion`] and
    /// [`JournalError::Unreadable`] if another version wrote it, and those of the disk.
    pub fn load<M: Machine>(&self, run: &str, stream: &str) -> Result<Option<Loaded<M>>, JournalError> {
        self.read(|connection| {
            // Facts and events are compared, so both are read as of one moment while others write.
            let moment = connection.unchecked_transaction()?;
            Ok(Loading::of(self, &moment, run, stream).and_then(|loading| loading.map_or(Ok(None), |loading| loading.load::<M>())))
        })?
    }
}

pub(super) struct Loading<'a> {
    journal: &'a Journal,
    pub(super) connection: &'a Connection,
    pub(super) run: &'a str,
    pub(super) stream: &'a str,
    /// The number of the stream.
    pub(super) id: i64,
    /// The number of its last fact, damaged or not.
    pub(super) last: i64,
}

impl<'a> Loading<'a> {
    /// Returns the rows of a stream; `None` if nothing was written to it.
    pub(super) fn of(
        journal: &'a Journal,
        connection: &'a Connection,
        run: &'a str,
        stream: &'a str,
    ) -> Result<Option<Self>, JournalError> {
        let find = || {
            let mut select = connection.prepare_cached("SELECT id, last_fact FROM stream WHERE run = ?1 AND name = ?2")?;
            select.query_row(params![run, stream], |row| Ok(Self { journal, connection, run, stream, id: row.get(0)?, last: row.get(1)? }))
        };
        find().optional().map_err(|error| JournalError::from_sqlite(journal.path(), error))
    }

    pub(super) fn fault(&self, error: rusqlite::Error) -> JournalError {
        JournalError::from_sqlite(self.journal.path(), error)
    }

    fn beginning(&self, detail: impl Into<String>) -> JournalError {
        JournalError::Beginning { run: self.run.into(), stream: self.stream.into(), detail: detail.into() }
    }

    /// Returns the facts of an intact row, if this machine wrote them.
    pub(super) fn known<M: Machine, T: DeserializeOwned>(&self, entry: &Entry) -> Result<Vec<Recorded<T>>, JournalError> {
        let (run, stream, found, known): (Arc<str>, Arc<str>, u32, u32) = (self.run.into(), self.stream.into(), entry.version, M::VERSION);
        if found != known {
            return Err(JournalError::OtherVersion { run, stream, found, known });
        }
        let facts = lines(&entry.facts).zip(entry.first()..).map(|(line, seq)| match serde_json::from_slice(line) {
            Ok(fact) => Ok(Recorded { at: entry.at, fact }),
            Err(source) => {
                Err(JournalError::Unreadable { run: Arc::clone(&run), stream: Arc::clone(&stream), seq, source: Arc::new(source) })
            }
        });
        facts.collect()
    }

    /// Rows in order, to be queried by [`after`](Self::after).
    pub(super) fn entries(&self) -> rusqlite::Result<CachedStatement<'_>> {
        self.connection.prepare_cached(
            "SELECT last_fact, at, version, last_event, checksum, facts, events FROM entry
             WHERE stream = ?1 AND (last_event, last_fact) > (?2, ?3) ORDER BY last_event, last_fact",
        )
    }

    /// Returns the rows after a fact up to which there were this number of events.
    pub(super) fn after<'s>(
        &self,
        entries: &'s mut CachedStatement<'_>,
        events: i64,
        seq: i64,
    ) -> rusqlite::Result<impl Iterator<Item = rusqlite::Result<Entry>> + use<'s>> {
        entries.query_map(params![self.id, events, seq], Entry::read)
    }

    /// Returns true if events are kept with the facts.
    pub(super) fn publishes(&self) -> bool {
        self.stream == RUN_STREAM
    }

    pub(super) fn load<M: Machine>(&self) -> Result<Option<Loaded<M>>, JournalError> {
        let Some((mut loaded, damage_of_events)) = self.input::<M>()? else { return Ok(None) };
        if let Some(damage) = self.facts(&mut loaded, damage_of_events)? {
            self.cut(&mut loaded, damage)?;
        }
        Ok(Some(loaded))
    }

    /// Returns the input of the stream, without facts as yet, and the fault of the events that follow from it.
    pub(super) fn input<M: Machine>(&self) -> Result<Option<NewStream<M>>, JournalError> {
        let mut entries = self.entries().map_err(|error| self.fault(error))?;
        let first = self.after(&mut entries, -1, -1).and_then(|mut entries| entries.next().transpose());
        let Some(first) = first.map_err(|error| self.fault(error))? else { return Ok(None) };
        if let Some(damage) = first.damage(0) {
            return Err(self.beginning(damage));
        }
        let mut input = self.known::<M, _>(&first)?;
        let input = input.pop().filter(|_| input.is_empty()).ok_or_else(|| self.beginning("record 0 is not alone in its row"))?;
        let damage = first.damage_of_events(0).filter(|_| self.publishes());
        Ok(Some((Loaded::whole(input, Vec::new(), first.events), damage)))
    }

    /// Reads facts up to the first that is damaged or missing. Records the fault of that fact, or else the fault of
    /// the events.
    fn facts<M: Machine>(&self, loaded: &mut Loaded<M>, mut damage_of_events: Option<String>) -> Result<Option<String>, JournalError> {
        let mut entries = self.entries().map_err(|error| self.fault(error))?;
        let entries = self.after(&mut entries, number(loaded.events), 0).map_err(|error| self.fault(error))?;
        for entry in entries {
            let first = number(loaded.facts.len()) + 1;
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return Ok(Some(format!("record {first} cannot be read: {error}"))),
            };
            if let Some(damage) = entry.damage(first) {
                return Ok(Some(damage));
            }
            loaded.facts.append(&mut self.known::<M, _>(&entry)?);
            if self.publishes() && damage_of_events.is_none() {
                damage_of_events = entry.damage_of_events(loaded.events);
            }
            loaded.events = entry.events;
        }
        let next = number(loaded.facts.len()) + 1;
        Ok(match self.last.saturating_add(1) {
            end if end > next => Some(format!("record {next} is missing")),
            end if end < next => Some(format!("there should be {end} records; there are {next}")),
            _ => damage_of_events,
        })
    }

    /// Ends the loaded data before the damage: its events are those that follow from the remaining facts.
    fn cut<M: Machine>(&self, loaded: &mut Loaded<M>, damage: String) -> Result<(), JournalError> {
        let replayed = replay::<M>(&loaded.input, &loaded.facts);
        let commit = Commit::<M> { input: Some(&loaded.input), facts: &loaded.facts, events: (&replayed.events).into() };
        let rows = Rows::of(&commit, 0, 0, self.publishes()).map_err(|source| JournalError::Encode {
            run: self.run.into(),
            stream: self.stream.into(),
            source: Arc::new(source),
        })?;
        loaded.events = replayed.events.len();
        loaded.damage = Some(format!("{damage}; {} facts before it are good", loaded.facts.len()));
        loaded.cut = Some(Arc::new(StreamDamage { from: number(loaded.facts.len()) + 1, last: self.last, rows }));
        Ok(())
    }
}
