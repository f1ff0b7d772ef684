//! Effects of one author that must leave none, and the state of a path when the run began.

use std::path::{Path, PathBuf};

use super::{Recorder, State, UndoResult};
use crate::{Author, Change, Conflict, ConflictKind, Entry, Scope, UndoError, UndoPlan, UnrecordedReason, log::Record};

/// A path now, compared with the path when the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathComparison {
    /// The path is as it was.
    Same,
    /// The path, or something in it, differs.
    Changed,
    /// The content of the path is not recorded.
    NotKept(UnrecordedReason),
}

impl Recorder {
    /// Puts back the last changes that `author` made alone, and returns them with the paths that stay changed. Paths for which `stays` is
    /// true are left as they are, and so are those that another author may have changed at the same time.
    ///
    /// # Errors
    /// [`UndoError`]; [`UndoError::AtWork`] while the author is at work.
    pub fn put_back(&self, author: &Author, stays: impl Fn(&Path) -> bool) -> Result<(UndoResult, Vec<Conflict>), UndoError> {
        if !self.made_effects(author)? {
            return Ok((UndoResult { number: None, changes: Vec::new(), failed: Vec::new() }, Vec::new()));
        }
        let mut plan = self.plan(&Scope::Effects { author: author.clone() }, false)?;
        leave(&mut plan, stays);
        let undone = self.undo(&plan)?;
        let conflicts = plan.conflicts.into_iter().filter(|conflict| match conflict.kind {
            ConflictKind::ChangedSince => true,
            ConflictKind::NotKept(why) | ConflictKind::Stays(why) => {
                matches!(why, UnrecordedReason::TooLarge | UnrecordedReason::NoRoom | UnrecordedReason::Unreadable)
            }
            ConflictKind::ChangedBetween | ConflictKind::AlsoBy(_) | ConflictKind::NotEmpty => false,
        });
        Ok((undone, conflicts.collect()))
    }

    /// Returns whether the last change of any path is of this author alone. It saves a scan of the folder where none is.
    fn made_effects(&self, author: &Author) -> Result<bool, UndoError> {
        let mut state = self.state();
        let State { live, counts, .. } = &mut *state;
        let (live, _turn) = self.open_log(live, counts)?;
        let chains = live.history.chains.values();
        Ok(chains.filter_map(|links| links.last()).any(|link| link.authors.iter().all(|by| by == author) && !link.authors.is_empty()))
    }

    /// Counts the recorded changes so far, including those that were undone later, without the changes that `tool` alone made and those
    /// that [`put_back`](Self::put_back) reverted. An equal count means that no known file has changed. Returns `None` where changes are
    /// not recorded.
    #[must_use]
    pub fn count_changes(&self, tool: &str) -> Option<u64> {
        self.record_step(&mut self.state(), |live, counts| {
            if live.known.is_some() {
                self.scan_folder(live, counts)?;
            }
            Ok(counted(&live.records, tool).count() as u64)
        })
    }

    /// Returns the changes of files after the first `count` records that [`count_changes`](Self::count_changes) counts, each with the number of
    /// records before it and its possible authors. An undo has none. Returns `None` where changes are not recorded.
    #[must_use]
    pub fn changes_after(&self, count: u64, tool: &str) -> Option<Vec<(u64, Vec<Author>, Change)>> {
        self.record_step(&mut self.state(), |live, counts| {
            if live.known.is_some() {
                self.scan_folder(live, counts)?;
            }
            let later = (0..).zip(counted(&live.records, tool)).filter(|(number, _)| *number >= count);
            Ok(later.flat_map(|(number, (by, changes))| changes.iter().map(move |change| (number, by.to_vec(), change.clone()))).collect())
        })
    }

    /// Compares a path with its state when the run began; returns `None` where changes are not recorded. A change that was undone is none.
    #[must_use]
    pub fn since_begin(&self, path: &Path) -> Option<PathComparison> {
        self.record_step(&mut self.state(), |live, counts| {
            if live.known.is_some() {
                self.scan_folder(live, counts)?;
            }
            let known = |path: &Path| live.known.as_ref().and_then(|known| known.get(path)?.entry.not_kept());
            let unseen = path.ancestors().find_map(known).filter(|why| *why != UnrecordedReason::TooLarge);
            if let Some(why) = unseen {
                return Ok(PathComparison::NotKept(why));
            }
            let chains = live.history.chains.range(path.to_path_buf()..).take_while(|(below, _)| below.starts_with(path));
            let first: Vec<(PathBuf, Option<Entry>)> =
                chains.filter_map(|(path, links)| Some((path.clone(), links.first()?.before.clone()))).collect();
            for (path, before) in first {
                if self.now(live, counts, &path)? != before {
                    return Ok(PathComparison::Changed);
                }
            }
            Ok(PathComparison::Same)
        })
    }
}

/// Returns the changes that count, with their possible authors: those that `tool` alone made do not, nor do undone effects.
fn counted<'a>(records: &'a [Record], tool: &str) -> impl Iterator<Item = (&'a [Author], &'a [Change])> {
    records.iter().filter_map(move |record| match record {
        Record::Changed { by, changes } if by.is_empty() || by.iter().any(|author| author.tool != tool) => Some((&by[..], &changes[..])),
        Record::Undo { of, changes, .. } if !matches!(of, Scope::Effects { .. }) => Some((&[][..], &changes[..])),
        _ => None,
    })
}

/// Takes the paths that stay as they are out of a plan, and the folders that hold them.
fn leave(plan: &mut UndoPlan, stays: impl Fn(&Path) -> bool) {
    let left: Vec<PathBuf> = plan.changes.iter().map(|change| change.path.clone()).filter(|path| stays(path)).collect();
    plan.changes.retain(|change| {
        let goes = change.after.is_none();
        !left.iter().any(|path| *path == change.path || goes && path.starts_with(&change.path))
    });
    plan.conflicts.retain(|conflict| !stays(&conflict.path));
}
