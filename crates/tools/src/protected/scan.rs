//! Scan of the protected places in a folder and of their content.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use aime_redact::Redactor;
use aime_sandbox::{CACHE_FOLDERS, ConfinedFolder, EntryFacts, EntryKind, FileError, RESERVED_FOLDER, Stamp, is_generated, is_protected};

use crate::secrets::{learn, passed_over};

/// Maximum length of the path of a folder that is listed, in bytes: the longest path that macOS opens. It bounds the memory for the paths
/// in the folder.
const MAX_PATH_BYTES: usize = 1024;
/// Depth from which each level of a path counts as a visited path, because a path is opened level by level.
const FREE_DEPTH: usize = 16;
/// Maximum size of the stored content of a file.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Maximum number of credential files that are read.
const MAX_LEARNED: usize = 200;
/// Names of further folders in which no one works.
const PASSED_OVER: [&str; 2] = ["node_modules", ".hg"];
/// Files in protected folders that programs write all the time, and that start nothing.
const BUSY: [&str; 4] = ["workspace.xml", "known_hosts", "shelf", "history.jsonl"];
/// Folders and files of a repository, which are scanned separately.
const OF_GIT: [&str; 10] = ["objects", "refs", "hooks", "info", "modules", "worktrees", "logs", "config", "config.worktree", "commondir"];
/// Folders in which extensions of Git keep contents.
const OF_EXTENSIONS: [&str; 2] = ["lfs", "annex"];
/// Files of a repository that can make something run, besides its hooks.
const SETTINGS: [&str; 4] = ["config", "config.worktree", "commondir", "info/attributes"];
/// Folders of a repository with such files.
const FOLDERS_OF_SETTINGS: [&str; 4] = ["hooks", "info", "modules", "worktrees"];

/// State of a protected path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// A symbolic link, and its target.
    Link(PathBuf),
    /// A file.
    File { mode: u32, content: Content },
}

/// Content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Stored(Arc<[u8]>),
    /// Identity of a file that is too large to be stored, or not readable.
    Stamped(Stamp),
}

/// Limits of a scan.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScanLimits {
    /// Maximum number of paths that are visited. Paths nearest to the top come first, and very deep ones count more.
    pub(super) visited: usize,
    /// Maximum number of files that are stored.
    pub(super) stored: usize,
}

impl Default for ScanLimits {
    fn default() -> Self {
        Self { visited: 50_000, stored: 2_000 }
    }
}

/// State of the protected paths that a scan has reached, by their paths relative to the working folder.
#[derive(Default)]
pub(super) struct Places {
    found: BTreeMap<String, Entry>,
    /// Paths that the scan did not reach, each with everything below it.
    unreached: BTreeSet<PathBuf>,
    /// Folder that contains all paths which the limits have left out, or the only such path; `None` if the scan has kept within them.
    missed: Option<PathBuf>,
    /// Folders whose subfolders the scan has looked at. An empty folder is not among them.
    folders: BTreeSet<PathBuf>,
    /// Paths that the system refused to read, so it is unknown what is at and below them; and what is there, if that is known.
    unreadable: BTreeMap<PathBuf, Option<Identity>>,
    /// States of files that are not protected, and would be if a folder above them were a repository.
    ordinary: HashSet<FileState>,
    /// Folders that the call has made unreadable. The scan has made them readable again.
    reopened: BTreeSet<PathBuf>,
}

/// Device and inode of a file or folder.
type Identity = (u64, u64);

/// Identity, size and time of modification: another file that gets the same inode differs.
type FileState = (Identity, u64, i64);

/// Knowledge that outlasts the calls of a folder.
#[derive(Default)]
pub(super) struct Memory {
    /// Folders that the last scan has looked into. A call that marks one as generated does not end its watch.
    folders: BTreeSet<PathBuf>,
    /// Ordinary files that were there before the first call, so they are the person's.
    ordinary: HashSet<FileState>,
}

impl Memory {
    /// Takes what the scan before the first call tells.
    pub(super) fn begin_with(&mut self, first: &Places) {
        self.ordinary.clone_from(&first.ordinary);
    }

