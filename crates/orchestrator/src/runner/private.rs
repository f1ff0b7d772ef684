//! Private folders of tasks, which isolate tasks that run at the same time.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use aime_durable::{FactSender, run_folder};
use aime_messages::{Describe as _, Message, message};
use aime_progress_management::{CheckMethod, ConflictKind, Criterion, MergeConflict, PlanMode, RunId, Task, TaskId, TaskKind};
use aime_sandbox::ConfinedFolder;
use aime_tools::{ProtectedPlaces, Source, ToolContext, ToolScope, ToolSpec, ValidatedCall};
use aime_work_tree::{Extras, FileConflict, FolderMerge, PrivateFolder, PrivateFolders, WorkTreeError, git_version};
use tokio::{
    sync::{Mutex, RwLock},
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Context, RunRunner,
    folder_access::{FolderLease, LeaseGuard},
    kept_files::{MERGE, author},
    millis_since,
    remote::RemoteEffects,
};
use crate::{ActorBrief, CriterionResult, FoundConflict, Isolation, Parts, RunFact, RunMachine, RunSettings, WorktreeSettings};

/// The criterion that a conflict violates, as the actor and people read it.
const CRITERION: &str = "the changes fit those that others made meanwhile (aime checks this of tasks that work at the same time)";

/// The most files of a private copy.
const MAX_FILES: usize = 100_000;
/// The most bytes of a private copy.
const MAX_BYTES: u64 = 2 << 30;
/// The longest time for making a private copy.
const MAX_COPY: Duration = Duration::from_secs(60);

/// The most ignored files that a note names.
const NAMED: usize = 5;

/// Name of the folder of the private folders of a run.
pub(crate) const PRIVATE: &str = "private";

/// Returns the folder of the private folders of a run; `keep` is the `.aime` of the working folder.
#[must_use]
pub fn private_workspaces_dir(keep: &Path, run: &RunId) -> PathBuf {
    run_folder(keep, run.as_str()).join(PRIVATE)
}

/// Returns the reason why tasks could not have the private folders that the settings require, if that is known before a run begins.
pub(crate) async fn cannot_isolate(parts: &Parts, settings: &RunSettings) -> Option<Message> {
    if settings.isolation != Isolation::Worktree || settings.mode == Some(PlanMode::Direct) {
        return None;
    }
    let context = &parts.tool_context;
    git_version(context.working_folder(), search_path(context)).await.err().map(|error| error.describe())
}

/// Returns the `PATH` to find `git` on.
fn search_path(context: &ToolContext) -> OsString {
    context.environment.get(OsStr::new("PATH")).cloned().unwrap_or_default()
}

/// Private folders of a run, created when the first task needs one.
pub(crate) struct PrivateWorkspaces {
    /// The shared folder.
    folder: PathBuf,
    place: PathBuf,
    /// The `PATH` to find `git` on.
    path: OsString,
    folders: Mutex<Option<PrivateFolders>>,
    /// True once a copy took too long.
    is_slow: AtomicBool,
    /// Held by the one task that works in the working folder itself, or by several tasks with a single call of a file tool.
    turn: Arc<RwLock<()>>,
    remarks: Mutex<Remarks>,
}

/// Facts on the private folders for the notes of the run.
#[derive(Default)]
struct Remarks {
    /// Reasons why private folders could not be made.
    not_made: Vec<Message>,
    /// Ignored files in private folders at their end.
    ignored: BTreeSet<PathBuf>,
}

impl Remarks {
    fn notes(&self) -> Vec<Message> {
        let mut notes: Vec<Message> = self.not_made.iter().map(|reason| message!("private-in-turn", reason)).collect();
        let paths = self.ignored.iter().take(NAMED).map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        match self.ignored.len().saturating_sub(NAMED) {
            _ if self.ignored.is_empty() => {}
            0 => notes.push(message!("private-ignored", paths)),
            more => notes.push(message!("private-ignored-more", paths, more)),
        }
        notes
    }
}

/// The private folder of a task, in which its actors work.
#[derive(Debug, Clone)]
pub(super) struct PrivateWorkspace {
    private: PrivateFolder,
    folder: ConfinedFolder,
    protected: ProtectedPlaces,
    /// Paths of the working folder.
    originals: Vec<PathBuf>,
}

