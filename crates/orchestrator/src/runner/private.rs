//! Private folders of tasks, which isolate tasks that run at the same time.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use aime_progress::{CheckMethod, Criterion, PlanMode, RunId, TaskId};
use aime_sandbox::ConfinedFolder;
use aime_tools::ToolContext;
use aime_work_tree::{Extras, Joined, PrivateFolder, PrivateFolders, WorkTreeError};
use tokio::sync::Mutex;

use super::{Context, RunRunner, kept_files::author};
use crate::{ActorBrief, CriterionResult, Isolation, Parts, WorktreeSettings};

/// The criterion that a conflict violates, as the actor and people read it.
const CRITERION: &str = "the changes fit those that others made meanwhile";

/// Private folders of a run, created when the first task needs one.
pub(crate) struct PrivatePlaces {
    /// The shared folder.
    folder: PathBuf,
    place: PathBuf,
    /// The `PATH` to find `git` on.
    path: OsString,
    folders: Mutex<Option<PrivateFolders>>,
}

/// The private folder of a task, in which its actors work.
#[derive(Debug, Clone)]
pub(super) struct PrivatePlace {
    private: PrivateFolder,
    folder: ConfinedFolder,
}

impl PrivatePlaces {
    /// Creates the handle for the private folders of a run.
    pub(crate) fn new(parts: &Parts, run: &RunId) -> Self {
        let context = &parts.tool_context;
        let path = context.environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        let folder = context.working_folder().to_owned();
        Self { folder, place: parts.keep.join("runs").join(run.as_str()).join("private"), path, folders: Mutex::default() }
    }

    async fn begin(&self, name: &str, settings: &WorktreeSettings) -> Result<PrivateFolder, WorkTreeError> {
        let extras = Extras { copy: settings.copy.clone(), link: settings.link.clone() };
        let mut folders = self.folders.lock().await;
        match &*folders {
            Some(folders) => folders.begin(name, &extras).await,
            None => folders.insert(PrivateFolders::open(&self.folder, &self.place, self.path.clone()).await?).begin(name, &extras).await,
        }
    }

    /// Removes the private folders of a run that has ended, except those with an unresolved conflict. Returns messages
    /// for a person.
    pub(crate) async fn remove(&self) -> Vec<String> {
        let mut folders = self.folders.lock().await;
        let opened = match folders.take() {
            Some(folders) => Ok(folders),
            // Another process may have created them.
            None if self.place.exists() => PrivateFolders::open(&self.folder, &self.place, self.path.clone()).await,
            None => return Vec::new(),
        };
        let removed = match opened {
            Ok(folders) => folders.remove().await,
            Err(error) => Err(error),
        };
        match removed {
            Ok(left) => left.iter().map(|folder| format!("changes that conflict with others are kept in {}", folder.display())).collect(),
            Err(error) => vec![format!("the private folders of the run stay in {}: {error}", self.place.display())],
        }
    }
}

impl PrivatePlace {
    /// Returns the context of a call of an actor that works here.
    pub(super) fn context(&self, context: ToolContext) -> ToolContext {
        let confinement = context.confinement.in_folder(self.folder.path(), self.private.reads());
        // Full outputs that were cut in the prompt go to a place where the actor can read them and that is never
        // joined.
        let outputs = context.output_folder.as_ref().and_then(|outputs| Some(self.folder.path().join(".aime").join(outputs.file_name()?)));
        ToolContext { folder: self.folder.clone(), confinement, output_folder: outputs, ..context }
    }
}

impl RunRunner {
    /// Returns the private folder of an execution of a task, or `None` if all tasks work in one folder.
    pub(super) async fn private_place(&self, brief: &ActorBrief, task: &TaskId, execution: u32) -> Result<Option<PrivatePlace>, String> {
        let settings = &self.input.settings;
        let is_alone = settings.max_parallel <= 1 || brief.mode == Some(PlanMode::Direct) || self.kept_files.is_passing();
        if settings.isolation == Isolation::Shared || is_alone {
            return Ok(None);
        }
        let private = self.private.begin(&format!("{task}-{execution}"), &settings.worktree).await;
        let private = private.map_err(|error| format!("the private folder of the task cannot be made: {error}"))?;
        let folder = ConfinedFolder::open(private.path()).map_err(|error| error.to_string())?;
        Ok(Some(PrivatePlace { private, folder }))
    }

    /// Joins the changes in a private folder with the working folder. Returns the criterion that a conflict violates,
    /// if there is one.
    pub(super) async fn join(&self, place: &PrivatePlace, task: &TaskId, context: &Context) -> Result<Option<CriterionResult>, String> {
        let folders = self.private.folders.lock().await;
        let Some(folders) = &*folders else { return Ok(None) };
        let window = self.kept_files.open(author(Some(task), "join"), &context.facts).await;
        let joined = folders.join(&place.private, task.as_str()).await;
        self.kept_files.close(window, &context.facts).await;
        match joined.map_err(|error| format!("the changes of the task cannot be joined with the working folder: {error}"))? {
            Joined::Unchanged | Joined::Clean => Ok(None),
            Joined::Conflict(paths) => {
                let paths = paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
                let reason = format!(
                    "others changed the same parts of {paths}. Your folder holds the changes of all now. In text files both versions stand between \
                     <<<<<<< and >>>>>>>: keep what both are for, and remove the marks; other files are as the others left them"
                );
                Ok(Some(CriterionResult {
                    passed: Some(false),
                    how: CheckMethod::Executed,
                    reason,
                    ..CriterionResult::open(&Criterion::text(CRITERION))
                }))
            }
        }
    }
}