    /// Takes what the scan after the last calls tells.
    pub(super) fn go_on_with(&mut self, last: Places) {
        self.folders = last.folders;
    }

    /// Returns true if the file at a path is one of the person, and was not protected `before` because no repository was there.
    pub(super) fn has(&self, folder: &ConfinedFolder, before: &Places, path: &str) -> bool {
        let state = || folder.entry(path).ok().flatten().and_then(|facts| file_state(&facts.stamp));
        repository_of(Path::new(path)).is_some_and(|repository| !before.has_repository(repository))
            && state().is_some_and(|state| self.ordinary.contains(&state))
    }
}

impl Places {
    pub(super) fn get(&self, path: &str) -> Option<&Entry> {
        self.found.get(path)
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.found.keys().map(String::as_str)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.found.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// Returns true if the scan has found a file that makes something run in the repository in this folder.
    fn has_repository(&self, path: &Path) -> bool {
        let (config, hooks) = (path.join("config"), path.join("hooks"));
        self.paths().map(Path::new).any(|found| found == config || found.starts_with(&hooks))
    }

    /// Returns the place that contains all paths which the limits of this scan or of another one have left out, if there are any.
    pub(super) fn missed_with<'a>(&'a self, other: &'a Self) -> Option<&'a Path> {
        match (self.missed.as_deref(), other.missed.as_deref()) {
            (Some(one), Some(other)) => Some(shared_folder(one, other)),
            (one, other) => one.or(other),
        }
    }

    /// Returns true if the scan would have found a protected file at this path.
    pub(super) fn has_reached(&self, path: &str) -> bool {
        !has_above(&self.unreached, Path::new(path))
    }

    /// Returns true if a file may have been there before the scan that did not find it: a folder above it could not be read, where it is now
    /// or where it was then.
    pub(super) fn may_hide(&self, folder: &ConfinedFolder, path: &str) -> bool {
        let is_closed = |above: &Path| identity_at(folder, above).is_some_and(|identity| self.closed(identity));
        self.is_unreadable(Path::new(path)) || (!self.unreadable.is_empty() && Path::new(path).ancestors().any(is_closed))
    }

    /// Returns the folders that the call had made unreadable, and that are readable again.
    pub(super) fn reopened(&self) -> impl Iterator<Item = PathBuf> {
        self.reopened.iter().cloned()
    }

    /// Returns the protected paths that have become unreadable since the scan `before`.
    pub(super) fn lost_since<'a>(&'a self, before: &Self) -> impl Iterator<Item = &'a Path> {
        let holds_protected =
            |place: &Path| is_protected(&place.join("*")) || before.paths().any(|path| Path::new(path).starts_with(place));
        self.unreadable.keys().filter(move |place| before.knows(place) && holds_protected(place)).map(PathBuf::as_path)
    }

    /// Returns true if the scan has found everything protected at and below a path.
    fn knows(&self, path: &Path) -> bool {
        !self.is_unreadable(path) && !has_above(&self.unreached, path)
    }

    fn is_unreadable(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.unreadable.contains_key(above))
    }

    /// Returns true if the scan could not read this folder.
    fn closed(&self, identity: Identity) -> bool {
        self.unreadable.values().any(|known| *known == Some(identity))
    }
}

/// Returns true if a path, or a folder above it, is among these.
fn has_above(places: &BTreeSet<PathBuf>, path: &Path) -> bool {
    path.ancestors().any(|above| places.contains(above))
}

/// Returns the folder that must be a repository for the file at a path to make something run, if its names say so.
fn repository_of(path: &Path) -> Option<&Path> {
    let below_hooks = path.ancestors().skip(1).find(|above| above.file_name().is_some_and(|name| name == "hooks"));
    let levels = || SETTINGS.iter().find(|name| path.ends_with(name)).map(|name| Path::new(name).iter().count());
    below_hooks.map_or_else(|| path.ancestors().nth(levels()?), Path::parent)
}

fn file_state(stamp: &Stamp) -> Option<FileState> {
    identity(stamp).map(|identity| (identity, stamp.size, stamp.modified))
}

