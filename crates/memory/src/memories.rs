//! Long-term memory: notes of earlier runs for later ones.

use rusqlite::{Connection, OptionalExtension, Row, params, types::Type};
use serde::{Deserialize, Serialize};

use crate::{
    MemoryError, MemoryStore,
    excerpt::excerpt,
    rank::{Hit, Index, MemoryQuery, rank},
    tokenizer::{indexed, parse_question},
};

/// Milliseconds since 1970, UTC.
pub type UnixMillis = i64;

/// The most characters of a title, and of a tag, that are kept.
const TITLE: usize = 500;
const TAG: usize = 64;
/// The most tags of a memory.
const TAGS: usize = 32;

/// Subject of a memory. Files may hold kinds that this version does not define.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum MemoryKind {
    /// A run: its goal and how it went.
    Run,
    /// Something that is so.
    Fact,
    /// Another kind, by its name.
    Other(String),
}

impl From<String> for MemoryKind {
    fn from(name: String) -> Self {
        match name.as_str() {
            "run" => Self::Run,
            "fact" => Self::Fact,
            _ => Self::Other(name),
        }
    }
}

impl From<MemoryKind> for String {
    fn from(kind: MemoryKind) -> Self {
        match kind {
            MemoryKind::Run => "run".to_owned(),
            MemoryKind::Fact => "fact".to_owned(),
            MemoryKind::Other(name) => name,
        }
    }
}

impl std::fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from(self.clone()))
    }
}

/// Something worth knowing in later runs. Put no secrets into it: it is kept as it is, and shown to models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Name of the caller's choice.
    pub id: String,
    /// When it was learnt.
    pub at: UnixMillis,
    /// Subject of the memory.
    pub kind: MemoryKind,
    /// The goal, or the subject. At most 500 characters are kept.
    pub title: String,
    /// Lesson or outcome. At most [`max_text_chars`](crate::MemorySettings::max_text_chars) are kept.
    pub text: String,
    /// The run that learnt it.
    pub run: Option<String>,
    /// Words to find it by. At most 32 of 64 characters are kept.
    pub tags: Vec<String>,
}

/// Memory as it is stored in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredMemory {
    /// The memory.
    pub memory: Memory,
    /// Number of times that it has been recalled.
    pub recalled: u64,
}

/// A memory that answers a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecalledMemory {
    /// The memory.
    pub memory: Memory,
    /// Part of the question that the text covers, from 0 to 1; rare words count more.
    pub score: f64,
    /// About 200 characters of its text, around the words of the question.
    pub excerpt: String,
}

/// Result of remembering.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberResult {
    /// False if a later memory of the same title was there already, which then stays.
    pub stored: bool,
    /// The ids of the memories of the same kind and title, or of the same id, that it replaced.
    pub replaced: Vec<String>,
    /// Ids of memories that were deleted to make room.
    pub evicted: Vec<String>,
}

const COLUMNS: &str = "id, at, kind, title, text, run, tags, recalled";

