//! Merges of the work of a task without a folder, where states go from host to host.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use aime_progress_management::ConflictKind;

use crate::{
    Blob, Commit, FileConflict, WorkTree, WorkTreeError,
    git::Git,
    tree::{NOBODY, as_path, line, of, paths},
};

/// Folder of the own versions of files in a conflict, in the folder of the work.
const OWN_VERSIONS: &str = "own";
/// File beside it, which says that the versions stay.
const KEPT: &str = "kept";
/// Mode of a file.
const FILE: &str = "100644";

/// Result of merging the work of a task into the state that all tasks share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkMerged {
    /// The work is in the shared state.
    Clean {
        /// The shared state with the work.
        shared: Commit,
        /// Conflicts that the work has resolved. Those with an own version were resolved in favour of another version, and the shared state keeps
        /// the own one.
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

/// Changes of paths in a tree; `None` removes a path.
type Entries = Vec<(PathBuf, Option<Blob>)>;

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
    ) -> Result<WorkMerged, WorkTreeError> {
        let open = self.left_of(open.to_vec(), theirs).await?;
        if open.iter().any(|conflict| !conflict.hunks.is_empty()) {
            return Ok(WorkMerged::Conflict { shared: ours.clone(), private: theirs.clone(), conflicts: open });
        }
        let (tree, conflicts) = self.merge_trees(ours, theirs).await?;
        // The work may have changed the copies of its own versions that it can see.
        let mut kept: Entries = self.entries(ours, home).await?.into_iter().map(|(path, blob)| (path, Some(blob))).collect();
        if conflicts.is_empty() {
            let (resolved, removed) = self.settled(open, &tree, &mut kept).await?;
            kept.extend(removed.into_iter().map(|path| (path, None)));
            let tree = self.with_entries(&tree, &kept).await?;
            return Ok(WorkMerged::Clean { shared: self.joined(&tree, ours, theirs).await?, resolved });
        }
        let conflicts = self.keep_own(theirs, conflicts, home, &mut kept).await?;
        let shared = self.with_entries(ours.as_str(), &kept).await?;
        let shared = self.commit(&shared, &[ours], NOBODY).await?;
        let private = self.with_entries(&tree, &kept).await?;
        let private = self.joined(&private, &shared, theirs).await?;
        Ok(WorkMerged::Conflict { shared, private, conflicts })
    }

    /// Adds the work's own versions of the files in conflicts to those that are kept. Versions of earlier conflicts get a number.
    async fn keep_own(
        &self,
        theirs: &Commit,
        conflicts: Vec<FileConflict>,
        home: &Path,
        kept: &mut Entries,
    ) -> Result<Vec<FileConflict>, WorkTreeError> {
        let mut found = Vec::new();
        for conflict in conflicts {
            let Some(blob) = self.blob(theirs.as_str(), Path::new(&conflict.path)).await? else {
                found.push(conflict);
                continue;
            };
            let own = home.join(OWN_VERSIONS).join(&conflict.path);
            if let Some((_, Some(older))) = kept.iter().find(|(path, _)| *path == own).cloned()
                && older != blob
            {
                let numbered = |number: u32| PathBuf::from(format!("{}.{number}", own.display()));
                let free = (1..).map(numbered).find(|name| kept.iter().all(|(path, _)| path != name));
                kept.extend(free.map(|free| (free, Some(older))));
            }
            kept.retain(|(path, _)| *path != own);
            kept.push((own.clone(), Some(blob)));
            found.push(FileConflict { own: Some(own), ..conflict });
        }
        kept.push((home.join(KEPT), Some(self.empty().await?)));
        Ok(found)
    }

    /// Returns the resolved conflicts, and the kept paths that are not needed any more: own versions of text files, where both versions were seen,
    /// and those that were chosen.
    async fn settled(
        &self,
        open: Vec<FileConflict>,
        tree: &str,
        kept: &mut Entries,
    ) -> Result<(Vec<FileConflict>, Vec<PathBuf>), WorkTreeError> {
        let (mut resolved, mut removed) = (Vec::new(), Vec::new());
        for conflict in open {
            let version =
                conflict.own.as_ref().and_then(|own| kept.iter().find(|(path, _)| path == own)).and_then(|(_, blob)| blob.clone());
            let is_needed = match version {
                None => false,
                Some(_) if conflict.kind == ConflictKind::Text => false,
                version => version != self.blob(tree, Path::new(&conflict.path)).await?,
            };
            if !is_needed && let Some(own) = &conflict.own {
                kept.retain(|(path, _)| path != own);
                removed.push(own.clone());
            }
            resolved.push(FileConflict { own: conflict.own.filter(|_| is_needed), hunks: String::new(), ..conflict });
        }
        if let [(marker, _)] = kept.as_slice()
            && marker.ends_with(KEPT)
        {
            removed.push(marker.clone());
            kept.clear();
        }
        Ok((resolved, removed))
    }

    /// Returns the content of a path in a tree, or in a commit.
    async fn blob(&self, tree: &str, path: &Path) -> Result<Option<Blob>, WorkTreeError> {
        Ok(self.listed(tree, &[], path).await?.into_iter().find(|(found, _)| found == path).map(|(_, blob)| blob))
    }

    /// Returns the files beneath a folder of a commit.
    async fn entries(&self, commit: &Commit, folder: &Path) -> Result<Vec<(PathBuf, Blob)>, WorkTreeError> {
        self.listed(commit.as_str(), &["-r"], folder).await
    }

    async fn listed(&self, tree: &str, options: &[&str], path: &Path) -> Result<Vec<(PathBuf, Blob)>, WorkTreeError> {
        let mut list: Vec<OsString> = ["--literal-pathspecs", "ls-tree", "-z"].iter().chain(options).map(Into::into).collect();
        list.extend([tree.into(), "--".into(), path.into()]);
        let listed = self.git.must("look into a state", &list).await?;
        Ok(paths(&listed).filter_map(entry).collect())
    }

    /// Writes a tree with changed paths.
    async fn with_entries(&self, tree: &str, entries: &Entries) -> Result<String, WorkTreeError> {
        let what = "write a state";
        let place = tempfile::tempdir_in(&self.git.repository).map_err(of(&self.git.repository))?;
        let git = Git { index: Some(place.path().join("index")), ..self.git.clone() };
        git.must(what, &["read-tree", tree]).await?;
        let mut input = Vec::new();
        for (path, blob) in entries {
            let (mode, id) = blob.as_ref().map_or(("0", "0000000000000000000000000000000000000000"), |blob| (&blob.mode, &blob.id));
            input.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            input.extend_from_slice(path.as_os_str().as_encoded_bytes());
            input.push(0);
        }
        git.must_read(what, &["update-index", "--add", "--replace", "-z", "--index-info"], input).await?;
        Ok(line(git.must(what, &["write-tree"]).await?))
    }

    /// Returns the empty file.
    async fn empty(&self) -> Result<Blob, WorkTreeError> {
        let id = self.git.must_read("write a file of a state", &["hash-object", "-w", "--stdin"], Vec::new()).await?;
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
