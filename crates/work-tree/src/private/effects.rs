//! Effects of commands that must leave none in a private folder, and its changes that are not merged yet.

use std::path::PathBuf;

use super::{BASE, CHECKED, PrivateFolder, PrivateFolders, commit, removed};
use crate::{Commit, WorkTreeError, history::Blob, tree::write_whole};

/// Largest file whose content [`PrivateFolder::unmerged`] returns.
const MAX_FILE_BYTES: u64 = 1_000_000;

/// A file in a private folder that differs from the state that the work is based on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmergedFile {
    /// Path relative to the folder.
    pub path: PathBuf,
    /// Former and current content; empty if there is no file, and `None` if it is too large.
    pub content: Option<(Vec<u8>, Vec<u8>)>,
    /// True if the file existed.
    pub was_there: bool,
    /// True if the file exists.
    pub is_there: bool,
}

impl PrivateFolder {
    /// Returns the current state of the folder without ignored files.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn state(&self) -> Result<Commit, WorkTreeError> {
        self.tree.record(commit(&self.home.join(BASE)).await?.as_ref(), &[]).await
    }

    /// Begins a command that must leave no effects. [`discard_effects`](Self::discard_effects) ends it. If the process dies before that, the effects are
    /// put back when the folder is used again.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn begin_check(&self) -> Result<Commit, WorkTreeError> {
        self.discard_interrupted_effects().await?;
        let state = self.state().await?;
        write_whole(&self.home.join(CHECKED), state.as_str()).await?;
        Ok(state)
    }

    /// Puts the folder back to the state when a check began. Returns the paths that the check changed. Ignored files stay as they are.
    ///
    /// # Errors
    /// [`WorkTreeError`]: the next check or use of the folder tries it again.
    pub async fn discard_effects(&self, state: &Commit) -> Result<Vec<PathBuf>, WorkTreeError> {
        let now = self.state().await?;
        let changed = self.tree.changed(state, &now).await?;
        if !changed.is_empty() {
            self.tree.reset(state).await?;
        }
        removed(&self.home.join(CHECKED)).await?;
        Ok(changed.into_iter().map(|changed| changed.path).collect())
    }

    /// Puts back the effects of a check whose process died.
    pub(super) async fn discard_interrupted_effects(&self) -> Result<(), WorkTreeError> {
        match commit(&self.home.join(CHECKED)).await? {
            Some(state) => self.discard_effects(&state).await.map(drop),
            None => Ok(()),
        }
    }

    /// Returns the paths of the files that differ from the state that the work is based on.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn unmerged_paths(&self) -> Result<Vec<PathBuf>, WorkTreeError> {
        let Some(base) = commit(&self.home.join(BASE)).await? else { return Ok(Vec::new()) };
        let changed = self.tree.changed(&base, &self.state().await?).await?;
        Ok(changed.into_iter().map(|changed| changed.path).collect())
    }

    /// Returns the files that differ from the state that the work is based on: its changes since the beginning or the last merge.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn unmerged(&self) -> Result<Vec<UnmergedFile>, WorkTreeError> {
        let Some(base) = commit(&self.home.join(BASE)).await? else { return Ok(Vec::new()) };
        let now = self.state().await?;
        let mut unmerged = Vec::new();
        for changed in self.tree.changed(&base, &now).await? {
            let blobs: Vec<&Blob> = changed.before.iter().chain(&changed.after).collect();
            let is_short = self.tree.sizes(&blobs).await?.into_iter().all(|size| size <= MAX_FILE_BYTES);
            let content = if is_short { Some((self.bytes(&changed.before).await?, self.bytes(&changed.after).await?)) } else { None };
            let (was_there, is_there) = (changed.before.is_some(), changed.after.is_some());
            unmerged.push(UnmergedFile { path: changed.path, content, was_there, is_there });
        }
        Ok(unmerged)
    }

    async fn bytes(&self, blob: &Option<Blob>) -> Result<Vec<u8>, WorkTreeError> {
        match blob {
            Some(blob) => self.tree.content(blob).await,
            None => Ok(Vec::new()),
        }
    }
}

impl PrivateFolders {
    /// Returns the paths at which the shared folder differs from a state of a private folder.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn differs_from(&self, state: &Commit) -> Result<Vec<PathBuf>, WorkTreeError> {
        let changed = self.shared.changed(state, &self.now().await?).await?;
        Ok(changed.into_iter().map(|changed| changed.path).collect())
    }
}
