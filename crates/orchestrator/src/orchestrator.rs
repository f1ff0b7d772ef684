//! Runs goals: starts them, resumes them, tells of them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use aime_durable::{
    DriveError, EmbeddedHost, FactSender, Journal, JournalError, LockError, NewRun, RUN_STREAM, Recorded, Resume, RunLock, StreamWriter,
    drive, replay,
};
use aime_progress::{Inconsistency, LiveStore, Origin, PlanId, ProgressState, RunId, Spent, Timestamp, write_snapshot};
use aime_tools::{HandledBy, Trust};
use aime_undo::Recorder;
use futures::FutureExt as _;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    Bounds, Budget, FailureCode, HookPoint, Parts, PublishedEvent, RunControl, RunFact, RunInput, RunMachine, RunOutput, RunRequest,
    RunResult,
    inbox::{CANCELLED, fact_in, read_inbox},
    publish::{Entry, PublishingStream},
    questions::Answers,
    runner::{RunRunner, kept_files::KeptFiles, plan::ToolsOfPlans},
    snapshots::SnapshotsDue,
    standing::{RunStanding, stand},
    unheard::{unheard, what_they_took},
    words::Words,
};

/// How often the snapshot of a run that moves is written.
const SNAPSHOT_EVERY: Duration = Duration::from_secs(1);

/// Why a run could not be carried on at all.
#[derive(Debug, thiserror::Error)]
pub enum OrchestratorError {
    /// The journal could not be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Another process drives this run.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// No such run.
    #[error("there is no run {run}")]
    NoSuchRun {
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
    /// The journal does not fit this version.
    #[error("run {run} cannot be replayed: {reason}")]
    Unreplayable {
        /// The run.
        run: String,
        /// Why.
        reason: String,
    },
}

/// A run as its journal tells it.
#[derive(Debug, Clone)]
pub struct RunView {
    /// What it started from.
    pub input: RunInput,
    /// Where it stands.
    pub state: ProgressState,
    /// Every event.
    pub events: Vec<PublishedEvent>,
    /// What it came to last, if it was left or has ended.
    pub output: Option<RunOutput>,
    /// The bounds in force.
    pub bounds: Bounds,
    /// How many actors were used.
    pub actors: u32,
    /// It cannot be resumed.
    pub over: bool,
    /// What of its journal was damaged and is left out.
    pub damage: Option<String>,
    /// What in its state contradicts itself: nothing, unless there is a fault in aime. Such a run is not resumed.
    pub inconsistencies: Vec<Inconsistency>,
}

/// Carries runs out. Cheap to clone; runs do not share state.
#[derive(Clone)]
pub struct Orchestrator {
    parts: Parts,
    plan_tools: ToolsOfPlans,
    live: Arc<LiveStore>,
}

impl Orchestrator {
    /// From its parts.
    #[must_use]
    pub fn new(mut parts: Parts) -> Self {
        parts.models = parts.models.map(|models| models.redacted(&parts.redactor));
        Self { plan_tools: ToolsOfPlans::new(&parts.tools), parts, live: Arc::default() }
    }

    pub(crate) const fn parts(&self) -> &Parts {
        &self.parts
    }

    pub(crate) const fn plan_tools(&self) -> &ToolsOfPlans {
        &self.plan_tools
    }

    /// The runs that are being carried out now, each as its last durable event left it. Safe to read from anywhere.
    #[must_use]
    pub fn live(&self) -> &LiveStore {
        &self.live
    }

    /// Starts a run and carries it out until it ends or is left.
    ///
    /// # Errors
    /// [`OrchestratorError`]; a run that merely fails is a result.
    pub async fn run(&self, request: RunRequest, control: RunControl) -> Result<RunResult, OrchestratorError> {
        let at = self.parts.clock.now();
        let input = self.input(request)?;
        let run = input.run.clone();
        let new = NewRun {
            id: run.as_str(),
            at,
            machine_version: <RunMachine as aime_durable::Machine>::VERSION,
            title: &input.goal,
            status: "planning",
        };
        let _lock = self.lock(&run)?;
        let entered = match self.parts.journal.run(run.as_str())? {
            // A process entered it and died before it had begun it: nothing is lost by beginning it now.
            Some(_) if self.parts.journal.load::<RunMachine>(run.as_str(), RUN_STREAM)?.is_none() => None,
            Some(_) => return Err(JournalError::RunExists { run: run.as_str().into() }.into()),
            // Waited for with the first record, which may share its transaction.
            None => Some(self.parts.journal.create_run(new).boxed()),
        };
        let resume = Resume::Fresh(Recorded { at, fact: input.clone() });
        let writer = self.parts.journal.stream(input.run.as_str(), "");
        let bounds = input.settings.bounds.clone();
        self.execute(
            Start {
                input,
                bounds,
                answers: Answers::default(),
                words: Words::default(),
                replayed: 0,
                spent: Spent::default(),
                tool_calls: 0,
                actors: 0,
                published: 0,
                entered,
            },
            writer,
            resume,
            control,
        )
        .await
    }

