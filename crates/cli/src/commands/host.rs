//! Runs for a client: each goes on in a task of its own, so that it comes to its end in order, also when nobody waits for it any more.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aime_orchestrator::{HumanChannel, Models, Orchestrator, PublishedEvent, RunControl, RunResult};
use aime_progress::RunId;
use tokio::{
    sync::{Mutex as AsyncMutex, OnceCell, mpsc, oneshot},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::{
    commands::run::{Work, at_hand, failure_of, model_line, remember},
    failure::Failure,
    models, output,
    wiring::Setup,
};

/// How long runs have to stop when the client is gone: their actors have ten seconds.
const PATIENCE: Duration = Duration::from_secs(15);

/// Carries out runs.
pub(crate) struct Host {
    pub(super) setup: Arc<Setup>,
    /// Set when the tools of the settings' own servers are known.
    servers: OnceCell<()>,
    /// Made once: one in this process is large.
    models: AsyncMutex<BTreeMap<Option<String>, Models>>,
    runs: Mutex<JoinSet<()>>,
    /// All runs are to stop.
    stop: CancellationToken,
}

/// Hears what happens in a run.
pub(super) type Tell = Box<dyn Fn(PublishedEvent) + Send + Sync>;

/// A run that is to be carried out.
pub(super) struct Carried {
    pub(super) run: RunId,
    pub(super) work: Work,
    pub(super) models: Option<Models>,
    /// Who answers its questions.
    pub(super) human: Arc<dyn HumanChannel>,
    /// What was said before it; stands behind what the project says of itself.
    pub(super) earlier: String,
    pub(super) tell: Tell,
}

/// A run under way.
pub(super) struct Going {
    /// Stops it, so that it can go on later.
    #[cfg(any(feature = "mcp", feature = "acp"))]
    pub(super) stop: CancellationToken,
    result: oneshot::Receiver<Result<RunResult, Failure>>,
}

impl Going {
    /// What it comes to.
    pub(super) async fn result(self) -> Result<RunResult, Failure> {
        self.result.await.unwrap_or_else(|_| Err(Failure::internal("the run was lost")))
    }
}

impl Host {
    pub(super) fn new(setup: Arc<Setup>) -> Self {
        Self { setup, servers: OnceCell::new(), models: AsyncMutex::default(), runs: Mutex::default(), stop: CancellationToken::new() }
    }

    /// Makes the tools of the settings' MCP servers known, if there are any.
    pub(super) async fn ready(&self) -> Result<(), Failure> {
        let begin = || async {
            if self.setup.environment.text(aime_sandbox::PROCESS_VARIABLE).is_some() {
                // Its own settings may name it.
                output::note("started by another aime: without the MCP servers of the settings");
                return Ok(());
            }
            self.setup.begin_servers().await
        };
        self.servers.get_or_try_init(begin).await.copied()
    }

    /// The models of a name, or those that are configured; nothing where none is needed and none is at hand.
    pub(super) async fn models(&self, name: Option<&str>, needed: bool) -> Result<Option<Models>, Failure> {
        let choice = models::choose(&self.setup.config, &self.setup.environment, name)?;
        let choice = match choice {
            Some(choice) if needed => choice,
            None if needed => return Err(models::none_configured()),
            choice => return Ok(at_hand(choice.as_ref(), &self.setup)),
        };
        let mut made = self.models.lock().await;
        let key = name.map(str::to_owned);
        if let Some(models) = made.get(&key) {
            return Ok(Some(models.clone()));
        }
        output::note(&model_line(Some(&choice), &self.setup));
        let models = models::ready(&choice, &self.setup).await?;
        made.insert(key, models.clone());
        Ok(Some(models))
    }

    /// Carries out a run.
    pub(super) fn carry(&self, carried: Carried) -> Result<Going, Failure> {
        let Carried { run, work, models, human, earlier, tell } = carried;
        let mut parts = self.setup.parts(models, human)?;
        parts.project.push_str(&earlier);
        let orchestrator = Orchestrator::new(parts);
        let (events, watched) = mpsc::unbounded_channel();
        let stop = self.stop.child_token();
        let control = RunControl { stop: stop.clone(), events };
        let (send, result) = oneshot::channel();
        let setup = Arc::clone(&self.setup);
        let carried = async move {
            let told = follow(&run, watched, tell, &setup);
            let result = async {
                match work {
                    Work::Start(request) => orchestrator.run(*request, control).await,
                    Work::Resume { bounds, .. } => orchestrator.resume(&run, bounds, control).await,
                }
            };
            let (result, ()) = tokio::join!(result, told);
            // Whoever started it may have gone; its journal knows.
            drop(send.send(result.map_err(|error| failure_of(&error))));
        };
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        while runs.try_join_next().is_some() {}
        runs.spawn(carried);
        Ok(Going {
            #[cfg(any(feature = "mcp", feature = "acp"))]
            stop,
            result,
        })
    }

    /// Stops all runs so that they can go on later, and ends what was started for them.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        let mut runs = std::mem::take(&mut *self.runs.lock().unwrap_or_else(PoisonError::into_inner));
        let stopped = async { while runs.join_next().await.is_some() {} };
        if timeout(PATIENCE, stopped).await.is_err() {
            output::note("runs do not stop; they are left as they are");
        }
        self.setup.end_servers().await;
        self.setup.end_telemetry().await;
    }
}

/// Tells what happens in a run until it is over, and keeps what is allowed for good.
async fn follow(run: &RunId, mut events: mpsc::UnboundedReceiver<PublishedEvent>, tell: Tell, setup: &Setup) {
    let mut telemetry = setup.watch(run);
    while let Some(event) = events.recv().await {
        if let Some(telemetry) = &mut telemetry {
            telemetry.take(&event);
        }
        if let Some(lost) = remember(&event, setup.consents().as_ref()) {
            output::note(&lost);
        }
        tell(event);
    }
}
