//! Effects of one author that must leave none, and the state of a path when the run began.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{Recorder, State, UndoResult};
use crate::{Author, Change, Conflict, ConflictKind, Entry, Scope, UndoError, UndoPlan, UnrecordedReason, chain::Link, log::Record};

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
    /// Puts back the last changes that `author` made alone, and returns them with the paths that stay changed. Paths for which `keep` is
    /// true are left as they are and not returned. Paths that another author may have changed at the same time or has changed since are left
    /// as they are, too, and are returned once.
    ///
    /// # Errors
    /// [`UndoError`]; [`UndoError::AtWork`] while the author is at work.
    pub fn discard_effects(&self, author: &Author, keep: impl Fn(&Path) -> bool) -> Result<(UndoResult, Vec<Conflict>), UndoError> {
        if !self.made_effects(author)? {
            let undone = UndoResult { number: None, changes: Vec::new(), failed: Vec::new() };
            return Ok((undone, self.effects_of_several(author, &keep)?));
        }
        let mut plan = self.plan(&Scope::Effects { author: author.clone() }, false)?;
        exclude(&mut plan, &keep);
        let undone = self.undo(&plan)?;
        let (folders, mut left): (Vec<Conflict>, Vec<Conflict>) =
            plan.conflicts.into_iter().partition(|conflict| conflict.kind == ConflictKind::NotEmpty);
        left.retain(|conflict| match conflict.kind {
            ConflictKind::NotKept(why) | ConflictKind::Stays(why) => is_content(why),
            ConflictKind::ChangedSince | ConflictKind::ChangedBetween | ConflictKind::AlsoBy(_) | ConflictKind::NotEmpty => true,
        });
        let several = self.effects_of_several(author, &keep)?;
        left.extend(several.into_iter().filter(|conflict| undone.failed.iter().all(|failed| failed.path != conflict.path)));
        let needed = |folder: &Conflict| left.iter().any(|conflict| conflict.path.starts_with(&folder.path));
        let folders: Vec<Conflict> = folders.into_iter().filter(needed).collect();
        left.extend(folders);
        left.sort_by(|one, other| one.path.cmp(&other.path));
        left.dedup_by(|one, other| one.path == other.path);
        Ok((undone, left))
    }

    /// Returns the paths among the changes of an author since the last call that stay changed because others may have changed them, too.
    fn effects_of_several(&self, author: &Author, keep: impl Fn(&Path) -> bool) -> Result<Vec<Conflict>, UndoError> {
        let mut state = self.state();
        let State { live, counts, reported, .. } = &mut *state;
        let (live, _turn) = self.open_log(live, counts)?;
        let begun = reported.insert(author.clone(), live.records.len()).unwrap_or_default();
        let new = live.records.get(begun..).unwrap_or_default().iter().filter_map(|record| match record {
            Record::Changed { by, changes } if by.contains(author) => Some(changes),
            _ => None,
        });
        let paths: BTreeSet<&PathBuf> = new.flatten().map(|change| &change.path).filter(|path| !keep(path)).collect();
        let several = paths.into_iter().filter_map(|path| {
            let links = live.history.chains.get(path)?;
            let is_alone = |link: &&Link| !link.authors.is_empty() && link.authors.iter().all(|by| by == author);
            // The last changes of the author alone were to be put back, so they are in the plan of the undo.
            let kept = links.get(..links.len() - links.iter().rev().take_while(is_alone).count())?;
            let first = kept.iter().position(|link| link.authors.contains(author))?;
            let kept = kept.get(first..)?;
            let whys = kept.iter().flat_map(|link| [&link.before, &link.after]).flatten().filter_map(Entry::not_kept);
            if whys.into_iter().any(|why| !is_content(why)) {
                return None;
            }
            let others = kept.iter().flat_map(|link| &link.authors).filter(|by| *by != author);
            let names: BTreeSet<String> = others.map(|by| by.task.clone().unwrap_or_else(|| by.tool.clone())).collect();
            let kind = if names.is_empty() { ConflictKind::ChangedSince } else { ConflictKind::AlsoBy(names.into_iter().collect()) };
            Some(Conflict { path: path.clone(), kind })
        });
        Ok(several.collect())
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
    /// that [`discard_effects`](Self::discard_effects) reverted. An equal count means that no known file has changed. Returns `None` where changes are
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

/// Returns true if the content is missing in the record for lack of room or of a permission, and not because nobody needs it.
const fn is_content(why: UnrecordedReason) -> bool {
    matches!(why, UnrecordedReason::TooLarge | UnrecordedReason::NoRoom | UnrecordedReason::Unreadable)
}

/// Takes the paths that stay as they are out of a plan, and the folders that hold them.
fn exclude(plan: &mut UndoPlan, keep: &impl Fn(&Path) -> bool) {
    let left: Vec<PathBuf> = plan.changes.iter().map(|change| change.path.clone()).filter(|path| keep(path)).collect();
    plan.changes.retain(|change| {
        let is_removed = change.after.is_none();
        !left.iter().any(|path| *path == change.path || is_removed && path.starts_with(&change.path))
    });
    plan.conflicts.retain(|conflict| !keep(&conflict.path));
}
