//! Where what is kept stands, and how it is kept small.

use std::{
    collections::BTreeSet,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{
    UndoError,
    error::store,
    known,
    log::{self, Log, Record},
    objects::{alone, sweep},
};

/// How much is kept, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoSettings {
    /// The largest file whose content is kept. 32 MB unless set.
    pub max_file_bytes: u64,
    /// The most of one folder, in all its files. 512 MB unless set.
    pub max_folder_bytes: u64,
    /// The most paths of one folder. 200,000 unless set.
    pub max_entries: usize,
    /// The most that all runs in a folder keep; the oldest give way. 2 GB unless set.
    pub max_store_bytes: u64,
    /// What must stay free on the disk. 256 MB unless set.
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

/// The places of what is kept in a folder's `.aime`.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    runs: PathBuf,
    root: PathBuf,
}

impl Store {
    pub(crate) fn new(keep: &Path) -> Self {
        Self { runs: keep.join("runs"), root: keep.join("undo") }
    }

    /// What all runs share.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder as the last run left it.
    pub(crate) fn index(&self) -> PathBuf {
        self.root.join("index.jsonl")
    }

    /// What one run keeps.
    pub(crate) fn of_run(&self, run: &str) -> PathBuf {
        self.runs.join(run).join("undo")
    }

    pub(crate) fn log(&self, run: &str) -> PathBuf {
        self.of_run(run).join("log.jsonl")
    }

    /// The folder as a run that is at work first saw it.
    pub(crate) fn baseline(&self, run: &str) -> PathBuf {
        self.of_run(run).join("baseline.jsonl")
    }

    /// The runs that keep something, the oldest first.
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

    /// The contents that some run may want back, or that the next one need not read.
    fn wanted(&self) -> Result<BTreeSet<String>, UndoError> {
        let mut wanted = BTreeSet::new();
        let mut files = vec![self.index()];
        for run in self.runs()? {
            let records = log::read(&self.log(&run))?;
            wanted.extend(records.iter().flat_map(Record::entries).filter_map(|entry| entry.hash().map(str::to_owned)));
            files.push(self.baseline(&run));
        }
        for file in files {
            let known = known::read(&file)?.map(|(known, _)| known).unwrap_or_default();
            wanted.extend(known.values().filter_map(|known| known.entry.hash().map(str::to_owned)));
        }
        Ok(wanted)
    }
}

/// Removes what no run needs any more, as after a run was deleted. Does nothing while a run is at work; the next one does it then.
///
/// # Errors
/// [`UndoError`] where what is kept cannot be read: then nothing is removed.
pub fn clean(keep: &Path) -> Result<(), UndoError> {
    let store = Store::new(keep);
    let Some(alone) = alone(store.root())? else { return Ok(()) };
    sweep(store.root(), &alone, &store.wanted()?).map(drop)
}

/// The same, and the runs before `run` give up what they keep, the oldest first, until no more than `most` bytes are left.
pub(crate) fn prune(store: &Store, run: &str, most: u64) -> Result<(), UndoError> {
    let Some(alone) = alone(store.root())? else { return Ok(()) };
    let mut left = sweep(store.root(), &alone, &store.wanted()?)?;
    for older in store.runs()?.into_iter().filter(|older| older != run) {
        if left <= most {
            return Ok(());
        }
        let log = store.log(&older);
        fs::remove_file(&log).map_err(crate::error::store(&log, "removed"))?;
        let (mut log, _) = Log::open(&log)?;
        log.add(&Record::Lost { reason: "it gave way to later runs: together they keep no more than undo.store_mb".to_owned() })?;
        left = sweep(store.root(), &alone, &store.wanted()?)?;
    }
    Ok(())
}

/// Removes what one run keeps, as before another one of its name begins. Nobody may be at work on it.
///
/// # Errors
/// [`UndoError`] where it cannot be removed.
pub fn forget(keep: &Path, run: &str) -> Result<(), UndoError> {
    let folder = Store::new(keep).of_run(run);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(store(&folder, "removed")(error)),
        _ => Ok(()),
    }
}
