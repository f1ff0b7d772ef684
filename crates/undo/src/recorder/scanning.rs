//! Scans of the folder, and changes between them.

use std::{path::Path, sync::Arc};

use aime_sandbox::WatchChanges;

use super::{LogState, Recorder};
use crate::{
    Author, Change, Entry, UndoError,
    known_path::{self, KnownFolder},
    log::{Record, UnrecordedEntry},
    objects::Objects,
    scan::{FolderScanner, ScanCounts},
};

/// Maximum number of paths without recorded content that the log names.
const NAMED: usize = 50;

impl Recorder {
    pub(super) fn scanner<'a>(&'a self, objects: &'a Objects, counts: &'a mut ScanCounts) -> FolderScanner<'a> {
        FolderScanner { folder: &self.folder, objects, settings: &self.settings, own: self.own.as_deref(), counts }
    }

    pub(super) fn now(&self, live: &LogState, counts: &mut ScanCounts, path: &Path) -> Result<Option<Entry>, UndoError> {
        at(&mut self.scanner(&live.objects, counts), live.known.as_ref(), path)
    }

    /// Scans the whole folder and records the changes since the last scan, under the authors of windows that were open.
    pub(super) fn scan_folder(&self, live: &mut LogState, counts: &mut ScanCounts) -> Result<(), UndoError> {
        // Before the scan, because a process that ends during it may still change files that were already scanned.
        self.drop_dead_windows(live);
        let found = self.scanner(&live.objects, counts).all(live.known.as_ref(), &live.cache)?;
        match &live.known {
            None => {
                let left_out =
                    found.iter().filter_map(|(path, known)| Some(UnrecordedEntry { path: path.clone(), why: known.entry.not_kept()? }));
                let left_out: Vec<UnrecordedEntry> = left_out.collect();
                if !left_out.is_empty() {
                    live.add(Record::NotKept { count: left_out.len(), first: left_out.into_iter().take(NAMED).collect() })?;
                }
                known_path::write(&self.store.baseline(&self.run), &found, live.records.len())?;
                live.baseline = Some(live.records.len());
            }
            Some(known) => {
                let changes = difference(known, &found);
                if !changes.is_empty() {
                    live.add(Record::Changed { by: live.authors(), changes })?;
                }
            }
        }
        (live.known, live.has_scanned) = (Some(found), true);
        let ended: Vec<u64> = live.since.keys().filter(|window| !live.open.contains_key(window)).copied().collect();
        for window in ended {
            live.add(Record::Closed { window })?;
        }
        live.since = live.open.clone();
        Ok(())
    }

    /// Returns the current state of a path. Records changes by windows since the last scan first, because the path is about to be changed
    /// again.
    pub(super) fn settled(&self, live: &mut LogState, counts: &mut ScanCounts, path: &Path) -> Result<Option<Entry>, UndoError> {
        let now = self.now(live, counts, path)?;
        let Some(known) = live.known.as_ref().filter(|_| !live.since.is_empty()) else { return Ok(now) };
        let before = known.get(path).map(|known| known.entry.clone());
        if before != now {
            let change = Change { path: path.to_path_buf(), before, after: now.clone() };
            live.add(Record::Changed { by: live.authors(), changes: vec![change] })?;
            self.refresh(live, counts, path)?;
        }
        Ok(now)
    }

    /// Returns every effective change of a path in the run, oldest first, including unrecorded changes; `None` if changes are not recorded.
    /// A change without authors was made outside of the run.
    #[must_use]
    pub fn changes_of(&self, path: &Path) -> Option<Vec<PathChange>> {
        self.record_step(&mut self.state(), |live, counts| {
            let chain = live.history.chains.get(path).into_iter().flatten();
            let mut changes: Vec<PathChange> =
                chain.map(|link| PathChange { authors: link.authors.clone(), after: link.after.clone() }).collect();
            let now = self.now(live, counts, path)?;
            let last = live.known.as_ref().and_then(|known| known.get(path)).map(|known| &known.entry);
            let last = last.or_else(|| changes.last()?.after.as_ref());
            if last.is_some_and(|last| Some(last) != now.as_ref()) {
                changes.push(PathChange { authors: live.authors(), after: now });
            }
            Ok(changes)
        })
    }

    /// Records the change of exactly one file.
    pub(super) fn exactly(&self, author: &Author, path: &Path, make: &mut dyn FnMut()) {
        let mut state = self.state();
        let begun = self.record_step_with_turn(&mut state, |live, counts| {
            let mut changes = Vec::new();
            let above: Vec<&Path> = path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
            for path in above.into_iter().rev().chain([path]) {
                let before = self.settled(live, counts, path)?;
                // Of its parent folders, only missing ones can be created.
                if before.as_ref().is_none_or(|before| !before.is_folder()) {
                    changes.push(Change { path: path.to_path_buf(), before, after: None });
                }
            }
            live.add(Record::About { author: author.clone(), changes: changes.clone() })?;
            Ok(changes)
        });
        make();
        let Some((about, turn)) = begun else { return };
        let made = self.record_step_within(&mut state, &turn, |live, counts| {
            let changes = self.after(live, counts, about)?;
            for change in &changes {
                self.refresh(live, counts, &change.path)?;
            }
            live.add(Record::Changed { by: vec![author.clone()], changes: changes.clone() })?;
            Ok(changes)
        });
        drop(turn);
        state.exact.extend(made.into_iter().flatten().map(|change| (author.clone(), change)));
    }

    /// Returns the changes with the current state of the paths. Omits those without a difference.
    pub(super) fn after(&self, live: &LogState, counts: &mut ScanCounts, changes: Vec<Change>) -> Result<Vec<Change>, UndoError> {
        let mut made = Vec::new();
        for change in changes {
            let after = self.now(live, counts, &change.path)?;
            if after != change.before {
                made.push(Change { after, ..change });
            }
        }
        Ok(made)
    }

    /// Updates the known state after the recorder's own change.
    pub(super) fn refresh(&self, live: &mut LogState, counts: &mut ScanCounts, path: &Path) -> Result<(), UndoError> {
        let LogState { objects, known: Some(known), .. } = live else { return Ok(()) };
        match self.scanner(objects, counts).at(path, None)? {
            Some(now) => drop(known.insert(path.to_path_buf(), now)),
            None => drop(known.remove(path)),
        }
        Ok(())
    }
}

