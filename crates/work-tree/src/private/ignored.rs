//! Files that `.gitignore` excludes: those that a repository of the shared folder tracks are recorded, and new ones of private folders are
//! listed.

use std::{
    collections::{BTreeSet, HashSet},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use aime_sandbox::{CACHE_FOLDERS, is_generated};
use tokio::fs;

use super::{PrivateFolder, PrivateFolders, homes};
use crate::{
    WorkTreeError,
    tree::{as_path, exclusion, is_there, is_within, of, paths},
};

impl PrivateFolders {
    /// Puts the excluded files that the repositories of the shared folder track into the index, which `git add` does with others only.
    pub(super) async fn add_tracked(&self) -> Result<(), WorkTreeError> {
        let (git, left_out) = (&self.shared.git, self.left_out().await?);
        let is_recorded = |path: &Path| {
            let around = path.parent().unwrap_or(path);
            let found = git.folder.join(path).symlink_metadata();
            is_within(path)
                && !is_left_out(path, &left_out)
                && is_there(&git.folder, around)
                && found.is_ok_and(|found| found.is_file() || found.is_symlink())
        };
        let mut tracked = Vec::new();
        for inside in [PathBuf::new()].into_iter().chain(self.shared.submodules().await?) {
            let folder = git.folder.join(&inside);
            if fs::symlink_metadata(folder.join(".git")).await.is_err() {
                continue;
            }
            let list = ["ls-files", "--cached", "--ignored", "--exclude-standard", "-z"].map(OsString::from);
            let listed = git.run_plain([OsString::from("-C"), folder.into()].into_iter().chain(list).collect(), Vec::new()).await?;
            // A repository that `git` cannot read tracks nothing.
            let listed = if listed.code == 0 { listed.stdout } else { Vec::new() };
            for path in paths(&listed).map(|path| inside.join(as_path(path))).filter(|path| is_recorded(path)) {
                tracked.extend_from_slice(path.as_os_str().as_encoded_bytes());
                tracked.push(0);
            }
        }
        if tracked.is_empty() {
            return Ok(());
        }
        let add = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
        git.run_ok_with_input(&add, tracked).await.map(drop)
    }

    /// Returns the files in a private folder that `.gitignore` excludes and the shared folder lacks, relative to it and without caches. They
    /// are never merged.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn ignored(&self, private: &PrivateFolder) -> Result<BTreeSet<PathBuf>, WorkTreeError> {
        self.ignored_in(&private.home).await
    }

    /// Returns [such files](Self::ignored) of all private folders.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn all_ignored(&self) -> Result<BTreeSet<PathBuf>, WorkTreeError> {
        let mut ignored = BTreeSet::new();
        for home in homes(&self.place).await? {
            ignored.extend(self.ignored_in(&home).await?);
        }
        Ok(ignored)
    }

    async fn ignored_in(&self, home: &Path) -> Result<BTreeSet<PathBuf>, WorkTreeError> {
        let folder = home.join("folder");
        if fs::symlink_metadata(&folder).await.is_err() {
            return Ok(BTreeSet::new());
        }
        let list = ["ls-files", "--others", "--ignored", "--exclude-per-directory=.gitignore", "-z"];
        let listed = self.private(&folder, &home.join("index")).git.run_ok(&list).await?;
        let listed: BTreeSet<PathBuf> = paths(&listed).map(|path| as_path(path).to_owned()).collect();
        let is_mark = |path: &Path| path.file_name().is_some_and(|name| is_generated(std::iter::once(Path::new(name))));
        let generated: HashSet<&Path> = listed.iter().filter(|path| is_mark(path)).filter_map(|path| path.parent()).collect();
        let left_out = self.left_out().await?;
        let is_new = |path: &Path| {
            !is_left_out(path, &left_out)
                && !path.ancestors().any(|around| generated.contains(around))
                && self.shared.git.folder.join(path).symlink_metadata().is_err()
        };
        Ok(listed.iter().filter(|path| is_new(path)).cloned().collect())
    }

    /// Returns the lines of the file with the paths that are never recorded.
    async fn left_out(&self) -> Result<HashSet<String>, WorkTreeError> {
        let place = self.shared.exclude();
        let text = fs::read_to_string(&place).await.map_err(of(&place))?;
        Ok(text.lines().map(str::to_owned).collect())
    }
}

/// Returns whether a path is in a cache or in one of the paths that are never recorded.
fn is_left_out(path: &Path, left_out: &HashSet<String>) -> bool {
    let is_cache = |name: &OsStr| CACHE_FOLDERS.iter().any(|cache| name == *cache);
    path.iter().any(is_cache) || path.ancestors().any(|around| left_out.contains(&exclusion(around)))
}
