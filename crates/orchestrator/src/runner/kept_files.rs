//! Records the file changes of tasks, so that they can be undone.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use aime_messages::{Describe, Message};
use aime_progress_management::{FileChange, FileChangeKind, LiveStore, RunId, TaskId, TaskStatus};
use aime_tools::{ChangeAuthor, SeenFiles, ToolContext, ToolError, ToolScope, ToolSpec, UndoTask, UndoneTask, WriteGuard, is_ignored};
use aime_undo::{
    Author, Change, ConflictKind, Entry, PathChange, PathComparison, Recorder, RecordingGuard, Scope, UnrecordedReason, line_diff,
};
use tokio::task::spawn_blocking;

use super::folder_access::{FolderAccess, FolderAccessGuard};
use crate::{RunFact, RunMachine, TransientWorkspace, WorkspaceLease};

/// Maximum number of lines of a diff that people see during a run.
const DIFF_LINES: usize = 30;

/// The author of the changes that the commands of checks make to files.
pub(super) const CHECK: &str = "check";

/// The author of the changes that merging a private folder makes.
pub(super) const MERGE: &str = "merge";
/// Maximum number of files of a merge of which people see the changes during a run.
const MERGED_FILES: usize = 100;

type Facts = aime_durable::FactSender<RunMachine>;

/// Recorder of the file changes of a run's tasks; records nothing if that is turned off. Cheap to clone.
#[derive(Clone)]
pub(crate) struct KeptFiles {
    recorder: Option<Arc<Recorder>>,
    run: RunId,
    live: Arc<LiveStore>,
    /// The folder, if it has no permanent content. Every change in it during an effect belongs to that effect, so no
    /// other authors are searched for.
    transient: Option<Arc<dyn TransientWorkspace>>,
    folder: FolderAccess,
}

/// An action that may change any file, while it is recorded.
pub(super) struct Recording {
    window: Option<RecordingGuard>,
    _in_use: FolderAccessGuard,
}

/// A recorded change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LaterChange {
    /// Number of changes before it.
    pub(super) number: u64,
    /// Possible authors; empty if it was made outside of the run, or by an undo.
    pub(super) authors: Vec<Author>,
    /// Path relative to the folder.
    pub(super) path: String,
}

impl KeptFiles {
    pub(crate) fn new(recorder: Option<Recorder>, run: RunId, live: Arc<LiveStore>) -> Self {
        Self { recorder: recorder.map(Arc::new), run, live, transient: None, folder: FolderAccess::new() }
    }

    /// Returns the recorder for a folder without permanent content, if there is one.
    pub(crate) fn with_transient(self, transient: Option<Arc<dyn TransientWorkspace>>) -> Self {
        Self { transient, ..self }
    }

    /// Returns the context of a call. Changes through its folder are recorded for the task, and the call can undo
    /// tasks.
    pub(super) fn watched(&self, context: ToolContext, task: Option<&TaskId>, tool: &str) -> ToolContext {
        let Some(recorder) = &self.recorder else { return context };
        let author = author(task, tool).of_actor(context.guard.as_ref().map(WriteGuard::actor));
        let folder = context.folder.clone().watched_by(recorder.watcher(author));
        let (here, recorder) = (self.clone(), Arc::clone(recorder));
        let undo = UndoTask::new(move |task| {
            let (here, recorder) = (here.clone(), Arc::clone(&recorder));
            Box::pin(async move {
                let scope = here.scope(&task).map_err(ToolError::Failed)?;
                let turn = match &here.transient {
                    Some(transient) => Some(transient.load_past_changes(Arc::clone(&recorder), scope.clone()).await.map_err(failed)?),
                    None => None,
                };
                let undone = spawn_blocking(move || {
                    let undone = undo(&recorder, &scope);
                    drop(turn);
                    undone
                });
                undone.await.map_err(failed)?
            })
        });
        ToolContext { folder, ..context }.with_undo(undo)
    }

