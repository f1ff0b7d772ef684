//! What tasks do to files is kept, so that it can be undone.

use std::{collections::BTreeSet, sync::Arc};

use aime_progress::{LiveStore, RunId, TaskId};
use aime_tools::{OtherChange, SeenFiles, TaskUndone, ToolContext, ToolSheet, Touches, UndoTask, WriteGuard};
use aime_undo::{Author, Change, Entry, PathChange, Recorder, Scope, Window, line_diff};
use tokio::task::spawn_blocking;

use crate::{FileChange, PassingFolder, RunFact, RunMachine};

/// The lines of a diff that people are shown while a run goes on.
const DIFF_LINES: usize = 30;

type Facts = aime_durable::FactSender<RunMachine>;

/// Keeps what the tasks of a run do to files; nothing where that is turned off. Cheap to clone.
#[derive(Clone)]
pub(crate) struct KeptFiles {
    recorder: Option<Arc<Recorder>>,
    run: RunId,
    live: Arc<LiveStore>,
    /// The folder, where nothing stays in it: whatever an effect does there is the effect's, and nobody looks around for it.
    passing: Option<Arc<dyn PassingFolder>>,
}

impl KeptFiles {
    pub(crate) fn new(recorder: Option<Recorder>, run: RunId, live: Arc<LiveStore>) -> Self {
        Self { recorder: recorder.map(Arc::new), run, live, passing: None }
    }

    /// The same in such a folder.
    pub(crate) fn in_passing(self, passing: Option<Arc<dyn PassingFolder>>) -> Self {
        Self { passing, ..self }
    }

    /// The context of a call: what it changes through its folder is kept as the task's, and tasks can be undone by it.
    pub(super) fn watched(&self, context: ToolContext, task: Option<&TaskId>, tool: &str) -> ToolContext {
        let Some(recorder) = &self.recorder else { return context };
        let author = author(task, tool).of_actor(context.guard.as_ref().map(WriteGuard::actor));
        let folder = context.folder.clone().watched_by(recorder.watcher(author));
        let (here, recorder) = (self.clone(), Arc::clone(recorder));
        let undo = UndoTask::new(move |task| {
            let (here, recorder) = (here.clone(), Arc::clone(&recorder));
            Box::pin(async move {
                let scope = here.scope(&task)?;
                let turn = match &here.passing {
                    Some(passing) => Some(passing.bring_past(Arc::clone(&recorder), scope.clone()).await?),
                    None => None,
                };
                let undone = spawn_blocking(move || {
                    let undone = undo(&recorder, &scope);
                    drop(turn);
                    undone
                });
                undone.await.map_err(|error| error.to_string())?
            })
        });
        ToolContext { folder, ..context }.with_undo(undo)
    }

    /// The guard of an actor that has seen these versions of files.
    pub(super) fn guard(&self, actor: &str, seen: SeenFiles) -> WriteGuard {
        let (recorder, me) = (self.recorder.clone(), actor.to_owned());
        WriteGuard::new(actor, seen).looking_up(move |path, hash| {
            let Some(changes) = recorder.as_ref().and_then(|recorder| recorder.changes_of(path)) else { return OtherChange::Unknown };
            let after = |change: &PathChange| hash.is_some() && change.after.as_ref().and_then(Entry::hash) == hash;
            let known = changes.iter().rposition(after).map_or(0, |at| at + 1);
            let since = changes.get(known..).unwrap_or_default();
            // The actor has not seen changes that its own commands made to a file that it has read.
            let own = || since.last().filter(|_| hash.is_some());
            let change = since.iter().rfind(|change| !is_own(change, &me)).or_else(own);
            change.map_or(OtherChange::Nobody, |change| OtherChange::By(who(&change.by, &me)))
        })
    }

    /// Returns whether nothing stays in the folder, so that nobody shares it.
    pub(super) fn is_passing(&self) -> bool {
        self.passing.is_some()
    }

    /// What a task is: itself and all below it.
    fn scope(&self, task: &str) -> Result<Scope, String> {
        let state = self.live.get(&self.run).ok_or("the run is not live")?;
        if !state.tasks.keys().any(|id| id.as_str() == task) {
            let known = state.tasks.keys().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
            return Err(format!("the plan has no task `{task}`: its tasks are {known}"));
        }
        Ok(Scope::Tasks { tasks: with_children(&state, task) })
    }

    /// Something begins that may change any file.
    pub(super) async fn open(&self, author: Author, facts: &Facts) -> Option<Window> {
        let recorder = Arc::clone(self.recorder.as_ref().filter(|_| self.passing.is_none())?);
        let opened = self.blocking(facts, move || recorder.open(author)).await;
        opened.flatten()
    }

    /// It has ended.
    pub(super) async fn close(&self, window: Option<Window>, facts: &Facts) {
        match (window, self.recorder.clone()) {
            (Some(window), Some(recorder)) => {
                self.blocking(facts, move || recorder.close(window)).await;
            }
            _ => self.tell(facts).await,
        }
    }

