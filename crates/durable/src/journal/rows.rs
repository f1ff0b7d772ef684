//! Rows of one append: facts and events, a line of JSON each.

use aime_messages::stored::with_ids;
use rusqlite::{
    ToSql,
    types::{ToSqlOutput, ValueRef},
};
use serde::Serialize;

use super::stream::number;
use crate::{Commit, Machine, Recorded, UnixMillis};

/// Facts of one time that are appended together, and the events kept with them.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) at: UnixMillis,
    /// The number of its last fact.
    pub(super) last_fact: i64,
    /// Number of events of the stream up to this row.
    pub(super) last_event: i64,
    pub(super) facts: Vec<u8>,
    pub(super) events: Vec<u8>,
}

/// Puts a commit into rows: one for the input, and one for the facts of each time, with the events of that time; the last takes what is left.
pub(super) struct Rows<'a, M: Machine> {
    last_fact: i64,
    last_event: i64,
    events: &'a [Recorded<M::Event>],
    /// True if events are kept, false if they are only counted.
    publishes: bool,
    rows: Vec<Row>,
}

impl<'a, M: Machine> Rows<'a, M> {
    /// Returns the rows of a commit whose first fact has this number, after so many events.
    pub(super) fn of(commit: &'a Commit<'_, M>, first: i64, events: i64, publishes: bool) -> serde_json::Result<Vec<Row>> {
        let mut rows = Self { last_fact: first - 1, last_event: events, events: &commit.events, publishes, rows: Vec::new() };
        if let Some(input) = commit.input {
            rows.push(std::slice::from_ref(input), commit.facts.is_empty())?;
        }
        let mut left = commit.facts.len();
        for facts in commit.facts.chunk_by(|one, next| one.at == next.at) {
            left -= facts.len();
            rows.push(facts, left == 0)?;
        }
        Ok(rows.rows)
    }

    fn push<T: Serialize>(&mut self, facts: &[Recorded<T>], is_last: bool) -> serde_json::Result<()> {
        let Some(at) = facts.first().map(|fact| fact.at) else { return Ok(()) };
        let of_this_time = self.events.iter().take_while(|event| is_last || event.at == at).count();
        let (events, left) = self.events.split_at(of_this_time);
        self.events = left;
        self.last_fact += number(facts.len());
        self.last_event += number(events.len());
        let events = if self.publishes { lines(events)? } else { Vec::new() };
        self.rows.push(Row { at, last_fact: self.last_fact, last_event: self.last_event, facts: lines(facts)?, events });
        Ok(())
    }
}

/// Usual size of a fact or an event as JSON, in bytes: an estimate of the memory for a text, so that it is rarely moved as it grows.
const USUAL_BYTES: usize = 160;

fn lines<T: Serialize>(all: &[Recorded<T>]) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(all.len() * USUAL_BYTES);
    for recorded in all {
        if !text.is_empty() {
            text.push(b'\n');
        }
        with_ids(|| serde_json::to_writer(&mut text, &recorded.fact))?;
    }
    Ok(text)
}

/// Text made by serde_json, so it is UTF-8.
pub(super) struct Json<'a>(pub(super) &'a [u8]);

impl ToSql for Json<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

/// Returns a checksum that detects flipped bits: the first 64 bits of BLAKE3 over all parts of a record except the
/// events.
pub(super) fn checksum(seq: i64, at: UnixMillis, version: u32, events: i64, body: &[u8]) -> i64 {
    let mut hash = blake3::Hasher::new();
    for part in [seq, at, i64::from(version), events] {
        hash.update(&part.to_le_bytes());
    }
    hash.update(body);
    let mut first = [0; 8];
    hash.finalize_xof().fill(&mut first);
    i64::from_le_bytes(first)
}