/// Returns the identity of a file or folder, if the system tells it.
fn identity(stamp: &Stamp) -> Option<Identity> {
    (stamp.inode != 0).then_some((stamp.device, stamp.inode))
}

fn identity_at(folder: &ConfinedFolder, path: &Path) -> Option<Identity> {
    folder.entry(shown(path)).ok().flatten().and_then(|facts| identity(&facts.stamp))
}

/// Returns a path below the working folder as it is opened and reported: `.` for the folder itself.
fn shown(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Scans before a call, with what the calls before it have left. Blocks.
pub(super) fn scan_before(memory: &Memory, folder: &ConfinedFolder, redactor: &Redactor, limits: ScanLimits) -> Places {
    Scan::all(folder, redactor, limits, &memory.folders, None)
}

/// Scans after a call. Makes folders readable again that the call has made unreadable: they could hide what it has done. Also looks at the
/// places of the scan `before` the call that this one does not reach. Blocks.
pub(super) fn scan_after(before: &Places, folder: &ConfinedFolder, redactor: &Redactor, limits: ScanLimits) -> Places {
    let mut after = Scan::all(folder, redactor, limits, &before.folders, Some(before));
    for path in before.paths() {
        if after.get(path).is_none() && !after.has_reached(path) {
            match entry_at(folder, Path::new(path)) {
                Ok(Some(entry)) => {
                    after.found.insert(path.to_owned(), entry);
                }
                Err(FileError::Io { .. }) => {
                    after.unreadable.insert(PathBuf::from(path), None);
                }
                Ok(None) | Err(_) => {}
            }
        }
    }
    after
}

/// Gives the owner of a folder the rights to read and change it. Returns false if the owner had them, or does not get them.
pub(super) fn reopen(folder: &ConfinedFolder, path: &Path) -> bool {
    let mode = || match folder.entry(shown(path)) {
        Ok(Some(EntryFacts { kind: EntryKind::Folder, mode, .. })) => Some(mode),
        _ => None,
    };
    let has_rights = |mode: u32| mode & 0o700 == 0o700;
    mode().is_some_and(|mode| !has_rights(mode) && folder.set_mode(path, mode | 0o700).is_ok()) && mode().is_some_and(has_rights)
}

struct Scan<'a> {
    folder: &'a ConfinedFolder,
    redactor: &'a Redactor,
    limits: ScanLimits,
    known: &'a BTreeSet<PathBuf>,
    /// The scan before the call, if this is the one after it.
    before: Option<&'a Places>,
    places: Places,
    looked_at: usize,
    learnt: usize,
}

impl<'a> Scan<'a> {
    /// Scans the protected places of a folder, and collects the secrets in credential files on the way, because a command may print any of
    /// them. Also looks into generated folders that are among the `known` ones: a call may have marked them as generated.
    fn all(
        folder: &'a ConfinedFolder,
        redactor: &'a Redactor,
        limits: ScanLimits,
        known: &'a BTreeSet<PathBuf>,
        before: Option<&'a Places>,
    ) -> Places {
        let mut scan = Self { folder, redactor, limits, known, before, places: Places::default(), looked_at: 0, learnt: 0 };
        let mut folders = vec![PathBuf::from(".")];
        while !folders.is_empty() {
            let mut below = Vec::new();
            for path in folders {
                scan.folder(&path, &mut below);
            }
            folders = below;
        }
        scan.places
    }

    /// Returns true if the limits leave out what is in a folder.
    fn leaves_out(&self, path: &Path) -> bool {
        self.looked_at >= self.limits.visited || path.as_os_str().len() > MAX_PATH_BYTES
    }

    fn entries(&mut self, path: &Path) -> Vec<(PathBuf, EntryFacts)> {
        if self.leaves_out(path) {
            // Repositories need not have every folder that is scanned in them. A missing folder is known to be empty.
            if !matches!(self.folder.entry(path), Ok(None)) {
                self.miss(path);
            }
            return Vec::new();
        }
        let entries = self.read(path, |folder| folder.entries(path)).unwrap_or_default();
        self.looked_at += entries.len() + excess_depth(path);
        entries
    }