    /// The same where nobody is left to be told.
    pub(crate) async fn around<T>(&self, what: &str, work: impl Future<Output = T>) -> T {
        let Some(recorder) = self.recorder.clone().filter(|_| self.passing.is_none()) else { return work.await };
        let (author, opening) = (author(None, what), Arc::clone(&recorder));
        let window = spawn_blocking(move || opening.open(author)).await.ok().flatten();
        let done = work.await;
        if let Some(window) = window {
            // A fault there has been told by its panic.
            drop(spawn_blocking(move || recorder.close(window)).await);
        }
        done
    }

    /// The run ends, or is left. What is to be told of it.
    pub(crate) async fn finish(&self) -> Vec<String> {
        let Some(recorder) = self.recorder.clone() else { return Vec::new() };
        let finished = spawn_blocking(move || {
            recorder.finish();
            recorder.notes()
        });
        finished.await.unwrap_or_default()
    }

    /// A part of the run ends, and others go on with it elsewhere. What is to be told of it.
    pub(super) async fn leave(&self) -> Vec<RunFact> {
        let Some(recorder) = self.recorder.clone() else { return Vec::new() };
        let left = spawn_blocking(move || {
            recorder.leave();
            recorder.notes()
        });
        self.worth_telling(left.await.unwrap_or_default()).collect()
    }

    /// That something could not be kept; not where it stands in the states of the folder all the same.
    fn worth_telling(&self, notes: Vec<String>) -> impl Iterator<Item = RunFact> {
        notes.into_iter().filter(|_| self.passing.is_none()).map(|message| RunFact::UndoLost { message })
    }

    /// Does what blocks, and tells the run what there is to be told.
    async fn blocking<T: Send + 'static>(&self, facts: &Facts, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let done = spawn_blocking(work).await.ok();
        self.tell(facts).await;
        done
    }

    /// Tells the run what file tools did, and what else there is to be told.
    pub(super) async fn tell(&self, facts: &Facts) {
        let Some(recorder) = self.recorder.clone() else { return };
        let told = spawn_blocking(move || {
            let changes = recorder.exact_changes();
            let changes: Vec<FileChange> =
                changes.into_iter().filter_map(|(author, change)| file_change(&recorder, author, change)).collect();
            (changes, recorder.notes())
        });
        let (changes, notes) = told.await.unwrap_or_default();
        let changes = changes.into_iter().map(|change| RunFact::FileChanged { change });
        for fact in changes.chain(self.worth_telling(notes)) {
            // A run that is gone has nobody to be told.
            let _gone = facts.send(fact);
        }
    }
}

/// A change of a file, for people; folders that came with it go without saying.
fn file_change(recorder: &Recorder, author: Author, change: Change) -> Option<FileChange> {
    let Change { path, before, after } = change;
    let is_file = |entry: &Option<Entry>| matches!(entry, Some(Entry::File { .. } | Entry::NotKept { .. }));
    if !is_file(&before) && !is_file(&after) {
        return None;
    }
    let did = match (&before, &after) {
        (None, _) => "created",
        (_, None) => "deleted",
        _ => "changed",
    };
    let kept = |entry: &Option<Entry>| entry.as_ref().is_none_or(|entry| entry.not_kept().is_none());
    let contents =
        (kept(&before) && kept(&after)).then(|| Some((recorder.content(before.as_ref()).ok()?, recorder.content(after.as_ref()).ok()?)));
    let diff = contents.flatten().and_then(|(before, after)| line_diff(&before, &after, DIFF_LINES));
    let (added, removed, diff) = diff.map(|diff| (diff.added, diff.removed, diff.text)).unwrap_or_default();
    let Author { task, tool, .. } = author;
    Some(FileChange { task, tool, path: path.to_string_lossy().into_owned(), did: did.to_owned(), added, removed, diff })
}

/// A task and all below it, by their ids.
#[must_use]
pub fn with_children(state: &aime_progress::ProgressState, task: &str) -> BTreeSet<String> {
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

/// Whether a call of a tool may change any file, and not through its folder alone.
pub(super) fn may_change_anything(sheet: &ToolSheet) -> bool {
    !sheet.read_only && matches!(sheet.touches, Touches::Processes | Touches::Network | Touches::Anything)
}

/// Returns whether an actor alone may have made a change.
fn is_own(change: &PathChange, actor: &str) -> bool {
    !change.by.is_empty() && change.by.iter().all(|author| author.actor.as_deref() == Some(actor))
}

/// Names the authors of a change to the actor `me`.
fn who(by: &[Author], me: &str) -> String {
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

fn undo(recorder: &Recorder, scope: &Scope) -> Result<TaskUndone, String> {
    let plan = recorder.plan(scope, false).map_err(|error| error.to_string())?;
    let undone = recorder.undo(&plan).map_err(|error| error.to_string())?;
    let named = |path: &std::path::Path| path.display().to_string();
    let conflicts = plan.conflicts.iter().map(|conflict| (named(&conflict.path), conflict.why.words()));
    let failed = undone.failed.iter().map(|failed| (named(&failed.path), failed.why.to_string()));
    Ok(TaskUndone { restored: undone.changes.iter().map(|change| named(&change.path)).collect(), left: conflicts.chain(failed).collect() })
}