    /// Returns the write guard of an actor that has seen these versions of files.
    pub(super) fn guard(&self, actor: &str, seen: SeenFiles) -> WriteGuard {
        let (recorder, me) = (self.recorder.clone(), actor.to_owned());
        WriteGuard::new(actor, seen).looking_up(move |path, hash| {
            let Some(changes) = recorder.as_ref().and_then(|recorder| recorder.changes_of(path)) else { return ChangeAuthor::Unknown };
            let after = |change: &PathChange| hash.is_some() && change.after.as_ref().and_then(Entry::hash) == hash;
            let known = changes.iter().rposition(after).map_or(0, |at| at + 1);
            let since = changes.get(known..).unwrap_or_default();
            // The actor has not seen the changes that its own commands made to a file that it had read.
            let own = || since.last().filter(|_| hash.is_some());
            let change = since.iter().rfind(|change| !is_own(change, &me)).or_else(own);
            change.map_or(ChangeAuthor::Nobody, |change| ChangeAuthor::By(author_text(&change.authors, &me)))
        })
    }

    /// Returns the write guard of the call of a tool task; `None` where changes are not recorded. The call has read nothing, but its plan puts it
    /// after other tasks: it may replace what those did, and not what a task beside it or somebody else did.
    pub(super) fn guard_of_call(&self, task: &TaskId) -> Option<WriteGuard> {
        let (recorder, state) = (self.recorder.clone()?, self.live.get(&self.run)?);
        let has_work =
            |id: &TaskId| state.tasks.get(id).is_some_and(|known| known.status.is_open() || known.status == TaskStatus::Completed);
        let beside: BTreeSet<String> = state.graph().beside(task).into_iter().filter(|id| has_work(id)).map(ToString::to_string).collect();
        let me = task.to_string();
        let guard = WriteGuard::new(&me, SeenFiles::default());
        Some(guard.looking_up(move |path, _| {
            let changes = recorder.changes_of(path).unwrap_or_default();
            let is_beside = |author: &Author| author.task.as_ref().is_some_and(|task| beside.contains(task));
            let other = changes.iter().rfind(|change| change.authors.is_empty() || change.authors.iter().any(is_beside));
            other.map_or(ChangeAuthor::Nobody, |change| ChangeAuthor::By(author_text(&change.authors, &me)))
        }))
    }

    /// Returns true if the changes of tasks are recorded.
    pub(super) const fn records(&self) -> bool {
        self.recorder.is_some()
    }

    /// Returns true if the folder has no permanent content, so that nobody shares it.
    pub(in crate::runner) fn is_transient(&self) -> bool {
        self.transient.is_some()
    }

    /// Records the changes of the run so far where the folder has no permanent content. Returns the place of the record, and the turn to use the
    /// folder, which lasts until it is dropped. Returns `None` for other folders, and if the changes cannot be recorded. The folder must not
    /// be handed back after that.
    pub(super) async fn load_past_changes(&self) -> Option<(PathBuf, WorkspaceLease)> {
        let (transient, recorder) = (self.transient.as_ref()?, self.recorder.as_ref()?);
        let loaded = transient.load_past_changes(Arc::clone(recorder), Scope::Run {}).await;
        let lease = loaded.inspect_err(|error| tracing::warn!(%error, "the changes of the run are not shown")).ok()?;
        Some((transient.recording_folder().to_owned(), lease))
    }

    /// Returns the scope of a task: the task and all tasks below it.
    fn scope(&self, task: &str) -> Result<Scope, String> {
        let state = self.live.get(&self.run).ok_or("the run is not live")?;
        if !state.tasks.keys().any(|id| id.as_str() == task) {
            let known = state.tasks.keys().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
            return Err(format!("the plan has no task `{task}`: its tasks are {known}"));
        }
        Ok(Scope::Tasks { tasks: task_with_descendants(&state, task) })
    }

    /// Returns the use of the working folder by actions and merges.
    pub(super) const fn folder(&self) -> &FolderAccess {
        &self.folder
    }

    /// Starts to record an action that may change any file, as soon as no merge is under way.
    pub(super) async fn open(&self, author: Author, facts: &Facts) -> Recording {
        self.open_in(self.folder.act().await, author, facts).await
    }

