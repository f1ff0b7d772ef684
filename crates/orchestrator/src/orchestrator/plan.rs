//! A run that stops once its plan is made.

use std::{convert::Infallible, future::pending, sync::Arc};

use aime_durable::{
    Commit, DriveError, EmbeddedHost, Journal, JournalError, Machine, MemoryStream, NewRun, Recorded, Resume, Sink, UnixMillis, drive,
};
use aime_progress_management::{LiveStore, ModelCost, Plan, ProgressEvent, RunId, Timestamp};
use tempfile::TempDir;
use tokio::sync::{OnceCell, mpsc};

use super::{Orchestrator, OrchestratorError, execute::pass_on_stop};
use crate::{
    Budget, FailureCode, LeadConversation, ModelUse, PublishedEvent, RunControl, RunFailure, RunInput, RunMachine, RunRequest,
    messages::MessageChannel,
    questions::Answers,
    runner::{RunRunner, baseline::BaselineChecks, kept_files::KeptFiles, private::PrivateWorkspaces},
};

/// The result of [`Orchestrator::plan`].
#[derive(Debug, Clone, PartialEq)]
pub struct PlanResult {
    /// The plan, or the reason for the failure.
    pub plan: Result<Plan, RunFailure>,
    /// The model calls that planning took. Pass them to the run that executes the plan.
    pub calls: Vec<ModelUse>,
    /// The conversation of the lead that made the plan. Pass it to a review of the plan, and to the run that executes it.
    pub conversation: Option<LeadConversation>,
}

impl Orchestrator {
    /// Plans a goal without executing the plan. It recalls, routes and plans as [`run`](Self::run) does, with the same
    /// prompts, hooks, bounds and kept plans.
    ///
    /// It leaves no traces: it writes no journal (the lead's conversation is in a temporary one), no snapshot and no memory, and it keeps no plan for later runs. Hooks
    /// at `stop` are not called, and file changes by hooks are not recorded for an undo. It cannot wait for a person: a question to somebody
    /// who is not there is answered with the request to decide.
    ///
    /// # Errors
    ///
    /// [`OrchestratorError`]; a goal for which no plan could be made is a result.
    pub async fn plan(&self, request: RunRequest, control: RunControl) -> Result<PlanResult, OrchestratorError> {
        let input = RunInput { plan_only: true, ..self.checked_input(request)? };
        self.plan_from(input, None, control).await
    }

    /// Has the lead change the plan of a request as a person's comments on it ask. The lead continues the conversation of
    /// the request, in which it made the plan. Otherwise as [`plan`](Self::plan).
    ///
    /// # Errors
    ///
    /// [`OrchestratorError`]; a plan that could not be changed is a result.
    pub async fn revise(&self, mut request: RunRequest, comments: &str, control: RunControl) -> Result<PlanResult, OrchestratorError> {
        let conversation = request.conversation.take();
        // The caller has counted the calls before.
        request.planning = Vec::new();
        let input = RunInput { plan_only: true, ..self.checked_input(request)? };
        let conversation = conversation.filter(|_| input.lead.is_some());
        let position = conversation.as_ref().map(LeadConversation::position);
        let input = RunInput { conversation: position, comments: Some(self.parts.redactor.text(comments).into_owned()), ..input };
        self.plan_from(input, conversation.as_ref(), control).await
    }

