//! Entry point for runs: starts, resumes and cancels them, and reports their state.

mod execute;
mod plan;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::PathBuf,
    sync::Arc,
};

use aime_durable::{Journal, JournalError, LockError, NewRun, RUN_STREAM, Recorded, Resume, RunLock, Sink, run_folder};
use aime_messages::{Message, message};
use aime_progress_management::{LiveStore, ModelCost, Origin, RunId, RunStatus};
use aime_tools::{Executor, PermissionRules, Trust, credential_files_in, learn_secrets_of};
use futures::FutureExt as _;

use self::execute::Start;
pub use self::plan::PlanResult;
use crate::{
    Bounds, LeadConversation, LeadPolicy, Models, OrchestratorBuilder, Parts, ProjectInstructions, RunControl, RunFact, RunInput,
    RunMachine, RunRequest, RunResult, RunSettings, TransientWorkspace,
    inbox::fact_in,
    messages::MessageChannel,
    questions::Answers,
    run_status::{RunStatusView, load_machine},
    runner::{commit::cannot_commit, kept_files::KeptFiles, plan::ToolsOfPlans, private::cannot_isolate},
    snapshots::SnapshotsDue,
    undelivered_reports::{cost_of, undelivered_reports},
};

/// Reason why a run could not be executed at all.
#[derive(Debug, thiserror::Error)]
pub enum OrchestratorError {
    /// The journal could not be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Another process executes this run.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// No such run.
    #[error("there is no run {run}")]
    NoSuchRun {
        /// The run.
        run: String,
    },
    /// The run has no plan, so it has no version of one.
    #[error("run {run} has no plan")]
    NoPlan {
        /// The run.
        run: String,
    },
    /// The plan never had this version.
    #[error("the plan of run {run} has no version {version}; its latest is {latest}")]
    NoSuchVersion {
        /// The run.
        run: String,
        /// The version asked for.
        version: u32,
        /// The latest.
        latest: u32,
    },
    /// The run cannot be continued with a follow-up goal.
    #[error("run {run} cannot be continued: {why}")]
    NoFollowUp {
        /// The run.
        run: String,
        /// Reason.
        why: Message,
    },
    /// The run's name contains a secret. Redaction would rename the run everywhere, so it could not be found by its own
    /// name.
    #[error("the name of the run contains what looks like a secret, and secrets are never written")]
    SecretName,
    /// The work of the run is to be committed, and that cannot be done here.
    #[error("the work cannot be committed: {why}")]
    CannotCommit {
        /// Reason.
        why: Message,
    },
    /// The settings require private folders for the tasks of the run, and these cannot be made here.
    #[error("tasks cannot have private folders: {why}")]
    CannotIsolate {
        /// Reason.
        why: Message,
        /// True if the run has begun, and so keeps its settings.
        has_begun: bool,
    },
    /// Planning has no place for the conversation of the lead.
    #[error("planning has no temporary folder")]
    NoTemporaryFolder(#[source] io::Error),
    /// The journal does not fit this version of aime.
    #[error("run {run} cannot be replayed: {reason}")]
    Unreplayable {
        /// The run.
        run: String,
        /// Why.
        reason: String,
    },
}

impl OrchestratorError {
    /// Returns the error that a run has no such version of its plan.
    #[must_use]
    pub fn no_version(run: &RunId, version: u32, latest: u32) -> Self {
        let run = run.to_string();
        if latest == 0 { Self::NoPlan { run } } else { Self::NoSuchVersion { run, version, latest } }
    }
}

/// Executes runs. Cheap to clone; runs do not share state.
#[derive(Clone)]
pub struct Orchestrator {
    parts: Parts,
    plan_tools: ToolsOfPlans,
    live: Arc<LiveStore>,
    /// The working folder, if it has no permanent content.
    transient: Option<Arc<dyn TransientWorkspace>>,
}

impl Orchestrator {
    /// Returns the builder of an orchestrator with this model, or with these [`Models`].
    pub fn builder(model: impl Into<Models>) -> OrchestratorBuilder {
        OrchestratorBuilder::new().model(model)
    }

