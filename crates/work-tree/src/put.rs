//! Puts the files of a commit into a folder in which others may work: no link that somebody makes there meanwhile leads out of it.

use std::{ffi::OsString, path::Path};

use aime_sandbox::{ConfinedFolder, EntryKind, FileError};
use tokio::task::spawn_blocking;

use crate::{
    Commit, WorkTree, WorkTreeError,
    git::Git,
    tree::{OWN, as_path, create_folder, of, paths},
};

impl WorkTree {
    /// Puts the files that differ between two commits into the folder, each of them atomically: `git` would leave a truncated file if it were
    /// killed while it writes one, and that would look like somebody's change. [`may_update`](Self::may_update) comes before it.
    pub(crate) async fn put(&self, from: &Commit, to: &Commit) -> Result<(), WorkTreeError> {
        let folder = &self.git.folder;
        let differ = async |filter| {
            let diff = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", filter, from.as_str(), to.as_str()];
            self.git.run_ok(&diff).await
        };
        let (removed, written) = (differ("--diff-filter=D").await?, differ("--diff-filter=d").await?);
        // Files can be renamed only within a file system.
        let near = if is_same_device(&self.git.repository, folder) { self.git.repository.clone() } else { folder.join(OWN) };
        create_folder(&near).await?;
        let place = tempfile::tempdir_in(&near).map_err(of(&near))?;
        let staged = Git { index: Some(place.path().join("index")), ..self.git.clone() };
        staged.run_ok(&["read-tree", to.as_str()]).await?;
        let files = place.path().join("files");
        create_folder(&files).await?;
        let mut prefix = OsString::from("--prefix=");
        prefix.push(&files);
        prefix.push("/");
        staged.run_ok_with_input(&["checkout-index".into(), "-z".into(), "--stdin".into(), prefix], written.clone()).await?;
        // A state that travels holds data of the runtime's own, too.
        let folder = ConfinedFolder::open(folder)?.with_reserved();
        let staged = ConfinedFolder::open(&files)?.with_reserved();
        for path in paths(&removed) {
            // A name such as `~` is that of a file here.
            let (folder, path) = (folder.clone(), Path::new(".").join(as_path(path)));
            step(move || remove(&folder, &path)).await?;
        }
        for path in paths(&written) {
            let (folder, staged, path) = (folder.clone(), staged.clone(), Path::new(".").join(as_path(path)));
            step(move || replace(&folder, &staged, &path)).await?;
        }
        self.git.run_ok(&["read-tree", "-i", "-m", from.as_str(), to.as_str()]).await.map(drop)
    }

    /// Gives the files of the folder, which nobody else uses yet, the permissions that they have in another folder.
    pub(crate) async fn copy_permissions(&self, from: &Path) -> Result<(), WorkTreeError> {
        let listed = self.git.run_ok(&["ls-files", "-z"]).await?;
        let (from, to) = (ConfinedFolder::open(from)?, ConfinedFolder::open(&self.git.folder)?.with_reserved());
        step(move || paths(&listed).try_for_each(|path| keep_permissions(&from, &to, &Path::new(".").join(as_path(path))))).await
    }
}

async fn step(change: impl FnOnce() -> Result<(), FileError> + Send + 'static) -> Result<(), WorkTreeError> {
    let changed = spawn_blocking(change).await.map_err(std::io::Error::other).map_err(of(Path::new(".")))?;
    Ok(changed?)
}

/// Removes a file, and the folders around it that are empty then.
fn remove(folder: &ConfinedFolder, path: &Path) -> Result<(), FileError> {
    match folder.remove_entry(path) {
        Err(error) if !matches!(error, FileError::NotFound { .. }) => return Err(error),
        _ => {}
    }
    for around in path.ancestors().skip(1).take_while(|around| *around != Path::new(".")) {
        if folder.remove_empty_folder(around).is_err() {
            break;
        }
    }
    Ok(())
}

/// Moves a file or link from the staged ones into the folder.
fn replace(folder: &ConfinedFolder, staged: &ConfinedFolder, path: &Path) -> Result<(), FileError> {
    if let Some(parent) = path.parent() {
        folder.put_folders(parent)?;
    }
    if folder.entry(path)?.is_some_and(|found| found.kind == EntryKind::Folder) {
        // Obstacles were looked for before, so only empty folders are left.
        remove_folders(folder, path)?;
    }
    keep_permissions(folder, staged, path)?;
    folder.take_entry(path, staged, path)
}

/// Gives a staged file the permissions of the file that it replaces.
fn keep_permissions(folder: &ConfinedFolder, staged: &ConfinedFolder, path: &Path) -> Result<(), FileError> {
    let (Some(old), Some(new)) = (folder.entry(path)?, staged.entry(path)?) else { return Ok(()) };
    let mode = kept_mode(old.mode, new.mode);
    if [old.kind, new.kind] == [EntryKind::File; 2] && mode != new.mode {
        staged.set_mode(path, mode)?;
    }
    Ok(())
}

/// Returns the mode of a file that had the mode `old`. Of the mode in a state, only whether it is executable counts.
const fn kept_mode(old: u32, in_state: u32) -> u32 {
    let old = old & 0o777;
    match (old & 0o100 != 0, in_state & 0o100 != 0) {
        // The users that may read the file may execute it.
        (false, true) => old | ((old & 0o444) >> 2),
        (true, false) => old & !0o111,
        _ => old,
    }
}

/// Removes a folder that contains nothing but folders.
fn remove_folders(folder: &ConfinedFolder, path: &Path) -> Result<(), FileError> {
    for (name, found) in folder.entries(path)? {
        if found.kind == EntryKind::Folder {
            remove_folders(folder, &path.join(name))?;
        }
    }
    folder.remove_empty_folder(path)
}

#[cfg(unix)]
fn is_same_device(one: &Path, other: &Path) -> bool {
    let device = |path: &Path| path.metadata().map(|found| std::os::unix::fs::MetadataExt::dev(&found)).ok();
    device(one) == device(other)
}

#[cfg(not(unix))]
fn is_same_device(one: &Path, other: &Path) -> bool {
    one.components().next() == other.components().next()
}

#[cfg(test)]
mod tests {
    use super::kept_mode;

    #[test]
    fn only_execution_comes_from_the_state() {
        for (old, in_state, expected) in [
            (0o644, 0o644, 0o644),
            (0o600, 0o644, 0o600),
            (0o600, 0o755, 0o700),
            (0o640, 0o755, 0o750),
            (0o744, 0o755, 0o744),
            (0o755, 0o644, 0o644),
            (0o4711, 0o644, 0o600),
        ] {
            assert_eq!(kept_mode(old, in_state), expected, "{old:o} {in_state:o}");
        }
    }
}