    async fn plan_from(
        &self,
        input: RunInput,
        conversation: Option<&LeadConversation>,
        control: RunControl,
    ) -> Result<PlanResult, OrchestratorError> {
        let (run, bounds, revises) = (input.run.clone(), input.settings.bounds.clone(), input.comments.is_some());
        let at = self.parts.clock.now();
        let scratch = match input.lead {
            Some(_) => Some(ScratchJournal::create(&input, at, conversation).await?),
            None => None,
        };
        let (live, answers) = (Arc::<LiveStore>::default(), Arc::<Answers>::default());
        // There are no actors, so no actor journal can fail.
        let (broken, _) = mpsc::unbounded_channel();
        let mut parts = self.parts.clone();
        if let Some(scratch) = &scratch {
            parts.journal = scratch.journal.clone();
        }
        parts.hold_to(&input);
        parts.programs.forget(&run);
        let runner = RunRunner {
            has_journal: true,
            audits: OnceCell::new(),
            run: run.clone(),
            input: input.clone(),
            private: PrivateWorkspaces::new(&parts, &run),
            parts,
            plan_tools: self.plan_tools.clone(),
            budget: Arc::new(Budget::new(&bounds, &ModelCost::default(), 0)),
            bounds,
            answers: Arc::clone(&answers),
            words: Arc::new(MessageChannel::default()),
            tried: BaselineChecks::default(),
            kept_files: KeptFiles::new(None, run.clone(), Arc::clone(&live)),
            live,
            broken,
        };
        let memory = MemoryStream::<RunMachine>::new();
        let live = Arc::clone(&runner.live);
        let sink = MemoryPublisher { run: run.clone(), memory: memory.clone(), live, answers, watcher: control.events, published: 0 };
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
        let conversation = match &scratch {
            Some(scratch) => LeadConversation::read(&scratch.journal, run.as_str())?,
            None => None,
        };
        let ended = ended.map_err(|error| match error {
            DriveError::Host(error) => OrchestratorError::Journal(error),
            other => OrchestratorError::Unreplayable { run: run.to_string(), reason: other.to_string() },
        })?;
        let mut result = PlanResult { plan: Err(no_plan(ended.output.error.clone())), calls: Vec::new(), conversation };
        for Recorded { fact: event, .. } in memory.events() {
            match event {
                ProgressEvent::PlanCreated { plan, .. } => result.plan = Ok(plan),
                ProgressEvent::PlanChanged { .. } => result.plan = Ok(ended.machine.state().plan()),
                // Rules plan from here on.
                ProgressEvent::LeadGaveUp {} => result.conversation = None,
                ProgressEvent::ModelCalled { purpose, model, effort, spent, duration_ms, finish, .. } => {
                    result.calls.push(ModelUse { purpose, model, effort, spent, duration_ms, finish });
                }
                _ => {}
            }
        }
        // A revision begins with the plan before it, and may fail.
        if let (true, Some(error)) = (revises, ended.output.error) {
            result.plan = Err(error);
        }
        Ok(result)
    }
}

/// The journal of a lead's conversation. It is deleted with its folder, also if the planning fails or is given up.
struct ScratchJournal {
    journal: Journal,
    _folder: TempDir,
}

impl ScratchJournal {
    /// Creates the journal with the run to which the conversation belongs, and with the conversation so far.
    async fn create(input: &RunInput, at: UnixMillis, conversation: Option<&LeadConversation>) -> Result<Self, OrchestratorError> {
        let folder = tempfile::tempdir().map_err(OrchestratorError::NoTemporaryFolder)?;
        let journal = Journal::at_first_write(folder.path().join("aime.db"))?;
        let run = input.run.as_str();
        let new = NewRun { id: run, at, machine_version: RunMachine::VERSION, title: &input.goal, status: "planning" };
        journal.create_run(new).await?;
        if let Some(conversation) = conversation {
            conversation.write(&journal, run).await?;
        }
        Ok(Self { journal, _folder: folder })
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
    /// Its actors wait for answers here.
    answers: Arc<Answers>,
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
            if let ProgressEvent::QuestionAnswered { id, answer } = &fact {
                self.answers.put(id.clone(), answer.clone());
            }
            // The caller may have stopped watching.
            drop(self.watcher.send(PublishedEvent { seq: self.published, at: Timestamp::from_millis(at), event: fact }));
        }
        Ok(())
    }

    fn last(&self) -> UnixMillis {
        self.memory.last()
    }
}