    pub(crate) fn new(parts: Parts) -> Self {
        Self { plan_tools: ToolsOfPlans::new(&parts.tools), parts, live: Arc::default(), transient: None }
    }

    /// Returns an orchestrator for a folder whose files were replaced. It reads `AGENTS.md` and secrets in files again,
    /// and records file changes only for the duration of an effect, because the folder has no permanent content.
    #[must_use]
    pub fn with_folder_replaced(&self, transient: Arc<dyn TransientWorkspace>) -> Self {
        let folder = &self.parts.tool_context.folder;
        learn_secrets_of(folder, &self.parts.redactor);
        let project = ProjectInstructions::read(folder, self.parts.project_chars).unwrap_or_default().text;
        Self { parts: Parts { project, ..self.parts.clone() }, transient: Some(transient), ..self.clone() }
    }

    /// Returns the recorder of the file changes of a run's effects.
    pub(crate) fn remote_files(&self, run: &RunId, live: &Arc<LiveStore>) -> KeptFiles {
        let keep = self.transient.as_ref().map_or(self.parts.keep.as_path(), |transient| transient.recording_folder());
        KeptFiles::new(self.parts.recorder(run, keep), run.clone(), Arc::clone(live)).with_transient(self.transient.clone())
    }

    pub(crate) const fn parts(&self) -> &Parts {
        &self.parts
    }

    pub(crate) const fn plan_tools(&self) -> &ToolsOfPlans {
        &self.plan_tools
    }

    /// Returns the runs in progress, each as of its last durable event. Safe to read from any thread.
    #[must_use]
    pub fn live(&self) -> &LiveStore {
        &self.live
    }

    /// Returns the journal of all runs.
    #[must_use]
    pub const fn journal(&self) -> &Journal {
        &self.parts.journal
    }

    /// Starts a run of a goal, or of a [`RunRequest`], and executes it until it ends or is suspended.
    ///
    /// # Errors
    ///
    /// [`OrchestratorError`]; a run that merely fails is a result.
    pub async fn run(&self, request: impl Into<RunRequest>) -> Result<RunResult, OrchestratorError> {
        let (control, events) = RunControl::new();
        drop(events);
        self.run_with(request.into(), control).await
    }

    /// Like [`run`](Self::run), with a control that watches and stops the run.
    ///
    /// # Errors
    ///
    /// [`OrchestratorError`]; a run that merely fails is a result.
    pub async fn run_with(&self, mut request: RunRequest, control: RunControl) -> Result<RunResult, OrchestratorError> {
        let at = self.parts.clock.now();
        let conversation = request.conversation.take();
        let mut input = self.checked_input(request)?;
        let conversation = conversation.filter(|_| input.lead.is_some() && input.plan.is_some());
        input.conversation = conversation.as_ref().map(LeadConversation::position);
        let run = input.run.clone();
        if input.settings.commit {
            // Known only at the end, it would cost the whole run.
            if let Some(why) = cannot_commit(&self.parts).await {
                return Err(OrchestratorError::CannotCommit { why });
            }
        }
        self.check_isolation(&input.settings, false).await?;
        let new = NewRun {
            id: run.as_str(),
            at,
            machine_version: <RunMachine as aime_durable::Machine>::VERSION,
            title: &input.goal,
            status: RunStatus::Planning.word(),
        };
        let _lock = self.lock(&run)?;
        let mut entered = match self.parts.journal.run(run.as_str())? {
            // A process created the entry and died before it started the run, so nothing is lost with the entry. It may
            // hold conversations, of a lead or of the actors of a fork, that the new run must not continue.
            Some(_) if self.parts.journal.load::<RunMachine>(run.as_str(), RUN_STREAM)?.is_none() => {
                self.parts.journal.delete_run(run.as_str()).await?;
                Some(self.parts.journal.create_run(new).boxed())
            }
            Some(_) => return Err(JournalError::RunExists { run: run.as_str().into() }.into()),
            // Awaited together with the first record, which may share its transaction.
            None => Some(self.parts.journal.create_run(new).boxed()),
        };
        if let Some(conversation) = conversation {
            if let Some(entered) = entered.take() {
                entered.await?;
            }
            conversation.write(&self.parts.journal, run.as_str()).await?;
        }
        self.make_tools_ready(&input);
        let resume = Resume::Fresh(Recorded { at, fact: input.clone() });
        let writer = self.parts.journal.stream(input.run.as_str(), "");
        let bounds = input.settings.bounds.clone();
        let mut spent = ModelCost::default();
        input.planning.iter().for_each(|call| spent.add(&call.spent));
        self.execute(
            Start {
                input,
                bounds,
                answers: Answers::default(),
                words: MessageChannel::default(),
                snapshots: Arc::default(),
                spent,
                tool_calls: 0,
                actors: 0,
                published: 0,
                passed_on: BTreeSet::new(),
                entered,
            },
            writer,
            resume,
            control,
        )
        .await
    }

