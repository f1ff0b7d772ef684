//! Starts, resumes and plans runs in this process.

use std::sync::{Arc, PoisonError};

use aime_messages::{Message, message};
use aime_orchestrator::{
    Bounds, FailureCode, HumanChannel, Models, NoHuman, PlanResult, PublishedEvent, RunControl, RunRequest, RunResult, new_run_id,
};
use aime_progress_management::{Plan, RunId, TaskKind};
use tokio::{
    sync::{mpsc, oneshot},
    task::AbortHandle,
};
use tokio_util::sync::CancellationToken;

use super::{Runs, ended_error, remember, settings_of};
use crate::{ErrorKind, Hint, RunsError, Setup};

/// Options for driving a run: its models, the person who answers questions, and the previous conversation.
#[derive(Clone, Default)]
pub struct Drive {
    model: Option<String>,
    models: Option<Option<Models>>,
    human: Option<Arc<dyn HumanChannel>>,
    earlier: String,
}

impl Drive {
    /// Sets the name of the model that replaces the configured default.
    #[must_use]
    pub fn model(self, name: Option<String>) -> Self {
        Self { model: name, ..self }
    }

    /// Sets the models, or none, that replace the configured ones.
    #[must_use]
    pub fn models(self, models: Option<Models>) -> Self {
        Self { models: Some(models), ..self }
    }

    /// Sets the person who answers questions. Without one the run waits for an answer and is suspended.
    #[must_use]
    pub fn human(self, human: Arc<dyn HumanChannel>) -> Self {
        Self { human: Some(human), ..self }
    }

    /// Appends the earlier conversation to the project's instructions in prompts.
    #[must_use]
    pub fn earlier(self, earlier: String) -> Self {
        Self { earlier, ..self }
    }
}

/// Update of a run.
#[derive(Debug)]
pub enum RunUpdate {
    /// Event, after it is durable.
    Event(Box<PublishedEvent>),
    /// Message for the person who watches the run.
    Note(Message),
}

/// Run that this process drives. Dropping the handle does not stop the run.
#[derive(Debug)]
pub struct RunHandle {
    id: RunId,
    updates: mpsc::UnboundedReceiver<RunUpdate>,
    stop: CancellationToken,
    abort: AbortHandle,
    result: oneshot::Receiver<Result<RunResult, RunsError>>,
}

impl RunHandle {
    /// Returns the id of the run.
    pub const fn id(&self) -> &RunId {
        &self.id
    }

    /// Returns the token that stops the run resumably.
    pub const fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Returns a handle that ends the run immediately, in the middle of its work. It can be resumed.
    pub fn abort_handle(&self) -> AbortHandle {
        self.abort.clone()
    }

    /// Returns the next event or note; none once the run has ended.
    pub async fn next(&mut self) -> Option<RunUpdate> {
        self.updates.recv().await
    }

    /// Takes the stream of updates out of the handle, so that one task can show the updates while another awaits the result.
    pub fn take_updates(&mut self) -> mpsc::UnboundedReceiver<RunUpdate> {
        std::mem::replace(&mut self.updates, mpsc::unbounded_channel().1)
    }

    /// Waits for the end of the run.
    pub async fn result(self) -> Result<RunResult, RunsError> {
        let lost = || RunsError::new(ErrorKind::Run(FailureCode::Internal), message!("own-fault")).hint(Hint::ReportFault);
        self.result.await.unwrap_or_else(|_| Err(lost()))
    }
}

/// Plan that a person wants changed before it is run.
#[derive(Debug, Clone)]
pub struct Review {
    /// The plan, as the person left it.
    pub plan: Plan,
    /// The comments.
    pub comments: String,
}

impl Review {
    /// Returns the section of prompts that tells the planner of the review.
    fn to_prompt(&self) -> String {
        let plan = serde_json::to_string(&self.plan).unwrap_or_default();
        let comments = self.comments.trim().replace('\n', "\n> ");
        format!(
            "\n\n## Review of your plan\n\nYou made this plan for the goal, and nothing of it has begun:\n\n{plan}\n\nThe user has read it and \
             comments:\n\n> {comments}\n\nGive the whole plan again, changed as the user wants. Keep what the comments do not concern.\n"
        )
    }
}

/// Run to drive.
enum Work {
    Start(Box<RunRequest>),
    Resume(RunId, Option<Bounds>),
    Continue(RunId, String, Option<Bounds>),
}

impl Runs {
    /// Creates a request for a goal, with a new run id and the configured settings.
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

    /// Resumes a run that no process drives; `bounds` replace its own.
    pub async fn resume(&self, run: &RunId, bounds: Option<Bounds>, drive: Drive) -> Result<RunHandle, RunsError> {
        let models = match drive.models {
            Some(models) => models,
            None => {
                let seen = self.resumable(run)?;
                self.ready().await?;
                self.models(drive.model.as_deref(), seen.can_plan() && !seen.is_over).await?
            }
        };
        self.ready().await?;
        self.drive(run.clone(), Work::Resume(run.clone(), bounds), models, drive.human, drive.earlier)
    }

