//! Locations of the undo data, and its size limits.

use std::{
    collections::BTreeSet,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::SystemTime,
};

use aime_durable::runs_folder;
use aime_messages::message;

use crate::{
    UndoError,
    error::store,
    known_path,
    log::{self, Log, Record},
    objects::alone,
};

/// Size limits of the undo data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoSettings {
    /// Maximum size in bytes of a file whose content is recorded. Default: 32 MB.
    pub max_file_bytes: u64,
    /// Maximum total size in bytes of the files in a folder. Default: 512 MB.
    pub max_folder_bytes: u64,
    /// Maximum number of paths in a folder. Default: 200,000.
    pub max_entries: usize,
    /// Maximum total size in bytes of the data of all runs in a folder; the oldest runs are pruned. Default: 2 GB.
    pub max_store_bytes: u64,
    /// Bytes that must stay free on the disk. Default: 256 MB.
    pub reserve_bytes: u64,
}

impl Default for UndoSettings {
    fn default() -> Self {
        const MB: u64 = 1_000_000;
        Self {
            max_file_bytes: 32 * MB,
            max_folder_bytes: 512 * MB,
            max_entries: 200_000,
            max_store_bytes: 2_000 * MB,
            reserve_bytes: 256 * MB,
        }
    }
}

/// Locations of the undo data in a folder's `.aime`.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    runs: PathBuf,
    root: PathBuf,
}

impl Store {
    pub(crate) fn new(data_folder: &Path) -> Self {
        Self { runs: runs_folder(data_folder), root: data_folder.join("undo") }
    }

    /// Returns the folder shared by all runs.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the file with the state of the folder after the last run.
    pub(crate) fn index(&self) -> PathBuf {
        self.root.join("index.jsonl")
    }

    /// Returns the folder of one run.
    pub(crate) fn of_run(&self, run: &str) -> PathBuf {
        self.runs.join(run).join("undo")
    }

    pub(crate) fn log(&self, run: &str) -> PathBuf {
        self.of_run(run).join("log.jsonl")
    }

    /// Returns the file with the state of the folder at the first scan of a running run.
    pub(crate) fn baseline(&self, run: &str) -> PathBuf {
        self.of_run(run).join("baseline.jsonl")
    }

    /// Returns the runs with undo data, the oldest first.
    fn runs(&self) -> Result<Vec<String>, UndoError> {
        let entries = match fs::read_dir(&self.runs) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(store(&self.runs, "listed")(error)),
        };
        let mut found: Vec<(SystemTime, String)> = Vec::new();
        for entry in entries {
            let name = entry.map_err(store(&self.runs, "listed"))?.file_name();
            // Names of runs are text.
            let Some(name) = name.to_str() else { continue };
            if let Ok(log) = fs::metadata(self.log(name)) {
                found.push((log.modified().unwrap_or(SystemTime::UNIX_EPOCH), name.to_owned()));
            }
        }
        found.sort();
        Ok(found.into_iter().map(|(_, run)| run).collect())
    }

    /// Returns the contents that some run may need for an undo, or that the next run need not read again.
    fn wanted(&self) -> Result<BTreeSet<String>, UndoError> {
        let mut wanted = BTreeSet::new();
        let mut files = vec![self.index()];
        for run in self.runs()? {
            let records = log::read(&self.log(&run))?;
            wanted.extend(records.iter().flat_map(Record::entries).filter_map(|entry| entry.hash().map(str::to_owned)));
            files.push(self.baseline(&run));
        }
        for file in files {
            let known = known_path::read(&file)?.map(|(known, _)| known).unwrap_or_default();
            wanted.extend(known.values().filter_map(|known| known.entry.hash().map(str::to_owned)));
        }
        Ok(wanted)
    }
}

/// Removes contents that no run needs any more, for example after a run was deleted. Does nothing while a run records changes; the next run
/// cleans up then.
///
/// # Errors
/// [`UndoError`] if the data cannot be read; then nothing is removed.
pub fn clean(data_folder: &Path) -> Result<(), UndoError> {
    let store = Store::new(data_folder);
    let Some(alone) = alone(store.root())? else { return Ok(()) };
    alone.sweep(&store.wanted()?).map(drop)
}

/// Cleans up, and prunes the data of runs before `run`, the oldest first, until at most `most` bytes are left.
pub(crate) fn prune(store: &Store, run: &str, most: u64) -> Result<(), UndoError> {
    let Some(alone) = alone(store.root())? else { return Ok(()) };
    let mut left = alone.sweep(&store.wanted()?)?;
    for older in store.runs()?.into_iter().filter(|older| older != run) {
        if left <= most {
            return Ok(());
        }
        let log = store.log(&older);
        fs::remove_file(&log).map_err(crate::error::store(&log, "removed"))?;
        let (mut log, _) = Log::open(&log)?;
        log.add(&Record::Lost { reason: message!("undo-pruned") })?;
        left = alone.sweep(&store.wanted()?)?;
    }
    Ok(())
}

/// Removes the data of one run, for example before another run of the same name begins. No recorder of the run may be active.
///
/// # Errors
/// [`UndoError`] if the data cannot be removed.
pub fn forget(data_folder: &Path, run: &str) -> Result<(), UndoError> {
    let folder = Store::new(data_folder).of_run(run);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(store(&folder, "removed")(error)),
        _ => Ok(()),
    }
}
