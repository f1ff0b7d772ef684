//! The log of one run: who began what, what changed, what was put back. A line of JSON for each record, only ever added to.

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{Author, Change, Entry, NotKept, UndoError, error::store, scope::Scope, system::private_file};

/// The form of the log.
pub(crate) const SCHEMA: &str = "aime.undo_log/v1";

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(crate) enum Record {
    /// The first line.
    Log {
        /// [`SCHEMA`].
        schema: String,
    },
    /// What of the folder is not kept, as it was first looked at: the first of them, and how many there are.
    NotKept { first: Vec<LeftOut>, count: usize },
    /// Somebody begins something that may change any file.
    Opened { window: u64, author: Author },
    /// It has ended, and what it changed stands before this.
    Closed { window: u64 },
    /// One file is about to be changed.
    About { author: Author, changes: Vec<Change> },
    /// What changed. Several authors were at work at once, and nobody can tell which of them it was; without any it was somebody else.
    Changed { by: Vec<Author>, changes: Vec<Change> },
    /// Something is about to be put back.
    Undo { number: u64, of: Scope, changes: Vec<Change> },
    /// It was, save for these paths.
    Undone {
        number: u64,
        #[serde(with = "crate::name::several")]
        failed: Vec<PathBuf>,
    },
    /// From here on changes are not kept.
    Lost { reason: String },
}

/// Something that is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Relative to the folder.
    #[serde(with = "crate::name")]
    pub path: PathBuf,
    /// Why it is not.
    pub why: NotKept,
}

/// The log of a run, open for more.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// Opens the log to add to it, and gives what stands in it. A last line that a crash has cut is removed.
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

    /// What others have added since. A last line that a crash has cut is removed.
    pub(crate) fn news(&mut self) -> Result<Vec<Record>, UndoError> {
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

    /// Adds a record, whole or not at all.
    pub(crate) fn add(&mut self, record: &Record) -> Result<(), UndoError> {
        self.add_all(std::slice::from_ref(record))
    }

    /// Adds records at once.
    pub(crate) fn add_all(&mut self, records: &[Record]) -> Result<(), UndoError> {
        let failed = |source| store(&self.path, "written")(source);
        let mut lines = Vec::new();
        for record in records {
            serde_json::to_writer(&mut lines, record).map_err(|error| failed(error.into()))?;
            lines.push(b'\n');
        }
        let before = self.file.stream_position().map_err(failed)?;
        let written = self.file.write_all(&lines);
        if written.is_err() {
            // A full disk: what was written of it goes again.
            drop(self.file.set_len(before).and_then(|()| self.file.seek(SeekFrom::Start(before))));
        }
        written.map_err(|source| store(&self.path, "written")(source))
    }
}

/// What stands in a log; nothing where there is none.
pub(crate) fn read(path: &Path) -> Result<Vec<Record>, UndoError> {
    match fs::read(path) {
        Ok(text) => parse(path, &text).map(|(records, _)| records),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(store(path, "read")(error)),
    }
}

/// The records, and how many bytes they take: a line without an end is not one yet.
pub(crate) fn parse(path: &Path, text: &[u8]) -> Result<(Vec<Record>, u64), UndoError> {
    parse_from(path, text, true)
}

/// The same of a part of a log, which may be its beginning.
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
    /// The entries that it names.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        let changes = match self {
            Self::About { changes, .. } | Self::Changed { changes, .. } | Self::Undo { changes, .. } => changes.as_slice(),
            _ => &[],
        };
        changes.iter().flat_map(|change| change.before.iter().chain(&change.after))
    }
}