/// The merge of a private folder into the working folder.
pub(super) struct Merge {
    /// Conflicts: open ones, or those that the actor has resolved.
    pub(super) conflicts: Vec<FoundConflict>,
    /// Paths at which the working folder differs from what the private folder held before, because of the changes of others, if they
    /// were compared.
    pub(super) unseen: Vec<String>,
    /// True if the private folder had no changes. It lacks the changes of others then.
    pub(super) is_unchanged: bool,
}

/// The folder in which an execution of a task works.
pub(super) enum TaskWorkspace {
    /// The working folder, with the turn of the one task that may write there, if turns are taken.
    Shared(Option<FolderLease>),
    /// A private copy.
    Private(Box<PrivateWorkspace>),
}

impl PrivateWorkspaces {
    /// Creates the handle for the private folders of a run.
    pub(crate) fn new(parts: &Parts, run: &RunId) -> Self {
        let context = &parts.tool_context;
        Self {
            folder: context.working_folder().to_owned(),
            place: private_workspaces_dir(&parts.keep, run),
            path: search_path(context),
            folders: Mutex::default(),
            is_slow: AtomicBool::new(false),
            turn: Arc::default(),
            remarks: Mutex::default(),
        }
    }

    /// Returns whether there is a private folder of this name.
    fn has(&self, name: &str) -> bool {
        self.place.join(name).join("folder").exists()
    }

    /// Returns whether the working folder is small enough for private copies, and `git` is there to make them.
    async fn can_be_copied(&self) -> bool {
        if self.is_slow.load(Ordering::Relaxed) {
            return false;
        }
        let mut folders = self.folders.lock().await;
        if folders.is_none() {
            match PrivateFolders::open(&self.folder, &self.place, self.path.clone()).await {
                Ok(opened) => *folders = Some(opened),
                Err(error) => self.note_not_made(&error).await,
            }
        }
        match &*folders {
            Some(folders) => folders.fits(MAX_FILES, MAX_BYTES).await.unwrap_or(false),
            None => false,
        }
    }

    async fn begin(&self, name: &str, settings: &WorktreeSettings) -> Result<PrivateFolder, WorkTreeError> {
        let extras = Extras { copy: settings.copy.clone(), link: settings.link.clone() };
        let mut folders = self.folders.lock().await;
        match &*folders {
            Some(folders) => folders.begin(name, &extras).await,
            None => folders.insert(PrivateFolders::open(&self.folder, &self.place, self.path.clone()).await?).begin(name, &extras).await,
        }
    }

    /// Returns the private folder with this name; `None` if it could not be made, or not in time.
    async fn begin_within(&self, limit: Duration, name: &str, settings: &WorktreeSettings) -> Result<Option<PrivateFolder>, WorkTreeError> {
        match timeout(limit, self.begin(name, settings)).await {
            Ok(Ok(begun)) => return Ok(Some(begun)),
            // The work of the task is there.
            Ok(Err(error)) if self.has(name) => return Err(error),
            Ok(Err(error)) => self.note_not_made(&error).await,
            Err(_) => self.is_slow.store(true, Ordering::Relaxed),
        }
        Ok(None)
    }

    async fn note_not_made(&self, error: &WorkTreeError) {
        tracing::warn!(%error, "a private folder cannot be made");
        let (reason, mut remarks) = (error.describe(), self.remarks.lock().await);
        if !remarks.not_made.contains(&reason) {
            remarks.not_made.push(reason);
        }
    }

    /// Removes the private folder of a task that has ended, if it was merged.
    pub(super) async fn end(&self, place: &PrivateWorkspace) {
        let folders = self.folders.lock().await;
        let Some(folders) = &*folders else { return };
        self.note_ignored(folders.ignored(&place.private).await).await;
        if let Err(error) = folders.end(&place.private).await {
            tracing::warn!(%error, "a private folder is removed later");
        }
    }

    async fn note_ignored(&self, ignored: Result<BTreeSet<PathBuf>, WorkTreeError>) {
        match ignored {
            Ok(ignored) => self.remarks.lock().await.ignored.extend(ignored),
            Err(error) => tracing::warn!(%error, "the ignored files of private folders are not listed"),
        }
    }