    /// Returns the input of a run whose effects are executed by the workers of an engine. The workers have models, so
    /// the run can plan. One of them decides about its lead: see [`lead_policy`](Self::lead_policy).
    ///
    /// # Errors
    ///
    /// [`OrchestratorError`] if the run's name holds a secret.
    pub fn input(&self, request: RunRequest) -> Result<RunInput, OrchestratorError> {
        Ok(RunInput { can_plan: true, lead: None, ..self.checked_input(request)? })
    }

    /// Returns the input of a run, with secrets removed.
    fn checked_input(&self, mut request: RunRequest) -> Result<RunInput, OrchestratorError> {
        if self.parts.redactor.finds(request.run.as_str()) {
            return Err(OrchestratorError::SecretName);
        }
        let confinement = &self.parts.tool_context.confinement;
        let settings = &mut request.settings;
        settings.trust = Some(Trust {
            files: self.parts.trust_files,
            commands_reach_network: confinement.reaches_network(),
            credential_files: credential_files_in(&self.parts.tool_context.folder),
        });
        Origin::merge(&mut settings.origins, &self.first_origins());
        request.goal = self.parts.redactor.text(&request.goal).into_owned();
        let mut images = std::mem::take(&mut request.images);
        for image in &mut images {
            image.name = self.parts.redactor.text(&image.name).into_owned();
        }
        let tools = self.parts.tools.all_specs().filter(|spec| spec.handled_by == Executor::Runtime).cloned().collect();
        let rules = PermissionRules::clone(&self.parts.tool_context.rules);
        let lead = self.lead_policy(&request.settings);
        let input = RunInput {
            lead,
            can_plan: self.parts.models.is_some(),
            has_memory: self.parts.memory.is_some(),
            ..RunMachine::input(request, tools, rules)
        };
        // Image data is not text: redaction would corrupt it.
        Ok(RunInput { images, ..self.parts.redactor.typed_values(input) })
    }

    /// Returns the policy of the lead, or `None` if the class of its model does not lead or the settings ask for rules.
    #[must_use]
    pub fn lead_policy(&self, settings: &RunSettings) -> Option<LeadPolicy> {
        let models = self.parts.models.as_ref()?;
        let class = self.parts.tool_context.classes.of(models.role(models.lead_role()).limits());
        LeadPolicy::of(settings).filter(|_| class.leads)
    }

    /// Prepares the validators of the tools in a handed-over plan, in parallel with the run, which waits for the disk
    /// meanwhile.
    fn make_tools_ready(&self, input: &RunInput) {
        let tasks = input.plan.iter().flat_map(|plan| &plan.tasks);
        let named: BTreeSet<String> = tasks.filter_map(|task| task.tool.clone()).collect();
        if !named.is_empty() {
            let tools = Arc::clone(&self.parts.tools);
            // Errors are ignored, because each validator is otherwise created with its first call.
            drop(tokio::task::spawn_blocking(move || tools.make_ready(named)));
        }
    }