    /// Continues an ended run with the new `goal`; `bounds` replace its own.
    pub async fn continue_run(&self, run: &RunId, goal: String, bounds: Option<Bounds>, drive: Drive) -> Result<RunHandle, RunsError> {
        self.ready().await?;
        let models = match drive.models {
            Some(models) => models,
            None => self.models(drive.model.as_deref(), true).await?,
        };
        self.drive(run.clone(), Work::Continue(run.clone(), goal, bounds), models, drive.human, drive.earlier)
    }

    /// Plans a goal as a run would, without carrying out the plan. With a `review` the lead changes its former plan in the
    /// conversation of the request; a planner without a conversation gets that plan and the person's comments. `human` answers
    /// questions, and `on_event` gets each event.
    pub async fn plan(
        &self,
        request: RunRequest,
        models: Models,
        review: Option<&Review>,
        human: Arc<dyn HumanChannel>,
        stop: CancellationToken,
        on_event: impl Fn(PublishedEvent),
    ) -> Result<PlanResult, RunsError> {
        // Rules, or a lead whose conversation is lost, make the plan again.
        let lost = review.filter(|_| request.conversation.is_none());
        let orchestrator = self.setup.planning_orchestrator(models, lost.map(Review::to_prompt), human)?;
        let (control, mut watched) = RunControl::new();
        let telling = async {
            while let Some(event) = watched.recv().await {
                on_event(event);
            }
        };
        let control = RunControl { stop, ..control };
        let planning = async {
            match review.filter(|_| request.conversation.is_some()) {
                Some(Review { plan, comments }) => {
                    let request = RunRequest { plan: Some(plan.clone()), ..request };
                    orchestrator.revise(request, comments.trim(), control).await
                }
                None => orchestrator.plan(request, control).await,
            }
        };
        let (result, ()) = tokio::join!(Box::pin(planning), telling);
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
        let human = human.unwrap_or_else(|| Arc::new(NoHuman));
        let builder = self.setup.orchestrator_builder(models)?.human(human).project(earlier);
        let orchestrator = builder.build().map_err(RunsError::internal)?;
        let (events, watched) = mpsc::unbounded_channel();
        let (sender, updates) = mpsc::unbounded_channel();
        let (send, result) = oneshot::channel();
        let stop = self.stop.child_token();
        let control = RunControl { stop: stop.clone(), events };
        let (setup, run) = (Arc::clone(&self.setup), id.clone());
        let driven = async move {
            let followed = follow(&run, watched, &sender, &setup);
            let result = async {
                match work {
                    Work::Start(request) => orchestrator.run_with(*request, control).await,
                    Work::Continue(run, goal, bounds) => orchestrator.continue_run(&run, goal, bounds, control).await,
                    Work::Resume(run, bounds) => orchestrator.resume(&run, bounds, control).await,
                }
            };
            let (result, ()) = tokio::join!(result, followed);
            drop(sender);
            // Sending fails if the caller dropped the handle; the journal still has the result.
            drop(send.send(result.map_err(RunsError::from)));
        };
        let mut running = self.driven.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        let abort = running.spawn(driven);
        Ok(RunHandle { id, updates, stop, abort, result })
    }

    /// Refuses to resume a run that another process drives or that has ended.
    pub fn check_resumable(&self, run: &RunId) -> Result<(), RunsError> {
        if self.is_driven(run) {
            return Err(RunsError::usage(message!("run-driven", run)).hint(message!("run-driven-hint")));
        }
        let seen = self.resumable(run)?;
        if seen.is_over { Err(ended_error(run, &seen.state)) } else { Ok(()) }
    }
}

/// Forwards the events of a run until it ends, stores permanent consents and sends telemetry.
async fn follow(
    run: &RunId,
    mut events: mpsc::UnboundedReceiver<PublishedEvent>,
    sender: &mpsc::UnboundedSender<RunUpdate>,
    setup: &Setup,
) {
    let (mut telemetry, consents) = (setup.watch(run), setup.consents());
    while let Some(event) = events.recv().await {
        if let Some(telemetry) = &mut telemetry {
            telemetry.observe(&event);
        }
        let lost = remember(&event, consents.as_ref());
        // Sending fails if nobody listens any more.
        drop(sender.send(RunUpdate::Event(Box::new(event))));
        if let Some(lost) = lost {
            drop(sender.send(RunUpdate::Note(lost)));
        }
    }
}

/// Returns true if a plan has work for a model.
fn needs_model(plan: &Plan) -> bool {
    plan.tasks.iter().any(|task| task.kind == TaskKind::Actor)
}
