//! Files of runs on an engine: a working folder that goes from host to host, and the record of changes for an undo.

use std::path::PathBuf;

use aime_messages::message;
use aime_orchestrator::RunView;
use aime_progress_management::{ProgressEvent, RunId};
use aime_temporal::{ImportOutcome, Side, WorkspaceSnapshot, WorkspaceStore, import_author};
use aime_undo::{Author, Change, UndoData};

use super::{EngineOptions, EngineRuns, access};
use crate::{EngineStep, ErrorKind, Hint, RunsError, Setup};

/// Files that were changed both here and in a run, so that nothing was changed here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderConflict {
    /// Paths of the files.
    pub paths: Vec<String>,
    /// Git repository with the state of the run.
    pub repository: PathBuf,
    /// State of the run, as a commit there.
    pub commit: String,
}

/// Returns the working folder with its states, which are stored outside the reach of commands in the folder.
pub(super) async fn trees(side: Side, options: &EngineOptions, setup: &Setup) -> Result<WorkspaceStore, RunsError> {
    let Some(state) = setup.places.state_folder().filter(|state| !state.starts_with(&setup.folder)) else {
        return Err(RunsError::usage(message!("engine-no-state-folder")).hint(message!("engine-no-state-folder-hint")));
    };
    let path = setup.environment.text("PATH").unwrap_or_default().into();
    Ok(WorkspaceStore::open(side, &setup.folder, &state.join("trees"), path, access::blobs(options, setup)?).await?)
}

impl EngineRuns<'_> {
    /// Returns the folder's content as the initial state of a run; none if the run works in this folder itself.
    pub(super) async fn hand_over(&self, run: &RunId) -> Result<Option<WorkspaceSnapshot>, RunsError> {
        if !self.options.git_handoff {
            return Ok(None);
        }
        let trees = trees(Side::Client, self.options, self.setup()).await?;
        Ok(Some(trees.hand_over(run.as_str()).await?))
    }

    /// Brings a run's changes to its folder into this one. The caller gets a notice if the run started elsewhere.
    pub(super) async fn take_back(&self, run: &RunId, tree: &WorkspaceSnapshot) -> Result<Option<FolderConflict>, RunsError> {
        let setup = self.setup();
        let trees = trees(Side::Client, self.options, setup).await?;
        // The changes are recorded like any other work, so that they can be undone.
        let recorder = if setup.config.undo.enabled { Some(setup.recorder(run)?) } else { None };
        let taken = trees.take_back(run.as_str(), tree, recorder.clone()).await;
        if let Some(recorder) = recorder {
            recorder.finish();
            recorder.notes().into_iter().for_each(|note| setup.note(note));
        }
        match taken? {
            ImportOutcome::Imported => {}
            ImportOutcome::Elsewhere => setup.note(message!("engine-elsewhere")),
            ImportOutcome::Conflict { paths, commit } => {
                return Ok(Some(FolderConflict { paths, repository: trees.repository().to_owned(), commit: commit.to_string() }));
            }
        }
        Ok(None)
    }

    /// Checks that this folder has the record of the file changes of a suspended run, which it needs for an undo of the run or of `task`. The
    /// record is in the folder where the run worked or, if that travelled between hosts, in the folder into which it was brought back.
    pub fn check_undo(&self, run: &RunId, seen: &RunView, task: Option<&str>) -> Result<(), RunsError> {
        if seen.output.is_none() {
            return Err(RunsError::usage(message!("engine-under-way", run)).hint(message!("stop-first")));
        }
        let data = UndoData::read(&self.setup().data_folder(), run.as_str());
        let data = data.map_err(|error| RunsError::caused(ErrorKind::Usage, error))?;
        if data.is_none() && may_have_changed_files(seen) {
            return Err(RunsError::usage(message!("engine-kept-elsewhere", run)).hint(Hint::Engine(EngineStep::UndoElsewhere)));
        }
        let of_nobody = |(_, by): (Change, Vec<&Author>)| by.iter().any(|author| **author == import_author());
        if task.is_some() && data.is_some_and(|data| data.changes().any(of_nobody)) {
            return Err(RunsError::usage(message!("engine-as-one", run)).hint(message!("engine-as-one-hint")));
        }
        Ok(())
    }
}

/// Returns true if a run has called a tool that may change a file.
fn may_have_changed_files(seen: &RunView) -> bool {
    let only_reads = |tool: &str| seen.tools().iter().any(|spec| spec.name() == tool && spec.read_only);
    seen.events.iter().any(|published| matches!(&published.event, ProgressEvent::ToolCallStarted { tool, .. } if !only_reads(tool)))
}
