//! Changes of protected places: detects them, keeps the approved ones, and reverts the rest.

use std::path::{Component, Path, PathBuf};

use aime_progress_management::FileChangeKind;
use aime_sandbox::{ConfinedFolder, FileError, is_protected};

use super::{
    git_config::changed_harmlessly,
    scan::{Content, Entry, Places, reopen},
};

/// Change of a protected place by a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceChange {
    /// Path relative to the working folder.
    pub path: String,
    /// Kind of the change: created, changed, deleted, or not watched.
    pub did: FileChangeKind,
    /// Outcome of the change.
    pub outcome: PlaceOutcome,
}

/// Outcome of a change to a protected place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceOutcome {
    /// The change stays: it can run nothing, or it was approved.
    Stays,
    /// The change was reverted.
    PutBack,
    /// The change was not approved, and could not be reverted.
    Failed {
        /// Reason of the failure.
        why: String,
    },
    /// The call had made the folder unreadable. It is readable again, and what was in it was looked at.
    Reopened,
    /// The place is beyond the limits of the watch, or a part of it is, so it may have changed unnoticed.
    NotWatched,
}

impl PlaceChange {
    /// Returns the report on a place that could not be watched as a whole.
    pub(super) fn not_watched(place: &Path) -> Self {
        Self { did: FileChangeKind::NotWatched, ..Self::of_folder(place, PlaceOutcome::NotWatched) }
    }

    /// Returns the report on a changed folder. An empty path is the working folder.
    pub(super) fn of_folder(place: &Path, outcome: PlaceOutcome) -> Self {
        let path = if place.as_os_str().is_empty() { ".".to_owned() } else { place.to_string_lossy().into_owned() };
        Self { path, did: FileChangeKind::Changed, outcome }
    }
}

/// Returns the paths at which two scans differ. A path that the first one did not reach may have existed, so it is left out.
pub(super) fn differences<'a>(before: &'a Places, after: &'a Places) -> Vec<&'a str> {
    let is_known = |path: &&str| before.get(path).is_some() || before.has_reached(path);
    let mut paths: Vec<&str> =
        before.paths().chain(after.paths()).filter(|path| before.get(path) != after.get(path)).filter(is_known).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Returns the kind of the change at a path.
pub(super) fn change_kind(before: Option<&Entry>, after: Option<&Entry>) -> FileChangeKind {
    match (before, after) {
        (None, _) => FileChangeKind::Created,
        (_, None) => FileChangeKind::Deleted,
        _ => FileChangeKind::Changed,
    }
}

/// Returns true if a change makes nothing run that did not run before.
pub(super) fn is_harmless(folder: &ConfinedFolder, path: &str, before: Option<&Entry>, after: Option<&Entry>) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let name = parts.last().copied().unwrap_or_default();
    let text = |entry: Option<&Entry>| match entry {
        None => Some(String::new()),
        Some(Entry::File { content: Content::Stored(bytes), .. }) => String::from_utf8(bytes.to_vec()).ok(),
        Some(_) => None,
    };
    if after.is_none() {
        // The protected files of a repository stay as long as the repository does.
        let is_there = |above: &Path| folder.entry(above.join("HEAD")).is_ok_and(|found| found.is_some());
        return !Path::new(path).ancestors().skip(1).any(is_there);
    }
    let (Some(was), Some(is)) = (text(before), text(after)) else { return false };
    match name {
        "config" | "config.worktree" | ".gitmodules" => changed_harmlessly(&was, &is),
        // The folder of a worktree belongs to its repository.
        "commondir" => parts.iter().rev().nth(2) == Some(&"worktrees") && is.trim() == "../..",
        ".git" => is.strip_prefix("gitdir:").is_some_and(|target| leads_into_repository(folder, path, target.trim())),
        _ => false,
    }
}

