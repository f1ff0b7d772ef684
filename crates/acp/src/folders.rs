//! Folders that an editor has opened, as they are configured.

mod working;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use aime_orchestrator::new_run_id;
use aime_progress_management::RunId;
use aime_runs::{Runs, RunsError, SetupBuilder, config::McpServerConfig};
use futures::{future, future::BoxFuture};

use self::working::WorkingFolder;
use crate::{Folder, FolderService, OfferedServer, Reach, Refusal};

/// Opens folders with their configuration, each with its own setup.
pub struct Folders {
    opener: SetupBuilder,
    own_folder: PathBuf,
    folders: Mutex<Vec<(Vec<OfferedServer>, Arc<WorkingFolder>)>>,
}

impl Folders {
    /// Creates a service that opens folders by this builder. `own_folder` is the one in which the agent was started.
    pub fn new(opener: SetupBuilder, own_folder: PathBuf) -> Self {
        Self { opener, own_folder, folders: Mutex::default() }
    }

    /// Stops all runs resumably, and ends everything that was started for them.
    pub async fn end(&self) {
        let folders = std::mem::take(&mut *self.folders.lock().unwrap_or_else(PoisonError::into_inner));
        future::join_all(folders.iter().map(|(_, folder)| folder.runs.end())).await;
    }

    /// Returns a folder that is already open with the same servers, so that its model and servers are reused.
    fn known(&self, folder: &PathBuf, servers: &[OfferedServer]) -> Option<Arc<WorkingFolder>> {
        let folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        folders.iter().find(|(offered, known)| known.path() == folder && offered == servers).map(|(_, known)| Arc::clone(known))
    }
}

impl FolderService for Folders {
    fn release(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let unused = {
                let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
                let (held, unused) = std::mem::take(&mut *folders).into_iter().partition(|(_, folder)| Arc::strong_count(folder) > 1);
                *folders = held;
                unused
            };
            let unused: Vec<(Vec<OfferedServer>, Arc<WorkingFolder>)> = unused;
            future::join_all(unused.iter().map(|(_, folder)| folder.runs.end())).await;
        })
    }

    fn own_folder(&self) -> PathBuf {
        self.own_folder.clone()
    }

    fn new_name(&self) -> Result<RunId, Refusal> {
        Ok(new_run_id())
    }

    fn open(&self, folder: PathBuf, servers: Vec<OfferedServer>) -> BoxFuture<'_, Result<Arc<dyn Folder>, Refusal>> {
        Box::pin(async move {
            let mut setup = self.opener.open(Some(&folder)).map_err(invalid)?;
            if let Some(known) = self.known(&setup.folder, &servers) {
                return Ok(known as _);
            }
            setup.report_notes();
            let offered = servers.iter().map(|server| (server.name.clone(), configured(server))).collect();
            setup.offer_servers(offered).map_err(invalid)?;
            let opened = Arc::new(WorkingFolder { runs: Arc::new(Runs::new(setup).for_clients()) });
            opened.runs.ready().await.map_err(refusal)?;
            self.folders.lock().unwrap_or_else(PoisonError::into_inner).push((servers, Arc::clone(&opened)));
            Ok(opened as _)
        })
    }
}

/// Converts an offered server to its settings.
fn configured(server: &OfferedServer) -> McpServerConfig {
    match server.reach.clone() {
        Reach::Command { program, arguments, variables } => {
            McpServerConfig { command: Some(program.display().to_string()), args: arguments, env: variables, ..McpServerConfig::default() }
        }
        Reach::Http { url, headers } => McpServerConfig { url: Some(url), headers, ..McpServerConfig::default() },
    }
}

fn words(error: &RunsError) -> String {
    let message = error.with_causes();
    error.hint.as_ref().map_or_else(|| message.to_string(), |hint| format!("{message}\n({hint})"))
}

/// Converts an error on this side.
fn refusal(error: impl Into<RunsError>) -> Refusal {
    Refusal::Failed(words(&error.into()))
}

/// Converts an error in the client's request.
fn invalid(error: RunsError) -> Refusal {
    Refusal::Invalid(words(&error))
}
