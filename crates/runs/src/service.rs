//! The runs of one folder: every operation that a face offers.

mod drive;
mod look;
mod people;
mod plans;
mod remember;
mod report;
mod settings;

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

pub use self::{
    drive::{Drive, RunHandle, RunNews},
    look::{has_ended, named, outcome},
    people::{Answered, Cancelled, asks_nothing, hearer, not_driven, part_of},
    plans::{CheckerParts, fault_list},
    remember::remember,
    report::report_view,
    settings::{raised, settings_of},
};

/// How long runs have to stop when their caller ends: their actors have ten seconds.
const PATIENCE: Duration = Duration::from_secs(15);

/// The runs of one folder. Each run that is driven here goes on in a task of its own, so it ends in order also when nobody waits for it.
pub struct Runs {
    setup: Arc<Setup>,
    /// True if clients are served. One of them may be a run of aime, whose settings name this process as a server.
    for_clients: bool,
    /// Set when the tools of the settings' own servers are known.
    servers: OnceCell<()>,
    /// Made once by name: a model in this process is large.
    models: AsyncMutex<BTreeMap<Option<String>, Models>>,
    driven: Mutex<JoinSet<()>>,
    /// Stops all runs.
    stop: CancellationToken,
}

impl Runs {
    /// The runs of a folder, with the environment of this process.
    pub fn open(folder: &Path) -> Result<Self, RunsError> {
        Setup::builder(Environment::of_process()).open(Some(folder)).map(Self::new)
    }

    /// The runs of a folder that was opened.
    pub fn new(setup: Setup) -> Self {
        let (servers, models, driven) = (OnceCell::new(), AsyncMutex::default(), Mutex::default());
        Self { setup: Arc::new(setup), for_clients: false, servers, models, driven, stop: CancellationToken::new() }
    }

    /// The same for clients that other programs are: a process that an aime started leaves out the MCP servers of the settings, since one of them
    /// may be this process.
    #[must_use]
    pub fn for_clients(self) -> Self {
        Self { for_clients: true, ..self }
    }

    /// The folder with its settings.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Starts the MCP servers of the settings whose tools are not known yet. [`Self::end`] ends them.
    pub async fn ready(&self) -> Result<(), RunsError> {
        let begin = || async {
            if self.for_clients && self.setup.environment.text(aime_sandbox::PROCESS_VARIABLE).is_some() {
                self.setup.note("started by another aime: without the MCP servers of the settings");
                return Ok(());
            }
            self.setup.begin_servers().await
        };
        self.servers.get_or_try_init(begin).await.copied()
    }

    /// The models of a name, or the configured ones; nothing if none is needed and none can be used without a fetch.
    pub async fn models(&self, name: Option<&str>, needed: bool) -> Result<Option<Models>, RunsError> {
        let choice = models::choose(&self.setup.config, &self.setup.environment, name)?;
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
        self.setup.caller().hear(&Notice::Model { choice: &choice, setup: &self.setup });
        let models = models::ready(&choice, &self.setup).await?;
        made.insert(key, models.clone());
        Ok(Some(models))
    }

    /// Stops all runs so that they can be resumed, ends the MCP servers and sends what is left of telemetry.
    pub async fn end(&self) {
        self.stop.cancel();
        let mut driven = std::mem::take(&mut *self.driven.lock().unwrap_or_else(PoisonError::into_inner));
        let stopped = async { while driven.join_next().await.is_some() {} };
        if timeout(PATIENCE, stopped).await.is_err() {
            self.setup.note("runs do not stop; they are left as they are");
        }
        self.setup.end_servers().await;
        self.setup.end_telemetry().await;
    }
}
