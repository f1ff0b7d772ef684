//! Taking in work that was done elsewhere.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use aime_sandbox::RESERVED_FOLDER;

use super::{Live, Recorder};
use crate::{Author, Change, Entry, NotKept, UndoError, log::Record, objects::Objects, scope::Scope};

/// A piece of work that was done elsewhere, and comes into the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    /// Who may have done it; nobody of the run where it is empty.
    pub by: Vec<Author>,
    /// What it undid, if it was an undo.
    pub undoes: Option<Scope>,
    /// The paths that it changed, relative to the folder, each once, and what it left there. Of a path that no later piece changed this is not read: it
    /// is what stands there in the end.
    pub changes: Vec<(PathBuf, Option<Content>)>,
}

/// What stood at a path elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A file.
    File {
        /// What it held.
        bytes: Vec<u8>,
        /// Whether its owner may run it.
        may_run: bool,
    },
    /// A file that is too large to be kept.
    TooLarge {
        /// Its size in bytes.
        size: u64,
    },
    /// A symbolic link.
    Link {
        /// Where it points, as it is written.
        target: PathBuf,
    },
}

/// What stood at a path before work came, and what stands there since.
type Ends = BTreeMap<PathBuf, (Option<Entry>, Option<Entry>)>;

impl Recorder {
    /// Has work come into the folder that was done elsewhere, and keeps each piece of it as that of those who did it, oldest first. `come` puts all of
    /// it into the folder at once; where it fails, or the process dies meanwhile, what it has changed counts as `on_behalf`'s.
    ///
    /// # Errors
    /// Those of `come`.
    pub fn bring<T, E>(&self, on_behalf: &Author, work: &[Brought], come: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut state = self.state();
        let begun = self.keeping_on(&mut state, |live, counts| {
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
        let come = come();
        let Some((before, turn)) = begun else { return come };
        self.keeping_within(&mut state, &turn, |live, counts| {
            let mut ends = Ends::new();
            for (path, before) in before {
                let after = self.now(live, counts, &path)?;
                self.refresh(live, counts, &path)?;
                ends.insert(path, (before, after));
            }
            if come.is_ok() {
                self.add_pieces(live, work, &ends)?;
            }
            // What nobody is known to have done, and what ends the telling that something is about to be changed.
            if live.history.about.is_some() {
                let left = if come.is_ok() { Vec::new() } else { ends.into_iter().filter_map(changed).collect() };
                live.add(Record::Changed { by: vec![on_behalf.clone()], changes: left })?;
            }
            Ok(())
        });
        come
    }

    /// Notes each piece, from what the one before it left to what it left itself.
    fn add_pieces(&self, live: &mut Live, work: &[Brought], ends: &Ends) -> Result<(), UndoError> {
        let mut last: BTreeMap<&Path, usize> = BTreeMap::new();
        for (number, piece) in work.iter().enumerate() {
            last.extend(piece.changes.iter().map(|(path, _)| (path.as_path(), number)));
        }
        let mut folders = folders(work, ends, &last);
        let mut stands: BTreeMap<&Path, Option<Entry>> = ends.iter().map(|(path, (before, _))| (path.as_path(), before.clone())).collect();
        for (number, piece) in work.iter().enumerate() {
            let mut changes = folders.remove(&number).unwrap_or_default();
            for (path, content) in piece.changes.iter().filter(|(path, _)| is_kept(path)) {
                let Some(end) = ends.get(path) else { continue };
                let after = match content {
                    _ if last.get(path.as_path()) == Some(&number) => end.1.clone(),
                    Some(content) => Some(self.entry(&live.objects, content, end)?),
                    None => None,
                };
                let before = stands.insert(path, after.clone()).flatten();
                changes.extend(changed((path.clone(), (before, after))));
            }
            changes.sort_by(|one, other| one.path.cmp(&other.path));
            match &piece.undoes {
                _ if changes.is_empty() => {}
                None => live.add(Record::Changed { by: piece.by.clone(), changes })?,
                Some(scope) => {
                    let number = live.history.last + 1;
                    live.add(Record::Undo { number, of: scope.clone(), changes })?;
                    live.add(Record::Undone { number, failed: Vec::new() })?;
                }
            }
        }
        Ok(())
    }

    /// What stood at a path between two pieces, its content kept. Elsewhere is known of its mode only whether it may be run; the rest is taken from
    /// what stands at the path before and after all of the work.
    fn entry(&self, objects: &Objects, content: &Content, (before, after): &(Option<Entry>, Option<Entry>)) -> Result<Entry, UndoError> {
        let too_large = |size| Entry::NotKept { why: NotKept::TooLarge, size, modified: 0 };
        Ok(match content {
            Content::Link { target } => Entry::Link { target: target.clone() },
            Content::TooLarge { size } => too_large(*size),
            Content::File { bytes, .. } if bytes.len() as u64 > self.settings.max_file_bytes => too_large(bytes.len() as u64),
            Content::File { bytes, may_run } => {
                let known = [before, after].into_iter().flatten().find_map(|entry| match entry {
                    Entry::File { mode, .. } if (mode & 0o100 != 0) == *may_run => Some(*mode),
                    _ => None,
                });
                let usual = if *may_run { 0o755 } else { 0o644 };
                Entry::File { mode: known.unwrap_or(usual), size: bytes.len() as u64, hash: objects.put(bytes)? }
            }
        })
    }
}

/// What aime keeps itself is nobody's work.
fn is_kept(path: &Path) -> bool {
    !path.starts_with(RESERVED_FOLDER)
}

/// A change, if it is one.
fn changed((path, (before, after)): (PathBuf, (Option<Entry>, Option<Entry>))) -> Option<Change> {
    (before != after).then_some(Change { path, before, after })
}

/// The folders that came, with the first piece that put something into them, and those that went, with the last that took something out of them.
fn folders(work: &[Brought], ends: &Ends, last: &BTreeMap<&Path, usize>) -> BTreeMap<usize, Vec<Change>> {
    let mut folders: BTreeMap<usize, Vec<Change>> = BTreeMap::new();
    let others = ends.iter().filter(|(path, _)| !last.contains_key(path.as_path()));
    for change in others.filter_map(|(path, ends)| changed((path.clone(), ends.clone()))) {
        let touches = |piece: &Brought| piece.changes.iter().any(|(path, _)| path.starts_with(&change.path));
        let number = if change.after.is_some() { work.iter().position(touches) } else { work.iter().rposition(touches) };
        folders.entry(number.unwrap_or_default()).or_default().push(change);
    }
    folders
}
