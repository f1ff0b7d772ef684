//! State of a folder at the last scan, in memory and in a file.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, BufWriter, ErrorKind, Write},
    path::{Path, PathBuf},
};

use aime_sandbox::Stamp;
use serde::{Deserialize, Serialize};

use crate::{Entry, UndoError, error::store};

/// Schema version of the file.
const SCHEMA: &str = "aime.undo_index/v1";

/// Nanoseconds after a change during which an unchanged stamp is not trusted: a second change may occur within the same clock tick.
const TICK: i64 = 100_000_000;
/// The same for file systems whose times are in whole seconds.
const SECOND: i64 = 2_000_000_000;

/// Known state of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownPath {
    pub(crate) entry: Entry,
    /// Stamp of the entry when it was read; `None` if it must be read again.
    pub(crate) stamp: Option<Stamp>,
    /// Time of the read, in nanoseconds since the Unix epoch.
    pub(crate) read_at: i64,
}

impl KnownPath {
    /// Returns true if a file with this stamp certainly has the content that was read.
    pub(crate) fn matches(&self, stamp: &Stamp) -> bool {
        let whole = |time: i64| time % 1_000_000_000 == 0;
        let tick = if whole(stamp.changed) || whole(stamp.modified) { SECOND } else { TICK };
        self.stamp.as_ref() == Some(stamp) && stamp.changed.max(stamp.modified).saturating_add(tick) < self.read_at
    }
}

/// Known states of a folder, by path.
pub(crate) type KnownFolder = BTreeMap<PathBuf, KnownPath>;

/// One line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(with = "crate::name")]
    path: PathBuf,
    entry: Entry,
    /// Device, inode, size, modification time, change time.
    stamp: Option<(u64, u64, u64, i64, i64)>,
    read_at: i64,
}

/// First and last line.
#[derive(Serialize, Deserialize, PartialEq)]
struct Frame {
    schema: String,
    entries: usize,
    /// Number of records in the log when this state was current; 0 without a log.
    records: usize,
}

/// Writes the known state to a file, atomically.
pub(crate) fn write(path: &Path, known: &KnownFolder, records: usize) -> Result<(), UndoError> {
    let write = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = BufWriter::new(tempfile::NamedTempFile::new_in(folder)?);
        let frame = Frame { schema: SCHEMA.to_owned(), entries: known.len(), records };
        serde_json::to_writer(&mut file, &frame)?;
        for (path, KnownPath { entry, stamp, read_at }) in known {
            let stamp = stamp.map(|stamp| (stamp.device, stamp.inode, stamp.size, stamp.modified, stamp.changed));
            file.write_all(b"\n")?;
            serde_json::to_writer(&mut file, &Line { path: path.clone(), entry: entry.clone(), stamp, read_at: *read_at })?;
        }
        file.write_all(b"\n")?;
        let file = file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        file.persist(path).map(drop).map_err(|error| error.error)
    };
    write().map_err(store(path, "written"))
}

/// Returns the number of records at that time; `None` without such a file.
pub(crate) fn records(path: &Path) -> Result<Option<usize>, UndoError> {
    let mut line = String::new();
    match fs::File::open(path).and_then(|file| BufReader::new(file).read_line(&mut line)) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(store(path, "read")(error)),
    }
    let frame: Frame = serde_json::from_str(&line).map_err(|_| UndoError::Damaged { path: path.to_path_buf() })?;
    Ok(Some(frame.records))
}

/// Reads the state and the number of records at that time; `None` without such a file.
pub(crate) fn read(path: &Path) -> Result<Option<(KnownFolder, usize)>, UndoError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(store(path, "read")(error)),
    };
    let damaged = || UndoError::Damaged { path: path.to_path_buf() };
    let mut lines = text.lines();
    let frame: Frame = lines.next().and_then(|line| serde_json::from_str(line).ok()).ok_or_else(damaged)?;
    if frame.schema != SCHEMA {
        return Err(UndoError::Newer { path: path.to_path_buf(), found: frame.schema });
    }
    let mut known = KnownFolder::new();
    for line in lines {
        let Line { path, entry, stamp, read_at } = serde_json::from_str(line).map_err(|_| damaged())?;
        let stamp = stamp.map(|(device, inode, size, modified, changed)| Stamp { device, inode, size, modified, changed });
        known.insert(path, KnownPath { entry, stamp, read_at });
    }
    if known.len() == frame.entries { Ok(Some((known, frame.records))) } else { Err(damaged()) }
}
