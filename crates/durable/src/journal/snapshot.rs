//! Snapshots of machines, so that a resume need not replay a long stream from its beginning. The facts stay: a snapshot that is lost,
//! damaged or of another version costs time and nothing else.

use std::sync::Arc;

use rusqlite::{OptionalExtension, Row, params};

use super::{
    Journal, JournalError, Loaded,
    load::Loading,
    rows::{Json, checksum},
    stream::{StreamDamage, number},
};
use crate::{LoadedMachine, Machine, Recorded, UnixMillis, drive::Snapshot};

/// Number of snapshots that are kept for a stream: the latest, and one in case it is damaged.
const KEPT: i64 = 2;

/// State of the machine at the end of a stream.
pub struct LoadedSnapshot<M: Machine> {
    /// Input of the machine.
    pub input: Recorded<M::Input>,
    /// Machine, ready to continue.
    pub state: LoadedMachine<M>,
    /// Description of the damage, if there is any. The records after it are lost, as with a
    /// [`Loaded`](crate::Loaded).
    pub damage: Option<String>,
    /// Each snapshot that could not be used, and why, in words for people. Nothing is lost by it.
    pub unused: Vec<String>,
    /// The number of the last fact.
    pub(super) facts: i64,
    pub(super) last_at: UnixMillis,
    pub(super) cut: Option<Arc<StreamDamage>>,
}

impl<M: Machine> LoadedSnapshot<M> {
    /// Returns the number of facts of the stream.
    #[must_use]
    pub fn facts(&self) -> usize {
        usize::try_from(self.facts).unwrap_or_default()
    }
}

/// A snapshot on its way to the journal.
pub struct NewSnapshot {
    run: Arc<str>,
    stream: Arc<str>,
    record: SnapshotRecord,
    body: Vec<u8>,
}

/// Metadata of a kept snapshot, available without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotRecord {
    /// The fact after which it was taken.
    pub seq: i64,
    /// When that happened.
    pub at: UnixMillis,
    /// The version of the machine.
    pub version: u32,
    /// The version of the machine's form ([`Machine::SNAPSHOT`]).
    pub form: u32,
    /// Events up to then.
    pub events: usize,
}

impl SnapshotRecord {
    fn checksum(&self, body: &[u8]) -> i64 {
        // The form goes with the number, so that no member is left out.
        checksum(self.seq ^ (i64::from(self.form) << 40), self.at, self.version, number(self.events), body)
    }
}

/// A row of the table.
struct SnapshotRow {
    record: SnapshotRecord,
    intact: bool,
    body: Vec<u8>,
}

impl SnapshotRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let events = usize::try_from(row.get::<_, i64>(4)?).unwrap_or_default();
        let record = SnapshotRecord { seq: row.get(0)?, at: row.get(1)?, version: row.get(2)?, form: row.get(3)?, events };
        let body = row.get_ref(6)?.as_bytes()?.to_vec();
        Ok(Self { record, intact: row.get::<_, i64>(5)? == record.checksum(&body), body })
    }
}

impl Journal {
    /// Returns the machine at the end of a stream, from the latest usable snapshot and the facts after it, or from
    /// all facts if there is no snapshot. Returns `None` if nothing was written to the stream. Blocks while it reads.
    ///
    /// # Errors
    /// As [`Journal::load`].
    pub fn load_machine<M: Machine>(&self, run: &str, stream: &str) -> Result<Option<LoadedSnapshot<M>>, JournalError> {
        self.read(|connection| {
            let moment = connection.unchecked_transaction()?;
            Ok(Loading::of(self, &moment, run, stream).and_then(|loading| loading.map_or(Ok(None), |loading| loading.load_machine::<M>())))
        })?
    }

    /// Takes a snapshot of a stream's machine after its last fact, for [`Journal::keep_snapshot`]. Returns `None` if
    /// the stream is empty or damaged, or if the machine has just returned its output. Blocks while it reads.
    ///
    /// # Errors
    /// As [`Journal::load`]; [`JournalError::Encode`] if the machine has no JSON form.
    pub fn take_snapshot<M: Machine>(&self, run: &str, stream: &str) -> Result<Option<NewSnapshot>, JournalError> {
        let Some(form) = M::SNAPSHOT else { return Ok(None) };
        let Some(snapshot) = self.load_machine::<M>(run, stream)? else { return Ok(None) };
        if snapshot.state.output().is_some() || snapshot.damage.is_some() || snapshot.state.replayed() == 0 {
            return Ok(None);
        }
        let body = snapshot.state.snapshot().map_err(|source| JournalError::Encode {
            run: run.into(),
            stream: stream.into(),
            source: Arc::new(source),
        })?;
        let record =
            SnapshotRecord { seq: snapshot.facts, at: snapshot.state.now(), version: M::VERSION, form, events: snapshot.state.events() };
        Ok(Some(NewSnapshot { run: run.into(), stream: stream.into(), record, body }))
    }