    /// Starts to record an action that uses the folder already.
    pub(super) async fn open_in(&self, in_use: FolderAccessGuard, author: Author, facts: &Facts) -> Recording {
        let window = match self.recorder.clone().filter(|_| self.transient.is_none()) {
            Some(recorder) => self.blocking(facts, move || recorder.open(author)).await.flatten(),
            None => None,
        };
        Recording { window, _in_use: in_use }
    }

    /// Ends the recording of the action, and the action.
    pub(super) async fn close(&self, recording: Recording, facts: &Facts) {
        match (recording.window, self.recorder.clone()) {
            (Some(window), Some(recorder)) => {
                self.blocking(facts, move || recorder.close(window)).await;
            }
            _ => self.report_changes(facts).await,
        }
    }

    /// Ends the recording of a merge. Returns the number of changed files, and the changes of the first of them.
    pub(super) async fn close_merge(&self, recording: Recording, task: &TaskId, facts: &Facts) -> (usize, Vec<FileChange>) {
        let (Some(window), Some(recorder)) = (recording.window, self.recorder.clone()) else {
            self.report_changes(facts).await;
            return (0, Vec::new());
        };
        let by = author(Some(task), MERGE);
        let merged = self.blocking(facts, move || {
            let changes = recorder.close_with_changes(window).into_iter().filter(|change| did(change).is_some());
            let changes: Vec<Change> = changes.collect();
            let files = changes.len();
            let shown = changes.into_iter().take(MERGED_FILES).filter_map(|change| file_change(&recorder, by.clone(), change));
            (files, shown.collect())
        });
        merged.await.unwrap_or_default()
    }

    /// Records the file changes of `work` without a report to the run.
    pub(crate) async fn around<T>(&self, what: &str, work: impl Future<Output = T>) -> T {
        let Some(recorder) = self.recorder.clone().filter(|_| self.transient.is_none()) else { return work.await };
        let (author, opening) = (author(None, what), Arc::clone(&recorder));
        let window = spawn_blocking(move || opening.open(author)).await.ok().flatten();
        let done = work.await;
        if let Some(window) = window {
            // A panic there has already been reported.
            drop(spawn_blocking(move || recorder.close(window)).await);
        }
        done
    }

    /// Puts back the changes that the checks of a task made to files of `root`, save for those that ignore files leave out. Returns a line for
    /// each path that was put back, or that stays changed. Where changes are not recorded nothing is put back.
    pub(super) async fn discard_effects(&self, task: Option<&TaskId>, root: &Path, facts: &Facts) -> Vec<String> {
        let Some(recorder) = self.recorder.clone().filter(|_| self.transient.is_none()) else { return Vec::new() };
        let (by, root) = (author(task, CHECK), root.to_owned());
        let back = spawn_blocking(move || recorder.discard_effects(&by, |path| is_ignored(&root, path))).await;
        let (undone, left) = match back {
            Ok(Ok(back)) => back,
            Ok(Err(error)) => return vec![format!("its changes of files could not be put back: {error}")],
            Err(_) => return Vec::new(),
        };
        let named = |path: &Path| path.to_string_lossy().into_owned();
        let done = undone.changes.iter().map(|change| (named(&change.path), None));
        let failed = undone.failed.iter().map(|failed| (named(&failed.path), Some(("changed", failed.error.to_string()))));
        let conflicts = left.iter().map(|conflict| {
            // The command of another task may have made the change.
            let is_shared = matches!(conflict.kind, ConflictKind::AlsoBy(_));
            (named(&conflict.path), Some((if is_shared { "may have changed" } else { "changed" }, conflict.kind.describe().to_string())))
        });
        let mut lines = Vec::new();
        for (path, why) in done.chain(failed).chain(conflicts) {
            let (did, line) = match why {
                None => (FileChangeKind::PutBack, format!("it changed `{path}`, which was put back")),
                Some((did, why)) => (FileChangeKind::NotPutBack, format!("it {did} `{path}`, which could not be put back: {why}")),
            };
            lines.push(line);
            let (added, removed, diff) = (0, 0, String::new());
            let change = FileChange { task: task.cloned(), tool: CHECK.to_owned(), path, did, added, removed, diff };
            // A run that is gone has nobody to be told.
            let _gone = facts.send(RunFact::FileChanged { change });
        }
        lines
    }