    /// Removes the private folders of a run that has ended, except those with an unresolved conflict. Returns messages
    /// for a person.
    pub(crate) async fn remove(&self) -> Vec<Message> {
        let mut folders = self.folders.lock().await;
        let opened = match folders.take() {
            Some(folders) => Ok(folders),
            // Another process may have created them.
            None if self.place.exists() => PrivateFolders::open(&self.folder, &self.place, self.path.clone()).await,
            None => return self.remarks.lock().await.notes(),
        };
        let removed = match opened {
            Ok(folders) => {
                self.note_ignored(folders.all_ignored().await).await;
                folders.remove().await
            }
            Err(error) => Err(error),
        };
        let mut notes = self.remarks.lock().await.notes();
        match removed {
            Ok(left) => notes.extend(left.iter().map(|folder| message!("private-versions-kept", folder = folder.display()))),
            Err(error) => notes.push(message!("private-folders-stay", folder = self.place.display(), reason = error)),
        }
        notes
    }
}

impl PrivateWorkspace {
    /// Returns the folder, for calls that check the work.
    pub(super) const fn confined(&self) -> &ConfinedFolder {
        &self.folder
    }

    /// Returns the path of the folder, relative to the working folder.
    pub(super) fn kept_path(&self) -> String {
        let path = self.private.path();
        let inside = self.originals.iter().find_map(|original| path.strip_prefix(original).ok());
        inside.unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Returns the repository of the folder.
    pub(super) const fn private(&self) -> &PrivateFolder {
        &self.private
    }

    /// Returns the path at which commands can read the actor's version of a file that is not in the folder.
    pub(super) fn own_version(&self, conflict: &MergeConflict) -> String {
        let kept = Path::new(conflict.kept.as_deref().unwrap_or(&conflict.path));
        self.originals.first().map_or_else(|| kept.to_owned(), |original| original.join(kept)).display().to_string()
    }

    /// Returns the paths outside of it that processes need to read.
    pub(super) fn reads(&self) -> &[PathBuf] {
        self.private.reads()
    }

    /// Returns the context of a call of an actor that works here.
    pub(super) fn context(&self, context: ToolContext) -> ToolContext {
        let confinement = context.confinement.in_folder(self.folder.path(), self.private.reads());
        // Full outputs that were cut in the prompt go to a place where the actor can read them and that is never
        // merged.
        let outputs = context.output_folder.as_ref().and_then(|outputs| Some(self.folder.path().join(".aime").join(outputs.file_name()?)));
        ToolContext {
            folder: self.folder.clone(),
            originals: self.originals.clone(),
            confinement,
            output_folder: outputs,
            protected: self.protected.clone(),
            ..context
        }
    }
}

/// Where a call must work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Anywhere, because it changes no files.
    Anywhere,
    /// In the working folder, where it changes single files through its tool context.
    Files,
    /// In the folder of its tool context, which may be a copy.
    Folder,
    /// In the working folder alone, because it does not use the folder of its tool context.
    WorkingFolder,
}

impl Reach {
    fn of(tool_spec: &ToolSpec, call: &ValidatedCall) -> Self {
        let goes_on = call.parameters().get("background").is_some_and(|value| *value == true);
        match tool_spec.touches {
            _ if tool_spec.read_only => Self::Anywhere,
            _ if works_in_shared_folder(tool_spec) || RemoteEffects::needs_progress(tool_spec.name()) => Self::WorkingFolder,
            ToolScope::Nothing | ToolScope::People | ToolScope::Network => Self::Anywhere,
            ToolScope::Files => Self::Files,
            // A command that goes on needs its folder after the call.
            ToolScope::Processes | ToolScope::Anything if goes_on => Self::WorkingFolder,
            ToolScope::Processes | ToolScope::Anything => Self::Folder,
        }
    }
}

/// Returns whether a call may change files of the working folder wherever its actor works: the process of an MCP server serves all tasks.
pub(super) fn works_in_shared_folder(tool_spec: &ToolSpec) -> bool {
    !tool_spec.read_only && tool_spec.source != Source::Touched && tool_spec.touches != ToolScope::Network
}

impl RunRunner {
    /// Returns the folder in which an execution of an actor task works. Waits for the working folder where that is in use and too large, or too
    /// slow, to be copied.
    pub(super) async fn place(
        &self,
        brief: &ActorBrief,
        task: &TaskId,
        execution: u32,
        context: &Context,
    ) -> Result<TaskWorkspace, Message> {
        let settings = &self.input.settings;
        if settings.isolation == Isolation::Shared || brief.mode == Some(PlanMode::Direct) || self.is_unshared(task) {
            return Ok(TaskWorkspace::Shared(None));
        }
        let name = private_name(task, execution);
        if settings.isolation == Isolation::Worktree {
            return Ok(TaskWorkspace::Private(Box::new(Box::pin(self.open_private(&name)).await?)));
        }
        if self.is_alone(task) || !self.may_write(&brief.spec, &brief.category) {
            return Ok(TaskWorkspace::Shared(None));
        }
        Box::pin(self.workspace_for_writer(&name, task, &brief.category, context)).await
    }

