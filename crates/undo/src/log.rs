//! Append-only log of one run: begun work, changes, undos. Each record is a line of JSON.

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use aime_messages::{Message, stored::with_ids};
use serde::{Deserialize, Serialize};

use crate::{Author, Change, Entry, UndoError, UnrecordedReason, error::store, scope::Scope, system::private_file};

/// Schema version of the log.
pub(crate) const SCHEMA: &str = "aime.undo_log/v1";

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(crate) enum Record {
    /// Header, the first line.
    Log {
        /// [`SCHEMA`].
        schema: String,
    },
    /// Entries of the folder without recorded content, at the first scan: the first of them, and their number.
    NotKept { first: Vec<UnrecordedEntry>, count: usize },
    /// An author begins work that may change any file.
    Opened { window: u64, author: Author },
    /// The work has ended; its changes are recorded before this.
    Closed { window: u64 },
    /// One file is about to be changed.
    About { author: Author, changes: Vec<Change> },
    /// Changes. With several authors, each of them may have made the changes; without any, someone outside of the run did.
    Changed { by: Vec<Author>, changes: Vec<Change> },
    /// An undo is about to be made.
    Undo { number: u64, of: Scope, changes: Vec<Change> },
    /// The undo was made, except for these paths.
    Undone {
        number: u64,
        #[serde(with = "crate::name::several")]
        failed: Vec<PathBuf>,
    },
    /// From here on changes are not recorded.
    Lost { reason: Message },
}

/// An entry without recorded content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnrecordedEntry {
    /// Path relative to the folder.
    #[serde(with = "crate::name")]
    pub path: PathBuf,
    /// Reason why the content is not recorded.
    pub why: UnrecordedReason,
}

/// Log of a run, open for appending.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// Opens the log for appending, and returns its records. Removes a last line that a crash has truncated.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<Record>), UndoError> {
        let failed = store(path, "opened");
        let mut options = OpenOptions::new();
        private_file(&mut options);
        let file = options.read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        let mut log = Self { path: path.to_path_buf(), file };
        let mut text = Vec::new();
        log.file.read_to_end(&mut text).map_err(store(path, "read"))?;
        let (mut records, whole) = parse(path, &text)?;
        let place = |log: &mut Self| {
            log.file.set_len(whole)?;
            log.file.seek(SeekFrom::Start(whole))
        };
        place(&mut log).map_err(store(path, "opened"))?;
        if records.is_empty() {
            let begin = Record::Log { schema: SCHEMA.to_owned() };
            log.add(&begin)?;
            records.push(begin);
        }
        Ok((log, records))
    }

    /// Returns the records that other processes have added since. Removes a last line that a crash has truncated.
    pub(crate) fn new_records(&mut self) -> Result<Vec<Record>, UndoError> {
        let path = self.path.clone();
        let failed = |source| store(&path, "read")(source);
        let known = self.file.stream_position().map_err(failed)?;
        if self.file.metadata().map_err(failed)?.len() <= known {
            return Ok(Vec::new());
        }
        let mut text = Vec::new();
        self.file.read_to_end(&mut text).map_err(failed)?;
        let (records, whole) = parse_from(&path, &text, known == 0)?;
        let end = known + whole;
        self.file.set_len(end).and_then(|()| self.file.seek(SeekFrom::Start(end))).map_err(failed)?;
        Ok(records)
    }

    /// Appends a record, atomically.
    pub(crate) fn add(&mut self, record: &Record) -> Result<(), UndoError> {
        self.add_all(std::slice::from_ref(record))
    }

    /// Appends several records at once.
    pub(crate) fn add_all(&mut self, records: &[Record]) -> Result<(), UndoError> {
        let failed = |source| store(&self.path, "written")(source);
        let mut lines = Vec::new();
        for record in records {
            with_ids(|| serde_json::to_writer(&mut lines, record)).map_err(|error| failed(error.into()))?;
            lines.push(b'\n');
        }
        let before = self.file.stream_position().map_err(failed)?;
        let written = self.file.write_all(&lines);
        if written.is_err() {
            // The disk is full: remove the partial write.
            drop(self.file.set_len(before).and_then(|()| self.file.seek(SeekFrom::Start(before))));
        }
        written.map_err(|source| store(&self.path, "written")(source))
    }
}

/// Reads the records of a log; empty if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Vec<Record>, UndoError> {
    match fs::read(path) {
        Ok(text) => parse(path, &text).map(|(records, _)| records),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(store(path, "read")(error)),
    }
}

/// Parses the records, and returns their length in bytes, without an incomplete last line.
pub(crate) fn parse(path: &Path, text: &[u8]) -> Result<(Vec<Record>, u64), UndoError> {
    parse_from(path, text, true)
}

/// Parses a part of a log; `begins` is true for its beginning.
fn parse_from(path: &Path, text: &[u8], begins: bool) -> Result<(Vec<Record>, u64), UndoError> {
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let damaged = || UndoError::Damaged { path: path.to_path_buf() };
    let mut records = Vec::new();
    for (number, line) in text.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let record: Record = serde_json::from_slice(line).map_err(|_| damaged())?;
        match &record {
            Record::Log { schema } if schema != SCHEMA => {
                return Err(UndoError::Newer { path: path.to_path_buf(), found: schema.clone() });
            }
            Record::Log { .. } => {}
            _ if begins && number == 0 => return Err(damaged()),
            _ => {}
        }
        records.push(record);
    }
    Ok((records, whole as u64))
}

impl Record {
    /// Returns the entries in the record.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        let changes = match self {
            Self::About { changes, .. } | Self::Changed { changes, .. } | Self::Undo { changes, .. } => changes.as_slice(),
            _ => &[],
        };
        changes.iter().flat_map(|change| change.before.iter().chain(&change.after))
    }
}
