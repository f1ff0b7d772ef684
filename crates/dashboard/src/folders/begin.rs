//! Starts and continues runs for people at a browser.

use std::sync::Arc;

use aime_orchestrator::{HumanChannel, HumanQuestion, RunRequest};
use aime_progress_management::{PlanMode, RunId};
use aime_runs::{Drive, RunHandle, RunUpdate, Runs, RunsError};
use aime_tools::Approval;
use futures::future::BoxFuture;

use crate::{Approve, Mode, NewRun};

/// Longest goal, in bytes.
const MAX_GOAL: usize = 100_000;

/// Returns the request for a run from a page.
pub(super) fn request(runs: &Runs, new: NewRun) -> Result<RunRequest, RunsError> {
    let goal = new.goal.trim().to_owned();
    if goal.is_empty() || goal.len() > MAX_GOAL {
        return Err(RunsError::usage(format!("a goal has from 1 to {MAX_GOAL} bytes")).hint("write the goal"));
    }
    let mut request = runs.request(goal);
    request.settings.mode = new.mode.map_or(request.settings.mode, mode_of);
    request.settings.approval = approval(new.approve, request.settings.approval);
    Ok(request)
}

/// Starts a run and returns its id once its first record is in the journal. It starts even if the browser no longer waits.
pub(super) async fn start(runs: &Arc<Runs>, request: RunRequest) -> Result<RunId, RunsError> {
    let runs = Arc::clone(runs);
    unhurried(async move {
        let run = request.run.clone();
        wait_for_start(&runs, runs.start(request, Drive::default().human(Arc::new(InThePage))).await?).await?;
        Ok(run)
    })
    .await
}

/// Continues a run that no process drives.
pub(super) async fn resume(runs: &Arc<Runs>, run: &RunId) -> Result<(), RunsError> {
    let (runs, run) = (Arc::clone(runs), run.clone());
    unhurried(async move {
        runs.check_resumable(&run)?;
        wait_for_start(&runs, runs.resume(&run, None, Drive::default().human(Arc::new(InThePage))).await?).await
    })
    .await
}

/// Continues a run that has ended.
pub(super) async fn continue_run(runs: &Arc<Runs>, run: &RunId, goal: String) -> Result<(), RunsError> {
    let (runs, run) = (Arc::clone(runs), run.clone());
    unhurried(async move {
        wait_for_start(&runs, runs.continue_run(&run, goal, None, Drive::default().human(Arc::new(InThePage))).await?).await
    })
    .await
}

/// Runs `work` to its end even if the caller stops waiting: a browser may leave at any time.
async fn unhurried<T: Send + 'static>(work: impl Future<Output = Result<T, RunsError>> + Send + 'static) -> Result<T, RunsError> {
    tokio::spawn(work).await.unwrap_or_else(|error| Err(RunsError::internal(error)))
}

/// Waits until a run has emitted an event, or has failed before.
async fn wait_for_start(runs: &Arc<Runs>, mut driven: RunHandle) -> Result<(), RunsError> {
    let mut updates = driven.take_updates();
    if updates.recv().await.is_none() {
        return driven.result().await.map(drop);
    }
    let runs = Arc::clone(runs);
    tokio::spawn(async move {
        while let Some(update) = updates.recv().await {
            if let RunUpdate::Note(note) = update {
                runs.setup().note(note);
            }
        }
    });
    Ok(())
}

/// Person at a page. The journal holds the question, so every page shows it, and the answer arrives in the run's inbox, as from any other
/// process.
struct InThePage;

impl HumanChannel for InThePage {
    fn ask(&self, _: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::pending())
    }
}

const fn mode_of(mode: Mode) -> Option<PlanMode> {
    match mode {
        Mode::Auto => None,
        Mode::Direct => Some(PlanMode::Direct),
        Mode::Simple => Some(PlanMode::Simple),
        Mode::Complex => Some(PlanMode::Complex),
        Mode::Emergent => Some(PlanMode::Emergent),
    }
}

/// Returns the approval mode of a run from a page. It is never `all`, even if the settings allow that, because the person at the page can
/// be asked.
const fn approval(wanted: Option<Approve>, settings: Approval) -> Approval {
    match (wanted, settings) {
        (Some(Approve::Ask), _) => Approval::Ask,
        (Some(Approve::ReadOnly), _) | (None, Approval::ReadOnly) => Approval::ReadOnly,
        (None, Approval::Ask) => Approval::Ask,
        (Some(Approve::Edits), _) | (None, Approval::Edits | Approval::All) => Approval::Edits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: 12.18
    #[test]
    fn nothing_that_a_page_says_allows_everything() {
        for settings in [Approval::Ask, Approval::Edits, Approval::All, Approval::ReadOnly] {
            for wanted in [None, Some(Approve::Ask), Some(Approve::Edits), Some(Approve::ReadOnly)] {
                assert_ne!(approval(wanted, settings), Approval::All);
            }
        }
        assert_eq!(approval(None, Approval::ReadOnly), Approval::ReadOnly);
        assert_eq!(approval(None, Approval::Ask), Approval::Ask);
        assert_eq!(approval(Some(Approve::Edits), Approval::Ask), Approval::Edits);
    }
}
