//! A run that stops once its plan is made.

use std::{convert::Infallible, future::pending, sync::Arc};

use aime_durable::{
    Commit, DriveError, EmbeddedHost, JournalError, Machine, MemoryStream, NewRun, Recorded, Resume, Sink, UnixMillis, drive,
};
use aime_progress_management::{LiveStore, ModelCost, Plan, ProgressEvent, RunId, Timestamp};
use tokio::sync::{OnceCell, mpsc};

use super::{Orchestrator, OrchestratorError, execute::pass_on_stop};
use crate::{
    Budget, FailureCode, ModelUse, PublishedEvent, RunControl, RunFailure, RunInput, RunMachine, RunRequest,
    messages::MessageChannel,
    questions::Answers,
    runner::{RunRunner, before::TriedCriteria, kept_files::KeptFiles, private::PrivatePlaces},
};

/// The result of [`Orchestrator::plan`].
#[derive(Debug, Clone, PartialEq)]
pub struct PlanResult {
    /// The plan, or the reason for the failure.
    pub plan: Result<Plan, RunFailure>,
    /// The model calls that planning took. Pass them to the run that executes the plan.
    pub calls: Vec<ModelUse>,
}

impl Orchestrator {
    /// Plans a goal without executing the plan. It recalls, routes and plans as [`run`](Self::run) does, with the same
    /// prompts, hooks, bounds and kept plans.
    ///
    /// It leaves no traces: it writes no journal (the lead's conversation is deleted at the end), no snapshot and no memory, and it keeps no plan for later runs. Hooks
    /// at `stop` are not called, and file changes by hooks are not recorded for an undo.
    ///
    /// # Errors
    ///
    /// [`OrchestratorError`]; a goal for which no plan could be made is a result.
    pub async fn plan(&self, request: RunRequest, control: RunControl) -> Result<PlanResult, OrchestratorError> {
        let input = RunInput { plan_only: true, ..self.checked_input(request)? };
        let (run, bounds) = (input.run.clone(), input.settings.bounds.clone());
        let at = self.parts.clock.now();
        // The lead's conversation is a stream of a run, which is deleted at the end.
        let scratch = input.lead.is_some().then_some(&self.parts.journal);
        if let Some(journal) = scratch {
            let new = NewRun { id: run.as_str(), at, machine_version: RunMachine::VERSION, title: &input.goal, status: "planning" };
            journal.create_run(new).await?;
        }
        let live = Arc::<LiveStore>::default();
        // There are no actors, so no actor journal can fail.
        let (broken, _) = mpsc::unbounded_channel();
        let runner = RunRunner {
            has_journal: true,
            audits: OnceCell::new(),
            run: run.clone(),
            input: input.clone(),
            parts: self.parts.clone(),
            plan_tools: self.plan_tools.clone(),
            budget: Arc::new(Budget::new(&bounds, &ModelCost::default(), 0)),
            bounds,
            answers: Arc::new(Answers::default()),
            words: Arc::new(MessageChannel::default()),
            private: PrivatePlaces::new(&self.parts, &run),
            tried: TriedCriteria::default(),
            kept_files: KeptFiles::new(None, run.clone(), Arc::clone(&live)),
            live,
            broken,
        };
        let memory = MemoryStream::<RunMachine>::new();
        let live = Arc::clone(&runner.live);
        let sink = MemoryPublisher { run: run.clone(), memory: memory.clone(), live, watcher: control.events, published: 0 };
        let redactor = self.parts.redactor.clone();
        let host = EmbeddedHost::new(Arc::new(runner), sink).with_clock(Arc::clone(&self.parts.clock));
        let mut host = host.with_facts_through(move |fact| fact.without_secrets(&redactor));
        let stopping = pass_on_stop(control.stop, host.sender());
        let stopping = async {
            stopping.await;
            pending::<Infallible>().await
        };
        let ended = tokio::select! {
            ended = drive(&mut host, Resume::Fresh(Recorded { at, fact: input })) => ended,
            never = stopping => match never {},
        };
        host.close().await;
        if let Some(journal) = scratch {
            journal.delete_run(run.as_str()).await?;
        }
        let ended = ended.map_err(|error| match error {
            DriveError::Host(error) => OrchestratorError::Journal(error),
            other => OrchestratorError::Unreplayable { run: run.to_string(), reason: other.to_string() },
        })?;
        let mut result = PlanResult { plan: Err(no_plan(ended.output.error)), calls: Vec::new() };
        for Recorded { fact: event, .. } in memory.events() {
            match event {
                ProgressEvent::PlanCreated { plan, .. } => result.plan = Ok(plan),
                ProgressEvent::ModelCalled { purpose, model, spent, duration_ms, finish, .. } => {
                    result.calls.push(ModelUse { purpose, model, spent, duration_ms, finish });
                }
                _ => {}
            }
        }
        Ok(result)
    }
}

fn no_plan(error: Option<RunFailure>) -> RunFailure {
    error.unwrap_or_else(|| RunFailure::new(FailureCode::Internal, "the planner gave neither a plan nor a reason", None))
}

/// Keeps a run in memory and publishes its events.
struct MemoryPublisher {
    run: RunId,
    /// The tools of the lead read the state here.
    live: Arc<LiveStore>,
    memory: MemoryStream<RunMachine>,
    watcher: mpsc::UnboundedSender<PublishedEvent>,
    published: u64,
}

impl Sink<RunMachine> for MemoryPublisher {
    type Error = JournalError;

    async fn append(&mut self, commit: Commit<'_, RunMachine>) -> Result<(), JournalError> {
        let events = commit.events.to_vec();
        self.memory.append(commit).await?;
        if let Err(error) = self.live.apply_all(&self.run, events.iter().map(|event| (Timestamp::from_millis(event.at), &event.fact))) {
            tracing::warn!(%error, "the live view of the run has missed an event");
        }
        for Recorded { at, fact } in events {
            self.published += 1;
            // The caller may have stopped watching.
            drop(self.watcher.send(PublishedEvent { seq: self.published, at: Timestamp::from_millis(at), event: fact }));
        }
        Ok(())
    }

    fn last(&self) -> UnixMillis {
        self.memory.last()
    }
}
