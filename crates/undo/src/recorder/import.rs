//! Import of work that was done elsewhere, such as on another host.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use aime_sandbox::RESERVED_FOLDER;

use super::{LogState, Recorder};
use crate::{Author, Change, Entry, UndoError, UnrecordedReason, log::Record, objects::Objects, scope::Scope};

/// A piece of work that was done elsewhere and is imported into the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedWork {
    /// Possible authors; empty if the author is not part of the run.
    pub authors: Vec<Author>,
    /// Scope of the undo, if the piece was one.
    pub undoes: Option<Scope>,
    /// Changed paths, relative to the folder, each once, with their new content. If no later piece changed the path, the content is not
    /// read: the final state in the folder counts.
    pub changes: Vec<(PathBuf, Option<Content>)>,
}

/// Content of a path in the other place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A file.
    File {
        /// Bytes of the file.
        bytes: Vec<u8>,
        /// True if its owner may execute it.
        is_executable: bool,
    },
    /// A file above the size limit.
    TooLarge {
        /// Size in bytes.
        size: u64,
    },
    /// A symbolic link.
    Link {
        /// Target, as it is written.
        target: PathBuf,
    },
}

/// State of each path before and after the import.
type Ends = BTreeMap<PathBuf, (Option<Entry>, Option<Entry>)>;
/// State of each path after some of the pieces.
type PathStates = BTreeMap<PathBuf, Option<Entry>>;

impl Recorder {
    /// Imports work that was done elsewhere, and records each piece under its own authors, oldest first. `apply_changes` changes the folder for all
    /// pieces at once. If it fails, or the process dies meanwhile, its changes are recorded under `on_behalf`.
    ///
    /// # Errors
    /// The errors of `apply_changes`.
    pub fn import<T, E>(&self, on_behalf: &Author, work: &[ImportedWork], apply_changes: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut state = self.state();
        let begun = self.record_step_with_turn(&mut state, |live, counts| {
            let mut before = BTreeMap::new();
            for path in work.iter().flat_map(|piece| &piece.changes).map(|(path, _)| path).filter(|path| is_kept(path)) {
                for path in path.ancestors().filter(|path| !path.as_os_str().is_empty()) {
                    if !before.contains_key(path) {
                        before.insert(path.to_path_buf(), self.settled(live, counts, path)?);
                    }
                }
            }
            if before.is_empty() {
                return Ok(before);
            }
            let about = |(path, before): (&PathBuf, &Option<Entry>)| Change { path: path.clone(), before: before.clone(), after: None };
            live.add(Record::About { author: on_behalf.clone(), changes: before.iter().map(about).collect() })?;
            Ok(before)
        });
        let apply_changes = apply_changes();
        let Some((before, turn)) = begun else { return apply_changes };
        self.record_step_within(&mut state, &turn, |live, counts| {
            let mut ends = Ends::new();
            for (path, before) in before {
                let after = self.now(live, counts, &path)?;
                self.refresh(live, counts, &path)?;
                ends.insert(path, (before, after));
            }
            let mut records = if apply_changes.is_ok() { self.pieces(live, work, &ends)? } else { Vec::new() };
            let about = live.history.about.is_some();
            if about && !records.iter().any(|record| matches!(record, Record::Changed { .. })) {
                // Changes without a known author; this record also ends the announcement of the change.
                let left = if apply_changes.is_ok() { Vec::new() } else { ends.into_iter().filter_map(changed).collect() };
                records.insert(0, Record::Changed { by: vec![on_behalf.clone()], changes: left });
            }
            live.add_all(records)?;
            Ok(())
        });
        apply_changes
    }