    /// What a run starts from: the request, and what these parts are. It holds no secret.
    ///
    /// # Errors
    /// [`OrchestratorError`] when the run's name is none for a plan.
    pub fn input(&self, request: RunRequest) -> Result<RunInput, OrchestratorError> {
        let RunRequest { run, goal, plan, mut settings } = request;
        let confinement = &self.parts.tool_context.confinement;
        settings.trust = Some(Trust { files: self.parts.trust_files, commands_reach_network: confinement.reaches_network() });
        Origin::merge(&mut settings.origins, &self.first_origins());
        let goal = self.parts.redactor.text(&goal).into_owned();
        let plan_id = PlanId::new(run.as_str()).map_err(|error| OrchestratorError::NoSuchRun { run: error.to_string() })?;
        let tools = self.parts.tools.all_sheets().filter(|sheet| sheet.handled_by == HandledBy::Runtime).cloned().collect();
        let (can_plan, has_memory) = (self.parts.models.is_some(), self.parts.memory.is_some());
        Ok(self.parts.redactor.typed_values(RunInput {
            run,
            plan_id,
            goal,
            plan,
            can_plan,
            has_memory,
            tells_every_end: true,
            settings,
            tools,
        }))
    }

    /// Goes on with a run after a stop, a crash or an answer. A run that has ended gives its result again.
    ///
    /// # Errors
    /// [`OrchestratorError`].
    pub async fn resume(&self, run: &RunId, bounds: Option<Bounds>, control: RunControl) -> Result<RunResult, OrchestratorError> {
        self.take_up(run, RunFact::Resumed { bounds }, control).await
    }

    /// Ends a run for good that no process carries out. Nothing of it is begun for that. One that has ended gives its result again; one that
    /// is carried out is to be told by [`InboxMessage::Cancel`](crate::InboxMessage::Cancel).
    ///
    /// # Errors
    /// [`OrchestratorError`]; [`LockError::Held`] while a process carries it out.
    pub async fn cancel(&self, run: &RunId, control: RunControl) -> Result<RunResult, OrchestratorError> {
        self.take_up(run, RunFact::CancelRequested { task: None, reason: CANCELLED.to_owned() }, control).await
    }

    async fn take_up(&self, run: &RunId, first: RunFact, control: RunControl) -> Result<RunResult, OrchestratorError> {
        let _lock = self.lock(run)?;
        // A run whose future was dropped may have left a commit on its way.
        self.parts.journal.flush().await?;
        let stood = stand(&self.parts.journal, run)?;
        let view = RunStanding::of(&stood);
        if let (true, Some(output)) = (view.over, &view.output) {
            // Its process may have died after the last fact, before it said so elsewhere.
            self.keep_snapshot(&view.state);
            self.list(run, &view.state, output).await?;
            return Ok(RunResult::new(run.clone(), &view.state, output));
        }
        if !view.inconsistencies.is_empty() {
            let found: Vec<String> = view.inconsistencies.iter().map(ToString::to_string).collect();
            return Err(OrchestratorError::Unreplayable { run: run.to_string(), reason: found.join("; ") });
        }
        let now = self.parts.clock.now();
        let answers = Answers::of(&view.state);
        // One that was cut off at its very end comes to it by going on.
        let first = if view.over { RunFact::Resumed { bounds: None } } else { first };
        let bounds = if let RunFact::Resumed { bounds: Some(bounds) } = &first { bounds.clone() } else { view.bounds };
        let reports = unheard(&self.parts, stood.standing.machine(), run.as_str())?;
        let (unheard_calls, unheard_spent) = what_they_took(&reports);
        let mut then = Vec::new();
        if !reports.is_empty() {
            // As if it had been heard when the process still lived: the time between is nobody's work.
            let fact = RunFact::ActorsHeard { reports }.without_secrets(&self.parts.redactor);
            then.push(Recorded { at: stood.standing.now(), fact });
        }
        then.push(Recorded { at: now, fact: first });
        // What was answered meanwhile comes before anything is asked again.
        for message in self.parts.journal.inbox(run.as_str())? {
            match fact_in(&message) {
                // Whoever resumes a run does not want it paused any more.
                Some(RunFact::StopRequested { .. }) => {
                    self.parts.journal.inbox_take(message.id).await?;
                }
                Some(fact) => then.push(Recorded { at: now, fact: fact.without_secrets(&self.parts.redactor) }),
                None => {}
            }
        }
        let start = Start {
            input: view.input,
            bounds,
            answers,
            words: Words::of(stood.standing.machine()),
            replayed: view.replayed,
            // What actors took counts, also where the run had not heard of it.
            spent: {
                let mut spent = view.state.spent;
                spent.add(&unheard_spent);
                spent
            },
            tool_calls: view.state.tool_calls.saturating_add(unheard_calls),
            actors: stood.standing.machine().actors_begun(&self.parts.journal.streams(run.as_str())?),
            published: view.events as u64,
            entered: None,
        };
        let writer = self.parts.journal.stream(run.as_str(), "").after_standing(&stood);
        // The state of before; a run is live while it is carried out.
        drop(self.live.insert(run.clone(), view.state));
        self.execute(start, writer, stood.standing.resume(then), control).await
    }

