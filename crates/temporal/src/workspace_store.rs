//! Working folders that go from host to host: a state travels by its name, and what it holds stays in the store of blobs.

mod checkout;
mod imported_work;
mod merging;

use std::{
    ffi::OsString,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use aime_messages::{Describe, Message, message};
use aime_undo::Recorder;
use aime_work_tree::{Commit, FileConflict, MergeResult, RepositoryLock, WorkTree, WorkTreeError, forget_repositories};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

pub(crate) use self::checkout::Checkout;
use self::{
    checkout::effects,
    imported_work::{as_one, import, work},
};
pub use self::{
    imported_work::import_author,
    merging::{MergeInput, MergeOutcome, TaskWork},
};
use crate::{BlobError, Blobs};

/// Number of states with only the changes after which a state holds the whole history, so that a new host need not
/// read many blobs.
const WHOLE_EVERY: u32 = 64;
/// Age after which unused states and repositories of folders are deleted here. It is longer than a run waits for a
/// person.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// The form of what is stored.
const VERSION: u32 = 1;

/// State of a working folder, by names alone: the form in which it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceSnapshot {
    /// The state.
    pub commit: Commit,
    /// Name of the blob with the additions to the previous state.
    pub bundle: String,
    /// Maximum number of blobs that must be read before it.
    #[serde(default)]
    pub links: u32,
}

/// The first line of the blob of a bundle; the bundle follows.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    version: u32,
    /// State that it builds on.
    #[serde(default)]
    onto: Option<WorkspaceSnapshot>,
}

/// State of a folder after work was done in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "handover", rename_all = "snake_case")]
pub enum Handover {
    /// This state.
    Tree {
        /// State of the folder.
        tree: WorkspaceSnapshot,
    },
    /// The state could not be handed back.
    Lost {
        /// Reason of the loss.
        why: Message,
    },
}

/// Result of taking the work of a run back into the folder where it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportOutcome {
    /// The work is in the folder now, or was before.
    Imported,
    /// The run did not begin in this folder.
    Elsewhere,
    /// The same files were changed meanwhile, so nothing was changed.
    Conflict {
        /// The files.
        paths: Vec<String>,
        /// State of the run, as a commit in the repository of the folder.
        commit: Commit,
    },
}

/// Reason why a folder could not be handed over.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// `git` could not do it.
    #[error(transparent)]
    WorkTree(#[from] WorkTreeError),
    /// Its content could not be stored or found.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The stored data was written by a later version, or is something else.
    #[error("{}", self.describe())]
    Form {
        /// Name of the blob.
        bundle: String,
    },
    /// A run hands its folder over, and this worker checks no folders out.
    #[error("{}", self.describe())]
    None,
    /// The earlier content could not be kept, so the changes could not be undone.
    #[error("{}", self.describe())]
    NotKept {
        /// Reason of the failure.
        why: Message,
    },
    /// The folder is not in the state in which the work left it.
    #[error("{}", self.describe())]
    Broken {
        /// Reason of the failure.
        why: Message,
    },
}

impl Describe for TreeError {
    fn describe(&self) -> Message {
        match self {
            Self::WorkTree(error) => error.describe(),
            Self::Blob(error) => error.describe(),
            Self::Form { bundle } => message!("tree-form", bundle),
            Self::None => message!("tree-none"),
            Self::NotKept { why } => message!("tree-not-kept", reason = why),
            Self::Broken { why } => message!("tree-broken", reason = why),
        }
    }
}

/// A folder of this host with its states, and where those are that come from other hosts. Cheap to clone; clones take turns.
#[derive(Debug, Clone)]
pub struct WorkspaceStore {
    folder: WorkTree,
    blobs: Blobs,
    /// Held by the one that uses the files of the folder. It is locked before `states`.
    turn: Arc<Mutex<()>>,
    /// Held by the one that reads or adds states. A call that uses the files for long does not hold up those of other hosts, which are merged here.
    states: Arc<Mutex<()>>,
    /// Lock that keeps other processes out of a worker's folder while it exists.
    _held: Option<Arc<RepositoryLock>>,
}

/// Role of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Runs begin from it, and what they do is brought back.
    Client,
    /// States are checked out into it and replace all its content: it must be empty at first.
    Worker,
}

impl WorkspaceStore {
    /// Opens a folder and its states. The states are kept beneath `state`, a place that programs in the folder cannot
    /// write to. `path` is the `PATH` on which `git` is found. States of this folder and repositories of other
    /// folders are deleted after 90 days without use.
    ///
    /// # Errors
    /// [`TreeError`], for example if a worker's folder is not empty, or if another worker uses it.
    pub async fn open(side: Side, folder: &Path, state: &Path, path: OsString, blobs: Blobs) -> Result<Self, TreeError> {
        let name = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
        let kept = match side {
            Side::Client => "client.git",
            Side::Worker => "worker.git",
        };
        let tree = WorkTree::open(folder, &state.join(name.as_str()).join(kept), path).await?;
        let held = tree.lock(side == Side::Client).await?;
        if side == Side::Worker {
            tree.claim().await?;
            // Leftovers of a worker that was killed are no longer needed.
            drop(tokio::fs::remove_dir_all(effects(tree.repository())).await);
        }
        let unused_since = SystemTime::now().checked_sub(FORGOTTEN_AFTER).unwrap_or(SystemTime::UNIX_EPOCH);
        // A failed cleanup must not prevent work.
        let forgotten = tree.forget(unused_since).await.map(drop).and(forget_repositories(state.to_owned(), unused_since).await.map(drop));
        if let Err(error) = forgotten {
            tracing::warn!(%error, "what nobody uses any more could not be deleted");
        }
        let held = (side == Side::Worker).then(|| Arc::new(held));
        Ok(Self { _held: held, ..Self::new(tree, blobs) })
    }