    /// Returns the folder in which the call of a tool task works.
    pub(super) async fn place_of_call(
        &self,
        call: &ValidatedCall,
        task: &TaskId,
        execution: u32,
        context: &Context,
    ) -> Result<TaskWorkspace, Message> {
        let reach = self.parts.tools.get(call.tool()).map_or(Reach::Folder, |tool| Reach::of(tool.spec(), call));
        // Another host takes care of the folder where it drives the run.
        let is_alone = !self.has_journal || self.input.settings.isolation == Isolation::Shared || self.is_alone(task);
        match reach {
            _ if is_alone => Ok(TaskWorkspace::Shared(None)),
            Reach::Anywhere => Ok(TaskWorkspace::Shared(None)),
            Reach::WorkingFolder => self.with_exclusive_lease(task, context).await,
            Reach::Files | Reach::Folder => {
                // The guard of a file tool knows the changes of others by the record.
                let beside = || Arc::clone(&self.private.turn).try_read_owned().ok();
                if let Some(turn) = (reach == Reach::Files && self.kept_files.records()).then(beside).flatten() {
                    return Ok(TaskWorkspace::Shared(Some(FolderLease::new(LeaseGuard::Shared(turn), self.kept_files.folder()))));
                }
                let category = self.live.get(&self.run).map(|state| state.category.clone()).unwrap_or_default();
                Box::pin(self.workspace_for_writer(&private_name(task, execution), task, &category, context)).await
            }
        }
    }

    /// Returns the private folder in which the call of a tool task has worked before the process died, if it was not merged.
    pub(super) async fn place_left_by(&self, task: &TaskId, execution: u32) -> Result<Option<PrivateWorkspace>, Message> {
        let name = private_name(task, execution);
        if self.private.has(&name) { self.open_private(&name).await.map(Some) } else { Ok(None) }
    }

    /// Returns whether nothing works beside a task in the same folder.
    fn is_alone(&self, task: &TaskId) -> bool {
        self.input.settings.max_parallel <= 1 || self.is_unshared(task)
    }

    /// Returns whether a task works in the folder of its tool context under all settings: nobody shares a folder without permanent content,
    /// and an actor that has handed its task over waits for it.
    fn is_unshared(&self, task: &TaskId) -> bool {
        let claimed = || self.live.get(&self.run).is_some_and(|state| state.tasks.get(task).is_some_and(|task| task.claimed_by.is_some()));
        self.kept_files.is_transient() || claimed()
    }

    /// Returns the working folder for a task that may write, if it has no company; otherwise a private folder.
    async fn workspace_for_writer(&self, name: &str, task: &TaskId, category: &str, context: &Context) -> Result<TaskWorkspace, Message> {
        // An execution that began in a private folder goes on there.
        if !self.private.has(name) {
            let turn = Arc::clone(&self.private.turn).try_write_owned().ok();
            if let Some(turn) = turn.filter(|_| !self.has_concurrent_writers(task, category)) {
                return Ok(TaskWorkspace::Shared(Some(FolderLease::new(LeaseGuard::Exclusive(turn), self.kept_files.folder()))));
            }
            if !self.private.can_be_copied().await {
                return self.with_exclusive_lease(task, context).await;
            }
        }
        let private = self.private.begin_within(MAX_COPY, name, &self.input.settings.worktree).await;
        match private.map_err(not_made)? {
            Some(private) => Ok(TaskWorkspace::Private(Box::new(self.private_workspace(private)?))),
            None => self.with_exclusive_lease(task, context).await,
        }
    }

    async fn open_private(&self, name: &str) -> Result<PrivateWorkspace, Message> {
        self.private_workspace(self.private.begin(name, &self.input.settings.worktree).await.map_err(not_made)?)
    }

    fn private_workspace(&self, private: PrivateFolder) -> Result<PrivateWorkspace, Message> {
        let original = &self.parts.tool_context.folder;
        let folder = ConfinedFolder::open(private.path()).map_err(Message::text)?.in_place_of(original);
        let originals = [original.path()].into_iter().chain(original.aliases().iter().map(PathBuf::as_path)).map(Path::to_owned).collect();
        Ok(PrivateWorkspace { private, folder, protected: ProtectedPlaces::default(), originals })
    }

