//! Read-only view of the changes of a run: creates, locks and writes nothing.

use std::path::{Path, PathBuf};

use crate::{Author, Change, Entry, UndoError, chain::History, log, objects, store::Store};

/// Undo data of one run.
#[derive(Debug)]
pub struct Kept {
    history: History,
    objects: PathBuf,
}

impl Kept {
    /// Reads the undo data of `run` in `keep` (`.aime`); `None` if there is none. For a running run it is a snapshot.
    ///
    /// # Errors
    /// [`UndoError`] if the data cannot be read.
    pub fn read(keep: &Path, run: &str) -> Result<Option<Self>, UndoError> {
        let store = Store::new(keep);
        let records = log::read(&store.log(run))?;
        let kept = Self { history: History::of(&records), objects: objects::folder(store.root()) };
        Ok((!records.is_empty()).then_some(kept))
    }

    /// Returns the total change of each path by the run, with its possible authors. Omits paths with their original state, changes by
    /// others only, and undone changes.
    pub fn changes(&self) -> impl Iterator<Item = (Change, Vec<&Author>)> {
        self.history.chains.iter().filter_map(|(path, links)| {
            let (before, after) = (links.first()?.before.clone(), links.last()?.after.clone());
            let mut by: Vec<&Author> = links.iter().flat_map(|link| &link.by).collect();
            by.sort();
            by.dedup();
            (before != after && !by.is_empty()).then(|| (Change { path: path.clone(), before, after }, by))
        })
    }

    /// Returns the bytes of a file; `None` for other entries.
    ///
    /// # Errors
    /// [`UndoError`] if they are no longer stored, or are damaged.
    pub fn content(&self, entry: &Entry) -> Result<Option<Vec<u8>>, UndoError> {
        entry.hash().map(|hash| objects::read(&self.objects, hash)).transpose()
    }

    /// Returns the reason why recording stopped, if it did.
    #[must_use]
    pub fn lost(&self) -> Option<&str> {
        self.history.lost.as_deref()
    }
}
