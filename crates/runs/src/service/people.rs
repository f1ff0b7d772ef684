//! Messages of people to a run from another process: a sentence, an answer, a pause, a cancel. A run that no process drives reads them when
//! it is resumed.

use std::{sync::Arc, time::Duration};

use aime_durable::{Clock, LockError, SystemClock};
use aime_messages::{Message, message};
use aime_orchestrator::{InboxMessage, NoHuman, OrchestratorError, RunControl, RunView};
use aime_progress_management::{Owner, PlanMode, PlanPatch, Question, QuestionId, RunId, RunStatus, Task, TaskId, TaskKind};
use aime_tools::Consent;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{Runs, ended_error};
use crate::{Hint, RunsError};

/// Interval of the checks whether the driving process has released the run.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time to wait for that release. Actors have 10 seconds to end.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(30);

/// Question that has been answered.
#[derive(Debug)]
pub struct AnswerReceipt {
    /// The question.
    pub question: Question,
    /// True if the run had been suspended waiting for the answer.
    pub was_left: bool,
}

/// Outcome of a cancel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancelled {
    /// The run is cancelled.
    Run,
    /// The run was told and is still stopping.
    Stopping,
    /// The run was told to cancel this task.
    Task(TaskId),
}

impl Runs {
    /// Sends a message to a run, or to the actor of one task.
    pub async fn message(&self, run: &RunId, task: Option<&str>, text: &str) -> Result<(), RunsError> {
        let task = recipient(run, &self.view(run)?, task)?;
        self.put(run, &InboxMessage::Say { task, text: text.to_owned() }).await
    }

    /// Stops a run that some process drives, so that it can be resumed.
    pub async fn pause(&self, run: &RunId) -> Result<(), RunsError> {
        self.view(run)?;
        if !self.is_driven(run) {
            return Err(not_driven_error(run));
        }
        self.put(run, &InboxMessage::Pause {}).await
    }

    /// Answers the open question with this id, or the first one if no id is given. The answer to an
    /// approval is normalized.
    pub async fn answer(&self, run: &RunId, question: Option<&str>, text: String) -> Result<AnswerReceipt, RunsError> {
        let seen = self.view(run)?;
        // The inbox holds answers that the run has not read yet.
        let answered: Vec<QuestionId> = self.inbox(run)?.into_iter().filter_map(answered_by).collect();
        let open = |asked: &&Question| asked.answer.is_none() && !answered.contains(&asked.id);
        let meant = |asked: &&Question| question.is_none_or(|id| asked.id.as_str() == id);
        let Some(asked) = seen.state.questions.iter().filter(open).find(meant) else {
            if question.is_some() {
                return Err(RunsError::usage(message!("run-asked", run = run)).hint(message!("run-asked-hint")));
            }
            return Err(no_open_question_error(run, !answered.is_empty()));
        };
        let text = recorded_answer(asked, text)?;
        self.put(run, &InboxMessage::Answer { question: asked.id.clone(), text }).await?;
        let left = matches!(&seen.output, Some(output) if output.status == RunStatus::WaitingForHuman);
        Ok(AnswerReceipt { question: asked.clone(), was_left: left })
    }

    /// Cancels a run for good, or one of its tasks.
    pub async fn cancel(&self, run: &RunId, task: Option<&str>) -> Result<Cancelled, RunsError> {
        let seen = self.view(run)?;
        if seen.is_over && seen.output.is_some() {
            return Err(ended_error(run, &seen.state));
        }
        let Some(task) = task else { return self.cancel_run(run).await };
        // A task with an unread cancel in the inbox counts as cancelled.
        let before: Vec<TaskId> = self.inbox(run)?.into_iter().filter_map(cancelled_by).collect();
        let task = cancellable_task(run, &seen, &before, task)?;
        self.put(run, &InboxMessage::Cancel { task: Some(task.clone()) }).await?;
        Ok(Cancelled::Task(task))
    }

