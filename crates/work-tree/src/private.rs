//! Private folders: concurrent work, each in a folder of its own, whose changes are merged into the shared folder.

mod effects;
mod ignored;
mod lent;
mod own_path;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use aime_progress_management::ConflictKind;
use tokio::{fs, task::spawn_blocking};

pub use self::effects::UnmergedFile;
use crate::{
    Commit, FileConflict, MergeResult, RepositoryLock, WorkTree, WorkTreeError,
    git::Git,
    own_versions::OwnVersions,
    tree::{as_path, create_folder, is_there, is_within, line, of, paths, write, write_whole},
};

/// Maximum number of times that a merge is restarted because the shared folder was changed in the meantime.
const TRIES: u32 = 3;
/// Files beside a private folder: the state that its work is based on, the conflicts that are open, and those that were resolved.
const BASE: &str = "base";
const CONFLICT: &str = "conflict";
const RESOLVED: &str = "resolved";
/// Folder beside a private folder: its own versions of the files in a conflict. Commands can read them there.
const OWN_VERSIONS: &str = "own";
/// File beside a private folder: the tree of its own versions.
const OWN_TREE: &str = "own-tree";
/// The tree without files, which `git` knows without an object.
const NOTHING: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// File beside a private folder that stays, because its changes are not in the shared folder.
const KEPT: &str = "kept";
/// State that a merge is putting into the shared folder.
const MERGING: &str = "merging";
/// Folder of the repository beside the private folders.
const REPOSITORY: &str = "repository";
/// File beside a private folder: the paths elsewhere that commands in it may read.
const READS: &str = "reads";
/// File beside a private folder: its state when a check began that is to leave no effects.
const CHECKED: &str = "checked";
/// Name of the last state of the shared folder.
const SHARED: &str = "shared";

/// Private folders of a shared folder. Make only one call of [`begin`](Self::begin) or [`merge`](Self::merge) at a time; other processes are
/// locked out.
#[derive(Debug)]
pub struct PrivateFolders {
    shared: WorkTree,
    place: PathBuf,
    _held: RepositoryLock,
}

/// A private folder.
#[derive(Debug, Clone)]
pub struct PrivateFolder {
    tree: WorkTree,
    home: PathBuf,
    reads: Vec<PathBuf>,
}

/// Ignored files and folders that private folders need, relative to the shared folder. Those that do not exist are skipped, and so are those
/// behind a symbolic link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extras {
    /// Copied into each private folder.
    pub copy: Vec<PathBuf>,
    /// Linked to the shared folder, where commands can read them. They are never merged.
    pub link: Vec<PathBuf>,
}

/// Outcome of merging a private folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderMerge {
    /// The private folder has no changes.
    Unchanged,
    /// The shared folder contains the work.
    Clean,
    /// The shared folder contains the work after these conflicts were resolved. If the work's version of a whole file was given up,
    /// [`own`](FileConflict::own) is the path of its copy, which [`remove`](PrivateFolders::remove) keeps.
    Resolved(Vec<FileConflict>),
    /// Others changed the same parts of these paths, and the shared folder is unchanged. In the private folder, text files contain both
    /// versions between conflict markers; of other files it has the shared folder's version, or the one that was not deleted.
    Conflict(Vec<FileConflict>),
}

impl PrivateFolders {
    /// Opens the data in `place` for a shared folder. `path` is the `PATH` on which `git` is found.
    ///
    /// # Errors
    /// [`WorkTreeError`], as for [`WorkTree::open`] and [`WorkTree::lock`].
    pub async fn open(folder: &Path, place: &Path, path: OsString) -> Result<Self, WorkTreeError> {
        let shared = WorkTree::open(folder, &place.join(REPOSITORY), path).await?;
        let held = shared.lock(true).await?;
        let folders = Self { shared, place: place.to_owned(), _held: held };
        folders.finish().await?;
        Ok(folders)
    }

    /// Finishes a merge whose process died while it changed the files of the shared folder, unless somebody changed the same parts since.
    async fn finish(&self) -> Result<(), WorkTreeError> {
        let Some(whole) = commit(&self.place.join(MERGING)).await? else { return Ok(()) };
        self.shared.free().await?;
        let now = self.now().await?;
        if let MergeResult::Clean(both) = self.shared.merge(&now, &whole).await?
            && self.shared.may_update(&now, &both).await.is_ok()
        {
            self.shared.put(&now, &both).await?;
            write_whole(&self.place.join(SHARED), both.as_str()).await?;
        }
        removed(&self.place.join(MERGING)).await
    }

