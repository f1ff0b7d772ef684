//! One interface to the runs of a folder and of an engine.

use aime_durable::{RunRecord, UnixMillis};
use aime_orchestrator::{RunCheck, RunStats, RunView};
use aime_progress_management::{Question, RunId};
use aime_report::ReportView;
use aime_undo::Scope;
use serde_json::{Value, json};

#[cfg(feature = "temporal")]
use crate::engine::EngineRuns;
use crate::{AnswerReceipt, Cancelled, Runs, RunsError, Setup, report_view, rfc3339, service::task_scope};

/// Evaluates an expression for the runs of a folder, and the same or another one for those of an engine.
macro_rules! each {
    ($service:expr, $runs:ident => $both:expr) => {
        each!($service, $runs => $both, $both)
    };
    ($service:expr, $runs:ident => $folder:expr, $engine:expr) => {
        match $service {
            Self::Folder($runs) => $folder,
            #[cfg(feature = "temporal")]
            Self::Engine($runs) => $engine,
        }
    };
}

/// Runs of a folder or of an engine, with the operations that both have.
pub enum RunService<'a> {
    /// Runs of a folder.
    Folder(&'a Runs),
    /// Runs of an engine.
    #[cfg(feature = "temporal")]
    Engine(EngineRuns<'a>),
}

/// Run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunListing {
    /// Id of the run.
    pub run: String,
    /// Status. Without a worker to ask, it is in the words of the engine.
    pub status: String,
    /// Goal; none if no worker can report it.
    pub goal: Option<String>,
    /// Start of the run.
    pub created: Option<UnixMillis>,
    /// Last progress, or the end.
    pub updated: Option<UnixMillis>,
    /// Times of its history on an engine; none for a run of a folder.
    pub history: Option<HistoryTimes>,
}

/// Start and end of a run's history, according to its engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryTimes {
    /// Start of the history.
    pub since: Option<UnixMillis>,
    /// End of the history.
    pub ended: Option<UnixMillis>,
}

/// Delivery of a message to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The run reads the message at its next step.
    Driven,
    /// The run was suspended or is a fork: it reads the message once it is resumed.
    Left,
    /// The message is an answer, with which the run goes on by itself.
    Continues,
    /// No worker could report the state of the run, so the message was sent unchecked.
    Unchecked,
}

impl From<RunRecord> for RunListing {
    fn from(run: RunRecord) -> Self {
        let (created, updated) = (Some(run.created_at), Some(run.updated_at));
        Self { run: run.id, status: run.status, goal: Some(run.title), created, updated, history: None }
    }
}

impl RunListing {
    /// Returns the document of the run in a list.
    pub fn document(&self) -> Value {
        let time = |time: Option<UnixMillis>| time.map(rfc3339);
        let mut document = json!({
            "run_id": self.run, "status": self.status, "goal": self.goal, "created": time(self.created), "updated": time(self.updated),
        });
        if let (Some(HistoryTimes { since, ended }), Some(members)) = (self.history, document.as_object_mut()) {
            members.extend([("since".to_owned(), json!(time(since))), ("ended".to_owned(), json!(time(ended)))]);
        }
        document
    }
}