    /// Returns the records of each piece: from the state after the piece before it to its own.
    fn pieces(&self, live: &LogState, work: &[ImportedWork], ends: &Ends) -> Result<Vec<Record>, UndoError> {
        let mut last: BTreeMap<&Path, usize> = BTreeMap::new();
        for (number, piece) in work.iter().enumerate() {
            last.extend(piece.changes.iter().map(|(path, _)| (path.as_path(), number)));
        }
        let of_work = |path: &Path| last.contains_key(path);
        let before = |(path, (before, _)): (&PathBuf, &(Option<Entry>, Option<Entry>))| (path.clone(), before.clone());
        let mut files: PathStates = ends.iter().filter(|(path, _)| of_work(path)).map(before).collect();
        let mut folders: PathStates = ends.iter().filter(|(path, _)| !of_work(path)).map(before).collect();
        let mut ahead = live.history.clone();
        let mut records = Vec::new();
        for (number, piece) in work.iter().enumerate() {
            let mut changes = Vec::new();
            for (path, content) in piece.changes.iter().filter(|(path, _)| is_kept(path)) {
                let Some(end) = ends.get(path) else { continue };
                let after = match content {
                    _ if last.get(path.as_path()) == Some(&number) => end.1.clone(),
                    Some(content) => Some(self.entry(&live.objects, content, end)?),
                    None => None,
                };
                let before = files.insert(path.clone(), after.clone()).flatten();
                changes.extend(changed((path.clone(), (before, after))));
            }
            let above: BTreeSet<PathBuf> =
                changes.iter().flat_map(|change| change.path.ancestors().skip(1)).map(Path::to_path_buf).collect();
            changes.extend(above.into_iter().filter_map(|path| folder_changed(path, &files, &mut folders, ends)));
            changes.sort_by(|one, other| one.path.cmp(&other.path));
            // An undo restores earlier states; any other state results from something else, such as a merge with other work.
            let (undone, done): (Vec<Change>, Vec<Change>) =
                changes.into_iter().partition(|change| piece.undoes.is_some() && ahead.had_entry(&change.path, change.after.as_ref()));
            let mut of_piece = Vec::new();
            if let Some(of) = piece.undoes.clone().filter(|_| !undone.is_empty()) {
                let number = ahead.last + 1;
                of_piece.extend([Record::Undo { number, of, changes: undone }, Record::Undone { number, failed: Vec::new() }]);
            }
            if !done.is_empty() {
                of_piece.push(Record::Changed { by: piece.authors.clone(), changes: done });
            }
            of_piece.iter().for_each(|record| ahead.add(record));
            records.extend(of_piece);
        }
        Ok(records)
    }

    /// Returns the state of a path between two pieces, with its content stored. The other place only reports if a file is executable; other
    /// mode bits come from the state before and after the whole import.
    fn entry(&self, objects: &Objects, content: &Content, (before, after): &(Option<Entry>, Option<Entry>)) -> Result<Entry, UndoError> {
        let too_large = |size| Entry::NotKept { why: UnrecordedReason::TooLarge, size, modified: 0 };
        Ok(match content {
            Content::Link { target } => Entry::Link { target: target.clone() },
            Content::TooLarge { size } => too_large(*size),
            Content::File { bytes, .. } if bytes.len() as u64 > self.settings.max_file_bytes => too_large(bytes.len() as u64),
            Content::File { bytes, is_executable } => {
                let hash = objects.put(bytes)?;
                let mode = |entry: &Option<Entry>| match entry {
                    Some(Entry::File { mode, .. }) if (mode & 0o100 != 0) == *is_executable => Some(*mode),
                    _ => None,
                };
                let same = before.as_ref().and_then(Entry::hash) == Some(hash.as_str());
                let known = if same { mode(before).or_else(|| mode(after)) } else { mode(after).or_else(|| mode(before)) };
                let usual = if *is_executable { 0o755 } else { 0o644 };
                Entry::File { mode: known.unwrap_or(usual), size: bytes.len() as u64, hash }
            }
        })
    }
}

/// Returns true for paths outside of aime's own data.
fn is_kept(path: &Path) -> bool {
    !path.starts_with(RESERVED_FOLDER)
}

/// Returns the change, if the states differ.
fn changed((path, (before, after)): (PathBuf, (Option<Entry>, Option<Entry>))) -> Option<Change> {
    (before != after).then_some(Change { path, before, after })
}

/// Returns the change of a folder by a piece. A folder that exists neither before nor after the whole import exists as long as it contains
/// something.
fn folder_changed(path: PathBuf, files: &PathStates, folders: &mut PathStates, ends: &Ends) -> Option<Change> {
    /// Mode of a folder that does not exist in the end.
    const MODE: u32 = 0o755;
    let (first, last) = ends.get(&path)?;
    let before = folders.get(&path)?.clone();
    if first.is_some() && last.is_some() {
        return None;
    }
    let mut beneath = files.range(path.clone()..).take_while(|(file, _)| file.starts_with(&path));
    let is_there = beneath.any(|(_, entry)| entry.is_some());
    let after = is_there.then(|| last.clone().or_else(|| first.clone()).unwrap_or(Entry::Folder { mode: MODE }));
    folders.insert(path.clone(), after.clone());
    changed((path, (before, after)))
}