/// Returns the places that have lost exactly what is new at a path. It may have been moved there from one of them.
pub(super) fn origins<'a>(path: &str, before: &'a Places, after: &'a Places) -> impl Iterator<Item = &'a str> {
    let entry = after.get(path).filter(|_| before.get(path).is_none());
    before.entries().filter(move |(from, was)| entry == Some(*was) && after.get(from).is_none()).map(|(from, _)| from)
}

/// Returns true if a folder above a new file was moved, or the file, to a place that runs it as the former one did.
pub(super) fn is_moved(folder: &ConfinedFolder, path: &str, before: &Places, after: &Places) -> bool {
    let is_of_place = |above: &Path| is_protected(&above.join("*"));
    origins(path, before, after).any(|from| {
        let (mut old, mut new, mut place) = (Path::new(from), Path::new(path), None);
        while old.file_name() == new.file_name()
            && let (Some(old_above), Some(new_above)) = (old.parent(), new.parent())
        {
            place = Some(new);
            (old, new) = (old_above, new_above);
        }
        place.is_some_and(|place| !before.paths().any(|known| Path::new(known).starts_with(place)))
            && !is_of_place(old)
            && !is_of_place(new)
            && is_harmless(folder, from, before.get(from), None)
    })
}

/// Returns true if the folder in a `.git` file is one that a repository in the working folder keeps for worktrees or submodules.
fn leads_into_repository(folder: &ConfinedFolder, file: &str, target: &str) -> bool {
    let from = Path::new(file).parent().unwrap_or(Path::new("")).join(target);
    let Ok(real) = folder.resolve(&from) else { return false };
    let names: Vec<&str> =
        real.components().filter_map(|part| if let Component::Normal(name) = part { name.to_str() } else { None }).collect();
    names.windows(2).any(|pair| matches!(pair, [".git", "worktrees" | "modules"]))
}

/// Restores a place to its former state.
pub(super) fn put_back(folder: &ConfinedFolder, path: &str, before: Option<&Entry>) -> PlaceOutcome {
    let path = Path::new(path);
    // Returns false if the content is not kept.
    let restore = || {
        match before {
            None => remove(folder, path)?,
            Some(Entry::Link(target)) => {
                make_parents(folder, path)?;
                folder.put_link(path, target)?;
            }
            Some(Entry::File { mode, content: Content::Stored(bytes) }) => {
                make_parents(folder, path)?;
                folder.put_file(path, bytes, *mode)?;
            }
            Some(Entry::File { content: Content::Stamped(_), .. }) => return Ok(false),
        }
        Ok(true)
    };
    // The call may have made the folder of such files read-only.
    let is_reopened = || path.parent().is_some_and(|above| is_protected(&above.join("*")) && reopen(folder, above));
    match restore().or_else(|error: FileError| if is_reopened() { restore() } else { Err(error) }) {
        Ok(true) => PlaceOutcome::PutBack,
        Ok(false) => PlaceOutcome::Failed { why: "it was too large to be kept, or could not be read".to_owned() },
        Err(error) => PlaceOutcome::Failed { why: error.to_string() },
    }
}

/// Removes a new file, and the protected folders above it that are empty now.
fn remove(folder: &ConfinedFolder, path: &Path) -> Result<(), FileError> {
    match folder.remove_entry(path) {
        Ok(()) | Err(FileError::NotFound { .. }) => {}
        Err(error) => return Err(error),
    }
    for above in path.ancestors().skip(1).take_while(|above| is_protected(&above.join("*"))) {
        // A folder with other content stays.
        if folder.remove_entry(above).is_err() {
            break;
        }
    }
    Ok(())
}

fn make_parents(folder: &ConfinedFolder, path: &Path) -> Result<(), FileError> {
    let mut above: Vec<PathBuf> = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).map(Path::to_path_buf).collect();
    above.reverse();
    for above in above {
        if folder.entry(&above)?.is_none() {
            folder.put_folder(&above)?;
            folder.set_mode(&above, 0o755)?;
        }
    }
    Ok(())
}
