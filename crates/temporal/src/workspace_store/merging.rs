//! Merges of the work of tasks into the state of a run's folder.

use std::path::{Path, PathBuf};

use aime_orchestrator::{FoundConflict, private_workspaces_dir};
use aime_progress_management::{FileChange, FileChangeKind, MergeConflict, RunId, TaskId};
use aime_undo::line_diff;
use aime_work_tree::{Blob, ChangedPath, Commit, FileConflict, WorkMergeResult, WorkTree, WorkTreeError};
use serde::{Deserialize, Serialize};

use super::{TreeError, WorkspaceSnapshot, WorkspaceStore};

/// Folder of aime's own files, which people are not shown.
const OWN: &str = ".aime";
/// Author of the changes that a merge makes.
const MERGE: &str = "merge";
/// Maximum number of files of a merge of which people see the changes.
const SHOWN_FILES: usize = 100;
/// Maximum number of lines of a diff that people see.
const DIFF_LINES: usize = 30;
/// Maximum size in bytes of a file whose lines people see.
const MAX_DIFF_BYTES: u64 = 4 * 1024 * 1024;

/// Work that is to be merged into the state of a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MergeInput {
    /// The work.
    pub work: TaskWork,
    /// State that the work began from, if all of it is in the state since.
    pub from: Option<WorkspaceSnapshot>,
    /// Current state of the folder.
    pub ours: WorkspaceSnapshot,
    /// State with the work.
    pub theirs: WorkspaceSnapshot,
}

/// Work on a task, of an actor or of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskWork {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: TaskId,
    /// Name of the work among those of the run, which is a name of a folder.
    pub name: String,
    /// Conflicts of the work that were found before, in their current state.
    pub conflicts: Vec<FoundConflict>,
    /// True if the work was stopped before its end: it is merged only if it conflicts with nothing.
    pub is_partial: bool,
    /// True if people are shown the changes.
    pub is_shown: bool,
}

/// Result of merging work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "merge", rename_all = "snake_case")]
pub enum MergeOutcome {
    /// The work is in the state of the folder.
    Clean {
        /// State of the folder.
        tree: WorkspaceSnapshot,
        /// Number of changed files.
        files: usize,
        /// Changes of the first of these files.
        changes: Vec<FileChange>,
        /// Conflicts that the work has resolved.
        conflicts: Vec<FoundConflict>,
    },
    /// Others changed the same parts of some files.
    Conflict {
        /// State of the folder, which keeps the work's own versions of these files.
        tree: WorkspaceSnapshot,
        /// State in which the conflicts can be resolved.
        private: WorkspaceSnapshot,
        /// The conflicts.
        conflicts: Vec<FoundConflict>,
    },
}

impl WorkspaceStore {
    /// Merges work into the state of a folder. The folder of this host is not touched.
    pub(crate) async fn merge(&self, order: &MergeInput) -> Result<MergeOutcome, TreeError> {
        let MergeInput { work, from, ours, theirs } = order;
        let _states = self.states.lock().await;
        self.fetch(ours).await?;
        self.fetch(theirs).await?;
        let (open, resolved): (Vec<&FoundConflict>, Vec<&FoundConflict>) =
            work.conflicts.iter().partition(|found| !found.conflict.resolved);
        let merged = if open.is_empty() && from.as_ref() == Some(ours) {
            WorkMergeResult::Clean { shared: theirs.commit.clone(), resolved: Vec::new() }
        } else {
            let home = private_workspaces_dir(Path::new(OWN), &work.run).join(&work.name);
            let open: Vec<FileConflict> = open.into_iter().map(file_conflict).collect();
            self.folder.merge_work(&ours.commit, &theirs.commit, &open, &home).await?
        };
        match merged {
            WorkMergeResult::Clean { shared, resolved: now } => {
                let known = |found: &&FoundConflict| now.iter().all(|conflict| conflict.path != found.conflict.path);
                let before: Vec<FoundConflict> = resolved.into_iter().filter(known).cloned().collect();
                let conflicts = before.into_iter().chain(now.into_iter().map(|conflict| work.found(conflict, true))).collect();
                let (files, changes) =
                    if work.is_shown { work.changes(&self.folder, &ours.commit, &shared).await? } else { Default::default() };
                let tree = if shared == theirs.commit { theirs.clone() } else { self.stored(shared, Some(ours)).await? };
                Ok(MergeOutcome::Clean { tree, files, changes, conflicts })
            }
            WorkMergeResult::Conflict { .. } if work.is_partial => {
                Ok(MergeOutcome::Conflict { tree: ours.clone(), private: theirs.clone(), conflicts: work.conflicts.clone() })
            }
            WorkMergeResult::Conflict { shared, private, conflicts } => {
                let tree = if shared == ours.commit { ours.clone() } else { self.stored(shared, Some(ours)).await? };
                let private = if private == theirs.commit { theirs.clone() } else { self.stored(private, Some(&tree)).await? };
                let open = conflicts.into_iter().map(|conflict| work.found(conflict, false));
                Ok(MergeOutcome::Conflict { tree, private, conflicts: open.collect() })
            }
        }
    }
}

impl TaskWork {
    fn found(&self, FileConflict { path, kind, hunks, own }: FileConflict, resolved: bool) -> FoundConflict {
        let kept = own.map(|own| own.to_string_lossy().into_owned());
        FoundConflict { conflict: MergeConflict { task: self.task.clone(), path, kind, kept, resolved }, hunks }
    }

    /// Returns the number of files that differ between two states, and the changes of the first of them.
    async fn changes(&self, folder: &WorkTree, from: &Commit, to: &Commit) -> Result<(usize, Vec<FileChange>), WorkTreeError> {
        let mut all = folder.changed(from, to).await?;
        all.retain(|changed| !changed.path.starts_with(OWN));
        let (files, mut shown) = (all.len(), Vec::new());
        for ChangedPath { path, before, after } in all.into_iter().take(SHOWN_FILES) {
            let did = match (&before, &after) {
                (None, _) => FileChangeKind::Created,
                (_, None) => FileChangeKind::Deleted,
                _ => FileChangeKind::Changed,
            };
            let diff = match (text(folder, before).await?, text(folder, after).await?) {
                (Some(before), Some(after)) => line_diff(&before, &after, DIFF_LINES),
                _ => None,
            };
            let (added, removed, diff) = diff.map(|diff| (diff.added, diff.removed, diff.text)).unwrap_or_default();
            let (task, tool, path) = (Some(self.task.clone()), MERGE.to_owned(), path.to_string_lossy().into_owned());
            shown.push(FileChange { task, tool, path, did, added, removed, diff });
        }
        Ok((files, shown))
    }
}

fn file_conflict(found: &FoundConflict) -> FileConflict {
    let MergeConflict { path, kind, kept, .. } = &found.conflict;
    FileConflict { path: path.clone(), kind: *kind, hunks: found.hunks.clone(), own: kept.as_ref().map(PathBuf::from) }
}

/// Returns the content of a file, which is empty if there is none; `None` if it is too large to be shown.
async fn text(folder: &WorkTree, blob: Option<Blob>) -> Result<Option<Vec<u8>>, WorkTreeError> {
    let Some(blob) = blob else { return Ok(Some(Vec::new())) };
    match folder.sizes(&[&blob]).await?.as_slice() {
        [size] if *size <= MAX_DIFF_BYTES => folder.content(&blob).await.map(Some),
        _ => Ok(None),
    }
}
