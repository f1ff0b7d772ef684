//! Incremental scan of a folder: only files that may have changed are read.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use aime_sandbox::{CACHE_FOLDERS, ConfinedFolder, EntryFacts, EntryKind, FileError, RESERVED_FOLDER, is_generated};

use crate::{
    Entry, UndoError, UndoSettings, UnrecordedReason,
    known_path::{KnownFolder, KnownPath},
    objects::Objects,
};

/// Folders of version control systems.
const REPOSITORIES: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".bzr"];
/// Folder of packages, whose content can be fetched again.
const PACKAGES: &str = "node_modules";

/// Maximum number of attempts to read a file that changes during the read.
const TRIES: usize = 3;

/// Counts of the scanning work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanCounts {
    /// Number of scans of the whole folder.
    pub scans: u64,
    /// Number of visited paths.
    pub paths: u64,
    /// Number of files that were read.
    pub files_read: u64,
}

/// Scanner of a folder.
pub(crate) struct FolderScanner<'a> {
    pub(crate) folder: &'a ConfinedFolder,
    pub(crate) objects: &'a Objects,
    pub(crate) settings: &'a UndoSettings,
    /// Path of the undo data, which is skipped.
    pub(crate) own: Option<&'a Path>,
    pub(crate) counts: &'a mut ScanCounts,
}

impl FolderScanner<'_> {
    /// Returns the state of each path. `known` is the earlier state, `None` at first; `cache` only avoids reading files again.
    pub(crate) fn all(&mut self, known: Option<&KnownFolder>, cache: &KnownFolder) -> Result<KnownFolder, UndoError> {
        self.counts.scans += 1;
        let device = self.folder.entry(".")?.map(|facts| facts.stamp.device);
        let mut found = KnownFolder::new();
        let mut bytes = 0_u64;
        let mut folders = vec![PathBuf::from(".")];
        while let Some(folder) = folders.pop() {
            let entries = match self.folder.entries(&folder) {
                Ok(entries) => entries,
                // The folder is gone, or was replaced by something else.
                Err(FileError::NotFound { .. } | FileError::NotAFolder { .. }) => {
                    found.remove(&folder);
                    continue;
                }
                Err(_) if folder != Path::new(".") => {
                    let before = known.filter(|known| known.get(&folder).is_some_and(|before| before.entry.is_folder()));
                    match before {
                        // As far as can be determined, its former content is still there.
                        Some(known) => found.extend(beneath(known, &folder).map(|(path, known)| (path.clone(), known.clone()))),
                        None => drop(found.insert(folder, not_kept(UnrecordedReason::Unreadable, None))),
                    }
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let before = known.and_then(|known| known.get(&folder));
            let was_kept = before.is_some_and(|before| before.entry.is_folder());
            let made_again = is_generated(entries.iter().map(|(name, _)| name.as_path()));
            if folder != Path::new(".") && !was_kept && made_again {
                found.insert(folder, not_kept(UnrecordedReason::Cache, None));
                continue;
            }
            let mut within = Vec::new();
            for (name, facts) in entries {
                let path = if folder == Path::new(".") { name } else { folder.join(name) };
                if path == Path::new(RESERVED_FOLDER) || Some(path.as_path()) == self.own {
                    continue;
                }
                self.counts.paths += 1;
                let room = found.len() < self.settings.max_entries && bytes < self.settings.max_folder_bytes;
                let elsewhere = device.is_some_and(|device| device != facts.stamp.device);
                let before = known.and_then(|known| known.get(&path));
                let looked = match unrecorded_reason(&path, &facts, before, room, elsewhere) {
                    Some(why) => Some(not_kept(why, Some(&facts))),
                    None => self.one(&path, &facts, before.or_else(|| cache.get(&path)))?,
                };
                let Some(looked) = looked else { continue };
                match &looked.entry {
                    Entry::Folder { .. } => within.push(path.clone()),
                    Entry::File { size, .. } => bytes = bytes.saturating_add(*size),
                    _ => {}
                }
                found.insert(path, looked);
            }
            // Folders are taken from the end.
            folders.extend(within.into_iter().rev());
        }
        Ok(found)
    }

    /// Returns the current state of one path, with its content stored; `None` if it does not exist.
    pub(crate) fn at(&mut self, path: &Path, known: Option<&KnownPath>) -> Result<Option<KnownPath>, UndoError> {
        let facts = match self.folder.entry(path) {
            Ok(Some(facts)) => facts,
            Ok(None) => return Ok(None),
            Err(FileError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
                return Ok(Some(not_kept(UnrecordedReason::Unreadable, None)));
            }
            Err(error) => return Err(error.into()),
        };
        match known {
            // An entry without recorded content keeps that state, so that its removal is not mistaken for a change.
            Some(KnownPath { entry: Entry::NotKept { why, .. }, .. }) if *why != UnrecordedReason::TooLarge => {
                Ok(Some(not_kept(*why, Some(&facts))))
            }
            known => self.one(path, &facts, known),
        }
    }

    fn one(&mut self, path: &Path, facts: &EntryFacts, known: Option<&KnownPath>) -> Result<Option<KnownPath>, UndoError> {
        let gone = |error: &FileError| matches!(error, FileError::NotFound { .. } | FileError::NotAFolder { .. });
        let entry = match facts.kind {
            EntryKind::Folder => Entry::Folder { mode: facts.mode },
            EntryKind::Other => return Ok(Some(not_kept(UnrecordedReason::Special, Some(facts)))),
            EntryKind::Link => match self.folder.read_link_entry(path) {
                Ok(target) => Entry::Link { target },
                Err(error) if gone(&error) => return Ok(None),
                Err(error) => return Err(error.into()),
            },
            EntryKind::File => {
                if let Some(known) = known.filter(|known| known.matches(&facts.stamp))
                    && let Entry::File { size, hash, .. } = &known.entry
                    && self.objects.has(hash, *size)
                {
                    let entry = Entry::File { mode: facts.mode, size: *size, hash: hash.clone() };
                    return Ok(Some(KnownPath { entry, ..known.clone() }));
                }
                return self.read(path);
            }
        };
        Ok(Some(KnownPath { entry, stamp: None, read_at: 0 }))
    }

    fn read(&mut self, path: &Path) -> Result<Option<KnownPath>, UndoError> {
        let mut last = None;
        for _ in 0..TRIES {
            let read_at = now();
            self.counts.files_read += 1;
            let (bytes, facts) = match self.folder.read_entry(path, self.settings.max_file_bytes) {
                Ok(read) => read,
                Err(FileError::NotFound { .. } | FileError::NotAFolder { .. }) => return Ok(None),
                Err(FileError::TooLarge { .. }) => {
                    return Ok(self.folder.entry(path)?.map(|facts| not_kept(UnrecordedReason::TooLarge, Some(&facts))));
                }
                Err(_) => return Ok(self.folder.entry(path)?.map(|facts| not_kept(UnrecordedReason::Unreadable, Some(&facts)))),
            };
            let hash = self.objects.put(&bytes)?;
            let entry = Entry::File { mode: facts.mode, size: bytes.len() as u64, hash };
            let after = self.folder.entry(path)?;
            if after.is_some_and(|after| after.stamp == facts.stamp) {
                return Ok(Some(KnownPath { entry, stamp: Some(facts.stamp), read_at }));
            }
            last = Some(KnownPath { entry, stamp: None, read_at: 0 });
        }
        Ok(last)
    }
}

/// Returns the known states beneath a folder.
fn beneath<'a>(known: &'a KnownFolder, folder: &'a Path) -> impl Iterator<Item = (&'a PathBuf, &'a KnownPath)> {
    known.range(folder.to_path_buf()..).skip(1).take_while(move |(path, _)| path.starts_with(folder))
}

