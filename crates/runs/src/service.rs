//! Run service of one folder: every operation that a front end offers.

mod drive;
mod forecast;
mod inspect;
mod people;
mod plans;
mod remember;
mod report;
mod settings;
mod undo;
mod watch;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aime_orchestrator::Models;
use tokio::{
    sync::{Mutex as AsyncMutex, OnceCell},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::{Environment, Notice, RunsError, Setup, models};

pub(crate) use self::undo::task_scope;
pub use self::{
    drive::{Drive, Review, RunHandle, RunUpdate},
    forecast::{Forecast, ForecastBasis},
    inspect::{ended_error, list_document, matching_runs, outcome, rfc3339, state_of_version, stats_document},
    people::{AnswerReceipt, Cancelled},
    plans::{CheckerParts, PlanCheck, json_fault},
    remember::remember,
    report::report_view,
    settings::{raise_reached_bounds, settings_of},
    undo::{ChangeTurns, UndoReport},
    watch::{RunWatch, WatchUpdate},
};
#[cfg(feature = "temporal")]
pub(crate) use self::{
    inspect::matching,
    people::{cancellable_task, no_open_question_error, not_driven_error, recipient, recorded_answer},
};

/// Time that runs have to stop when their caller ends. Their actors have ten seconds.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// Runs of one folder. Each run that is driven here has its own tokio task, so it ends properly even if nobody awaits it.
pub struct Runs {
    setup: Arc<Setup>,
    /// True if clients are served. A client may itself be a run of aime whose settings name this process as a server.
    for_clients: bool,
    /// Set once the tools of the configured servers are known.
    servers: OnceCell<()>,
    /// Models by name, each created once, because a model in this process is large.
    models: AsyncMutex<BTreeMap<Option<String>, Models>>,
    driven: Mutex<JoinSet<()>>,
    /// Stops all runs.
    stop: CancellationToken,
}

impl Runs {
    /// Opens the runs of a folder, with the environment of this process.
    pub fn open(folder: &Path) -> Result<Self, RunsError> {
        Setup::builder(Environment::of_process()).open(Some(folder)).map(Self::new)
    }

    /// Wraps a folder that is already open.
    pub fn new(setup: Setup) -> Self {
        let (servers, models, driven) = (OnceCell::new(), AsyncMutex::default(), Mutex::default());
        Self { setup: Arc::new(setup), for_clients: false, servers, models, driven, stop: CancellationToken::new() }
    }

    /// Prepares for clients that are other programs. If aime itself started this process, the configured MCP servers are left out, since
    /// one of them may be this process.
    #[must_use]
    pub fn for_clients(self) -> Self {
        Self { for_clients: true, ..self }
    }

    /// Returns the folder with its settings.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Starts the configured MCP servers whose tools are not known yet. [`Self::end`] ends them.
    pub async fn ready(&self) -> Result<(), RunsError> {
        let begin = || async {
            if self.for_clients && self.setup.environment.text(aime_sandbox::PROCESS_VARIABLE).is_some() {
                self.setup.note("started by another aime: without the MCP servers of the settings");
                return Ok(());
            }
            Box::pin(self.setup.begin_servers()).await
        };
        self.servers.get_or_try_init(begin).await.copied()
    }

    /// Returns the models of a name, or the configured ones. If no model is needed, returns none instead of an error or a download.
    pub async fn models(&self, name: Option<&str>, needed: bool) -> Result<Option<Models>, RunsError> {
        let named = name.map(models::NamedModel::in_request);
        let choice = models::choose(&self.setup.config, &self.setup.environment, named)?;
        let choice = match choice {
            Some(choice) if needed => choice,
            None if needed => return Err(models::none_configured()),
            choice => return Ok(choice.and_then(|choice| models::build(&choice, &self.setup).ok())),
        };
        let mut made = self.models.lock().await;
        let key = name.map(str::to_owned);
        if let Some(models) = made.get(&key) {
            return Ok(Some(models.clone()));
        }
        self.setup.caller().on_notice(&Notice::Model { choice: &choice, setup: &self.setup });
        let models = Box::pin(models::ready(&choice, &self.setup)).await?;
        made.insert(key, models.clone());
        Ok(Some(models))
    }

    /// Returns the context window of a configured model by its name, in tokens. It is that of the server if a run has used the model here.
    pub async fn context_window(&self, model: &str) -> Option<u32> {
        let used = self.models.lock().await.values().find_map(|models| models.window_of(model));
        used.or(self.models(None, false).await.ok().flatten()?.window_of(model))
    }

    /// Stops all runs resumably, ends the MCP servers and sends the remaining telemetry.
    pub async fn end(&self) {
        self.stop.cancel();
        let mut driven = std::mem::take(&mut *self.driven.lock().unwrap_or_else(PoisonError::into_inner));
        let stopped = async { while driven.join_next().await.is_some() {} };
        if timeout(STOP_TIMEOUT, stopped).await.is_err() {
            self.setup.note("runs do not stop; they are left as they are");
        }
        self.setup.end_servers().await;
        self.setup.end_telemetry().await;
    }
}
