//! Updates the index to the content of the folder.
//!
//! Documents are read and split outside of any transaction and written in batches, so that other processes do not
//! wait long for the file. A concurrent update can at worst leave an older version of a document behind. Its
//! modification time then differs, and the next update reads it again.

use std::{collections::HashMap, path::Path};

use rusqlite::{Connection, params};

use super::{IndexReport, Knowledge, KnowledgeSettings, SkipReason, SkippedFile, files};
use crate::{
    MemoryError, UnixMillis,
    chunk::{self, Piece},
    tokenizer::indexed,
};

/// Time in milliseconds before the reading of a file within which a change leads to a second reading. A file can
/// change twice within the resolution of its file system's clock.
const CLOCK_MARGIN_MS: i64 = 2_000;
/// Maximum number of documents that are written in one transaction; their bytes have a limit too.
const BATCH: usize = 64;
const BATCH_BYTES: u64 = 1 << 20;
/// Files whose paragraphs have headings.
const MARKDOWN: &[&str] = &["md", "markdown", "mdx", "mdown", "mkd"];

/// A document as the index has it.
struct Known {
    number: i64,
    bytes: u64,
    modified: i64,
    checked: i64,
    hash: String,
    chunk_tokens: u64,
}

/// A document that has been read.
struct ParsedDocument {
    path: String,
    bytes: u64,
    modified: i64,
    hash: String,
    /// Pieces with the words of each; `None` if the content equals that of the index.
    pieces: Option<Vec<(Piece, Words)>>,
}

struct Words {
    heading: String,
    text: String,
}

pub(super) fn update(knowledge: &Knowledge, at: UnixMillis, mut go_on: impl FnMut() -> bool) -> Result<IndexReport, MemoryError> {
    let (settings, folder) = (&knowledge.settings, Path::new(&knowledge.folder));
    std::fs::read_dir(folder).map_err(|source| MemoryError::KnowledgeFolder { path: folder.to_owned(), source })?;
    // Read before the walk, so that documents which another process adds later do not look deleted.
    let mut known = knowledge.store.read(|connection| known(connection, &knowledge.folder))?;
    let mut update = Update {
        knowledge,
        at,
        chunk_tokens: settings.chunk_tokens.max(KnowledgeSettings::MIN_CHUNK_TOKENS),
        batch: Vec::new(),
        batch_bytes: 0,
    };
    let mut report = IndexReport::default();
    let mut total = 0_u64;
    for (number, file) in files::walk(folder).enumerate() {
        if !go_on() {
            report.stopped = true;
            break;
        }
        if number >= settings.max_files {
            report.more = true;
            break;
        }
        let file = match file {
            Ok(file) => file,
            Err(skipped) => {
                report.skipped.push(skipped);
                continue;
            }
        };
        let reason = match file.bytes {
            bytes if bytes > settings.max_file_bytes => Some(SkipReason::TooLarge { bytes }),
            bytes if total.saturating_add(bytes) > settings.max_total_bytes => Some(SkipReason::NoRoom),
            _ => None,
        };
        if let Some(reason) = reason {
            report.skipped.push(SkippedFile { path: file.path, reason });
            continue;
        }
        let before = known.get(&file.path);
        if before.is_some_and(|known| update.is_as_known(&file, known)) {
            total += file.bytes;
            report.unchanged += 1;
            known.remove(&file.path);
            continue;
        }
        let text = match files::read(&file, settings.max_file_bytes) {
            Ok(text) => text,
            Err(reason) => {
                report.skipped.push(SkippedFile { path: file.path, reason });
                continue;
            }
        };
        total += file.bytes;
        let before = known.remove(&file.path);
        let reading = update.read(file, &text, before.as_ref());
        match (&before, &reading.pieces) {
            (None, _) => report.added.push(reading.path.clone()),
            (Some(_), Some(_)) => report.changed.push(reading.path.clone()),
            (Some(_), None) => report.unchanged += 1,
        }
        update.push(reading)?;
    }
    update.flush()?;
    if !report.stopped {
        report.removed = update.remove(known)?;
    }
    Ok(report)
}

struct Update<'a> {
    knowledge: &'a Knowledge,
    at: UnixMillis,
    chunk_tokens: u64,
    batch: Vec<ParsedDocument>,
    batch_bytes: u64,
}

