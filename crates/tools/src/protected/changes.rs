//! Changes of protected places: detects them, keeps the approved ones, and reverts the rest.

use std::path::{Component, Path, PathBuf};

use aime_progress_management::FileChangeKind;
use aime_sandbox::{ConfinedFolder, FileError};

use super::{
    git_config::changed_harmlessly,
    scan::{Content, Entry, Places},
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
    /// The place is beyond the limits of the watch, or a part of it is, so it may have changed unnoticed.
    NotWatched,
}

impl PlaceChange {
    /// Returns the report on a place that could not be watched as a whole.
    pub(super) fn not_watched(place: &Path) -> Self {
        let path = if place.as_os_str().is_empty() { ".".to_owned() } else { place.to_string_lossy().into_owned() };
        Self { path, did: FileChangeKind::NotWatched, outcome: PlaceOutcome::NotWatched }
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

/// Returns true if the folder in a `.git` file is one that a repository in the working folder keeps for worktrees or submodules.
fn leads_into_repository(folder: &ConfinedFolder, file: &str, target: &str) -> bool {
    let from = Path::new(file).parent().unwrap_or(Path::new("")).join(target);
    let Ok(real) = folder.resolve(&from) else { return false };
    let names: Vec<&str> =
        real.components().filter_map(|part| if let Component::Normal(name) = part { name.to_str() } else { None }).collect();
    names.windows(2).any(|pair| matches!(pair, [".git", "worktrees" | "modules"]))
}

/// Restores a place to its former state.
pub(super) fn put_back(folder: &ConfinedFolder, path: &str, before: Option<&Entry>) -> Result<(), String> {
    let done = match before {
        None => remove(folder, Path::new(path)),
        Some(Entry::Link(target)) => make_parents(folder, Path::new(path)).and_then(|()| folder.put_link(path, target)),
        Some(Entry::File { mode, content: Content::Stored(bytes) }) => {
            make_parents(folder, Path::new(path)).and_then(|()| folder.put_file(path, bytes, *mode))
        }
        Some(Entry::File { content: Content::Stamped(_), .. }) => return Err("it is too large to be kept".to_owned()),
    };
    done.map_err(|error| error.to_string())
}

/// Removes a new file, and the protected folders above it that are empty now.
fn remove(folder: &ConfinedFolder, path: &Path) -> Result<(), FileError> {
    match folder.remove_entry(path) {
        Ok(()) | Err(FileError::NotFound { .. }) => {}
        Err(error) => return Err(error),
    }
    for above in path.ancestors().skip(1).take_while(|above| aime_sandbox::is_protected(&above.join("*"))) {
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