    /// Stores a snapshot and deletes the oldest ones. It is not stored if the fact after which it was taken no longer
    /// exists.
    ///
    /// # Errors
    /// Errors of the disk.
    pub async fn keep_snapshot(&self, snapshot: NewSnapshot) -> Result<(), JournalError> {
        self.write(move |path, connection| {
            let NewSnapshot { run, stream, record, body } = &snapshot;
            let keep = || {
                let SnapshotRecord { seq, at, version, form, events } = *record;
                connection
                    .prepare_cached(
                        "INSERT OR REPLACE INTO snapshot (run, stream, seq, at, version, form, events, checksum, body)
                         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
                         WHERE EXISTS (
                             SELECT 1 FROM entry JOIN stream ON stream.id = entry.stream
                             WHERE stream.run = ?1 AND stream.name = ?2
                             AND entry.last_event = ?7 AND entry.last_fact = ?3 AND entry.at = ?4
                         )",
                    )?
                    .execute(params![run, stream, seq, at, version, form, number(events), record.checksum(body), Json(body)])?;
                connection
                    .prepare_cached(
                        "DELETE FROM snapshot WHERE run = ?1 AND stream = ?2 AND seq NOT IN
                         (SELECT seq FROM snapshot WHERE run = ?1 AND stream = ?2 ORDER BY seq DESC LIMIT ?3)",
                    )?
                    .execute(params![run, stream, KEPT])
            };
            keep().map(|_| ()).map_err(|error| JournalError::from_sqlite(path, error))
        })
        .await
    }

    /// Returns the snapshots of a stream, the latest first.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn snapshots(&self, run: &str, stream: &str) -> Result<Vec<SnapshotRecord>, JournalError> {
        self.read(|connection| {
            let mut select = connection.prepare_cached(SNAPSHOTS)?;
            select.query_map(params![run, stream], SnapshotRow::read)?.map(|kept| Ok(kept?.record)).collect()
        })
    }

    /// Returns the faults of a stream's snapshots: each snapshot that differs from a replay of the facts, with the
    /// reason. Blocks while it reads and replays.
    ///
    /// # Errors
    /// As [`Journal::load`].
    pub fn check_snapshots<M: Machine>(&self, run: &str, stream: &str) -> Result<Vec<(SnapshotRecord, String)>, JournalError> {
        self.read(|connection| {
            let moment = connection.unchecked_transaction()?;
            Ok(Loading::of(self, &moment, run, stream)
                .and_then(|loading| loading.map_or(Ok(Vec::new()), |loading| loading.check_snapshots::<M>())))
        })?
    }

    /// Deletes snapshots of a stream. A resume then replays the facts instead.
    ///
    /// # Errors
    /// Errors of the disk.
    pub async fn drop_snapshots(&self, run: &str, stream: &str, seqs: Vec<i64>) -> Result<(), JournalError> {
        let (run, stream): (Arc<str>, Arc<str>) = (run.into(), stream.into());
        self.write(move |path, connection| {
            seqs.iter()
                .try_for_each(|seq| {
                    connection
                        .execute("DELETE FROM snapshot WHERE run = ?1 AND stream = ?2 AND seq = ?3", params![run, stream, seq])
                        .map(|_| ())
                })
                .map_err(|error| JournalError::from_sqlite(path, error))
        })
        .await
    }
}

const SNAPSHOTS: &str =
    "SELECT seq, at, version, form, events, checksum, body FROM snapshot WHERE run = ?1 AND stream = ?2 ORDER BY seq DESC";