impl RunService<'_> {
    /// Returns the folder with its settings.
    pub fn setup(&self) -> &Setup {
        each!(self, runs => runs.setup())
    }

    /// Returns the runs, newest first; of an engine only the newest ones.
    pub async fn list(&self) -> Result<Vec<RunListing>, RunsError> {
        each!(self, runs => Ok(runs.list()?.into_iter().map(RunListing::from).collect()), runs.list().await)
    }

    /// Finds the run that a text refers to: its id, a prefix of its id, or `last`.
    pub async fn find(&self, text: &str) -> Result<RunId, RunsError> {
        each!(self, runs => runs.find(text), runs.find(text).await)
    }

    /// Finds a run and reads it from its journal. The caller gets a notice of damage and contradictions.
    pub async fn read(&self, text: &str) -> Result<(RunId, RunView), RunsError> {
        each!(self, runs => runs.read(text), runs.read(text).await)
    }

    /// Does the same, and returns true if something drives the run.
    pub async fn read_with_driver(&self, text: &str) -> Result<(RunId, RunView, bool), RunsError> {
        let run = self.find(text).await?;
        // This comes first: whatever is read after the driver is gone is the final state.
        let driven = self.is_driven(&run).await?;
        let seen = each!(self, runs => runs.view(&run), runs.view(&run).await)?;
        Ok((run, seen, driven))
    }

    /// Returns true if a process drives the run, or its engine does. A fork that nobody has resumed is not driven.
    pub async fn is_driven(&self, run: &RunId) -> Result<bool, RunsError> {
        each!(self, runs => Ok(runs.is_driven(run)), runs.is_driven(run).await)
    }

    /// Finds a run and returns the content of its report.
    pub async fn report(&self, text: &str) -> Result<(RunId, ReportView), RunsError> {
        let (run, seen, driven) = self.read_with_driver(text).await?;
        let report = report_view(&run, &seen, driven, self.setup());
        Ok((run, report))
    }

    /// Checks that the stored parts of a run fit together. With `repair` it repairs what can be repaired, which an engine refuses.
    pub async fn check(&self, run: &RunId, repair: bool) -> Result<RunCheck, RunsError> {
        each!(self, runs => runs.check(run, repair).await)
    }

    /// Returns statistics over all listed runs, or over the run that a text refers to.
    pub async fn stats(&self, only: Option<&str>) -> Result<RunStats, RunsError> {
        let only = match only {
            Some(text) => Some(self.find(text).await?),
            None => None,
        };
        each!(self, runs => runs.stats(only.as_ref()), runs.stats(only.as_ref()).await)
    }

    /// Creates a run that continues from a plan version of another run. Files stay unchanged.
    pub async fn fork(&self, run: &RunId, version: u32, name: Option<&str>) -> Result<RunId, RunsError> {
        each!(self, runs => runs.fork(run, version, name).await)
    }

    /// Deletes a run and all its data. The caller gets a notice of what cannot be removed.
    pub async fn delete(&self, run: &RunId) -> Result<(), RunsError> {
        each!(self, runs => runs.delete(run).await)
    }

    /// Sends a message to a run, or to the actor of one task.
    pub async fn message(&self, run: &RunId, task: Option<&str>, text: String) -> Result<Delivery, RunsError> {
        each!(self, runs => runs.message(run, task, &text).await.map(|()| delivery(runs, run)), runs.message(run, task, text).await)
    }

    /// Answers the first open question. Returns the question; none if the answer was sent unchecked.
    pub async fn answer(&self, run: &RunId, text: String) -> Result<(Option<Question>, Delivery), RunsError> {
        match self {
            Self::Folder(runs) => {
                let AnswerReceipt { question, was_left } = runs.answer(run, None, text).await?;
                Ok((Some(question), if was_left { Delivery::Left } else { Delivery::Driven }))
            }
            #[cfg(feature = "temporal")]
            Self::Engine(runs) => {
                let question = runs.answer(run, text).await?;
                let delivery = if question.is_some() { Delivery::Continues } else { Delivery::Unchecked };
                Ok((question, delivery))
            }
        }
    }

    /// Stops a run that something drives, so that it can be resumed.
    pub async fn pause(&self, run: &RunId) -> Result<(), RunsError> {
        each!(self, runs => runs.pause(run).await)
    }

    /// Cancels a run for good, or one of its tasks.
    pub async fn cancel(&self, run: &RunId, task: Option<&str>) -> Result<(Cancelled, Delivery), RunsError> {
        each!(self, runs => runs.cancel(run, task).await.map(|cancelled| (cancelled, delivery(runs, run))), runs.cancel(run, task).await)
    }

    /// Finds a run, reads it, and returns it with the scope of an undo of its file changes, or of those of `task`.
    pub async fn to_undo(&self, text: &str, task: Option<&str>) -> Result<(RunId, RunView, Scope), RunsError> {
        let (run, seen) = self.read(text).await?;
        #[cfg(feature = "temporal")]
        if let Self::Engine(runs) = self {
            runs.check_undo(&run, &seen, task)?;
        }
        let scope = task.map_or(Ok(Scope::Run {}), |task| task_scope(&run, &seen, task))?;
        Ok((run, seen, scope))
    }

    /// Finds a run whose last undo is to be reverted.
    pub async fn to_redo(&self, text: &str) -> Result<RunId, RunsError> {
        each!(self, runs => runs.find(text), {
            let (run, seen) = runs.read(text).await?;
            runs.check_undo(&run, &seen, None)?;
            Ok(run)
        })
    }
}

/// Returns when a run of a folder reads a message that it has just got.
fn delivery(runs: &Runs, run: &RunId) -> Delivery {
    if runs.is_driven(run) { Delivery::Driven } else { Delivery::Left }
}
