//! Merges of the work of a task without a folder, where states go from host to host.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{
    Blob, Commit, FileConflict, WorkTree, WorkTreeError,
    git::Git,
    own_versions::{Entries, OwnVersions},
    tree::{NOBODY, as_path, line, of, paths},
};

/// Folder of the own versions of files in a conflict, in the folder of the work.
const OWN_VERSIONS: &str = "own";
/// File beside it, which says that the versions stay.
const KEPT: &str = "kept";
/// Mode of a folder.
const FOLDER: &str = "040000";
/// Mode of a file.
const FILE: &str = "100644";

/// Result of merging the work of a task into the state that all tasks share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkMergeResult {
    /// The work is in the shared state.
    Clean {
        /// The shared state with the work.
        shared: Commit,
        /// Conflicts that the work has resolved. If its version of a whole file was given up, [`own`](FileConflict::own) is the path of its
        /// copy in the shared state.
        resolved: Vec<FileConflict>,
    },
    /// Others changed the same parts of some paths.
    Conflict {
        /// The shared state without the work, except that it keeps the own version of each path in a conflict.
        shared: Commit,
        /// State in which the task resolves the conflicts. Text files contain both versions between conflict markers; of other files it has the
        /// shared version, or the one that was not deleted.
        private: Commit,
        /// The conflicts.
        conflicts: Vec<FileConflict>,
    },
}

impl WorkTree {
    /// Merges the work of a task into the state that all tasks share, as [`PrivateFolders`](crate::PrivateFolders) does with folders. `open` are
    /// the conflicts that the work was to resolve: it is merged once it contains no conflict markers. `home` is the folder in the states, relative
    /// to their root, beneath which the own versions of files in a conflict are kept.
    ///
    /// # Errors
    /// [`WorkTreeError`], for example if one of the states is missing.
    pub async fn merge_work(
        &self,
        ours: &Commit,
        theirs: &Commit,
        open: &[FileConflict],
        home: &Path,
    ) -> Result<WorkMergeResult, WorkTreeError> {
        let open = self.remaining_conflicts(open.to_vec(), theirs).await?;
        if open.iter().any(|conflict| !conflict.hunks.is_empty()) {
            return Ok(WorkMergeResult::Conflict { shared: ours.clone(), private: theirs.clone(), conflicts: open });
        }
        let (tree, conflicts) = self.merge_trees(ours, theirs).await?;
        let place = home.join(OWN_VERSIONS);
        // The work may have changed the copies of its own versions that it can see.
        let before: OwnVersions = self.beneath(ours.as_str(), &place).await?;
        let mut own = before.clone();
        if conflicts.is_empty() {
            let resolved = self.settle_own(&mut own, &tree, open).await?;
            let kept = self.placed(&own, &before, home).await?;
            let tree = self.with_entries(&tree, &kept).await?;
            return Ok(WorkMergeResult::Clean { shared: self.joined(&tree, ours, theirs).await?, resolved });
        }
        let conflicts = self.keep_own(&mut own, theirs, conflicts, &place).await?;
        let kept = self.placed(&own, &before, home).await?;
        let shared = self.with_entries(ours.as_str(), &kept).await?;
        let shared = self.commit(&shared, &[ours], NOBODY).await?;
        let private = self.with_entries(&tree, &kept).await?;
        let private = self.joined(&private, &shared, theirs).await?;
        Ok(WorkMergeResult::Conflict { shared, private, conflicts })
    }

    /// Returns the own versions as paths of a state, with the file that says that they stay.
    async fn placed(&self, own: &OwnVersions, before: &OwnVersions, home: &Path) -> Result<Entries, WorkTreeError> {
        let marker = if own.is_empty() { None } else { Some(self.empty().await?) };
        if own.is_empty() && before.is_empty() {
            return Ok(Vec::new());
        }
        let place = home.join(OWN_VERSIONS);
        let versions = own.since(before).into_iter().map(|(name, blob)| (place.join(name), blob));
        Ok(versions.chain([(home.join(KEPT), marker)]).collect())
    }

    /// Returns the content of a path in a tree, or in a commit; `None` for a folder.
    pub(crate) async fn blob(&self, tree: &str, path: &Path) -> Result<Option<Blob>, WorkTreeError> {
        Ok(self.listed(tree, &[], path).await?.into_iter().find(|(found, blob)| found == path && blob.mode != FOLDER).map(|(_, blob)| blob))
    }

    /// Returns the files beneath a folder of a tree, or of a commit, by their paths in the folder.
    pub(crate) async fn beneath<C: FromIterator<(PathBuf, Blob)>>(&self, tree: &str, folder: &Path) -> Result<C, WorkTreeError> {
        let within = |(path, blob): (PathBuf, Blob)| Some((path.strip_prefix(folder).ok()?.to_owned(), blob));
        Ok(self.listed(tree, &["-r"], folder).await?.into_iter().filter_map(within).collect())
    }

    async fn listed(&self, tree: &str, options: &[&str], path: &Path) -> Result<Vec<(PathBuf, Blob)>, WorkTreeError> {
        let mut list: Vec<OsString> = ["--literal-pathspecs", "ls-tree", "-z"].iter().chain(options).map(Into::into).collect();
        list.push(tree.into());
        if path.components().next().is_some() {
            list.extend(["--".into(), path.into()]);
        }
        let listed = self.git.run_ok(&list).await?;
        Ok(paths(&listed).filter_map(entry).collect())
    }

    /// Writes a tree with changed paths.
    pub(crate) async fn with_entries(&self, tree: &str, entries: &Entries) -> Result<String, WorkTreeError> {
        let place = tempfile::tempdir_in(&self.git.repository).map_err(of(&self.git.repository))?;
        let git = Git { index: Some(place.path().join("index")), ..self.git.clone() };
        git.run_ok(&["read-tree", tree]).await?;
        let mut input = Vec::new();
        for (path, blob) in entries {
            let (mode, id) = blob.as_ref().map_or(("0", "0000000000000000000000000000000000000000"), |blob| (&blob.mode, &blob.id));
            input.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            input.extend_from_slice(path.as_os_str().as_encoded_bytes());
            input.push(0);
        }
        git.run_ok_with_input(&["update-index", "--add", "--replace", "-z", "--index-info"], input).await?;
        Ok(line(git.run_ok(&["write-tree"]).await?))
    }

    /// Returns the empty file.
    async fn empty(&self) -> Result<Blob, WorkTreeError> {
        let id = self.git.run_ok_with_input(&["hash-object", "-w", "--stdin"], Vec::new()).await?;
        Ok(Blob { mode: FILE.to_owned(), id: line(id) })
    }
}

/// Reads an entry of `git ls-tree`: `MODE TYPE OBJECT<tab>PATH`.
fn entry(entry: &[u8]) -> Option<(PathBuf, Blob)> {
    let at = entry.iter().position(|byte| *byte == b'\t')?;
    let about = String::from_utf8_lossy(entry.get(..at)?).into_owned();
    let mut words = about.split(' ');
    let (mode, id) = (words.next()?.to_owned(), words.nth(1)?.to_owned());
    Some((as_path(entry.get(at + 1..)?).to_owned(), Blob { mode, id }))
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