    /// Counts the recorded changes of files in this run, without the effects of checks; returns `None` where changes are not recorded.
    pub(super) async fn count_changes(&self) -> Option<u64> {
        let recorder = self.recorder.clone().filter(|_| self.transient.is_none())?;
        spawn_blocking(move || recorder.count_changes(CHECK)).await.ok().flatten()
    }

    /// Returns the recorded changes of files after the first `count`, without the effects of checks, folders, caches and what ignore files name;
    /// returns `None` where changes are not recorded.
    pub(super) async fn changes_after(&self, count: u64, root: &Path) -> Option<Vec<LaterChange>> {
        let recorder = self.recorder.clone().filter(|_| self.transient.is_none())?;
        let root = root.to_owned();
        let later = move || {
            let changes = recorder.changes_after(count, CHECK)?.into_iter();
            let files = changes.filter(|(_, _, change)| did(change).is_some() && !is_ignored(&root, &change.path));
            let later =
                files.map(|(number, by, change)| LaterChange { number, authors: by, path: change.path.to_string_lossy().into_owned() });
            Some(later.collect())
        };
        spawn_blocking(later).await.ok().flatten()
    }

    /// Compares a path, relative to the folder, with its state when the run began; returns `None` where changes are not recorded.
    pub(super) async fn since_begin(&self, path: PathBuf) -> Option<PathComparison> {
        let recorder = self.recorder.clone().filter(|_| self.transient.is_none())?;
        spawn_blocking(move || recorder.since_begin(&path)).await.ok().flatten()
    }

    /// Finishes the recording when the run ends or is suspended. Returns the reasons if it has stopped before.
    pub(crate) async fn finish(&self) -> Vec<Message> {
        let Some(recorder) = self.recorder.clone() else { return Vec::new() };
        let finished = spawn_blocking(move || {
            recorder.finish();
            recorder.notes()
        });
        finished.await.unwrap_or_default()
    }

    /// Finishes the recording when this part of the run ends and others continue elsewhere. Returns facts to report.
    pub(super) async fn leave(&self) -> Vec<RunFact> {
        let Some(recorder) = self.recorder.clone() else { return Vec::new() };
        let left = spawn_blocking(move || {
            recorder.leave();
            recorder.notes()
        });
        self.worth_telling(left.await.unwrap_or_default()).collect()
    }

    /// Returns the facts for changes that could not be recorded. There are none for a transient folder, whose states
    /// contain the changes anyway.
    fn worth_telling(&self, reasons: Vec<Message>) -> impl Iterator<Item = RunFact> {
        reasons.into_iter().filter(|_| self.transient.is_none()).map(|reason| RunFact::UndoLost { reason })
    }

    /// Runs blocking work, then reports pending changes to the run.
    async fn blocking<T: Send + 'static>(&self, facts: &Facts, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let done = spawn_blocking(work).await.ok();
        self.report_changes(facts).await;
        done
    }

    /// Reports the changes of file tools and other pending messages to the run. The changes of a transient folder are reported when they are merged.
    pub(super) async fn report_changes(&self, facts: &Facts) {
        let Some(recorder) = self.recorder.clone().filter(|_| self.transient.is_none()) else { return };
        let reading = spawn_blocking(move || {
            let changes = recorder.exact_changes();
            let changes: Vec<FileChange> =
                changes.into_iter().filter_map(|(author, change)| file_change(&recorder, author, change)).collect();
            (changes, recorder.notes())
        });
        let (changes, notes) = reading.await.unwrap_or_default();
        let changes = changes.into_iter().map(|change| RunFact::FileChanged { change });
        for fact in changes.chain(self.worth_telling(notes)) {
            // Sending fails only if the run is gone, and then nobody needs the report.
            let _gone = facts.send(fact);
        }
    }
}