    /// Continues a run after a stop, a crash or an answer. For a run that has ended, returns its result again.
    ///
    /// # Errors
    ///
    /// [`OrchestratorError`].
    pub async fn resume(&self, run: &RunId, bounds: Option<Bounds>, control: RunControl) -> Result<RunResult, OrchestratorError> {
        self.take_up(run, RunFact::Resumed { bounds }, control).await
    }

    /// Continues a run that has ended with the next goal. The lead keeps its conversation, and the plan keeps its
    /// history.
    ///
    /// # Errors
    ///
    /// [`OrchestratorError`]; [`OrchestratorError::NoFollowUp`] if the run has not ended, was cancelled or cannot plan.
    pub async fn continue_run(
        &self,
        run: &RunId,
        goal: impl Into<String>,
        bounds: Option<Bounds>,
        control: RunControl,
    ) -> Result<RunResult, OrchestratorError> {
        self.take_up(run, RunFact::Continued { goal: goal.into(), bounds }, control).await
    }

    /// Cancels a run for good that no process executes. Starts no work of the run. For a run that has ended, returns
    /// its result again. To cancel a run in progress, send [`InboxMessage::Cancel`](crate::InboxMessage::Cancel).
    ///
    /// # Errors
    ///
    /// [`OrchestratorError`]; [`LockError::Locked`] while a process executes the run.
    pub async fn cancel(&self, run: &RunId, control: RunControl) -> Result<RunResult, OrchestratorError> {
        self.take_up(run, RunFact::CancelRequested { task: None, reason: message!("cancelled-by-person"), message: None }, control).await
    }