    /// Ends the run itself if no process drives it. Otherwise it tells the driving process and waits for the release.
    async fn cancel_run(&self, run: &RunId) -> Result<Cancelled, RunsError> {
        let orchestrator = self.setup.orchestrator(None, Arc::new(NoHuman))?;
        let (mut is_sent, patience) = (false, Instant::now() + RELEASE_TIMEOUT);
        loop {
            let (events, _) = mpsc::unbounded_channel();
            match orchestrator.cancel(run, RunControl { stop: CancellationToken::new(), events }).await {
                Ok(result) if result.status == RunStatus::Cancelled => return Ok(Cancelled::Run),
                // The run reached its end before it read the message.
                Ok(result) => return Err(RunsError::usage(message!("run-ended-as", run = run, status = Message::text(result.status)))),
                Err(OrchestratorError::Lock(LockError::Locked { .. })) if Instant::now() < patience => {
                    if !std::mem::replace(&mut is_sent, true) {
                        self.put(run, &InboxMessage::Cancel { task: None }).await?;
                    }
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                Err(OrchestratorError::Lock(LockError::Locked { .. })) => return Ok(Cancelled::Stopping),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Puts a message into the inbox of a run, without secrets.
    pub async fn put(&self, run: &RunId, message: &InboxMessage) -> Result<(), RunsError> {
        let mut message = serde_json::to_value(message).map_err(RunsError::internal)?;
        self.setup.redactor().document(&mut message);
        let put = self.setup.journal()?.inbox_put(run.as_str(), SystemClock.now(), &message.to_string()).await;
        Ok(put.map(drop)?)
    }

    /// Returns the messages that a run has not read.
    fn inbox(&self, run: &RunId) -> Result<Vec<InboxMessage>, RunsError> {
        let waiting = self.setup.journal()?.inbox(run.as_str())?;
        Ok(waiting.iter().filter_map(|message| serde_json::from_str(&message.body).ok()).collect())
    }
}

/// Returns an answer in the form in which a run records it. The answer to an approval is normalized.
///
/// # Errors
/// [`RunsError`] if the answer has no words, and the question needs some.
pub(crate) fn recorded_answer(question: &Question, text: String) -> Result<String, RunsError> {
    if text.trim().is_empty() && !Question::takes_empty_answer(&question.kind) {
        return Err(RunsError::usage(message!("empty-answer")));
    }
    Ok(if question.kind == "approval" { Consent::recorded(text) } else { text })
}

fn answered_by(message: InboxMessage) -> Option<QuestionId> {
    if let InboxMessage::Answer { question, .. } = message { Some(question) } else { None }
}

fn cancelled_by(message: InboxMessage) -> Option<TaskId> {
    if let InboxMessage::Cancel { task } = message { task } else { None }
}

/// Returns the task whose actor gets a message; none if the run itself does.
pub(crate) fn recipient(run: &RunId, seen: &RunView, task: Option<&str>) -> Result<Option<TaskId>, RunsError> {
    let task = task.map(|task| open_task(run, seen, task)).transpose()?.map(|task| &task.spec);
    if seen.is_over {
        return Err(ended_error(run, &seen.state));
    }
    if let Some(task) = task.filter(|task| task.kind != TaskKind::Actor) {
        return Err(RunsError::usage(message!("task-no-actor", task = task.id)).hint(Hint::TellRun(run.to_string())));
    }
    Ok(task.map(|task| task.id.clone()))
}

/// Returns the task with this name if it is not settled.
fn open_task<'a>(run: &RunId, seen: &'a RunView, name: &str) -> Result<&'a Task, RunsError> {
    let tasks = &seen.state.tasks;
    let hint = Hint::ShowRun(run.to_string());
    let Some(task) = tasks.values().find(|task| task.spec.id.as_str() == name) else {
        return Err(RunsError::usage(message!("run-no-task", run = run, task = format!("{name:?}"))).hint(hint));
    };
    if task.status.is_settled() {
        return Err(RunsError::usage(message!("task-is", task = name, status = Message::text(task.status))).hint(hint));
    }
    Ok(task)
}

/// Returns the error for a pause of a run that no process drives.
pub(crate) fn not_driven_error(run: &RunId) -> RunsError {
    RunsError::usage(message!("run-nobody", run = run)).hint(Hint::ShowRun(run.to_string()))
}

/// Returns the error for an answer without an open question; `more` if there was one that is answered by now.
pub(crate) fn no_open_question_error(run: &RunId, more: bool) -> RunsError {
    RunsError::usage(if more { message!("run-asks-no-more", run) } else { message!("run-asks-nothing", run) })
        .hint(Hint::ShowRun(run.to_string()))
}

/// Returns the task with this name if it can still be removed from the run's plan after the tasks in `before`.
pub(crate) fn cancellable_task(run: &RunId, seen: &RunView, before: &[TaskId], task: &str) -> Result<TaskId, RunsError> {
    let task = open_task(run, seen, task)?.spec.id.clone();
    if seen.state.mode == Some(PlanMode::Direct) {
        return Err(RunsError::usage(message!("run-all", task = task, run = run)).hint(Hint::CancelRun(run.to_string())));
    }
    let cancelling = |task: &TaskId| PlanPatch::cancelling(task, "cancelled by a person", Owner::Person);
    let after = before.iter().fold(seen.state.clone(), |state, gone| {
        let at = state.last_progress_at;
        state.patched(&cancelling(gone), at).unwrap_or(state)
    });
    let still_open = after.tasks.get(&task).is_some_and(|task| !task.status.is_settled());
    if let (true, Err(faults)) = (still_open, after.check_patch(&cancelling(&task))) {
        return Err(RunsError::usage(message!("task-stays", task, reason = Message::text(faults))).hint(message!("task-stays-hint")));
    }
    Ok(task)
}