    /// Returns the working folder, as soon as no other task that may write works there.
    async fn with_exclusive_lease(&self, task: &TaskId, context: &Context) -> Result<TaskWorkspace, Message> {
        Ok(TaskWorkspace::Shared(Some(self.turn(task, (&context.facts, &context.cancel)).await?)))
    }

    /// Returns the turn to work in the working folder, as soon as no other task that may write works there.
    pub(super) async fn turn(&self, task: &TaskId, run: (&FactSender<RunMachine>, &CancellationToken)) -> Result<FolderLease, Message> {
        let turn = match Arc::clone(&self.private.turn).try_write_owned() {
            Ok(turn) => turn,
            Err(_) => self.awaited(Arc::clone(&self.private.turn).write_owned(), task, run).await?,
        };
        Ok(FolderLease::new(LeaseGuard::Exclusive(turn), self.kept_files.folder()))
    }

    /// Waits for the working folder, and tells the run that a task does so.
    async fn awaited<T>(
        &self,
        folder: impl Future<Output = T>,
        task: &TaskId,
        (facts, cancel): (&FactSender<RunMachine>, &CancellationToken),
    ) -> Result<T, Message> {
        let _gone = facts.send(RunFact::FolderAwaited { task: task.clone(), is_over: false });
        let folder = cancel.run_until_cancelled(folder).await;
        let _gone = facts.send(RunFact::FolderAwaited { task: task.clone(), is_over: true });
        folder.ok_or_else(|| message!("effect-stopped"))
    }

    /// Returns whether other tasks of the plan may write while this one is in progress.
    fn has_concurrent_writers(&self, task: &TaskId, category: &str) -> bool {
        let Some(state) = self.live.get(&self.run) else { return false };
        let writes = |known: &Task| match known.spec.kind {
            TaskKind::Group => false,
            TaskKind::Tool => known.spec.tool.as_deref().is_none_or(|tool| self.tool_writes(tool)),
            TaskKind::Actor => self.may_write(&known.spec, category),
        };
        let graph = state.graph();
        let others = graph.beside(task).into_iter().filter_map(|id| state.tasks.get(id));
        others.filter(|known| known.status.is_open()).any(writes)
    }

    /// Merges the changes in a private folder into the working folder. If `compares` is set, also finds the changes of others.
    pub(super) async fn merge(&self, place: &PrivateWorkspace, task: &TaskId, compares: bool, context: &Context) -> Result<Merge, Message> {
        let failed = |error: WorkTreeError| message!("private-not-merged", reason = error);

        // A task in the working folder may write what it has read there before the merge.
        let use_now = self.kept_files.folder();
        let in_use = match use_now.try_merge() {
            Some(in_use) => in_use,
            None => self.awaited(use_now.merge(), task, (&context.facts, &context.cancel)).await?,
        };
        let folders = self.private.folders.lock().await;
        let mut merge = Merge { conflicts: Vec::new(), unseen: Vec::new(), is_unchanged: true };
        let Some(folders) = &*folders else { return Ok(merge) };
        let before = if compares { Some(place.private.state().await.map_err(failed)?) } else { None };
        let recording = self.kept_files.open_in(in_use, author(Some(task), MERGE), &context.facts).await;
        let begun = Instant::now();
        let merged = folders.merge(&place.private, task.as_str()).await;
        let duration_ms = millis_since(begun);
        let (files, changes) = self.kept_files.close_merge(recording, task, &context.facts).await;
        let _gone = context.facts.send(RunFact::ChangesMerged { task: task.clone(), duration_ms, files, changes });
        let merged = merged.map_err(failed)?;
        merge.is_unchanged = merged == FolderMerge::Unchanged;
        if let Some(before) = before.filter(|_| !matches!(merged, FolderMerge::Conflict(_))) {
            let unseen = folders.differs_from(&before).await.map_err(failed)?;
            merge.unseen = unseen.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        }
        let (conflicts, resolved) = match merged {
            FolderMerge::Unchanged | FolderMerge::Clean => return Ok(merge),
            FolderMerge::Resolved(conflicts) => (conflicts, true),
            FolderMerge::Conflict(conflicts) => (conflicts, false),
        };
        let kept = |own: PathBuf| own.strip_prefix(&self.private.folder).map_or_else(|_| own.clone(), Path::to_path_buf);
        let found = conflicts.into_iter().map(|FileConflict { path, kind, hunks, own }| FoundConflict {
            conflict: MergeConflict {
                task: task.clone(),
                path,
                kind,
                kept: own.map(|own| kept(own).to_string_lossy().into_owned()),
                resolved,
            },
            hunks,
        });
        merge.conflicts = found.collect();
        Ok(merge)
    }
}