    /// Returns the path of the repository with its states.
    #[must_use]
    pub fn repository(&self) -> &Path {
        self.folder.repository()
    }

    /// Creates the states of a folder, with this store.
    #[must_use]
    pub(crate) fn new(folder: WorkTree, blobs: Blobs) -> Self {
        Self { folder, blobs, turn: Arc::default(), states: Arc::default(), _held: None }
    }

    /// Stores the content of the folder as a state, and records it as the start of a run.
    ///
    /// # Errors
    /// [`TreeError`].
    pub async fn hand_over(&self, run: &str) -> Result<WorkspaceSnapshot, TreeError> {
        let (_turn, _states) = (self.turn.lock().await, self.states.lock().await);
        let _held = self.folder.lock(true).await?;
        let commit = self.folder.record(None, &[]).await?;
        self.folder.remember(&began(run), &commit).await?;
        self.stored(commit, None).await
    }

    /// Takes the work of a run back into the folder where it began. Changes that were made there meanwhile are kept
    /// and merged. If the changes are recorded for an undo, they are recorded as those of the run's tasks.
    ///
    /// # Errors
    /// [`TreeError`], for example if a file is in the way of one that the run has made; then nothing has changed.
    pub async fn take_back(&self, run: &str, tree: &WorkspaceSnapshot, kept: Option<Arc<Recorder>>) -> Result<ImportOutcome, TreeError> {
        let (_turn, _states) = (self.turn.lock().await, self.states.lock().await);
        let _held = self.folder.lock(true).await?;
        let Some(before) = self.folder.remembered(&began(run)).await? else { return Ok(ImportOutcome::Elsewhere) };
        if before == tree.commit {
            if let Some(recorder) = kept {
                // Records that there were no changes, too.
                import(recorder, Vec::new(), async { Ok(()) }).await?;
            }
            return Ok(ImportOutcome::Imported);
        }
        self.fetch(tree).await?;
        let now = self.folder.record(Some(&before), &[]).await?;
        let both = if now == before { MergeResult::Clean(tree.commit.clone()) } else { self.folder.merge(&now, &tree.commit).await? };
        match both {
            MergeResult::Conflict(conflicts) => Ok(ImportOutcome::Conflict { paths: paths_of(conflicts), commit: tree.commit.clone() }),
            MergeResult::Clean(both) => {
                match kept {
                    None => self.folder.update(&now, &both).await?,
                    Some(recorder) => {
                        let folder = self.folder.clone();
                        let work = match work(&folder, (&before, &tree.commit), (&now, &both)).await {
                            Ok(work) => work,
                            // It comes all the same.
                            Err(error) => {
                                tracing::warn!(%error, "it is not known which task did what");
                                as_one(&folder, &now, &both).await?
                            }
                        };
                        import(recorder, work, async move { folder.update(&now, &both).await }).await?;
                    }
                }
                self.folder.remember(&began(run), &tree.commit).await?;
                Ok(ImportOutcome::Imported)
            }
        }
    }

    /// Fetches a state, with those that it builds on.
    async fn fetch(&self, tree: &WorkspaceSnapshot) -> Result<(), TreeError> {
        let mut missing = Vec::new();
        let mut next = Some(tree.clone());
        while let Some(tree) = next {
            if self.folder.has(&tree.commit).await? {
                break;
            }
            next = self.read(&tree.bundle).await?.0.onto;
            missing.push(tree);
        }
        for tree in missing.into_iter().rev() {
            let (_, bundle) = self.read(&tree.bundle).await?;
            self.folder.import(&bundle, &tree.commit).await?;
        }
        Ok(())
    }

    /// Stores a commit for other hosts.
    async fn stored(&self, commit: Commit, after: Option<&WorkspaceSnapshot>) -> Result<WorkspaceSnapshot, TreeError> {
        let onto = after.filter(|onto| onto.links + 1 < WHOLE_EVERY);
        let (bundle, onto) = match self.folder.bundle(&commit, onto.map(|onto| &onto.commit)).await {
            // The changes may be small enough to send when the whole history is not.
            Err(WorkTreeError::TooLarge { .. }) if onto.is_none() && after.is_some() => {
                (self.folder.bundle(&commit, after.map(|after| &after.commit)).await?, after)
            }
            bundle => (bundle?, onto),
        };
        let header = Header { version: VERSION, onto: onto.cloned() };
        let mut bytes = serde_json::to_vec(&header).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend(bundle);
        let bundle = self.blobs.put(bytes).await?;
        Ok(WorkspaceSnapshot { commit, bundle, links: onto.map_or(0, |onto| onto.links + 1) })
    }

    async fn read(&self, bundle: &str) -> Result<(Header, Vec<u8>), TreeError> {
        let bytes = self.blobs.get(bundle).await?;
        let form = || TreeError::Form { bundle: bundle.to_owned() };
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(form)?;
        let (header, rest) = bytes.split_at(end);
        let header: Header = serde_json::from_slice(header).map_err(|_| form())?;
        if header.version != VERSION {
            return Err(form());
        }
        Ok((header, rest.get(1..).unwrap_or_default().to_vec()))
    }
}

fn paths_of(conflicts: Vec<FileConflict>) -> Vec<String> {
    conflicts.into_iter().map(|conflict| conflict.path).collect()
}

/// Name of the reference to the start of a run, or to the last state taken back from it.
fn began(run: &str) -> String {
    format!("runs/{run}")
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