/// Returns the reason why the content of a path is not recorded, as far as can be determined without reading it. A path that was recorded
/// once stays recorded.
fn unrecorded_reason(path: &Path, facts: &EntryFacts, before: Option<&KnownPath>, room: bool, elsewhere: bool) -> Option<UnrecordedReason> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match before.map(|before| &before.entry) {
        Some(Entry::NotKept { why, size, modified }) => {
            // An unchanged entry keeps its reason, so that space freed since does not look like a change.
            let same = facts.kind == EntryKind::Folder || (*size, *modified) == (facts.stamp.size, facts.stamp.modified);
            return (same && !matches!(why, UnrecordedReason::Special)).then_some(*why);
        }
        Some(_) => return None,
        None => {}
    }
    match facts.kind {
        _ if REPOSITORIES.contains(&name) => Some(UnrecordedReason::Repository),
        EntryKind::Folder if name == PACKAGES || CACHE_FOLDERS.contains(&name) => Some(UnrecordedReason::Cache),
        EntryKind::Folder if elsewhere => Some(UnrecordedReason::Mount),
        EntryKind::File | EntryKind::Folder | EntryKind::Link if !room => Some(UnrecordedReason::NoRoom),
        _ => None,
    }
}

fn not_kept(why: UnrecordedReason, facts: Option<&EntryFacts>) -> KnownPath {
    // The size and time of a folder do not describe its content.
    let facts = facts.filter(|facts| facts.kind == EntryKind::File);
    let (size, modified) = facts.map_or((0, 0), |facts| (facts.stamp.size, facts.stamp.modified));
    KnownPath { entry: Entry::NotKept { why, size, modified }, stamp: None, read_at: 0 }
}

/// Returns the current time in nanoseconds since the Unix epoch.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