fn private_name(task: &TaskId, execution: u32) -> String {
    format!("{task}-{execution}")
}

fn not_made(error: WorkTreeError) -> Message {
    message!("private-not-made", reason = error)
}

/// Returns the result of the criterion on conflicts of a tool task, whose call cannot resolve them.
pub(super) fn check_of_call(conflicts: &[FoundConflict]) -> Option<CriterionResult> {
    let open = conflicts.iter().map(|found| &found.conflict).filter(|conflict| !conflict.resolved);
    let named: Vec<String> = open
        .map(|MergeConflict { path, kept, .. }| match kept {
            Some(kept) => format!("`{path}` (its version is kept in `{kept}`)"),
            None => format!("`{path}`"),
        })
        .collect();
    if named.is_empty() {
        return None;
    }
    let reason = format!("others changed the same parts meanwhile, and nothing of this call is merged: {}", named.join(", "));
    Some(CriterionResult {
        passed: Some(false),
        how: CheckMethod::Executed,
        reason: reason.into(),
        ..CriterionResult::open(&Criterion::text(CRITERION))
    })
}

/// Returns the result of the criterion on conflicts; `None` if there were none. `own` returns the path at which commands of the actor can read
/// the kept version of a file.
#[must_use]
pub fn conflict_criterion_result(conflicts: &[FoundConflict], own: impl Fn(&MergeConflict) -> String) -> Option<CriterionResult> {
    if conflicts.is_empty() {
        return None;
    }
    let open: Vec<&MergeConflict> = conflicts.iter().map(|found| &found.conflict).filter(|conflict| !conflict.resolved).collect();
    let (passed, reason) = match &open[..] {
        [] => (true, "the conflicts were resolved".to_owned()),
        open => (false, reason_of(open, own)),
    };
    let (how, reason) = (CheckMethod::Executed, reason.into());
    Some(CriterionResult { passed: Some(passed), how, reason, ..CriterionResult::open(&Criterion::text(CRITERION)) })
}

/// Returns whether a version of the actor is kept and is not in its folder.
const fn is_missing(conflict: &MergeConflict) -> bool {
    conflict.kept.is_some() && matches!(conflict.kind, ConflictKind::Binary | ConflictKind::Symlink | ConflictKind::Place)
}

/// Tells an actor of the open conflicts in its folder, and how they are resolved.
fn reason_of(open: &[&MergeConflict], own: impl Fn(&MergeConflict) -> String) -> String {
    let mut by_state: BTreeMap<&str, Vec<&MergeConflict>> = BTreeMap::new();
    for conflict in open {
        let state = match conflict.kind {
            ConflictKind::Text => {
                "both versions are there, theirs after <<<<<<< working-folder and yours before >>>>>>> this-task: keep the purpose of both, and remove the markers"
            }
            ConflictKind::DeleteEdit if conflict.kept.is_some() => "deleted by others, and your changed version is there again",
            ConflictKind::DeleteEdit => "deleted by you, and the version that others changed is there again; delete it again if it must go",
            ConflictKind::Binary | ConflictKind::Symlink | ConflictKind::Place => "it is as the others left it",
        };
        by_state.entry(state).or_default().push(conflict);
    }
    let mut reason =
        "others changed the same parts meanwhile. Your folder now also has what they changed, and nothing of yours is in theirs yet."
            .to_owned();
    for (state, conflicts) in by_state {
        let named: Vec<String> = conflicts.iter().map(|conflict| format!("`{}`", conflict.path)).collect();
        let versions: Vec<String> =
            conflicts.iter().filter(|conflict| is_missing(conflict)).map(|conflict| format!("`{}`", own(conflict))).collect();
        let versions =
            if versions.is_empty() { String::new() } else { format!(" (commands can read your version: {})", versions.join(", ")) };
        reason.push_str(&format!(" {}: {state}{versions}.", named.join(", ")));
    }
    if open.iter().all(|conflict| conflict.kind == ConflictKind::Text) {
        return reason;
    }
    reason + " Change what is wrong, or nothing if these versions are right."
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
