//! `aime cancel`.

use std::{sync::Arc, time::Duration};

use aime_durable::LockError;
use aime_orchestrator::{InboxMessage, NobodyThere, Orchestrator, OrchestratorError, RunControl, RunView};
use aime_progress::{PlanMode, PlanPatch, RunId, RunStatus, TaskId};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    run::failure_of,
    runs::read,
    steering::{has_ended, is_driven, open_task, put},
};
use crate::{
    failure::{Failure, code},
    output,
    wiring::Setup,
    words::msg,
};

/// How often to look whether the process that carries a run out has let go of it.
const LOOK: Duration = Duration::from_millis(100);
/// How long to wait for that: actors have 10 seconds to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ends a run for good, or one of its tasks.
pub(super) async fn cancel(run: &str, task: Option<&str>, setup: &Setup) -> Result<u8, Failure> {
    let (run, seen) = read(run, setup)?;
    if seen.over && seen.output.is_some() {
        return Err(has_ended(&run, &seen.state));
    }
    match task {
        Some(task) => cancel_task(&run, &seen, task, setup).await,
        None => cancel_run(&run, setup).await,
    }
}

/// Ends the run itself where nobody carries it out; else tells who does, and waits until that one has let go.
async fn cancel_run(run: &RunId, setup: &Setup) -> Result<u8, Failure> {
    let orchestrator = Orchestrator::new(setup.parts(None, Arc::new(NobodyThere))?);
    let (mut told, patience) = (false, Instant::now() + PATIENCE);
    loop {
        let (events, _) = mpsc::unbounded_channel();
        match orchestrator.cancel(run, RunControl { stop: CancellationToken::new(), events }).await {
            Ok(result) if result.status == RunStatus::Cancelled => {
                output::note(&msg!("cancel-done", run = run));
                return Ok(0);
            }
            // It came to its end before it heard.
            Ok(result) => return Err(Failure::usage(format!("run {run} has ended as {}", result.status))),
            Err(OrchestratorError::Lock(LockError::Held { .. })) if Instant::now() < patience => {
                if !std::mem::replace(&mut told, true) {
                    put(run, &InboxMessage::Cancel { task: None }, setup).await?;
                }
                tokio::time::sleep(LOOK).await;
            }
            Err(OrchestratorError::Lock(LockError::Held { .. })) => {
                output::note(&format!("run {run} was told, and is still stopping"));
                return Ok(0);
            }
            Err(error) => return Err(failure_of(&error)),
        }
    }
}

async fn cancel_task(run: &RunId, seen: &RunView, task: &str, setup: &Setup) -> Result<u8, Failure> {
    // What is to be cancelled already, and the run has not taken up, is as good as gone.
    let waiting = setup.journal()?.inbox(run.as_str()).map_err(|error| Failure::caused(code::USAGE, &error))?;
    let before: Vec<TaskId> = waiting.iter().filter_map(|message| cancelled_by(&message.body)).collect();
    let task = part_of(run, seen, &before, task)?;
    put(run, &InboxMessage::Cancel { task: Some(task.clone()) }, setup).await?;
    let then = if is_driven(run, setup) { "the run takes it up now".to_owned() } else { format!("go on with `aime resume {run}`") };
    output::note(&format!("to be cancelled: {task}\n{then}"));
    Ok(0)
}

/// The task that a message cancels.
fn cancelled_by(message: &str) -> Option<TaskId> {
    match serde_json::from_str(message).ok()? {
        InboxMessage::Cancel { task } => task,
        _ => None,
    }
}

/// The task of a name, if it can be taken out of the run's plan after those before it.
pub(super) fn part_of(run: &RunId, seen: &RunView, before: &[TaskId], task: &str) -> Result<TaskId, Failure> {
    let task = open_task(run, seen, task)?.spec.id.clone();
    if seen.state.mode == Some(PlanMode::Direct) {
        return Err(Failure::usage(format!("{task} is all that run {run} does")).hint(format!("`aime cancel {run}` ends the run")));
    }
    let cancelling = |task: &TaskId| PlanPatch::cancelling(task, "cancelled by a person");
    let after = before.iter().fold(seen.state.clone(), |state, gone| {
        let at = state.last_progress_at;
        state.patched(&cancelling(gone), at).unwrap_or(state)
    });
    let still_open = after.tasks.get(&task).is_some_and(|task| !task.status.is_settled());
    if let (true, Err(faults)) = (still_open, after.check_patch(&cancelling(&task))) {
        return Err(Failure::usage(format!("{task} stays in the plan: {faults}")).hint("cancel what needs it first"));
    }
    Ok(task)
}
