//! Starting, resuming and planning: what drives a run in this process.

use std::sync::{Arc, PoisonError};

use aime_orchestrator::{
    Bounds, HumanChannel, Models, NobodyThere, PlanResult, PublishedEvent, RunControl, RunRequest, RunResult, new_run_id,
};
use aime_progress::{Plan, RunId, TaskKind};
use tokio::{
    sync::{mpsc, oneshot},
    task::AbortHandle,
};
use tokio_util::sync::CancellationToken;

use super::{Runs, has_ended, remember, settings_of};
use crate::{RunsError, Setup};

/// How a run is driven: with which model, who answers its questions, what was said before it.
#[derive(Clone, Default)]
pub struct Drive {
    model: Option<String>,
    models: Option<Option<Models>>,
    human: Option<Arc<dyn HumanChannel>>,
    earlier: String,
}

impl Drive {
    /// Uses the model of this name instead of the configured default.
    #[must_use]
    pub fn model(self, name: Option<String>) -> Self {
        Self { model: name, ..self }
    }

    /// Uses these models, or none, instead of the configured ones.
    #[must_use]
    pub fn models(self, models: Option<Models>) -> Self {
        Self { models: Some(models), ..self }
    }

    /// Asks this person. Without one nobody answers, and the run is left waiting.
    #[must_use]
    pub fn human(self, human: Arc<dyn HumanChannel>) -> Self {
        Self { human: Some(human), ..self }
    }

    /// Adds what was said before to the project's own words in prompts.
    #[must_use]
    pub fn earlier(self, earlier: String) -> Self {
        Self { earlier, ..self }
    }
}

/// Something new in a run.
#[derive(Debug)]
pub enum RunNews {
    /// An event, once it is durable.
    Event(Box<PublishedEvent>),
    /// A sentence for the person in front of the run.
    Note(String),
}

/// A run that is driven in this process. Dropping the handle does not stop the run.
#[derive(Debug)]
pub struct RunHandle {
    id: RunId,
    news: mpsc::UnboundedReceiver<RunNews>,
    stop: CancellationToken,
    abort: AbortHandle,
    result: oneshot::Receiver<Result<RunResult, RunsError>>,
}

impl RunHandle {
    /// The name of the run.
    pub const fn id(&self) -> &RunId {
        &self.id
    }

    /// Stops the run when it is cancelled, so that it can be resumed.
    pub const fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Ends the run at once, in the middle of what it does. It can be resumed.
    pub fn abort_handle(&self) -> AbortHandle {
        self.abort.clone()
    }

    /// The next event or note; nothing when the run has ended.
    pub async fn next(&mut self) -> Option<RunNews> {
        self.news.recv().await
    }

    /// Takes the events out of the handle: whoever waits for the result need not be the one who shows them.
    pub fn take_news(&mut self) -> mpsc::UnboundedReceiver<RunNews> {
        std::mem::replace(&mut self.news, mpsc::unbounded_channel().1)
    }

    /// Waits for the end of the run.
    pub async fn result(self) -> Result<RunResult, RunsError> {
        let lost = || {
            RunsError::internal("this is a fault in aime itself").hint("a run goes on with `aime resume`; please report what is told above")
        };
        self.result.await.unwrap_or_else(|_| Err(lost()))
    }
}

/// The run to drive.
enum Work {
    Start(Box<RunRequest>),
    Resume(RunId, Option<Bounds>),
    Continue(RunId, String, Option<Bounds>),
}

impl Runs {
    /// A request for a goal, with a new name and the configured settings.
    pub fn request(&self, goal: impl Into<String>) -> RunRequest {
        RunRequest { settings: settings_of(&self.setup.config), ..RunRequest::new(new_run_id(), goal) }
    }

    /// Starts a run.
    pub async fn start(&self, request: RunRequest, drive: Drive) -> Result<RunHandle, RunsError> {
        self.ready().await?;
        let models = match drive.models {
            Some(models) => models,
            None => self.models(drive.model.as_deref(), request.plan.as_ref().is_none_or(needs_model)).await?,
        };
        self.drive(request.run.clone(), Work::Start(Box::new(request)), models, drive.human, drive.earlier)
    }