    /// Returns whether a private copy would hold at most so many files and bytes, as files are in the shared folder now.
    ///
    /// # Errors
    /// [`WorkTreeError`] if `git` cannot list the files.
    pub async fn fits(&self, most_files: usize, most_bytes: u64) -> Result<bool, WorkTreeError> {
        let list = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
        let listed = match self.shared.git.run_ok(&list).await {
            Err(WorkTreeError::TooMuch { .. }) => return Ok(false),
            listed => listed?,
        };
        let (mut files, mut bytes) = (0, 0);
        for path in paths(&listed) {
            let Ok(found) = fs::symlink_metadata(self.shared.git.folder.join(as_path(path))).await else { continue };
            files += 1;
            bytes += found.len();
            if files > most_files || bytes > most_bytes {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the private folder with this name. A new one is a copy of the shared folder with the `extras`, but without the other files that
    /// `.gitignore` excludes and the repository does not track; an existing one stays unchanged.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn begin(&self, name: &str, extras: &Extras) -> Result<PrivateFolder, WorkTreeError> {
        let home = self.place.join(name);
        let (folder, index) = (home.join("folder"), home.join("index"));
        self.free(&home).await?;
        if fs::symlink_metadata(&folder).await.is_err() {
            match fs::remove_dir_all(&home).await {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(of(&home)(error)),
                _ => {}
            }
            let new = home.join("new");
            create_folder(&new).await?;
            self.shared.leave_out(&extras.link).await?;
            let now = self.now().await?;
            let tree = self.private(&new, &index);
            tree.reset(&now).await?;
            tree.copy_permissions(&self.shared.git.folder).await?;
            let mut reads = Vec::new();
            for repository in [PathBuf::new()].into_iter().chain(self.shared.submodules().await?) {
                reads.extend(tree.lend_repository(&self.shared.git.folder, &repository, &extras.link).await?);
            }
            reads.extend(self.copy_extras(extras, &new).await?);
            let own_versions = home.join(OWN_VERSIONS);
            create_folder(&own_versions).await?;
            reads.push(own_versions.to_string_lossy().into_owned());
            write_whole(&home.join(READS), &reads.join("\0")).await?;
            write_whole(&home.join(BASE), now.as_str()).await?;
            // The rename makes the complete folder visible.
            fs::rename(&new, &folder).await.map_err(of(&folder))?;
        }
        let reads = fs::read_to_string(home.join(READS)).await.map_err(of(&home))?;
        let reads = reads.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
        let private = PrivateFolder { tree: self.private(&folder, &index), home, reads };
        private.discard_interrupted_effects().await?;
        Ok(private)
    }

    /// Brings the extras into a new private folder. Returns the paths that links in it lead to.
    async fn copy_extras(&self, extras: &Extras, new: &Path) -> Result<Vec<String>, WorkTreeError> {
        let shared = &self.shared.git.folder;
        let places = |paths: &[PathBuf]| -> Vec<(PathBuf, PathBuf)> {
            let there = paths.iter().filter(|path| is_within(path) && is_there(shared, path));
            there.map(|path| (shared.join(path), new.join(path))).collect()
        };
        for (from, to) in places(&extras.copy) {
            create_folder(to.parent().unwrap_or(new)).await?;
            let place = to.clone();
            let copied = spawn_blocking(move || copy(from, to)).await.map_err(std::io::Error::other);
            copied.flatten().map_err(of(&place))?;
        }
        let mut reads = Vec::new();
        for (from, to) in places(&extras.link) {
            create_folder(to.parent().unwrap_or(new)).await?;
            link(&from, &to).map_err(of(&to))?;
            reads.push(from.to_string_lossy().into_owned());
        }
        Ok(reads)
    }

    /// Merges the changes of a private folder by the author `by` into the shared folder, with a three-way merge of `git`. After a conflict,
    /// the next merge takes the private folder as the resolution, once it contains no conflict markers.
    ///
    /// # Errors
    /// [`WorkTreeError`]: the shared folder may then contain a part of the work, and the next merge completes it.
    pub async fn merge(&self, private: &PrivateFolder, by: &str) -> Result<FolderMerge, WorkTreeError> {
        self.free(&private.home).await?;
        let (base, mut tries) = (commit(&private.home.join(BASE)).await?, 0);
        let theirs = private.tree.record_for(base.as_ref(), &[], by).await?;
        let open = private.open_conflicts(&theirs).await?;
        if open.iter().any(|conflict| !conflict.hunks.is_empty()) {
            return Ok(FolderMerge::Conflict(open));
        }
        if Some(&theirs) == base.as_ref() && open.is_empty() {
            // A crash may have kept the caller from learning that a conflict was resolved.
            let resolved = private.resolved().await?;
            return Ok(if resolved.is_empty() { FolderMerge::Unchanged } else { FolderMerge::Resolved(resolved) });
        }
        loop {
            let ours = self.now().await?;
            let named = private.with_shared_path((&self.shared.git.folder, &ours), base.as_ref(), &theirs, by).await?;
            let (mut tree, mut conflicts) = self.shared.merge_trees(&ours, &named).await?;
            if !conflicts.is_empty() && named != theirs {
                // The actor goes on in the private folder.
                (tree, conflicts) = self.shared.merge_trees(&ours, &theirs).await?;
            }
            let both = self.shared.joined(&tree, &ours, if conflicts.is_empty() { &named } else { &theirs }).await?;
            if !conflicts.is_empty() {
                let before = private.own_versions().await?;
                let mut own = before.clone();
                let conflicts = private.tree.keep_own(&mut own, &theirs, conflicts, &private.home.join(OWN_VERSIONS)).await?;
                private.put_own(&own, &before).await?;
                write_list(&private.home.join(CONFLICT), &conflicts).await?;
                private.tree.reset(&both).await?;
                write_whole(&private.home.join(BASE), both.as_str()).await?;
                return Ok(FolderMerge::Conflict(private.open_conflicts(&both).await?));
            }
            tries += 1;
            match self.shared.may_update(&ours, &both).await {
                Err(WorkTreeError::Git { .. }) if tries < TRIES => continue,
                may => may?,
            }
            write_whole(&self.place.join(MERGING), both.as_str()).await?;
            self.shared.put(&ours, &both).await?;
            write_whole(&self.place.join(SHARED), both.as_str()).await?;
            removed(&self.place.join(MERGING)).await?;
            private.tree.reset(&both).await?;
            private.settle(open, &both).await?;
            write_whole(&private.home.join(BASE), both.as_str()).await?;
            let resolved = private.resolved().await?;
            return Ok(if resolved.is_empty() { FolderMerge::Clean } else { FolderMerge::Resolved(resolved) });
        }
    }

    /// Removes a private folder whose changes are in the shared folder.
    ///
    /// # Errors
    /// [`WorkTreeError`] if it cannot be removed.
    pub async fn end(&self, private: &PrivateFolder) -> Result<(), WorkTreeError> {
        let (home, old) = (&private.home, private.home.join("new"));
        if is_kept(home).await {
            return Ok(());
        }
        // The rename hides the folder before a part of it is gone.
        fs::rename(private.path(), &old).await.map_err(of(&old))?;
        fs::remove_dir_all(home).await.map_err(of(home))
    }

    /// Removes all private folders except those with changes that are not in the shared folder: of a conflict, or of a task that was stopped.
    /// Returns the remaining folders.
    ///
    /// # Errors
    /// [`WorkTreeError`] if a folder cannot be recorded or removed.
    pub async fn remove(self) -> Result<Vec<PathBuf>, WorkTreeError> {
        let mut left = Vec::new();
        for home in homes(&self.place).await? {
            self.free(&home).await?;
            let folder = home.join("folder");
            if fs::symlink_metadata(&folder).await.is_ok() {
                let tree = self.private(&folder, &home.join("index"));
                let base = commit(&home.join(BASE)).await?;
                if is_kept(&home).await || Some(tree.record(base.as_ref(), &[]).await?) != base {
                    write(&home.join(KEPT), "").await?;
                    left.push(folder);
                    continue;
                }
            }
            fs::remove_dir_all(&home).await.map_err(of(&home))?;
        }
        if left.is_empty() {
            fs::remove_dir_all(&self.place).await.map_err(of(&self.place))?;
        }
        Ok(left)
    }

    /// Returns the folders in `place` that [`remove`](Self::remove) has not seen. Those are the leftovers of a crash if nobody works in them.
    ///
    /// # Errors
    /// [`WorkTreeError::File`].
    pub async fn leftovers(place: &Path) -> Result<Vec<PathBuf>, WorkTreeError> {
        let (homes, mut left) = (homes(place).await?, Vec::new());
        let is_empty = homes.is_empty();
        for home in homes {
            if !is_kept(&home).await {
                left.push(home);
            }
        }
        let is_there = fs::symlink_metadata(place).await.is_ok();
        Ok(if is_empty && is_there { vec![place.to_owned()] } else { left })
    }

    /// Returns true if a merge was cut off that changes the files of the shared folder. [`open`](Self::open) finishes it.
    pub async fn has_interrupted_merge(place: &Path) -> bool {
        fs::symlink_metadata(place.join(MERGING)).await.is_ok()
    }

    /// Records the shared folder.
    async fn now(&self) -> Result<Commit, WorkTreeError> {
        let path = self.place.join(SHARED);
        self.add_tracked().await?;
        let now = self.shared.record(commit(&path).await?.as_ref(), &[]).await?;
        write_whole(&path, now.as_str()).await?;
        Ok(now)
    }

    fn private(&self, folder: &Path, index: &Path) -> WorkTree {
        WorkTree { git: Git { folder: folder.to_owned(), index: Some(index.to_owned()), ..self.shared.git.clone() } }
    }

    /// Removes the locks of a killed `git`.
    async fn free(&self, home: &Path) -> Result<(), WorkTreeError> {
        self.shared.free().await?;
        drop(fs::remove_file(home.join("index.lock")).await);
        Ok(())
    }
}

impl PrivateFolder {
    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.tree.git.folder
    }

    /// Returns the paths outside of the folder that commands in it may read: the objects of the shared folder's repositories, and linked paths.
    #[must_use]
    pub fn reads(&self) -> &[PathBuf] {
        &self.reads
    }

    /// Returns the open conflicts in a state of the folder. Those of text files whose markers are removed have no hunks.
    async fn open_conflicts(&self, state: &Commit) -> Result<Vec<FileConflict>, WorkTreeError> {
        self.tree.remaining_conflicts(self.listed(CONFLICT).await?, state).await
    }

    /// Returns the conflicts that were resolved. Only those that were resolved in favour of another version have an own version.
    async fn resolved(&self) -> Result<Vec<FileConflict>, WorkTreeError> {
        self.listed(RESOLVED).await
    }

    /// Reads a list of conflicts, each with the own version of the file if there is one.
    async fn listed(&self, name: &str) -> Result<Vec<FileConflict>, WorkTreeError> {
        let place = self.home.join(name);
        let text = match fs::read_to_string(&place).await {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text.map_err(of(&place))?,
        };
        let mut words = text.split('\0');
        let mut listed = Vec::new();
        while let (Some(kind), Some(path)) = (words.next(), words.next()) {
            let Some(kind) = ConflictKind::ALL.into_iter().find(|known| known.name() == kind) else { continue };
            let own = Some(self.home.join(OWN_VERSIONS).join(path)).filter(|own| own.symlink_metadata().is_ok());
            listed.push(FileConflict { path: path.to_owned(), kind, hunks: String::new(), own });
        }
        Ok(listed)
    }

    /// Returns the own versions of files in conflicts.
    async fn own_versions(&self) -> Result<OwnVersions, WorkTreeError> {
        match commit(&self.home.join(OWN_TREE)).await? {
            Some(tree) => self.tree.beneath(tree.as_str(), Path::new("")).await,
            None => Ok(OwnVersions::default()),
        }
    }

    /// Puts the own versions where nothing in the folder can change them.
    async fn put_own(&self, own: &OwnVersions, before: &OwnVersions) -> Result<(), WorkTreeError> {
        let (changes, place) = (own.since(before), self.home.join(OWN_VERSIONS));
        for (name, _) in changes.iter().filter(|(_, blob)| blob.is_none()) {
            removed(&place.join(name)).await?;
        }
        let kept: Vec<_> = changes.into_iter().filter(|(_, blob)| blob.is_some()).collect();
        let tree: Commit = self.tree.with_entries(NOTHING, &kept).await?.try_into()?;
        let index = tempfile::tempdir_in(&self.tree.git.repository).map_err(of(&self.tree.git.repository))?;
        let staged = Git { index: Some(index.path().join("index")), ..self.tree.git.clone() };
        staged.run_ok(&["read-tree", tree.as_str()]).await?;
        let mut prefix = OsString::from("--prefix=");
        prefix.push(place);
        prefix.push("/");
        staged.run_ok(&["checkout-index".into(), "--all".into(), "--force".into(), "--quiet".into(), prefix]).await?;
        // A crash before this keeps the earlier versions in the list, and the next merge begins again.
        write_whole(&self.home.join(OWN_TREE), tree.as_str()).await
    }

    /// Records that the open conflicts are resolved in a state of the folder, and removes the own versions that are not needed any more.
    async fn settle(&self, open: Vec<FileConflict>, state: &Commit) -> Result<(), WorkTreeError> {
        if open.is_empty() {
            return Ok(());
        }
        let before = self.own_versions().await?;
        let mut own = before.clone();
        let settled = self.tree.settle_own(&mut own, state.as_str(), open).await?;
        self.put_own(&own, &before).await?;
        if !own.is_empty() {
            write(&self.home.join(KEPT), "").await?;
        }
        let mut resolved = self.resolved().await?;
        resolved.retain(|known| settled.iter().all(|conflict| conflict.path != known.path));
        resolved.extend(settled);
        write_list(&self.home.join(RESOLVED), &resolved).await?;
        removed(&self.home.join(CONFLICT)).await
    }
}

/// Writes a list of conflicts.
async fn write_list(path: &Path, conflicts: &[FileConflict]) -> Result<(), WorkTreeError> {
    let words: Vec<&str> = conflicts.iter().flat_map(|conflict| [conflict.kind.name(), &conflict.path]).collect();
    write_whole(path, &words.join("\0")).await
}

/// Copies a file, or a folder with all files in it. Existing files stay, and links are copied as links.
fn copy(from: PathBuf, to: PathBuf) -> std::io::Result<()> {
    let mut open = vec![(from, to)];
    while let Some((from, to)) = open.pop() {
        let found = from.symlink_metadata()?;
        if found.is_dir() {
            std::fs::create_dir_all(&to)?;
            for entry in from.read_dir()? {
                let name = entry?.file_name();
                open.push((from.join(&name), to.join(&name)));
            }
        } else if to.symlink_metadata().is_ok() {
            continue;
        } else if found.is_symlink() {
            link(&from.read_link()?, &to)?;
        } else if found.is_file() {
            std::fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link(target: &Path, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(windows)]
fn link(target: &Path, path: &Path) -> std::io::Result<()> {
    if target.is_dir() { std::os::windows::fs::symlink_dir(target, path) } else { std::os::windows::fs::symlink_file(target, path) }
}

/// Returns the folders in a place that each contain a private folder.
async fn homes(place: &Path) -> Result<Vec<PathBuf>, WorkTreeError> {
    let mut found = Vec::new();
    let mut entries = match fs::read_dir(place).await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        entries => entries.map_err(of(place))?,
    };
    while let Some(entry) = entries.next_entry().await.map_err(of(place))? {
        if entry.file_name() != REPOSITORY && entry.file_type().await.map_err(of(place))?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Returns true if a private folder stays after the end of the work in it.
async fn is_kept(home: &Path) -> bool {
    fs::symlink_metadata(home.join(KEPT)).await.is_ok() || fs::symlink_metadata(home.join(CONFLICT)).await.is_ok()
}

/// Removes a file that may not exist.
async fn removed(path: &Path) -> Result<(), WorkTreeError> {
    match fs::remove_file(path).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(of(path)(error)),
        _ => Ok(()),
    }
}

/// Reads the name of a commit from a file.
async fn commit(path: &Path) -> Result<Option<Commit>, WorkTreeError> {
    match fs::read(path).await {
        Ok(text) => Ok(Some(line(text).try_into()?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(of(path)(error)),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