impl Loading<'_> {
    fn load_machine<M: Machine>(&self) -> Result<Option<LoadedSnapshot<M>>, JournalError> {
        let Some((Loaded { input, events, .. }, damage)) = self.input::<M>()? else { return Ok(None) };
        let mut unused = Vec::new();
        for kept in self.stored_snapshots()? {
            let seq = kept.record.seq;
            match self.load_from_snapshot(&input, kept) {
                Ok(snapshot) => return Ok(Some(LoadedSnapshot { unused, ..snapshot })),
                Err(why) => unused.push(format!("the snapshot after fact {seq} is not used: {why}")),
            }
        }
        // Facts are applied one by one, so that they need not all be in memory. A load reports and cuts damaged
        // records.
        if damage.is_none()
            && let Ok(snapshot) = self.load_after(&input, LoadedMachine::started(&input), (0, input.at), events)
        {
            return Ok(Some(LoadedSnapshot { unused, ..snapshot }));
        }
        let Some(loaded) = self.load::<M>()? else { return Ok(None) };
        let mut state = LoadedMachine::started(&loaded.input);
        loaded.facts.iter().for_each(|fact| state.learn(fact));
        let (facts, last_at) = (number(loaded.facts.len()), loaded.last_at());
        if state.events() != loaded.events {
            let detail = format!("it holds {} events where a replay gives {}", loaded.events, state.events());
            return Err(JournalError::Diverged { run: self.run.into(), stream: self.stream.into(), detail });
        }
        Ok(Some(LoadedSnapshot { input: loaded.input, state, damage: loaded.damage, unused, facts, last_at, cut: loaded.cut }))
    }

    fn stored_snapshots(&self) -> Result<Vec<SnapshotRow>, JournalError> {
        let mut select = self.connection.prepare_cached(SNAPSHOTS).map_err(|error| self.fault(error))?;
        let kept = select.query_map(params![self.run, self.stream], SnapshotRow::read).map_err(|error| self.fault(error))?;
        // One that cannot be read at all is as good as lost.
        Ok(kept.filter_map(Result::ok).collect())
    }

    /// Continues from a snapshot with the facts after it. A replay of all facts would find the same faults, so the
    /// caller falls back to that on any error.
    fn load_from_snapshot<M: Machine>(&self, input: &Recorded<M::Input>, kept: SnapshotRow) -> Result<LoadedSnapshot<M>, String> {
        let record = kept.record;
        let state = kept.read_as::<M>()?;
        let sql = "SELECT at FROM entry WHERE stream = ?1 AND last_event = ?2 AND last_fact = ?3";
        let fact = self.connection.query_row(sql, params![self.id, number(record.events), record.seq], |row| row.get(0)).optional();
        if fact.map_err(|error| error.to_string())? != Some(record.at) {
            return Err("the fact after which it was taken is not there".to_owned());
        }
        self.load_after(input, state, (record.seq, record.at), record.events)
    }

    /// Applies the facts after one, given by its number and time, up to which there were this number of events.
    fn load_after<M: Machine>(
        &self,
        input: &Recorded<M::Input>,
        state: LoadedMachine<M>,
        (facts, at): (i64, UnixMillis),
        events: usize,
    ) -> Result<LoadedSnapshot<M>, String> {
        let (input, last_at) = (input.clone(), at.max(input.at));
        let mut snapshot = LoadedSnapshot { input, state, damage: None, unused: Vec::new(), facts, last_at, cut: None };
        let events = self.facts_after(&mut snapshot, events)?;
        if events != snapshot.state.events() {
            return Err(format!("{events} events are recorded where a replay from it gives {}", snapshot.state.events()));
        }
        Ok(snapshot)
    }

    /// Applies the facts after those by which there were so many events, and gives how many events are recorded with the last.
    fn facts_after<M: Machine>(&self, snapshot: &mut LoadedSnapshot<M>, mut events: usize) -> Result<usize, String> {
        let words = |error: rusqlite::Error| error.to_string();
        let mut entries = self.entries().map_err(words)?;
        for entry in self.after(&mut entries, number(events), snapshot.facts).map_err(words)? {
            let (entry, first) = (entry.map_err(words)?, snapshot.facts + 1);
            if entry.damage(first).is_some() {
                return Err(format!("fact {first} after it is damaged or missing"));
            }
            if let Some(damage) = entry.damage_of_events(events).filter(|_| self.publishes()) {
                return Err(damage);
            }
            self.known::<M, _>(&entry).map_err(|error| error.to_string())?.iter().for_each(|fact| snapshot.state.learn(fact));
            snapshot.facts = entry.seq;
            snapshot.last_at = entry.at.max(snapshot.input.at);
            events = entry.events;
        }
        if snapshot.facts != self.last {
            return Err(format!("the last fact is number {}, and should be {}", snapshot.facts, self.last));
        }
        Ok(events)
    }

    fn check_snapshots<M: Machine>(&self) -> Result<Vec<(SnapshotRecord, String)>, JournalError> {
        let mut kept = self.stored_snapshots()?;
        kept.reverse();
        let Some(loaded) = self.load::<M>()? else { return Ok(Vec::new()) };
        let (mut state, mut applied, mut wrong) = (LoadedMachine::<M>::started(&loaded.input), 0, Vec::new());
        for kept in kept {
            let record = kept.record;
            let Some(facts) = usize::try_from(record.seq).ok().and_then(|seq| loaded.facts.get(applied..seq)) else {
                wrong.push((record, "the fact after which it was taken is not there".to_owned()));
                continue;
            };
            facts.iter().for_each(|fact| state.learn(fact));
            applied += facts.len();
            let made = state.snapshot().ok();
            match kept.read_as::<M>() {
                Ok(read) if read.snapshot().ok() == made => {}
                Ok(_) => wrong.push((record, "it is not what a replay of the facts makes".to_owned())),
                Err(why) => wrong.push((record, why)),
            }
        }
        Ok(wrong)
    }
}

impl SnapshotRow {
    fn read_as<M: Machine>(&self) -> Result<LoadedMachine<M>, String> {
        let SnapshotRecord { at, version, form, events, .. } = self.record;
        if !self.intact {
            return Err("it is not as it was written: its checksum does not fit".to_owned());
        }
        if version != M::VERSION || Some(form) != M::SNAPSHOT {
            return Err("another version of aime took it".to_owned());
        }
        let snapshot: Snapshot<M> = serde_json::from_slice(&self.body).map_err(|error| error.to_string())?;
        Ok(LoadedMachine::after(snapshot, at, events))
    }
}
