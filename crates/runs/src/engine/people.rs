//! Messages of people to a run of an engine. If a worker can report the run's state, invalid messages are refused as for a run in a folder.
//! Otherwise the message is sent unchecked and waits in the engine.

use std::time::Duration;

use aime_messages::{Message, message};
use aime_orchestrator::{RunFact, RunView};
use aime_progress_management::{EvidenceId, Question, RunId, RunStatus, TaskId};
use aime_temporal::{EngineError, WatchReply};
use tokio::time::{Instant, sleep};

use super::{EngineRuns, POLL_INTERVAL};
use crate::{
    Cancelled, Delivery, RunsError, ended_error,
    service::{cancellable_task, no_open_question_error, not_driven_error, recipient, recorded_answer},
};

/// Time to wait for the end of a cancelled run. Actors have 10 seconds to end.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(30);

/// Run that receives a message.
struct Target<'a> {
    engine: &'a aime_temporal::RunsClient,
    /// State of the run; none if no worker can report it.
    view: Option<RunView>,
    /// True if the run was suspended or is a fork, so that nothing drives it now.
    is_left: bool,
}

impl EngineRuns<'_> {
    async fn target(&self, run: &RunId) -> Result<Target<'_>, RunsError> {
        let engine = self.engine().await?;
        let (all, is_left) = match engine.watch(run, usize::MAX).await {
            Ok(watched) => (watched.all, watched.result.is_some()),
            Err(error @ EngineError::NoSuchRun { .. }) => return Err(error.into()),
            Err(_) => (0, false),
        };
        // A run that is just continuing in a new history may be reported incompletely.
        let view = if all > 0 { engine.view(run).await.ok().filter(|seen| seen.events.len() >= all) } else { None };
        Ok(Target { engine, view, is_left })
    }

    async fn send(&self, target: &Target<'_>, run: &RunId, fact: RunFact) -> Result<Delivery, RunsError> {
        let fact = self.setup().redactor().typed(fact);
        target.engine.send_facts(run, vec![fact]).await?;
        Ok(match (&target.view, target.is_left) {
            (None, _) => Delivery::Unchecked,
            (Some(_), true) => Delivery::Left,
            (Some(_), false) => Delivery::Driven,
        })
    }

    /// Answers the first open question, and returns it; none if the answer was sent unchecked.
    pub async fn answer(&self, run: &RunId, mut text: String) -> Result<Option<Question>, RunsError> {
        let target = self.target(run).await?;
        let mut question = None;
        if let Some(seen) = &target.view {
            let open = seen.state.questions.iter().find(|question| question.answer.is_none() && !seen.is_over);
            let more = seen.state.questions.iter().any(|question| question.answer.is_some());
            let open = open.ok_or_else(|| no_open_question_error(run, more))?;
            text = recorded_answer(open, text)?;
            question = Some(open.clone());
        }
        let id = question.as_ref().map(|question| question.id.clone());
        self.send(&target, run, RunFact::PersonAnswered { question: id, text }).await?;
        Ok(question)
    }

    /// Sends a message to the run, or to the actor of a task.
    pub async fn message(&self, run: &RunId, task: Option<&str>, text: String) -> Result<Delivery, RunsError> {
        let target = self.target(run).await?;
        let task = match &target.view {
            Some(seen) => recipient(run, seen, task)?,
            None => task.map(task_id).transpose()?,
        };
        let id = EvidenceId::new(format!("person-{}", uuid::Uuid::now_v7().simple())).map_err(RunsError::internal)?;
        self.send(&target, run, RunFact::PersonSaid { id, task, text }).await
    }

    /// Stops a run that is under way, so that it can be resumed.
    pub async fn pause(&self, run: &RunId) -> Result<(), RunsError> {
        let target = self.target(run).await?;
        if target.is_left {
            return Err(not_driven_error(run));
        }
        self.send(&target, run, RunFact::StopRequested { reason: message!("paused-by-person") }).await.map(drop)
    }

    /// Cancels a run for good, or removes a task from its plan. Waits for the end of a run whose state a worker can report.
    pub async fn cancel(&self, run: &RunId, task: Option<&str>) -> Result<(Cancelled, Delivery), RunsError> {
        let target = self.target(run).await?;
        if let Some(seen) = &target.view {
            if seen.is_over {
                return Err(ended_error(run, &seen.state));
            }
            if let Some(task) = task {
                cancellable_task(run, seen, &[], task)?;
            }
        }
        let task = task.map(task_id).transpose()?;
        let fact = RunFact::CancelRequested { task: task.clone(), reason: message!("cancelled-by-person"), message: None };
        let delivery = self.send(&target, run, fact).await?;
        let cancelled = match task {
            Some(task) => Cancelled::Task(task),
            None if delivery == Delivery::Unchecked => Cancelled::Stopping,
            None => target.end(run).await?,
        };
        Ok((cancelled, delivery))
    }
}

impl Target<'_> {
    /// Waits until the run has ended, as a cancel does for a run in a folder.
    async fn end(&self, run: &RunId) -> Result<Cancelled, RunsError> {
        let patience = Instant::now() + CANCEL_TIMEOUT;
        while Instant::now() < patience {
            if let Ok(WatchReply { is_over: true, result: Some(result), .. }) = self.engine.watch(run, usize::MAX).await {
                if result.status == RunStatus::Cancelled {
                    return Ok(Cancelled::Run);
                }
                // The run reached its end before it read the message.
                return Err(RunsError::usage(message!("run-ended-as", run, status = Message::text(result.status))));
            }
            sleep(POLL_INTERVAL).await;
        }
        Ok(Cancelled::Stopping)
    }
}

fn task_id(task: &str) -> Result<TaskId, RunsError> {
    TaskId::new(task).map_err(|error| RunsError::usage(&error))
}