    /// Resumes a run that nobody drives; `bounds` replace its own.
    pub async fn resume(&self, run: &RunId, bounds: Option<Bounds>, drive: Drive) -> Result<RunHandle, RunsError> {
        let models = match drive.models {
            Some(models) => models,
            None => {
                let seen = self.resumable(run)?;
                self.ready().await?;
                self.models(drive.model.as_deref(), seen.can_plan() && !seen.over).await?
            }
        };
        self.ready().await?;
        self.drive(run.clone(), Work::Resume(run.clone(), bounds), models, drive.human, drive.earlier)
    }

    /// Goes on with a run that has ended; `goal` is what is to be reached next, and `bounds` replace its own.
    pub async fn continue_run(&self, run: &RunId, goal: String, bounds: Option<Bounds>, drive: Drive) -> Result<RunHandle, RunsError> {
        self.ready().await?;
        let models = match drive.models {
            Some(models) => models,
            None => self.models(drive.model.as_deref(), true).await?,
        };
        self.drive(run.clone(), Work::Continue(run.clone(), goal, bounds), models, drive.human, drive.earlier)
    }

    /// Plans a goal as a run would, and begins nothing of the plan. `tell` gets each event.
    pub async fn plan(
        &self,
        request: RunRequest,
        models: Models,
        stop: CancellationToken,
        tell: impl Fn(PublishedEvent),
    ) -> Result<PlanResult, RunsError> {
        let orchestrator = self.setup.planning_orchestrator(models)?;
        let (control, mut watched) = RunControl::new();
        let telling = async {
            while let Some(event) = watched.recv().await {
                tell(event);
            }
        };
        let (result, ()) = tokio::join!(orchestrator.plan(request, RunControl { stop, ..control }), telling);
        Ok(result?)
    }

    fn drive(
        &self,
        id: RunId,
        work: Work,
        models: Option<Models>,
        human: Option<Arc<dyn HumanChannel>>,
        earlier: String,
    ) -> Result<RunHandle, RunsError> {
        let human = human.unwrap_or_else(|| Arc::new(NobodyThere));
        let builder = self.setup.orchestrator_builder(models)?.human(human).project(earlier);
        let orchestrator = builder.build().map_err(RunsError::internal)?;
        let (events, watched) = mpsc::unbounded_channel();
        let (tell, news) = mpsc::unbounded_channel();
        let (send, result) = oneshot::channel();
        let stop = self.stop.child_token();
        let control = RunControl { stop: stop.clone(), events };
        let (setup, run) = (Arc::clone(&self.setup), id.clone());
        let driven = async move {
            let followed = follow(&run, watched, &tell, &setup);
            let result = async {
                match work {
                    Work::Start(request) => orchestrator.run_with(*request, control).await,
                    Work::Continue(run, goal, bounds) => orchestrator.continue_run(&run, goal, bounds, control).await,
                    Work::Resume(run, bounds) => orchestrator.resume(&run, bounds, control).await,
                }
            };
            let (result, ()) = tokio::join!(result, followed);
            drop(tell);
            // The caller may have dropped the handle; the journal has the result.
            drop(send.send(result.map_err(RunsError::from)));
        };
        let mut running = self.driven.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        let abort = running.spawn(driven);
        Ok(RunHandle { id, news, stop, abort, result })
    }

    /// Refuses to resume a run that another process drives, or that has ended.
    pub fn check_resumable(&self, run: &RunId) -> Result<(), RunsError> {
        if self.is_driven(run) {
            return Err(RunsError::usage(format!("run {run} is being carried out")).hint("wait for it, or pause it"));
        }
        let seen = self.resumable(run)?;
        if seen.over { Err(has_ended(run, &seen.state)) } else { Ok(()) }
    }
}

/// Passes on what happens in a run until it ends; keeps consents for good and sends telemetry.
async fn follow(run: &RunId, mut events: mpsc::UnboundedReceiver<PublishedEvent>, tell: &mpsc::UnboundedSender<RunNews>, setup: &Setup) {
    let (mut telemetry, consents) = (setup.watch(run), setup.consents());
    while let Some(event) = events.recv().await {
        if let Some(telemetry) = &mut telemetry {
            telemetry.take(&event);
        }
        let lost = remember(&event, consents.as_ref());
        // Nobody may listen any more.
        drop(tell.send(RunNews::Event(Box::new(event))));
        if let Some(lost) = lost {
            drop(tell.send(RunNews::Note(lost)));
        }
    }
}

/// Returns whether a plan has work for a model.
fn needs_model(plan: &Plan) -> bool {
    plan.tasks.iter().any(|task| task.kind == TaskKind::Actor)
}
