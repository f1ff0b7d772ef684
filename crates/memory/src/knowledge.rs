//! Knowledge: a folder of documents, indexed piece by piece.

mod files;
mod report;
mod update;

use std::path::Path;

use rusqlite::params;
use serde::{Deserialize, Serialize};

pub use report::{IndexReport, SkipReason, SkippedFile};

use crate::{
    MemoryError, MemoryStore, UnixMillis,
    rank::{Index, MemoryQuery, rank},
    tokenizer::parse_question,
};

/// The bounds of a knowledge folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KnowledgeSettings {
    /// The most files that are looked at, in order of their paths.
    pub max_files: usize,
    /// The most bytes of one document. A larger one is skipped.
    pub max_file_bytes: u64,
    /// The most bytes of all documents together. One that goes beyond is skipped.
    pub max_total_bytes: u64,
    /// The most tokens of a chunk, estimated; at least [`MIN_CHUNK_TOKENS`](Self::MIN_CHUNK_TOKENS).
    pub chunk_tokens: u64,
}

impl KnowledgeSettings {
    /// The smallest chunks, in tokens.
    pub const MIN_CHUNK_TOKENS: u64 = 50;
}

impl Default for KnowledgeSettings {
    fn default() -> Self {
        Self { max_files: 10_000, max_file_bytes: 1 << 20, max_total_bytes: 64 << 20, chunk_tokens: 500 }
    }
}

/// A piece of a document that answers a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// The document, relative to the folder, with `/` between its parts.
    pub path: String,
    /// Headings above it, the outermost first, with ` › ` between them. Empty if there are none.
    pub heading: String,
    /// Number of its first line, from 1.
    pub line: u64,
    /// Text as it is in the document.
    pub text: String,
    /// Part of the question that the text covers, from 0 to 1; rare words count more.
    pub score: f64,
}

/// A folder of documents and its part of the index. Clones share the store.
#[derive(Debug, Clone)]
pub struct Knowledge {
    store: MemoryStore,
    /// The folder as it is entered in the file: absolute, without links.
    folder: String,
    settings: KnowledgeSettings,
}

impl Knowledge {
    pub(crate) fn new(store: MemoryStore, folder: &Path, settings: KnowledgeSettings) -> Result<Self, MemoryError> {
        let fault = |source| MemoryError::KnowledgeFolder { path: folder.to_owned(), source };
        // Reading it says most clearly what is wrong: not there, no folder, not allowed.
        std::fs::read_dir(folder).map_err(fault)?;
        let place = folder.canonicalize().map_err(fault)?;
        let place = place.to_str().ok_or_else(|| fault(std::io::Error::other("its path is not UTF-8")))?.to_owned();
        Ok(Self { store, folder: place, settings })
    }

    /// Updates the index to the content of the folder: reads added and changed files, and drops deleted ones. A file
    /// with the same size and modification time is not read again.
    ///
    /// Documents are files that are UTF-8 text. Silently omitted: hidden files and folders (which may hold keys), and
    /// files that `.gitignore` and `.ignore` files in the folder name. Skipped and reported: links, binary, too large
    /// and unreadable files.
    ///
    /// `at` is the present time. `go_on` is called before each file; when it returns false, the update ends, and the
    /// files that were read stay indexed. Other processes may update the same folder at the same time.
    ///
    /// # Errors
    /// [`MemoryError::KnowledgeFolder`] if the folder no longer exists, and errors of the disk.
    pub fn update(&self, at: UnixMillis, go_on: impl FnMut() -> bool) -> Result<IndexReport, MemoryError> {
        update::update(self, at, go_on)
    }

    /// Returns the chunks that are relevant to a question, best first and at most `limit`, as of the last update.
    ///
    /// Any text is a valid question: it is read as words, never as a query language. Chunks that share only a common
    /// word with it are left out.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn retrieve(&self, question: &str, limit: usize) -> Result<Vec<Chunk>, MemoryError> {
        let question = parse_question(question);
        self.store.read(|connection| {
            let hits = rank(connection, Index::Chunks { folder: &self.folder }, &question, MemoryQuery::Relevant, limit)?;
            let mut select = connection.prepare_cached(
                "SELECT path, heading, line, text FROM chunk JOIN document ON document.number = chunk.document WHERE chunk.number = ?1",
            )?;
            let chunks = hits.iter().map(|hit| {
                select.query_row([hit.number], |row| {
                    let line = u64::try_from(row.get::<_, i64>(2)?).unwrap_or_default();
                    Ok(Chunk { path: row.get(0)?, heading: row.get(1)?, line, text: row.get(3)?, score: hit.score })
                })
            });
            chunks.collect()
        })
    }

    /// Drops the folder from the index; its files are kept. Returns the number of documents that were dropped.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn clear(&self) -> Result<usize, MemoryError> {
        self.store.write(|connection| connection.execute("DELETE FROM document WHERE folder = ?1", params![self.folder]))
    }
}
