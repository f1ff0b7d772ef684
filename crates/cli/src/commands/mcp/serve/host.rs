//! Runs for a client: each goes on in a task of its own, so that it comes to its end in order, also when nobody waits for it any more.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aime_orchestrator::{HumanChannel, HumanQuestion, Models, NobodyThere, Orchestrator, PublishedEvent, RunControl, RunResult};
use aime_progress::RunId;
use aime_tools::{AskPerson, TellProgress};
use futures::future::BoxFuture;
use tokio::{
    sync::{Mutex as AsyncMutex, OnceCell, mpsc, oneshot},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::{
    commands::run::{Work, at_hand, failure_of, model_line},
    failure::Failure,
    models, output,
    screen::{first_line, line_of},
    wiring::Setup,
};

/// How long runs have to stop when the client is gone: their actors have ten seconds.
const PATIENCE: Duration = Duration::from_secs(15);
/// The longest news of a run, in characters.
const NEWS: usize = 300;

/// Carries out runs.
pub(super) struct Host {
    pub(super) setup: Arc<Setup>,
    /// Set when the tools of the settings' own servers are known.
    servers: OnceCell<()>,
    /// Made once: one in this process is large.
    models: AsyncMutex<BTreeMap<Option<String>, Models>>,
    runs: Mutex<JoinSet<()>>,
    /// All runs are to stop.
    stop: CancellationToken,
}

/// A run under way.
pub(super) struct Going {
    /// Stops it, so that it can go on later.
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

    /// Carries out a run. `person` answers its questions, if there is one; `progress` hears what happens.
    pub(super) fn carry(
        &self,
        run: RunId,
        work: Work,
        models: Option<Models>,
        (person, progress): (Option<AskPerson>, Option<TellProgress>),
    ) -> Result<Going, Failure> {
        let human: Arc<dyn HumanChannel> = match person {
            Some(person) => Arc::new(BehindTheClient { person, one_at_a_time: AsyncMutex::new(()) }),
            None => Arc::new(NobodyThere),
        };
        let orchestrator = Orchestrator::new(self.setup.parts(models, human)?);
        let (events, watched) = mpsc::unbounded_channel();
        let stop = self.stop.child_token();
        let control = RunControl { stop: stop.clone(), events };
        let (send, result) = oneshot::channel();
        let carried = async move {
            let told = tell(watched, progress);
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
        Ok(Going { stop, result })
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
    }
}

/// Tells what happens in a run until it is over.
async fn tell(mut events: mpsc::UnboundedReceiver<PublishedEvent>, progress: Option<TellProgress>) {
    while let Some(event) = events.recv().await {
        if let (Some(progress), Some(line)) = (&progress, line_of(&event)) {
            progress.tell(first_line(&anstream::adapter::strip_str(&line).to_string(), NEWS));
        }
    }
}

/// The person behind a client.
struct BehindTheClient {
    person: AskPerson,
    one_at_a_time: AsyncMutex<()>,
}

impl HumanChannel for BehindTheClient {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let _turn = self.one_at_a_time.lock().await;
            let form = if question.kind == "approval" { "\nAnswer yes, always or no." } else { "" };
            self.person.ask(format!("{}{form}", output::plain(&question.text))).await
        })
    }
}