    /// Where the texts come from that stand in every prompt: a name of a file may say something, too.
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
        self.parts.keep.join("runs").join(run.as_str())
    }

    async fn execute(
        &self,
        start: Start,
        writer: StreamWriter,
        resume: Resume<RunMachine>,
        control: RunControl,
    ) -> Result<RunResult, OrchestratorError> {
        let run = start.input.run.clone();
        let (answers, words) = (Arc::new(start.answers), Arc::new(start.words));
        let recorder = self
            .parts
            .undo
            .clone()
            .map(|settings| Recorder::new(self.parts.tool_context.folder.clone(), &self.parts.keep, run.as_str(), settings));
        let kept_files = KeptFiles::new(recorder, run.clone(), Arc::clone(&self.live));
        let snapshots = Arc::new(SnapshotsDue::after(start.replayed));
        let (broken, mut journal_faults) = mpsc::unbounded_channel();
        let runner = Arc::new(RunRunner {
            run: run.clone(),
            kept_files: kept_files.clone(),
            live: Arc::clone(&self.live),
            input: start.input,
            parts: self.parts.clone(),
            plan_tools: self.plan_tools.clone(),
            budget: Arc::new(Budget::new(&start.bounds, &start.spent, start.tool_calls).with_actors(start.actors)),
            bounds: start.bounds,
            answers: Arc::clone(&answers),
            words: Arc::clone(&words),
            broken,
        });
        let watcher = control.events.clone();
        let sink = PublishingStream {
            run: run.clone(),
            writer,
            published: start.published,
            watcher,
            live: Arc::clone(&self.live),
            answers: Arc::clone(&answers),
            words: Arc::clone(&words),
            snapshots: Arc::clone(&snapshots),
            held: Default::default(),
            facts: 0,
            entered: start.entered,
        };
        let redactor = self.parts.redactor.clone();
        let host = EmbeddedHost::new(Arc::clone(&runner), sink).with_clock(Arc::clone(&self.parts.clock));
        let mut host = host.with_facts_through(move |fact| fact.without_secrets(&redactor));
        let beside = Beside {
            tasks: [
                tokio::spawn(pass_on_stop(control.stop.clone(), host.sender())),
                tokio::spawn(read_inbox(
                    self.parts.journal.clone(),
                    run.clone(),
                    (Arc::clone(&answers), Arc::clone(&words)),
                    host.sender(),
                )),
                tokio::spawn(self.clone().keep_snapshots(run.clone())),
                tokio::spawn({
                    let (journal, run) = (self.parts.journal.clone(), run.clone());
                    async move { snapshots.take_whenever_due(&journal, &run).await }
                }),
            ],
            run: run.clone(),
            live: Arc::clone(&self.live),
        };
        let ended = tokio::select! {
            biased;
            ended = drive(&mut host, resume) => ended,
            // What an actor did can no longer be written down: as after a crash, nobody may go on from what is not known.
            Some(error) = journal_faults.recv() => Err(DriveError::Host(error)),
        };
        host.close().await;
        drop(beside);
        if ended.is_err() {
            kept_files.finish().await;
        }
        let ended = ended.map_err(|error| match error {
            DriveError::Host(error) => OrchestratorError::Journal(error),
            other => OrchestratorError::Unreplayable { run: run.to_string(), reason: other.to_string() },
        })?;
        let state = ended.machine.state();
        // Two files, and neither waits for the other to be on the disk.
        let told = self.list(&run, state, &ended.output);
        self.keep_snapshot(state);
        if ended.machine.is_over() {
            runner.end_plan(state).await;
        }
        told.await?;
        let mut result = RunResult::new(run, state, &ended.output);
        if self.parts.hooks.are_at(HookPoint::Stop) {
            kept_files.around("hook", self.parts.hooks.stopped(&mut result)).await;
        }
        result.notes.extend(kept_files.finish().await);
        Ok(result)
    }

