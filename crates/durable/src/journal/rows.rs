//! Many bodies in one buffer, on their way to the writer.

use rusqlite::{
    ToSql,
    types::{ToSqlOutput, ValueRef},
};
use serde::Serialize;

use crate::{Recorded, UnixMillis};

/// JSON bodies, one after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    text: Vec<u8>,
    /// The time of each, and where it ends.
    ends: Vec<(UnixMillis, usize)>,
}

impl Rows {
    pub(super) fn push<T: Serialize>(&mut self, recorded: &Recorded<T>) -> serde_json::Result<()> {
        serde_json::to_writer(&mut self.text, &recorded.fact)?;
        self.ends.push((recorded.at, self.text.len()));
        Ok(())
    }

    pub(super) fn extend<'a, T: Serialize + 'a>(&mut self, all: impl IntoIterator<Item = &'a Recorded<T>>) -> serde_json::Result<()> {
        all.into_iter().try_for_each(|recorded| self.push(recorded))
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The time of the last.
    pub(super) fn last(&self) -> Option<UnixMillis> {
        self.ends.last().map(|(at, _)| *at)
    }

    /// Each time and body.
    pub(super) fn iter(&self) -> impl Iterator<Item = (UnixMillis, Json<'_>)> {
        let mut begin = 0;
        self.ends.iter().map(move |&(at, end)| {
            let body = self.text.get(begin..end).unwrap_or_default();
            begin = end;
            (at, Json(body))
        })
    }
}

/// A body. Made by serde_json, so it is UTF-8.
pub(super) struct Json<'a>(pub(super) &'a [u8]);

impl ToSql for Json<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

/// Tells a record from one in which a bit has tipped over: the first 64 bits of BLAKE3 over all that is kept of it.
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