/// Returns the current state of a path.
pub(super) fn at(scanner: &mut FolderScanner<'_>, known: Option<&KnownFolder>, path: &Path) -> Result<Option<Entry>, UndoError> {
    Ok(scanner.at(path, known.and_then(|known| known.get(path)))?.map(|known| known.entry))
}

/// Returns the changes between two scans.
fn difference(before: &KnownFolder, after: &KnownFolder) -> Vec<Change> {
    let gone = before.iter().filter(|(path, _)| !after.contains_key(*path));
    let gone = gone.map(|(path, known)| Change { path: path.clone(), before: Some(known.entry.clone()), after: None });
    let other = after.iter().filter_map(|(path, now)| {
        let before = before.get(path).map(|known| &known.entry);
        (before != Some(&now.entry)).then(|| Change { path: path.clone(), before: before.cloned(), after: Some(now.entry.clone()) })
    });
    let mut changes: Vec<Change> = gone.chain(other).collect();
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    changes
}

/// One change of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// Possible authors.
    pub authors: Vec<Author>,
    /// Content after the change.
    pub after: Option<Entry>,
}

/// Observer of changes through a folder's handle.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) recorder: Arc<Recorder>,
    pub(super) author: Author,
}

impl WatchChanges for Watcher {
    fn change(&self, path: &Path, make: &mut dyn FnMut()) {
        self.recorder.exactly(&self.author, path, make);
    }
}
