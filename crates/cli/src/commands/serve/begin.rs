//! Beginning runs, and going on with them, for people in front of a browser.

use std::sync::{Arc, Mutex, PoisonError};

use aime_dashboard::{Approve, Mode, NewRun};
use aime_orchestrator::{HumanChannel, HumanQuestion, PublishedEvent, RunRequest};
use aime_progress::{PlanMode, RunId};
use aime_tools::Approval;
use futures::future::BoxFuture;
use tokio::sync::oneshot;

use crate::{
    commands::{
        host::{Carried, Host, Tell},
        resume::resumable,
        run::{Work, configured, new_run_id},
        steering::{has_ended, is_driven},
    },
    failure::Failure,
};

/// The longest goal, in bytes.
const LONGEST_GOAL: usize = 100_000;

/// Begins a run; gives it once something of it stands in the journal. It is begun also where nobody waits for that any more.
pub(super) async fn start(host: &Arc<Host>, new: NewRun) -> Result<RunId, Failure> {
    let goal = new.goal.trim().to_owned();
    if goal.is_empty() || goal.len() > LONGEST_GOAL {
        return Err(Failure::usage(format!("a goal has from 1 to {LONGEST_GOAL} bytes")).hint("say what is to be reached"));
    }
    let mut settings = configured(&host.setup.config);
    settings.mode = new.mode.map_or(settings.mode, mode_of);
    settings.approval = approval(new.approve, settings.approval);
    let host = Arc::clone(host);
    unhurried(async move {
        host.ready().await?;
        let models = host.models(None, true).await?;
        let run = new_run_id()?;
        let request = RunRequest { settings, ..RunRequest::new(run.clone(), goal) };
        carry(&host, &run, Work::Start(Box::new(request)), models).await?;
        Ok(run)
    })
    .await
}

/// Goes on with a run that nobody carries out.
pub(super) async fn resume(host: &Arc<Host>, run: &RunId) -> Result<(), Failure> {
    let (host, run) = (Arc::clone(host), run.clone());
    unhurried(async move {
        if is_driven(&run, &host.setup) {
            return Err(Failure::usage(format!("run {run} is being carried out")).hint("wait for it, or pause it"));
        }
        let seen = resumable(&run, &host.setup)?;
        if seen.over {
            return Err(has_ended(&run, &seen.state));
        }
        host.ready().await?;
        let models = host.models(None, seen.input.can_plan).await?;
        carry(&host, &run, Work::Resume { bounds: None, before: Box::new(seen.state) }, models).await
    })
    .await
}

/// Does something to its end, whether or not who asked for it waits: a browser may leave at any time.
async fn unhurried<T: Send + 'static>(work: impl Future<Output = Result<T, Failure>> + Send + 'static) -> Result<T, Failure> {
    tokio::spawn(work).await.unwrap_or_else(|error| Err(Failure::internal(error)))
}

/// Has a run carried out; waits until it has told something, or has failed before it could.
async fn carry(host: &Host, run: &RunId, work: Work, models: Option<aime_orchestrator::Models>) -> Result<(), Failure> {
    let (first, begun) = oneshot::channel();
    let first = Mutex::new(Some(first));
    let tell: Tell = Box::new(move |_: PublishedEvent| {
        if let Some(first) = first.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Who waited may have left.
            first.send(()).ok();
        }
    });
    let going = host.carry(Carried { run: run.clone(), work, models, human: Arc::new(InThePage), earlier: String::new(), tell })?;
    if begun.await.is_ok() { Ok(()) } else { going.result().await.map(drop) }
}

/// The person in front of a page. What is asked stands in the journal, where every page shows it, and the answer comes by the run's inbox, as from any other process.
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

/// What is done without asking in a run of a page. Never everything, also where the settings allow it: a person sits in front of the page and can be asked.
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