/// Returns the kind of a change of a file; `None` for folders and caches.
pub(super) fn did(change: &Change) -> Option<FileChangeKind> {
    let is_file = |entry: &Option<Entry>| match entry {
        Some(Entry::NotKept { why, .. }) => *why != UnrecordedReason::Cache,
        entry => matches!(entry, Some(Entry::File { .. })),
    };
    match (&change.before, &change.after) {
        (before, after) if !is_file(before) && !is_file(after) => None,
        (None, _) => Some(FileChangeKind::Created),
        (_, None) => Some(FileChangeKind::Deleted),
        _ => Some(FileChangeKind::Changed),
    }
}

/// Returns the change of a file, for people; `None` for folders, which are implied by their files.
fn file_change(recorder: &Recorder, author: Author, change: Change) -> Option<FileChange> {
    let did = did(&change)?;
    let Change { path, before, after } = change;
    let kept = |entry: &Option<Entry>| entry.as_ref().is_none_or(|entry| entry.not_kept().is_none());
    let contents =
        (kept(&before) && kept(&after)).then(|| Some((recorder.content(before.as_ref()).ok()?, recorder.content(after.as_ref()).ok()?)));
    let diff = contents.flatten().and_then(|(before, after)| line_diff(&before, &after, DIFF_LINES));
    let (added, removed, diff) = diff.map(|diff| (diff.added, diff.removed, diff.text)).unwrap_or_default();
    let Author { task, tool, .. } = author;
    let task = task.and_then(|task| task.parse().ok());
    Some(FileChange { task, tool, path: path.to_string_lossy().into_owned(), did, added, removed, diff })
}

/// Returns the ids of a task and of all tasks below it.
#[must_use]
pub fn task_with_descendants(state: &aime_progress_management::ProgressState, task: &str) -> BTreeSet<String> {
    let mut tasks = BTreeSet::from([task.to_owned()]);
    loop {
        let below = state.tasks.values().filter(|task| task.spec.parent.as_ref().is_some_and(|parent| tasks.contains(parent.as_str())));
        let below: Vec<String> = below.map(|task| task.spec.id.to_string()).filter(|id| !tasks.contains(id)).collect();
        if below.is_empty() {
            return tasks;
        }
        tasks.extend(below);
    }
}

/// Returns true if a call of a tool may change any file by other means than its folder.
pub(super) fn may_change_anything(tool_spec: &ToolSpec) -> bool {
    !tool_spec.read_only && matches!(tool_spec.touches, ToolScope::Processes | ToolScope::Network | ToolScope::Anything)
}

/// Returns true if the actor is the only possible author of a change.
fn is_own(change: &PathChange, actor: &str) -> bool {
    !change.authors.is_empty() && change.authors.iter().all(|author| author.actor.as_deref() == Some(actor))
}

/// Describes the authors of a change to the actor `me`.
fn author_text(by: &[Author], me: &str) -> String {
    let name = |author: &Author| match (&author.actor, &author.task) {
        (Some(actor), _) if actor == me => format!("a command of your own ({})", author.tool),
        (_, Some(task)) => format!("task `{task}` ({})", author.tool),
        (_, None) => format!("the run itself ({})", author.tool),
    };
    let names: BTreeSet<String> = by.iter().map(name).collect();
    if names.is_empty() { "a person or another program".to_owned() } else { names.into_iter().collect::<Vec<_>>().join(" or ") }
}

pub(super) fn author(task: Option<&TaskId>, tool: &str) -> Author {
    Author::new(task.map(TaskId::as_str), tool)
}

fn failed(error: impl ToString) -> ToolError {
    ToolError::Failed(error.to_string())
}

fn undo(recorder: &Recorder, scope: &Scope) -> Result<UndoneTask, ToolError> {
    let plan = recorder.plan(scope, false).map_err(failed)?;
    let undone = recorder.undo(&plan).map_err(failed)?;
    let named = |path: &Path| path.display().to_string();
    let conflicts = plan.conflicts.iter().map(|conflict| (named(&conflict.path), conflict.kind.describe().to_string()));
    let failed = undone.failed.iter().map(|failed| (named(&failed.path), failed.error.to_string()));
    Ok(UndoneTask {
        restored: undone.changes.iter().map(|change| named(&change.path)).collect(),
        unrestored: conflicts.chain(failed).collect(),
    })
}