    /// Reads something at a path. If the system refuses it, either makes the folder above readable and reads again, or marks the path as
    /// unreadable. Other errors mean that nothing protected is there.
    fn read<T>(&mut self, path: &Path, read: impl Fn(&ConfinedFolder) -> Result<T, FileError>) -> Option<T> {
        let path = path.strip_prefix(".").unwrap_or(path);
        // Each folder of the path may have been made unreadable. A program in the background may do so again.
        for is_last in (0..=path.iter().count()).rev().map(|left| left == 0) {
            match read(self.folder) {
                Ok(found) => return Some(found),
                Err(FileError::Io { .. }) => {}
                Err(_) => return None,
            }
            let is_closed = |above: &&Path| matches!(self.folder.entry(above.join("config")), Err(FileError::Io { .. }));
            let highest = path.ancestors().skip(1).take_while(is_closed).last().unwrap_or(path).to_path_buf();
            let identity = identity_at(self.folder, &highest);
            let may_open = |before: &Places| before.knows(&highest) && !identity.is_some_and(|identity| before.closed(identity));
            if is_last || !(self.before.is_some_and(may_open) && reopen(self.folder, &highest)) {
                self.places.unreadable.insert(highest, identity);
                break;
            }
            self.places.reopened.insert(highest);
        }
        None
    }

    /// Marks a path as not reached because of the limits.
    fn miss(&mut self, path: &Path) {
        let shared = self.places.missed.as_deref().map_or(path, |known| shared_folder(known, path)).to_path_buf();
        self.places.missed = Some(shared);
        self.places.unreached.insert(path.to_path_buf());
    }

    /// Scans one folder. Adds its subfolders that must be scanned to `below`.
    fn folder(&mut self, path: &Path, below: &mut Vec<PathBuf>) {
        if self.leaves_out(path) {
            // Its parent lists it, so it exists. To open it again would take time for each of its levels.
            self.miss(path);
            return;
        }
        let entries = self.entries(path);
        let has = |wanted: &str, kind: EntryKind| entries.iter().any(|(name, facts)| name == Path::new(wanted) && facts.kind == kind);
        let top = path == Path::new(".");
        let bare = has("HEAD", EntryKind::File) && has("objects", EntryKind::Folder) && has("refs", EntryKind::Folder);
        if bare {
            self.repository(if top { Path::new("") } else { path });
        }
        let made_again = !top
            && is_generated(entries.iter().filter(|(_, facts)| facts.kind == EntryKind::File).map(|(name, _)| name.as_path()))
            && !self.known.contains(path);
        if !made_again && !entries.is_empty() {
            self.places.folders.insert(path.to_path_buf());
        }
        let below_settings = path.iter().any(|name| FOLDERS_OF_SETTINGS.iter().any(|known| name == *known));
        for (name, facts) in entries {
            let here = if top { name.clone() } else { path.join(&name) };
            let is = |names: &[&str]| names.iter().any(|known| name.as_os_str() == *known);
            // Git itself changes these files.
            if is(&[RESERVED_FOLDER, "HEAD"]) || (bare && is(&OF_GIT)) {
                continue;
            }
            if facts.kind != EntryKind::Folder && (below_settings || is(&SETTINGS)) && !is_protected(&here) {
                self.places.ordinary.extend(file_state(&facts.stamp));
            }
            // A link in the place of a folder counts if the files of that folder do.
            let folder_of_such = is_protected(&here.join("*"));
            if facts.kind == EntryKind::File && self.learnt < MAX_LEARNED && passed_over(&here) {
                self.learnt += 1;
                learn(self.folder, &here, self.redactor);
            }
            match facts.kind {
                EntryKind::Folder if is_repository(&name) => self.repository(&here),
                EntryKind::Folder if is_protected(&here) => self.all_in(&here),
                EntryKind::Folder if is(&PASSED_OVER) || is(&CACHE_FOLDERS) => {}
                // A scan reaches it if the call removes the mark.
                EntryKind::Folder if made_again => {
                    self.places.unreached.insert(here);
                }
                EntryKind::Folder => below.push(here),
                EntryKind::Other => {}
                EntryKind::File if is_protected(&here) => self.keep(&here),
                EntryKind::Link if is_protected(&here) || folder_of_such => self.keep(&here),
                EntryKind::File | EntryKind::Link => {}
            }
        }
    }

