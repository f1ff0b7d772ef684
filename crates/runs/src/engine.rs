//! Runs on an engine (Temporal): the operations of [`Runs`], and workers. The journal there describes a run just as the journal of a folder
//! does.

mod access;
mod files;
mod inspect;
mod people;
mod watch;
mod worker;

use std::{error::Error, path::PathBuf, sync::Arc, time::Duration};

use aime_durable::{Clock as _, SystemClock};
use aime_messages::{Describe, message};
use aime_orchestrator::{Bounds, Models, NoHuman, RunFact, RunRequest};
use aime_progress_management::{RunId, RunStatus};
pub use aime_temporal::{Address, Capability, Queues};
use aime_temporal::{EngineError, TreeError};
use tokio::sync::OnceCell;

pub use self::{files::FolderConflict, watch::EngineWatch, worker::EngineWorker};
use crate::{EngineStep, ErrorKind, Hint, Runs, RunsError, Setup, ended_error, raise_reached_bounds};

/// Polling interval of a run.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// Engine, and how this process reaches it.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Address of the engine.
    pub address: Address,
    /// Store of large contents that all processes share: a folder, or `s3://BUCKET/PREFIX`. Default: `.aime/blobs` of the working folder.
    pub blobs: Option<PathBuf>,
    /// File of keys that encrypt everything for the engine and for the blobs. Default: the variable `AIME_TEMPORAL_PAYLOAD_KEY`.
    pub payload_key: Option<PathBuf>,
    /// Files and names for TLS.
    pub tls: EngineTls,
    /// Names of the queues.
    pub queues: Queues,
    /// True if the working folder goes from host to host as git commits.
    pub git_handoff: bool,
}

/// PEM files for TLS, and the name in the engine's certificate if it differs from its address.
#[derive(Debug, Clone, Default)]
pub struct EngineTls {
    /// Certificates of trusted authorities. Default: those of the system.
    pub authority: Option<PathBuf>,
    /// Client certificate and its private key.
    pub own: Option<(PathBuf, PathBuf)>,
    /// Name in the engine's certificate.
    pub name: Option<String>,
}

/// Runs on an engine, as a client. It connects at the first operation.
pub struct EngineRuns<'a> {
    engine: OnceCell<aime_temporal::RunsClient>,
    options: &'a EngineOptions,
    here: &'a Runs,
}

impl<'a> EngineRuns<'a> {
    /// Creates a client with the settings of a folder.
    pub fn new(options: &'a EngineOptions, here: &'a Runs) -> Self {
        Self { engine: OnceCell::new(), options, here }
    }

    /// Returns the folder with its settings.
    pub fn setup(&self) -> &'a Setup {
        self.here.setup()
    }

    async fn engine(&self) -> Result<&aime_temporal::RunsClient, RunsError> {
        let connect = || async {
            let client = access::client(self.options, self.setup()).await?;
            Ok::<_, RunsError>(aime_temporal::RunsClient::new(client, self.options.queues.clone()))
        };
        self.engine.get_or_try_init(connect).await
    }

    /// Starts a run, which needs no client to continue, and returns the watch of it.
    pub async fn start(&self, request: RunRequest, models: Option<Models>) -> Result<EngineWatch<'_>, RunsError> {
        let setup = self.setup();
        // External agents are a part of this feature.
        #[cfg(feature = "acp")]
        if let Some(plan) = &request.plan {
            setup.check_without_agents(plan)?;
        }
        let engine = self.engine().await?;
        let run = request.run.clone();
        let input = setup.orchestrator(models, Arc::new(NoHuman))?.input(request)?;
        let tree = self.hand_over(&run).await?;
        engine.start(SystemClock.now(), input, tree).await?;
        Ok(EngineWatch::own(self, run, 0))
    }

    /// Resumes a run that was suspended, with the bounds that `change` returns for its own ones, and returns the watch of it.
    pub async fn resume(&self, run: &RunId, change: impl FnOnce(Bounds) -> Bounds) -> Result<EngineWatch<'_>, RunsError> {
        let (engine, setup) = (self.engine().await?, self.setup());
        let seen = engine.watch(run, usize::MAX).await?;
        if seen.is_over && seen.result.as_ref().is_some_and(|result| result.status == RunStatus::Cancelled) {
            let state = engine.progress(run).await?;
            return Err(state.map_or_else(|| RunsError::usage(message!("run-cancelled", run)), |state| ended_error(run, &state)));
        }
        if let (Some(_), false) = (&seen.result, seen.is_over) {
            let known = engine.view(run).await?;
            let (before, reached) = (known.bounds, known.bounds_reached);
            let wanted = raise_reached_bounds(change(before.clone()), &reached, &setup.config.run);
            let fact = RunFact::Resumed { bounds: (wanted != before).then_some(wanted) };
            engine.send_facts(run, vec![fact]).await?;
            // The engine withdraws the old result as soon as the run continues.
            while engine.watch(run, usize::MAX).await.is_ok_and(|now| now.all == seen.all && now.result.is_some()) {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
        Ok(EngineWatch::own(self, run.clone(), seen.all))
    }
}

impl RunsError {
    /// Wraps an error of the engine's library that has a message for people, with all its causes.
    fn described(kind: ErrorKind, error: impl Error + Describe + Send + Sync + 'static) -> Self {
        let message = error.describe();
        let mut described = Self::caused(kind, error);
        described.message = message;
        described
    }
}

impl From<EngineError> for RunsError {
    fn from(error: EngineError) -> Self {
        let usage = |hint: Option<EngineStep>| (ErrorKind::Usage, hint.map(Hint::Engine));
        let (kind, hint) = match &error {
            EngineError::Connect { .. } => usage(Some(EngineStep::Server)),
            EngineError::RunExists { .. } => (ErrorKind::Usage, Some(Hint::OtherIdOrResume)),
            EngineError::NotEnded { .. } => usage(Some(EngineStep::EndRun)),
            EngineError::ActorForgotten { .. } => (ErrorKind::Usage, Some(message!("engine-at-work-hint").into())),
            EngineError::NoSuchRun { .. } => (ErrorKind::NotFound, Some(Hint::Engine(EngineStep::List))),
            EngineError::Refused { .. } => usage(Some(EngineStep::Worker)),
            EngineError::Client(_) | EngineError::NoTls { .. } | EngineError::Past(_) => usage(None),
        };
        let failed = match error {
            EngineError::Past(error) => return error.into(),
            error => Self::described(kind, error),
        };
        match hint {
            Some(hint) => failed.hint(hint),
            None => failed,
        }
    }
}

impl From<TreeError> for RunsError {
    fn from(error: TreeError) -> Self {
        Self::described(ErrorKind::Usage, error)
    }
}