impl Update<'_> {
    /// Returns true if a file need not be read.
    fn is_as_known(&self, file: &files::Found, known: &Known) -> bool {
        let settled = file.modified / 1_000_000 + CLOCK_MARGIN_MS < known.checked;
        settled && (file.bytes, file.modified, self.chunk_tokens) == (known.bytes, known.modified, known.chunk_tokens)
    }

    fn read(&self, file: files::Found, text: &str, before: Option<&Known>) -> ParsedDocument {
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        let same = before.is_some_and(|before| before.hash == hash && before.chunk_tokens == self.chunk_tokens);
        let markdown =
            file.path.rsplit_once('.').is_some_and(|(_, ending)| MARKDOWN.iter().any(|markdown| markdown.eq_ignore_ascii_case(ending)));
        let pieces = (!same).then(|| {
            let pieces = chunk::split(text, markdown, self.chunk_tokens).into_iter();
            let with_words = |piece: Piece| {
                let words = Words { heading: indexed(&piece.heading), text: indexed(&piece.text) };
                (piece, words)
            };
            pieces.map(with_words).collect()
        });
        ParsedDocument { path: file.path, bytes: file.bytes, modified: file.modified, hash, pieces }
    }

    fn push(&mut self, reading: ParsedDocument) -> Result<(), MemoryError> {
        self.batch_bytes += reading.bytes;
        self.batch.push(reading);
        if self.batch.len() >= BATCH || self.batch_bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), MemoryError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.knowledge.store.write(|connection| self.batch.iter().try_for_each(|reading| self.write(connection, reading)))?;
        self.batch.clear();
        self.batch_bytes = 0;
        Ok(())
    }

    fn write(&self, connection: &Connection, reading: &ParsedDocument) -> rusqlite::Result<()> {
        let folder = &self.knowledge.folder;
        let (bytes, tokens) = (integer(reading.bytes), integer(self.chunk_tokens));
        let Some(pieces) = &reading.pieces else {
            // Touched, not changed. If another process has read something else since, that stays.
            let touch = "UPDATE document SET bytes = ?1, modified = ?2, checked = ?3 WHERE folder = ?4 AND path = ?5 AND hash = ?6 AND chunk_tokens = ?7";
            connection.prepare_cached(touch)?.execute(params![
                bytes,
                reading.modified,
                self.at,
                folder,
                reading.path,
                reading.hash,
                tokens
            ])?;
            return Ok(());
        };
        connection.prepare_cached("DELETE FROM document WHERE folder = ?1 AND path = ?2")?.execute(params![folder, reading.path])?;
        connection
            .prepare_cached(
                "INSERT INTO document (folder, path, bytes, modified, checked, hash, chunk_tokens) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![folder, reading.path, bytes, reading.modified, self.at, reading.hash, tokens])?;
        let document = connection.last_insert_rowid();
        let path = indexed(&reading.path);
        let mut insert = connection.prepare_cached("INSERT INTO chunk (document, heading, line, text) VALUES (?1, ?2, ?3, ?4)")?;
        let mut index = connection.prepare_cached("INSERT INTO chunk_words (rowid, heading, path, text) VALUES (?1, ?2, ?3, ?4)")?;
        for (piece, words) in pieces {
            insert.execute(params![document, piece.heading, integer(piece.line as u64), piece.text])?;
            index.execute(params![connection.last_insert_rowid(), words.heading, path, words.text])?;
        }
        Ok(())
    }

    /// Drops what was not met, unless another process has read it anew meanwhile. Gives the paths.
    fn remove(&self, gone: HashMap<String, Known>) -> Result<Vec<String>, MemoryError> {
        let mut gone: Vec<_> = gone.into_iter().collect();
        gone.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut removed = Vec::with_capacity(gone.len());
        for batch in gone.chunks(BATCH) {
            removed.extend(self.knowledge.store.write(|connection| {
                let delete = "DELETE FROM document WHERE number = ?1 AND folder = ?2 AND path = ?3 AND modified = ?4 AND checked = ?5";
                let mut delete = connection.prepare_cached(delete)?;
                let mut removed = Vec::new();
                for (path, known) in batch {
                    if delete.execute(params![known.number, self.knowledge.folder, path, known.modified, known.checked])? > 0 {
                        removed.push(path.clone());
                    }
                }
                Ok(removed)
            })?);
        }
        Ok(removed)
    }
}

fn known(connection: &Connection, folder: &str) -> rusqlite::Result<HashMap<String, Known>> {
    let mut select =
        connection.prepare_cached("SELECT path, number, bytes, modified, checked, hash, chunk_tokens FROM document WHERE folder = ?1")?;
    let natural = |number: i64| u64::try_from(number).unwrap_or_default();
    let rows = select.query_map([folder], |row| {
        let known = Known {
            number: row.get(1)?,
            bytes: natural(row.get(2)?),
            modified: row.get(3)?,
            checked: row.get(4)?,
            hash: row.get(5)?,
            chunk_tokens: natural(row.get(6)?),
        };
        Ok((row.get(0)?, known))
    })?;
    rows.collect()
}

fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
