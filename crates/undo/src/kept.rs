//! What a run changed, for those who only look: nothing is made, locked or written.

use std::path::{Path, PathBuf};

use crate::{Author, Change, Entry, UndoError, chain::History, log, objects, store::Store};

/// What is kept of one run.
#[derive(Debug)]
pub struct Kept {
    history: History,
    objects: PathBuf,
}

impl Kept {
    /// Reads what `run` keeps in `keep` (`.aime`); none where it keeps nothing. Of a run that is at work it is what stands there now.
    ///
    /// # Errors
    /// [`UndoError`] where it cannot be read.
    pub fn read(keep: &Path, run: &str) -> Result<Option<Self>, UndoError> {
        let store = Store::new(keep);
        let records = log::read(&store.log(run))?;
        let kept = Self { history: History::of(&records), objects: objects::folder(store.root()) };
        Ok((!records.is_empty()).then_some(kept))
    }

    /// What became of each path by the whole run, with those who may have done it. What stands as before, what only others changed, and
    /// what was put back is not among it.
    pub fn changes(&self) -> impl Iterator<Item = (Change, Vec<&Author>)> {
        self.history.chains.iter().filter_map(|(path, links)| {
            let (before, after) = (links.first()?.before.clone(), links.last()?.after.clone());
            let mut by: Vec<&Author> = links.iter().flat_map(|link| &link.by).collect();
            by.sort();
            by.dedup();
            (before != after && !by.is_empty()).then(|| (Change { path: path.clone(), before, after }, by))
        })
    }

    /// The bytes of a file; none for what is no file.
    ///
    /// # Errors
    /// [`UndoError`] where they are no longer kept, or are damaged.
    pub fn content(&self, entry: &Entry) -> Result<Option<Vec<u8>>, UndoError> {
        entry.hash().map(|hash| objects::read(&self.objects, hash)).transpose()
    }

    /// Why changes were not kept from some moment on, if they were not.
    #[must_use]
    pub fn lost(&self) -> Option<&str> {
        self.history.lost.as_deref()
    }
}
