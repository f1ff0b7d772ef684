//! States that are worked on.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use aime_messages::{Message, message};
use aime_orchestrator::{TransientWorkspace, WorkspaceError, WorkspaceLease};
use aime_undo::{Author, Recorder, Scope};
use aime_work_tree::{Commit, WorkTreeError};
use futures::future::{BoxFuture, FutureExt as _};
use tempfile::TempDir;
use tokio::sync::OwnedMutexGuard;

use super::{
    Handover, TreeError, WorkspaceSnapshot, WorkspaceStore,
    imported_work::{WorkAuthor, import, import_author, pieces},
};

/// Checked-out state, for the time of the work on it. It locks the folder for all other work.
#[derive(Debug)]
pub(crate) struct Checkout {
    folder: Arc<CheckoutRecord>,
    turn: Arc<OwnedMutexGuard<()>>,
}

/// Data of a checked-out state.
#[derive(Debug)]
struct CheckoutRecord {
    trees: WorkspaceStore,
    tree: WorkspaceSnapshot,
    run: String,
    /// Author of the work on it.
    author: Option<Author>,
    keep: TempDir,
    undo: Mutex<Undo>,
}

/// Returns the reason why no state is returned for a call that was aborted during an undo.
fn undo_cut_off() -> Message {
    message!("undo-cut-off")
}

/// Progress of an undo.
#[derive(Debug, Default)]
struct Undo {
    scope: Option<Scope>,
    /// Reason why the folder is not in the state in which the work left it.
    broken: Option<Message>,
}

impl WorkspaceStore {
    /// Waits until the folder is free, and checks out a state for the work of an author.
    pub(crate) async fn check_out(&self, tree: &WorkspaceSnapshot, run: &str, by: Option<Author>) -> Result<Checkout, TreeError> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        self.folder.free().await?;
        {
            let _states = self.states.lock().await;
            self.fetch(tree).await?;
        }
        self.folder.check_out(&tree.commit, run).await?;
        let effects = effects(self.repository());
        let kept = fs::create_dir_all(&effects).and_then(|()| tempfile::tempdir_in(&effects));
        let keep = kept.map_err(|source| WorkTreeError::File { path: effects, source })?;
        let undo = Mutex::default();
        let folder = Arc::new(CheckoutRecord { trees: self.clone(), tree: tree.clone(), run: run.to_owned(), author: by, keep, undo });
        Ok(Checkout { folder, turn: Arc::new(turn) })
    }
}

/// Returns the folder for temporary data on the file changes of effects, beside the states of a folder.
pub(super) fn effects(repository: &Path) -> PathBuf {
    repository.join("aime-effects")
}

impl Checkout {
    /// Returns the interface for an orchestrator.
    pub(crate) fn passing(&self) -> Arc<dyn TransientWorkspace> {
        Arc::new(Passing { folder: Arc::clone(&self.folder), turn: Arc::downgrade(&self.turn) })
    }

    /// Returns the state of the folder after the work.
    pub(crate) async fn hand_back(self) -> Handover {
        // Another owner of the lock still changes the folder, for a call that was aborted.
        if Arc::strong_count(&self.turn) > 1 {
            return Handover::Lost { why: undo_cut_off() };
        }
        match self.folder.state().await {
            Ok(tree) => Handover::Tree { tree },
            Err(error) => Handover::Lost { why: Message::from(&error) },
        }
    }
}

impl CheckoutRecord {
    async fn state(&self) -> Result<WorkspaceSnapshot, TreeError> {
        if let Some(why) = self.undo().broken.take() {
            return Err(TreeError::Broken { why });
        }
        let _states = self.trees.states.lock().await;
        let commit = self.recorded().await?;
        if commit == self.tree.commit { Ok(self.tree.clone()) } else { self.trees.stored(commit, Some(&self.tree)).await }
    }

    async fn recorded(&self) -> Result<Commit, WorkTreeError> {
        // Later calls read the long outputs that tools have stored.
        let kept = PathBuf::from(format!(".aime/runs/{}", self.run));
        let undoes = self.undo().scope.clone();
        let by = WorkAuthor { author: self.author.clone().unwrap_or_else(import_author), undoes };
        self.trees.folder.record_for(Some(&self.tree.commit), &[kept], &by.line()).await
    }

    /// Resets the folder to the state before the run, and then back to its current state, so that the changes between
    /// are recorded.
    async fn import_history(&self, recorder: Arc<Recorder>, scope: Scope) -> Result<(), TreeError> {
        if self.undo().scope.is_some() {
            return Ok(());
        }
        let now = {
            let _states = self.trees.states.lock().await;
            self.recorded().await?
        };
        let folder = self.trees.folder.clone();
        let history = folder.history(None, &now).await?.ok_or_else(|| WorkTreeError::Missing { commit: now.to_string() })?;
        let work = pieces(&folder, &history.steps, &BTreeSet::new()).await?;
        *self.undo() = Undo { scope: Some(scope), broken: Some(undo_cut_off()) };
        folder.reset(&history.from).await?;
        import(Arc::clone(&recorder), work, async move { folder.reset(&now).await }).await?;
        self.undo().broken = None;
        if recorder.is_recording() { Ok(()) } else { Err(TreeError::NotKept { why: Message::list("; ", &recorder.notes()) }) }
    }

    fn undo(&self) -> MutexGuard<'_, Undo> {
        self.undo.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Interface of an orchestrator, which it may keep longer than the lock.
#[derive(Debug)]
struct Passing {
    folder: Arc<CheckoutRecord>,
    turn: Weak<OwnedMutexGuard<()>>,
}

impl TransientWorkspace for Passing {
    fn recording_folder(&self) -> &Path {
        self.folder.keep.path()
    }

    fn load_past_changes(&self, recorder: Arc<Recorder>, scope: Scope) -> BoxFuture<'static, Result<WorkspaceLease, WorkspaceError>> {
        let (folder, turn) = (Arc::clone(&self.folder), self.turn.upgrade());
        async move {
            let turn = turn.ok_or(WorkspaceError::Ended)?;
            // The task runs detached, so that an aborted call does not leave a half-changed folder to the next one.
            let import = tokio::spawn(async move {
                folder.import_history(recorder, scope).await.map_err(|error| WorkspaceError::Failed(error.into()))?;
                Ok(Box::new(turn) as WorkspaceLease)
            });
            import.await.map_err(|error| WorkspaceError::Failed(error.into()))?
        }
        .boxed()
    }
}
