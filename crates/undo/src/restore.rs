//! Restores entries of a folder.

use std::path::{Path, PathBuf};

use aime_sandbox::{ConfinedFolder, FileError};

use crate::{Change, Entry, UndoError, objects::Objects};

/// A path that could not be restored.
#[derive(Debug)]
pub struct Failed {
    /// Path relative to the folder.
    pub path: PathBuf,
    /// Reason of the failure.
    pub error: UndoError,
}

/// Permissions that the owner of a folder needs to change its entries.
const OWNER: u32 = 0o700;

/// Makes each change, from the current state to the wanted one. A failure does not affect other changes. `now` returns the state of a path;
/// a path that has changed since the plan stays as it is.
pub(crate) fn restore(
    folder: &ConfinedFolder,
    objects: &Objects,
    changes: &[Change],
    mut now: impl FnMut(&Path) -> Result<Option<Entry>, UndoError>,
) -> Vec<Failed> {
    let mut failed: Vec<Failed> = Vec::new();
    let mut step = |change: &Change, make: &mut dyn FnMut() -> Result<(), UndoError>| {
        if failed.iter().all(|failed| failed.path != change.path)
            && let Err(why) = make()
        {
            failed.push(Failed { path: change.path.clone(), error: why });
        }
    };
    let mut sorted: Vec<&Change> = changes.iter().collect();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    let folders = |entry: &Option<Entry>| entry.as_ref().is_some_and(Entry::is_folder);
    let stands = |change: &Change, now: &mut dyn FnMut(&Path) -> Result<Option<Entry>, UndoError>| {
        let (path, source) = (change.path.clone(), std::io::Error::other("it was changed at this moment"));
        if now(&path)? == change.before { Ok(()) } else { Err(UndoError::from(FileError::Io { path, action: "written", source })) }
    };
    // Make folders writable for their owner, the outermost first.
    for change in &sorted {
        step(change, &mut || match &change.before {
            Some(Entry::Folder { mode }) => {
                stands(change, &mut now)?;
                Ok(folder.set_mode(&change.path, mode | OWNER)?)
            }
            _ => Ok(()),
        });
    }
    // Remove entries, the innermost first, to make room.
    for change in sorted.iter().rev() {
        step(change, &mut || {
            if !folders(&change.before) {
                stands(change, &mut now)?;
            }
            let is_removed = change.before.is_some() && (change.after.is_none() || folders(&change.before) != folders(&change.after));
            if is_removed { folder.remove_entry(&change.path).map_err(UndoError::from) } else { Ok(()) }
        });
    }
    // Then create entries, the outermost first.
    for change in &sorted {
        step(change, &mut || match &change.after {
            Some(Entry::Folder { .. }) if !folders(&change.before) => folder.put_folder(&change.path).map_err(UndoError::from),
            Some(Entry::File { mode, hash, .. }) => Ok(folder.put_file(&change.path, &objects.get(hash)?, *mode)?),
            Some(Entry::Link { target }) => folder.put_link(&change.path, target).map_err(UndoError::from),
            Some(Entry::Folder { .. } | Entry::NotKept { .. }) | None => Ok(()),
        });
    }
    // Set the modes of folders last: a read-only folder could not have been filled.
    for change in sorted.iter().rev() {
        step(change, &mut || match &change.after {
            Some(Entry::Folder { mode }) => folder.set_mode(&change.path, *mode).map_err(UndoError::from),
            _ => Ok(()),
        });
    }
    failed
}
