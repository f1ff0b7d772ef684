//! Read-only view of the changes of a run: creates, locks and writes nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use aime_durable::FolderStore;
use aime_messages::Message;

use crate::{Author, Change, Entry, UndoError, chain::History, log, log::Record, objects::contents, store::Store};

/// Undo data of one run.
#[derive(Debug)]
pub struct UndoData {
    history: History,
    work: Vec<Work>,
    before: BTreeMap<PathBuf, Option<Entry>>,
    contents: FolderStore,
}

/// The work of one task: the states of the paths that it changed, after its last change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// Task; `None` for work on the run as a whole.
    pub task: Option<String>,
    /// States by path; `None` if the path does not exist.
    pub paths: BTreeMap<PathBuf, Option<Entry>>,
}

/// Returns the state of each path before the first change by the run.
fn before(records: &[Record]) -> BTreeMap<PathBuf, Option<Entry>> {
    let mut states = BTreeMap::new();
    for record in records {
        if let Record::Changed { by, changes } = record
            && !by.is_empty()
        {
            for Change { path, before, .. } in changes {
                states.entry(path.clone()).or_insert_with(|| before.clone());
            }
        }
    }
    states
}

/// Returns the work of each task, in the order of their last changes.
fn work(records: &[Record]) -> Vec<Work> {
    let of_record = |record: &Record| match record {
        Record::Changed { by, changes } => by.first().map(|author| (author.task.clone(), changes.clone())),
        // An undo is work on the run as a whole.
        Record::Undo { changes, .. } => Some((None, changes.clone())),
        _ => None,
    };
    let mut last: BTreeMap<Option<String>, (usize, BTreeSet<PathBuf>)> = BTreeMap::new();
    for (at, (task, changes)) in records.iter().enumerate().filter_map(|(at, record)| Some((at, of_record(record)?))) {
        let (end, paths) = last.entry(task).or_default();
        *end = at;
        paths.extend(changes.into_iter().map(|change| change.path));
    }
    let (mut states, mut done) = (BTreeMap::new(), Vec::new());
    for (at, record) in records.iter().enumerate() {
        let (Record::Changed { changes, .. } | Record::Undo { changes, .. }) = record else { continue };
        states.extend(changes.iter().map(|change| (change.path.clone(), change.after.clone())));
        for (task, (_, paths)) in last.iter().filter(|(_, (end, _))| *end == at) {
            let paths = paths.iter().map(|path| (path.clone(), states.get(path).cloned().flatten())).collect();
            done.push(Work { task: task.clone(), paths });
        }
    }
    done
}

impl UndoData {
    /// Reads the undo data of `run` in `keep` (`.aime`); `None` if there is none. For a running run it is a snapshot.
    ///
    /// # Errors
    /// [`UndoError`] if the data cannot be read.
    pub fn read(data_folder: &Path, run: &str) -> Result<Option<Self>, UndoError> {
        let store = Store::new(data_folder);
        let records = log::read(&store.log(run))?;
        let kept =
            Self { history: History::of(&records), work: work(&records), before: before(&records), contents: contents(store.root()) };
        Ok((!records.is_empty()).then_some(kept))
    }

    /// Returns the total change of each path by the run, with its possible authors. Omits paths with their original state, changes by
    /// others only, and undone changes.
    pub fn changes(&self) -> impl Iterator<Item = (Change, Vec<&Author>)> {
        self.history.chains.iter().filter_map(|(path, links)| {
            let (before, after) = (links.first()?.before.clone(), links.last()?.after.clone());
            let mut by: Vec<&Author> = links.iter().flat_map(|link| &link.authors).collect();
            by.sort();
            by.dedup();
            (before != after && !by.is_empty()).then(|| (Change { path: path.clone(), before, after }, by))
        })
    }

    /// Returns the changes of each path by the authors that `is_own` accepts, oldest first. Changes that nobody else interrupted count as
    /// one. Omits those without effect, and undone ones.
    pub fn changes_by(&self, is_own: impl Fn(&Author) -> bool) -> impl Iterator<Item = (&Path, Vec<Change>)> {
        self.history.chains.iter().filter_map(move |(path, links)| {
            let runs = links.chunk_by(|one, next| one.authors.iter().any(&is_own) == next.authors.iter().any(&is_own));
            let own = runs.filter(|links| links.iter().any(|link| link.authors.iter().any(&is_own)));
            let changes = own.filter_map(|links| {
                let (before, after) = (links.first()?.before.clone(), links.last()?.after.clone());
                (before != after).then(|| Change { path: path.clone(), before, after })
            });
            let changes: Vec<Change> = changes.collect();
            (!changes.is_empty()).then_some((path.as_path(), changes))
        })
    }

    /// Returns the work of each task, in the order of their last changes. Where several may have made a change, it is the work of the first.
    #[must_use]
    pub fn work(&self) -> &[Work] {
        &self.work
    }

    /// Returns the state of each path that the run changed, before its first change; `None` if the path did not exist.
    #[must_use]
    pub const fn before(&self) -> &BTreeMap<PathBuf, Option<Entry>> {
        &self.before
    }

    /// Returns the bytes of a file; `None` for other entries.
    ///
    /// # Errors
    /// [`UndoError`] if they are no longer stored, or are damaged.
    pub fn content(&self, entry: &Entry) -> Result<Option<Vec<u8>>, UndoError> {
        Ok(entry.hash().map(|hash| self.contents.get(hash)).transpose()?)
    }

    /// Returns the reason why recording stopped, if it did.
    #[must_use]
    pub const fn lost(&self) -> Option<&Message> {
        self.history.stop_reason.as_ref()
    }
}