impl MemoryStore {
    /// Stores a memory. It replaces a memory of the same kind and title (ignoring spacing and case) unless that one
    /// is later, and a memory of the same id. If there are more than
    /// [`max_entries`](crate::MemorySettings::max_entries), those that were written or recalled longest ago are
    /// deleted.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn remember(&self, memory: &Memory) -> Result<RememberResult, MemoryError> {
        let settings = self.settings();
        let (title, text) = (cut(&memory.title, TITLE), cut(&memory.text, settings.max_text_chars));
        let tags: Vec<String> = memory.tags.iter().take(TAGS).map(|tag| cut(tag, TAG)).collect();
        let (kind, key) = (String::from(memory.kind.clone()), title_key(memory));
        let words = [&title, &text, &tags.join("\n")].map(|text| indexed(text));
        let tags = serde_json::Value::from(tags).to_string();
        let keep = i64::try_from(settings.max_entries.max(1)).unwrap_or(i64::MAX);
        self.write(|connection| {
            let later = "SELECT 1 FROM memory WHERE kind = ?1 AND title_key = ?2 AND at > ?3 AND id <> ?4";
            if connection.prepare_cached(later)?.exists(params![kind, key, memory.at, memory.id])? {
                return Ok(RememberResult::default());
            }
            let mut delete =
                connection.prepare_cached("DELETE FROM memory WHERE (kind = ?1 AND title_key = ?2) OR id = ?3 RETURNING id, recalled")?;
            let replaced = delete.query_map(params![kind, key, memory.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let replaced: Vec<(String, i64)> = replaced.collect::<rusqlite::Result<_>>()?;
            let recalled: i64 = replaced.iter().map(|(_, recalled)| recalled).sum();
            connection
                .prepare_cached(
                    "INSERT INTO memory (id, at, kind, title, title_key, text, run, tags, recalled, used)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, (SELECT ifnull(max(used), 0) + 1 FROM memory))",
                )?
                .execute(params![memory.id, memory.at, kind, title, key, text, memory.run, tags, recalled])?;
            let [title, text, tags] = &words;
            connection
                .prepare_cached("INSERT INTO memory_words (rowid, title, text, tags) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![connection.last_insert_rowid(), title, text, tags])?;
            let mut evict = connection.prepare_cached(
                "DELETE FROM memory WHERE number IN (SELECT number FROM memory ORDER BY used DESC, recalled DESC, number DESC LIMIT -1 OFFSET ?1)
                 RETURNING id",
            )?;
            let evicted = evict.query_map([keep], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            let replaced = replaced.into_iter().map(|(id, _)| id).filter(|id| *id != memory.id).collect();
            Ok(RememberResult { stored: true, replaced, evicted })
        })
    }

    /// Returns the memories that are relevant to a question, such as the goal of a new run, best first and at most
    /// `limit`. They count as recalled, which protects them from being forgotten.
    ///
    /// Any text is a valid question: it is read as words, never as a query language. Memories that share only a
    /// common word with it are left out.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn recall(&self, question: &str, limit: usize) -> Result<Vec<RecalledMemory>, MemoryError> {
        let (hits, recalled) = self.find(question, MemoryQuery::Relevant, limit)?;
        if hits.is_empty() {
            return Ok(recalled);
        }
        let counted = self.write(|connection| {
            let next: i64 = connection.query_row("SELECT ifnull(max(used), 0) + 1 FROM memory", [], |row| row.get(0))?;
            let mut count = connection.prepare_cached("UPDATE memory SET recalled = recalled + 1, used = ?1 WHERE number = ?2")?;
            hits.iter().try_for_each(|hit| count.execute(params![next, hit.number]).map(|_| ()))
        });
        match counted {
            // The result is worth more than its recall counts, so a failure to store these is ignored.
            Ok(()) | Err(MemoryError::Busy { .. } | MemoryError::Full { .. }) => Ok(recalled),
            Err(error) => Err(error),
        }
    }

    /// Returns every memory that has one of the words, best first and at most `limit`, for searches by users. It does
    /// not count as a recall.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn search(&self, question: &str, limit: usize) -> Result<Vec<RecalledMemory>, MemoryError> {
        Ok(self.find(question, MemoryQuery::All, limit)?.1)
    }

    /// Returns the memories, the latest first, at most `limit`.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn list(&self, limit: usize) -> Result<Vec<StoredMemory>, MemoryError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM memory ORDER BY at DESC, number DESC LIMIT ?1"))?;
            select.query_map([limit], read_memory)?.collect()
        })
    }

    /// Returns the memory with an id.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn get(&self, id: &str) -> Result<Option<StoredMemory>, MemoryError> {
        self.read(|connection| {
            let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM memory WHERE id = ?1"))?;
            select.query_row([id], read_memory).optional()
        })
    }

    /// Deletes a memory. Returns true if there was one with this id.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn forget(&self, id: &str) -> Result<bool, MemoryError> {
        self.write(|connection| {
            let forgotten = connection.prepare_cached("DELETE FROM memory WHERE id = ?1")?.execute([id])?;
            let rewritten = if forgotten > 0 { rewrite_words(connection) } else { Ok(()) };
            rewritten.map(|()| forgotten > 0)
        })
    }

    /// Deletes every memory and returns their number. Indexed documents are kept.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn forget_all(&self) -> Result<usize, MemoryError> {
        self.write(|connection| {
            let forgotten = connection.execute("DELETE FROM memory", [])?;
            rewrite_words(connection).map(|()| forgotten)
        })
    }

    fn find(&self, question: &str, wanted: MemoryQuery, limit: usize) -> Result<(Vec<Hit>, Vec<RecalledMemory>), MemoryError> {
        let question = parse_question(question);
        self.read(|connection| {
            let hits = rank(connection, Index::Memories, &question, wanted, limit)?;
            let found = hits.iter().map(|hit| {
                let memory = by_number(connection, hit.number)?;
                Ok(RecalledMemory { excerpt: excerpt(&memory.text, &question.terms), memory, score: hit.score })
            });
            let mut found = found.collect::<rusqlite::Result<Vec<_>>>()?;
            found.sort_by(|one, other| other.score.total_cmp(&one.score).then(other.memory.at.cmp(&one.memory.at)));
            Ok((hits, found))
        })
    }
}

fn by_number(connection: &Connection, number: i64) -> rusqlite::Result<Memory> {
    let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM memory WHERE number = ?1"))?;
    Ok(select.query_row([number], read_memory)?.memory)
}

fn read_memory(row: &Row<'_>) -> rusqlite::Result<StoredMemory> {
    let tags: String = row.get(6)?;
    let tags = serde_json::from_str(&tags).map_err(|error| rusqlite::Error::FromSqlConversionFailure(6, Type::Text, Box::new(error)))?;
    let kind = MemoryKind::from(row.get::<_, String>(2)?);
    let memory = Memory { id: row.get(0)?, at: row.get(1)?, kind, title: row.get(3)?, text: row.get(4)?, run: row.get(5)?, tags };
    Ok(StoredMemory { memory, recalled: u64::try_from(row.get::<_, i64>(7)?).unwrap_or_default() })
}

/// Returns a key that is equal for titles that differ only in spacing and case. Without a title, the text is the key.
fn title_key(memory: &Memory) -> String {
    let title = if memory.title.trim().is_empty() { &memory.text } else { &memory.title };
    let plain = title.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    blake3::hash(plain.as_bytes()).to_hex().to_string()
}

/// Returns the first characters, with a mark if there were more. SQLite's text ends at a NUL, so there is none.
fn cut(text: &str, most: usize) -> String {
    let text = text.replace('\0', "\u{fffd}");
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Rebuilds the index without the words of deleted texts, which a deletion alone leaves in it.
fn rewrite_words(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("INSERT INTO memory_words(memory_words) VALUES('optimize')", []).map(|_| ())
}
