//! The folders that an editor has opened.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use aime_acp::{Folder, OfferedServer, Refusal, Workshop};
use aime_progress::RunId;
use futures::{future, future::BoxFuture};

use super::folder::WorkingFolder;
use crate::{
    commands::{host::Host, run::new_run_id},
    config::Environment,
    failure::Failure,
    wiring::Setup,
};

/// Opens folders, each with a setup of its own.
pub(super) struct Opened {
    environment: Environment,
    config: Option<PathBuf>,
    folders: Mutex<Vec<(Vec<OfferedServer>, Arc<WorkingFolder>)>>,
}

impl Opened {
    pub(super) fn new(environment: Environment, config: Option<PathBuf>) -> Self {
        Self { environment, config, folders: Mutex::default() }
    }

    /// Stops all runs so that they can go on later, and ends what was started for them.
    pub(super) async fn end(&self) {
        let folders = std::mem::take(&mut *self.folders.lock().unwrap_or_else(PoisonError::into_inner));
        future::join_all(folders.iter().map(|(_, folder)| folder.end())).await;
    }

    /// A folder that was opened with the same servers before: one that is open has a model and servers at hand.
    fn known(&self, folder: &PathBuf, servers: &[OfferedServer]) -> Option<Arc<WorkingFolder>> {
        let folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        folders.iter().find(|(offered, known)| known.path() == folder && offered == servers).map(|(_, known)| Arc::clone(known))
    }
}

impl Workshop for Opened {
    fn new_name(&self) -> Result<RunId, Refusal> {
        new_run_id().map_err(refusal)
    }

    fn open(&self, folder: PathBuf, servers: Vec<OfferedServer>) -> BoxFuture<'_, Result<Arc<dyn Folder>, Refusal>> {
        Box::pin(async move {
            let mut setup = Setup::new(self.environment.clone(), Some(&folder), self.config.clone()).map_err(invalid)?;
            if let Some(known) = self.known(&setup.folder, &servers) {
                return Ok(known as _);
            }
            setup.tell_notes();
            setup.take_servers(&servers).map_err(invalid)?;
            let opened = Arc::new(WorkingFolder::new(Host::new(Arc::new(setup))));
            opened.ready().await.map_err(refusal)?;
            self.folders.lock().unwrap_or_else(PoisonError::into_inner).push((servers, Arc::clone(&opened)));
            Ok(opened as _)
        })
    }
}

impl Setup {
    /// Adds the MCP servers that an editor offers. They have the rights that servers have by default; where the settings know a server of the
    /// same name, theirs is used, with the rights that it has there.
    fn take_servers(&mut self, servers: &[OfferedServer]) -> Result<(), Failure> {
        #[cfg(feature = "mcp")]
        {
            for server in servers {
                if self.config.mcp.servers.contains_key(&server.name) {
                    crate::output::note(&format!("the MCP server {} of the editor: that of the settings is used", server.name));
                } else {
                    self.config.mcp.servers.insert(server.name.clone(), configured(server));
                }
            }
            let faults = self.config.mcp.faults();
            if !faults.is_empty() {
                return Err(Failure::usage(faults.join("; ")));
            }
            let values = servers.iter().flat_map(|server| match &server.reach {
                aime_acp::Reach::Command { variables, .. } => variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
                aime_acp::Reach::Http { .. } => Vec::new(),
            });
            self.learn_secrets(values.collect());
        }
        #[cfg(not(feature = "mcp"))]
        if !servers.is_empty() {
            return Err(Failure::usage("this aime was built without MCP: it cannot use the servers of the editor"));
        }
        Ok(())
    }
}

/// A server as settings have it.
#[cfg(feature = "mcp")]
fn configured(server: &OfferedServer) -> crate::config::McpServerConfig {
    use aime_acp::Reach;

    use crate::config::McpServerConfig;

    match server.reach.clone() {
        Reach::Command { program, arguments, variables } => {
            McpServerConfig { command: Some(program.display().to_string()), args: arguments, env: variables, ..McpServerConfig::default() }
        }
        Reach::Http { url, headers } => McpServerConfig { url: Some(url), headers, ..McpServerConfig::default() },
    }
}

fn words(failure: Failure) -> String {
    failure.hint.map_or_else(|| failure.message.clone(), |hint| format!("{}\n({hint})", failure.message))
}

/// Something went wrong here.
pub(super) fn refusal(failure: Failure) -> Refusal {
    Refusal::Failed(words(failure))
}

/// What was asked for cannot be had.
fn invalid(failure: Failure) -> Refusal {
    Refusal::Invalid(words(failure))
}