    /// Scans the files of a repository that can make something run: git changes the rest in its normal work.
    fn repository(&mut self, path: &Path) {
        for name in SETTINGS {
            self.keep(&path.join(name));
        }
        self.all_in(&path.join("hooks"));
        let worktrees = path.join("worktrees");
        for (name, _) in self.entries(&worktrees) {
            self.keep(&worktrees.join(&name).join("commondir"));
            self.keep(&worktrees.join(&name).join("config.worktree"));
        }
        // Repositories of submodules, whose names may have several parts.
        let mut modules = vec![path.join("modules")];
        while let Some(module) = modules.pop() {
            let entries = self.entries(&module);
            let has_head = entries.iter().any(|(name, _)| name == Path::new("HEAD"));
            if has_head {
                self.repository(&module);
            }
            if !has_head {
                let files = entries.iter().filter(|(_, facts)| facts.kind != EntryKind::Folder);
                self.places.ordinary.extend(files.filter_map(|(_, facts)| file_state(&facts.stamp)));
            }
            // The name of another submodule may continue this one.
            let of_git = |name: &Path| has_head && OF_GIT.iter().chain(&OF_EXTENSIONS).any(|known| name == Path::new(known));
            let folders = entries.into_iter().filter(|(name, facts)| facts.kind == EntryKind::Folder && !of_git(name));
            modules.extend(folders.map(|(name, _)| module.join(name)));
        }
    }

    /// Stores all files of a folder, or the link in its place.
    fn all_in(&mut self, path: &Path) {
        self.keep(path);
        let mut folders = vec![path.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for (name, facts) in self.entries(&folder) {
                let here = folder.join(&name);
                // Git does not run hooks with this extension.
                let sample = name.extension().is_some_and(|extension| extension == "sample");
                match facts.kind {
                    _ if sample || BUSY.iter().any(|busy| name == Path::new(busy)) => {}
                    EntryKind::Folder => folders.push(here),
                    _ => self.keep(&here),
                }
            }
        }
    }

    fn keep(&mut self, path: &Path) {
        let Some(name) = path.to_str() else { return };
        self.looked_at += excess_depth(path);
        if self.places.found.len() < self.limits.stored {
            if let Some(entry) = self.read(path, |folder| entry_at(folder, path)).flatten() {
                self.places.found.insert(name.to_owned(), entry);
            }
        } else if let Some(EntryFacts { kind: EntryKind::File | EntryKind::Link, .. }) =
            self.read(path, |folder| folder.entry(path)).flatten()
        {
            self.miss(path);
        }
    }
}

/// Returns the number of levels of a path that count as visited paths.
fn excess_depth(path: &Path) -> usize {
    path.components().count().saturating_sub(FREE_DEPTH)
}

/// Returns the state of the file or link at a path.
fn entry_at(folder: &ConfinedFolder, path: &Path) -> Result<Option<Entry>, FileError> {
    let Some(facts) = folder.entry(path)? else { return Ok(None) };
    Ok(match facts.kind {
        EntryKind::Link => folder.read_link_entry(path).ok().map(Entry::Link),
        EntryKind::File => {
            let content = match folder.read_entry(path, MAX_FILE_BYTES) {
                Ok((bytes, _)) => Content::Stored(bytes.into()),
                Err(_) => Content::Stamped(facts.stamp),
            };
            Some(Entry::File { mode: facts.mode, content })
        }
        EntryKind::Folder | EntryKind::Other => None,
    })
}

/// Returns the deepest folder that contains both paths, or the path if they are the same.
fn shared_folder<'a>(one: &'a Path, other: &Path) -> &'a Path {
    one.ancestors().find(|above| other.starts_with(above)).unwrap_or(Path::new(""))
}

fn is_repository(name: &Path) -> bool {
    name.to_str().is_some_and(|name| name.eq_ignore_ascii_case(".git"))
}
