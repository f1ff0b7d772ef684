//! Progress snapshots, `aime.progress/v1`: the state of a run as a JSON file.
//!
//! A snapshot is a convenience for readers. The journal is the truth, and a lost or damaged snapshot is rebuilt from
//! it.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Inconsistency, ProgressState};

/// The `schema` member of a snapshot.
pub(crate) const PROGRESS_SCHEMA: &str = "aime.progress/v1";

/// Maximum size of a snapshot that is read, in bytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// A snapshot file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Always `aime.progress/v1`.
    pub schema: String,
    /// The state of the run.
    pub state: ProgressState,
}

/// Reason why a snapshot could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The file could not be written.
    #[error("the snapshot {} could not be written; the journal still holds the run", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// The file could not be read.
    #[error("the snapshot {} could not be read", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// The file is not a valid snapshot.
    #[error("the snapshot {} is damaged ({why}); delete it: it can be rebuilt from the journal", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault, with its line if there is one.
        why: String,
    },
    /// The state in the file contradicts itself.
    #[error("the snapshot {} contradicts itself ({}); delete it: it can be rebuilt from the journal", .path.display(), listed(.found))]
    Inconsistent {
        /// The file.
        path: PathBuf,
        /// Every contradiction.
        found: Vec<Inconsistency>,
    },
    /// The file is of another version.
    #[error("the snapshot {} is {found:?}, and this version of aime reads {PROGRESS_SCHEMA:?}; it can be rebuilt from the journal", .path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: String,
    },
}

fn listed(found: &[Inconsistency]) -> String {
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[derive(Serialize)]
struct Written<'a> {
    schema: &'a str,
    state: &'a ProgressState,
}

/// Writes a snapshot to `path` atomically. After a power cut the previous one may reappear; the journal has the later
/// events. Creates missing folders.
///
/// # Errors
///
/// [`SnapshotError::Write`]; the previous file is then unchanged.
pub fn write_snapshot(path: &Path, state: &ProgressState) -> Result<(), SnapshotError> {
    let failed = |source| SnapshotError::Write { path: path.to_owned(), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let new = tempfile::Builder::new().prefix(".progress-").suffix(".tmp").tempfile_in(folder);
    // The name of the temporary file is of no use to anybody.
    let mut file = new.map_err(|error| failed(error.kind().into()))?;
    let mut text = serde_json::to_vec(&Written { schema: PROGRESS_SCHEMA, state }).map_err(|error| failed(error.into()))?;
    text.push(b'\n');
    file.write_all(&text).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Reads a snapshot.
///
/// # Errors
///
/// [`SnapshotError::Read`] if the file is missing or unreadable, [`SnapshotError::Damaged`] if it is no snapshot,
/// [`SnapshotError::OtherVersion`] if it has another version, [`SnapshotError::Inconsistent`] if its state contradicts
/// itself.
pub fn read_snapshot(path: &Path) -> Result<ProgressState, SnapshotError> {
    let unreadable = |source| SnapshotError::Read { path: path.to_owned(), source };
    let damaged = |why: String| SnapshotError::Damaged { path: path.to_owned(), why };
    let size = fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_BYTES {
        return Err(damaged(format!("it is larger than {MAX_BYTES} bytes")));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    let document: serde_json::Value = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    match document.get("schema").and_then(serde_json::Value::as_str) {
        Some(PROGRESS_SCHEMA) => {}
        Some(found) => return Err(SnapshotError::OtherVersion { path: path.to_owned(), found: found.to_owned() }),
        None => return Err(damaged("it has no schema".to_owned())),
    }
    let snapshot: Snapshot = serde_json::from_value(document).map_err(|error| damaged(error.to_string()))?;
    let found = snapshot.state.inconsistencies();
    if found.is_empty() { Ok(snapshot.state) } else { Err(SnapshotError::Inconsistent { path: path.to_owned(), found }) }
}

#[cfg(test)]
mod tests;
