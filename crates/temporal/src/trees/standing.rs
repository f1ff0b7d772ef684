//! States that are worked on.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use aime_orchestrator::{FolderTurn, PassingFolder};
use aime_undo::{Author, Recorder, Scope};
use aime_work_tree::{Commit, WorkTreeError};
use futures::future::{BoxFuture, FutureExt as _};
use tempfile::TempDir;
use tokio::sync::OwnedMutexGuard;

use super::{
    Back, Tree, TreeError, Trees,
    past::{By, bring, brought, pieces},
};

/// Why nothing is handed back of a call that was given up while it undid something.
const CUT_OFF: &str = "an undo was cut off";

/// A state that was checked out, for as long as it is worked on, and nobody else works in the folder.
#[derive(Debug)]
pub(crate) struct Standing {
    folder: Arc<Stood>,
    turn: Arc<OwnedMutexGuard<()>>,
}

/// What is known of it.
#[derive(Debug)]
struct Stood {
    trees: Trees,
    tree: Tree,
    run: String,
    /// Who works on it.
    by: Option<Author>,
    keep: TempDir,
    undo: Mutex<Undo>,
}

/// What became of undoing something.
#[derive(Debug, Default)]
struct Undo {
    of: Option<Scope>,
    /// Why the folder does not stand as work has left it.
    broken: Option<String>,
}

impl Trees {
    /// Waits until nobody else works in the folder, and puts a state into it, for work on somebody's behalf.
    pub(crate) async fn stand(&self, tree: &Tree, run: &str, by: Option<Author>) -> Result<Standing, TreeError> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        self.folder.free().await?;
        self.fetch(tree).await?;
        self.folder.check_out(&tree.commit, run).await?;
        let effects = effects(self.repository());
        let kept = fs::create_dir_all(&effects).and_then(|()| tempfile::tempdir_in(&effects));
        let keep = kept.map_err(|source| WorkTreeError::File { path: effects, source })?;
        let undo = Mutex::default();
        let folder = Arc::new(Stood { trees: self.clone(), tree: tree.clone(), run: run.to_owned(), by, keep, undo });
        Ok(Standing { folder, turn: Arc::new(turn) })
    }
}

/// Where what effects do to files is kept while they last, beside the states of a folder.
pub(super) fn effects(repository: &Path) -> PathBuf {
    repository.join("aime-effects")
}

impl Standing {
    /// What an orchestrator knows of it.
    pub(crate) fn passing(&self) -> Arc<dyn PassingFolder> {
        Arc::new(Passing { folder: Arc::clone(&self.folder), turn: Arc::downgrade(&self.turn) })
    }

    /// What the folder has come to.
    pub(crate) async fn hand_back(self) -> Back {
        // Whoever holds the turn beside us still changes the folder, for a call that was given up.
        if Arc::strong_count(&self.turn) > 1 {
            return Back::Lost { why: CUT_OFF.to_owned() };
        }
        match self.folder.state().await {
            Ok(tree) => Back::Tree { tree },
            Err(error) => Back::Lost { why: error.to_string() },
        }
    }
}

impl Stood {
    async fn state(&self) -> Result<Tree, TreeError> {
        if let Some(why) = self.undo().broken.take() {
            return Err(TreeError::Broken { why });
        }
        let commit = self.recorded().await?;
        if commit == self.tree.commit { Ok(self.tree.clone()) } else { self.trees.stored(commit, Some(&self.tree)).await }
    }

    async fn recorded(&self) -> Result<Commit, WorkTreeError> {
        // What tools keep of long outputs is read by later calls.
        let kept = PathBuf::from(format!(".aime/runs/{}", self.run));
        let undoes = self.undo().of.clone();
        let by = By { author: self.by.clone().unwrap_or_else(brought), undoes };
        self.trees.folder.record_for(Some(&self.tree.commit), &[kept], &by.line()).await
    }

    /// Has the folder stand as the run found it, and then as it stands now again, so that what came between is known.
    async fn bring_past(&self, recorder: Arc<Recorder>, scope: Scope) -> Result<(), TreeError> {
        if self.undo().of.is_some() {
            return Ok(());
        }
        let now = self.recorded().await?;
        let folder = self.trees.folder.clone();
        let past = folder.past(None, &now).await?.ok_or_else(|| WorkTreeError::Missing { commit: now.to_string() })?;
        let work = pieces(&folder, &past.steps, &BTreeSet::new()).await?;
        *self.undo() = Undo { of: Some(scope), broken: Some(CUT_OFF.to_owned()) };
        folder.turn(&past.from).await?;
        bring(Arc::clone(&recorder), work, async move { folder.turn(&now).await }).await?;
        self.undo().broken = None;
        if recorder.keeps() { Ok(()) } else { Err(TreeError::NotKept { why: recorder.notes().join("; ") }) }
    }

    fn undo(&self) -> MutexGuard<'_, Undo> {
        self.undo.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an orchestrator keeps of it, also beyond the turn.
#[derive(Debug)]
struct Passing {
    folder: Arc<Stood>,
    turn: Weak<OwnedMutexGuard<()>>,
}

impl PassingFolder for Passing {
    fn keep(&self) -> &Path {
        self.folder.keep.path()
    }

    fn bring_past(&self, recorder: Arc<Recorder>, scope: Scope) -> BoxFuture<'static, Result<FolderTurn, String>> {
        let (folder, turn) = (Arc::clone(&self.folder), self.turn.upgrade());
        async move {
            let turn = turn.ok_or("the call has ended")?;
            // Whoever gives the call up does not leave the folder half changed to the next one.
            let brought = tokio::spawn(async move {
                folder.bring_past(recorder, scope).await.map_err(|error| error.to_string())?;
                Ok(Box::new(turn) as FolderTurn)
            });
            brought.await.map_err(|error| error.to_string())?
        }
        .boxed()
    }
}