    async fn take_up(&self, run: &RunId, first: RunFact, control: RunControl) -> Result<RunResult, OrchestratorError> {
        let _lock = self.lock(run)?;
        // A run whose future was dropped may have left a pending commit.
        self.parts.journal.flush().await?;
        let snapshot = load_machine(&self.parts.journal, run)?;
        let view = RunStatusView::of(&snapshot);
        let follows_up = matches!(first, RunFact::Continued { .. });
        if let (true, Some(why)) = (follows_up, snapshot.state.machine().refuses_follow_up()) {
            return Err(OrchestratorError::NoFollowUp { run: run.to_string(), why });
        }
        if let (true, false, Some(output)) = (view.is_over, follows_up, &view.output) {
            // The process may have died after the last fact, before it updated the snapshot and the list.
            self.parts.keep_snapshot(&view.state);
            self.list(run, &view.state).await?;
            return Ok(RunResult::new(run.clone(), &view.state, output));
        }
        if !view.inconsistencies.is_empty() {
            let found: Vec<String> = view.inconsistencies.iter().map(ToString::to_string).collect();
            return Err(OrchestratorError::Unreplayable { run: run.to_string(), reason: found.join("; ") });
        }
        let is_work_ahead = !view.is_over && !matches!(first, RunFact::CancelRequested { .. });
        if is_work_ahead || follows_up {
            self.check_isolation(&view.input.settings, true).await?;
        }
        let writer = self.parts.journal.stream(run.as_str(), RUN_STREAM).after_snapshot(&snapshot);
        // The clock may have been set back since the last record. The facts after these get at least the time of that
        // record, and the difference would count as work.
        let now = self.parts.clock.now().max(Sink::<RunMachine>::last(&writer));
        let answers = Answers::of(&view.state);
        // A run that was cut off just before its end reaches it by continuing.
        let first = if view.is_over && !follows_up { RunFact::Resumed { bounds: None } } else { first };
        let bounds = match &first {
            RunFact::Resumed { bounds: Some(bounds) } | RunFact::Continued { bounds: Some(bounds), .. } => bounds.clone(),
            _ => view.bounds,
        };
        let reports = undelivered_reports(&self.parts, snapshot.state.machine(), run.as_str())?;
        let (undelivered_calls, undelivered_spent) = cost_of(&reports);
        let mut then = Vec::new();
        if !reports.is_empty() {
            // Recorded without the elapsed time, as if the process had received the reports before it died: nobody
            // worked in between.
            let fact = RunFact::ActorReports { reports }.without_secrets(&self.parts.redactor);
            then.push(Recorded { at: snapshot.state.now(), fact });
        }
        then.push(Recorded { at: now, fact: first.without_secrets(&self.parts.redactor) });
        // Answers that arrived meanwhile come before any question is repeated.
        let mut passed_on = BTreeMap::new();
        for message in self.parts.journal.inbox(run.as_str())? {
            match fact_in(&message) {
                // A resume revokes an earlier pause, and a follow-up an earlier cancel: it came after the work that it meant.
                Some(fact)
                    if matches!(fact, RunFact::StopRequested { .. }) || follows_up && matches!(fact, RunFact::CancelRequested { .. }) =>
                {
                    self.parts.journal.inbox_take(message.id).await?;
                }
                Some(fact) => {
                    then.push(Recorded { at: now, fact: fact.without_secrets(&self.parts.redactor) });
                    passed_on.insert(message.id, then.len());
                }
                None => {}
            }
        }
        let snapshots = Arc::new(SnapshotsDue::after(view.facts.saturating_sub(view.replayed), view.replayed));
        let start = Start {
            input: view.input,
            bounds,
            answers,
            words: MessageChannel::of(snapshot.state.machine()),
            snapshots: Arc::clone(&snapshots),
            // Usage of actors counts even if the run has not received their reports.
            spent: {
                let mut spent = view.state.spent;
                spent.add(&undelivered_spent);
                spent
            },
            tool_calls: view.state.tool_calls.saturating_add(undelivered_calls),
            actors: snapshot.state.machine().actors_begun(&self.parts.journal.streams(run.as_str())?),
            published: view.events as u64,
            passed_on: passed_on.keys().copied().collect(),
            entered: None,
        };
        // Discards the previous state, because a run is live only while it is executed.
        drop(self.live.insert(run.clone(), view.state));
        // The list shows the status of the run before, until the run ends or is suspended again.
        let listed = self.parts.journal.set_status(run.as_str(), now, RunStatus::Planning.word());
        let result = self.execute(start, writer, snapshot.state.resume(then), control).await?;
        if let Err(error) = listed.await {
            tracing::warn!(%error, %run, "the list of runs showed an old status of the run while it was executed");
        }
        // A run that ends at once has not read its inbox. If an earlier fact ended it, the later ones are not in its
        // journal, and their messages wait for the next resume.
        let recorded = snapshots.facts().saturating_sub(view.facts);
        for (message, facts) in passed_on {
            if facts <= recorded {
                self.parts.journal.inbox_take(message).await?;
            }
        }
        Ok(result)
    }

    /// Fails if every task would fail, because it cannot have the private folder that the settings require.
    async fn check_isolation(&self, settings: &RunSettings, has_begun: bool) -> Result<(), OrchestratorError> {
        match cannot_isolate(&self.parts, settings).await {
            Some(why) => Err(OrchestratorError::CannotIsolate { why, has_begun }),
            None => Ok(()),
        }
    }

    /// Returns the sources of the texts that every prompt contains. Even a file name may contain instructions.
    fn first_origins(&self) -> Vec<Origin> {
        let listed = self
            .parts
            .tool_context
            .folder
            .read_dir(".")
            .is_ok_and(|entries| entries.iter().any(|entry| !entry.name.to_string_lossy().starts_with('.')));
        if listed || !self.parts.project.trim().is_empty() { vec![Origin::Files] } else { Vec::new() }
    }

    fn lock(&self, run: &RunId) -> Result<RunLock, OrchestratorError> {
        Ok(RunLock::take(&self.run_folder(run).join("lock"))?)
    }

    fn run_folder(&self, run: &RunId) -> PathBuf {
        run_folder(&self.parts.keep, run.as_str())
    }
}