    /// Says in the list of runs how a run was left. It is under way at once, and there when this is awaited.
    fn list(
        &self,
        run: &RunId,
        state: &ProgressState,
        output: &RunOutput,
    ) -> impl Future<Output = Result<(), JournalError>> + Send + use<> {
        let interrupted = output.error.as_ref().is_some_and(|error| error.code == FailureCode::Interrupted);
        let status = if interrupted { FailureCode::Interrupted.word().to_owned() } else { state.status.to_string() };
        self.parts.journal.set_status(run.as_str(), self.parts.clock.now(), &status)
    }

    /// Keeps the snapshot of a live run near its state.
    async fn keep_snapshots(self, run: RunId) {
        let mut kept = None;
        loop {
            if let Some(state) = self.live.get(&run).filter(|state| kept != Some(state.last_progress_at)) {
                kept = Some(state.last_progress_at);
                let here = self.clone();
                // A snapshot that could not be written is told where it is written.
                drop(tokio::task::spawn_blocking(move || here.keep_snapshot(&state)).await);
            }
            tokio::time::sleep(SNAPSHOT_EVERY).await;
        }
    }

    /// A view for people and other programs: the journal stays the truth.
    fn keep_snapshot(&self, state: &ProgressState) {
        let path = self.parts.keep.join("progress").join(format!("{}.json", state.plan_id));
        if let Err(error) = write_snapshot(&path, state) {
            tracing::warn!(%error, "the snapshot could not be written; the journal is whole");
        }
    }
}

/// Reads a run from its journal.
///
/// # Errors
/// [`OrchestratorError`] when there is no such run or the journal cannot be read.
pub fn view(journal: &Journal, run: &RunId) -> Result<RunView, OrchestratorError> {
    let loaded = journal.load::<RunMachine>(run.as_str(), "")?;
    let Some(loaded) = loaded else { return Err(OrchestratorError::NoSuchRun { run: run.to_string() }) };
    let replayed = replay::<RunMachine>(&loaded.input, &loaded.facts);
    let events: Vec<PublishedEvent> = replayed
        .events
        .into_iter()
        .zip(1_u64..)
        .map(|(Recorded { at, fact }, seq)| PublishedEvent { seq, at: Timestamp::from_millis(at), event: fact })
        .collect();
    let over = replayed.machine.is_over();
    Ok(RunView {
        inconsistencies: replayed.machine.state().inconsistencies(),
        input: loaded.input.fact,
        state: replayed.machine.state().clone(),
        events,
        bounds: replayed.machine.bounds().clone(),
        actors: replayed.machine.actors(),
        output: replayed.output,
        over,
        damage: loaded.damage,
    })
}

/// What the effects of a run begin with.
struct Start {
    input: RunInput,
    bounds: Bounds,
    answers: Answers,
    words: Words,
    /// Facts since the last snapshot.
    replayed: usize,
    spent: Spent,
    tool_calls: u64,
    actors: u32,
    published: u64,
    /// The entry of a new run in the journal, on its way.
    entered: Option<Entry>,
}

/// What goes on beside a run. It ends with the run, also with one whose future is dropped.
struct Beside {
    tasks: [JoinHandle<()>; 4],
    run: RunId,
    live: Arc<LiveStore>,
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        drop(self.live.remove(&self.run));
    }
}

async fn pass_on_stop(stop: CancellationToken, facts: FactSender<RunMachine>) {
    stop.cancelled().await;
    // A run that has ended needs no stop.
    let _gone = facts.send(RunFact::StopRequested { reason: "stopped by a person".to_owned() });
}
