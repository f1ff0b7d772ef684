//! Taking in work that was done elsewhere.

use std::{
    collections::{BTreeMap, BTreeSet},
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
/// What stands at a path after some of it.
type Stands = BTreeMap<PathBuf, Option<Entry>>;

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
            let mut records = if come.is_ok() { self.pieces(live, work, &ends)? } else { Vec::new() };
            let about = live.history.about.is_some();
            if about && !records.iter().any(|record| matches!(record, Record::Changed { .. })) {
                // What nobody is known to have done, and what ends the telling that something is about to be changed.
                let left = if come.is_ok() { Vec::new() } else { ends.into_iter().filter_map(changed).collect() };
                records.insert(0, Record::Changed { by: vec![on_behalf.clone()], changes: left });
            }
            live.add_all(records)?;
            Ok(())
        });
        come
    }

    /// What is noted of each piece: from what the one before it left to what it left itself.
    fn pieces(&self, live: &Live, work: &[Brought], ends: &Ends) -> Result<Vec<Record>, UndoError> {
        let mut last: BTreeMap<&Path, usize> = BTreeMap::new();
        for (number, piece) in work.iter().enumerate() {
            last.extend(piece.changes.iter().map(|(path, _)| (path.as_path(), number)));
        }
        let of_work = |path: &Path| last.contains_key(path);
        let before = |(path, (before, _)): (&PathBuf, &(Option<Entry>, Option<Entry>))| (path.clone(), before.clone());
        let mut files: Stands = ends.iter().filter(|(path, _)| of_work(path)).map(before).collect();
        let mut folders: Stands = ends.iter().filter(|(path, _)| !of_work(path)).map(before).collect();
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
            // What an undo left that never stood there before came of something else, such as of joining it with other work.
            let (undone, done): (Vec<Change>, Vec<Change>) =
                changes.into_iter().partition(|change| piece.undoes.is_some() && ahead.stood(&change.path, change.after.as_ref()));
            let mut of_piece = Vec::new();
            if let Some(of) = piece.undoes.clone().filter(|_| !undone.is_empty()) {
                let number = ahead.last + 1;
                of_piece.extend([Record::Undo { number, of, changes: undone }, Record::Undone { number, failed: Vec::new() }]);
            }
            if !done.is_empty() {
                of_piece.push(Record::Changed { by: piece.by.clone(), changes: done });
            }
            of_piece.iter().for_each(|record| ahead.add(record));
            records.extend(of_piece);
        }
        Ok(records)
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
                let hash = objects.put(bytes)?;
                let mode = |entry: &Option<Entry>| match entry {
                    Some(Entry::File { mode, .. }) if (mode & 0o100 != 0) == *may_run => Some(*mode),
                    _ => None,
                };
                let same = before.as_ref().and_then(Entry::hash) == Some(hash.as_str());
                let known = if same { mode(before).or_else(|| mode(after)) } else { mode(after).or_else(|| mode(before)) };
                let usual = if *may_run { 0o755 } else { 0o644 };
                Entry::File { mode: known.unwrap_or(usual), size: bytes.len() as u64, hash }
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

/// What becomes of a folder by a piece. One that is not there before and after all of the work is there for as long as anything of it is in it.
fn folder_changed(path: PathBuf, files: &Stands, folders: &mut Stands, ends: &Ends) -> Option<Change> {
    /// What a folder gets that is not there in the end.
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
