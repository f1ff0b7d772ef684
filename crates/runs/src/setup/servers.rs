//! MCP servers: those of the settings, and what was learnt of them earlier.

#[cfg(feature = "mcp")]
mod kept;

use std::collections::BTreeMap;
#[cfg(feature = "mcp")]
use std::collections::btree_map::Entry;

#[cfg(feature = "mcp")]
use aime_redact::Redactor;

use super::Setup;
#[cfg(feature = "mcp")]
use super::secrets;
use crate::{config::McpServerConfig, error::RunsError};

#[cfg(feature = "mcp")]
pub use self::kept::Servers;

/// Nothing: this build speaks to no servers.
#[cfg(not(feature = "mcp"))]
pub struct Servers;

#[cfg(not(feature = "mcp"))]
impl Servers {
    pub(super) fn tools(&self) -> Vec<std::sync::Arc<dyn aime_tools::Tool>> {
        Vec::new()
    }

    pub(super) fn every_tool(&self) -> Vec<std::sync::Arc<dyn aime_tools::Tool>> {
        Vec::new()
    }
}

impl Setup {
    /// The servers, once they were asked what they offer.
    pub(super) fn servers_known(&self) -> Option<&Servers> {
        self.servers.get()
    }

    /// Adds MCP servers that a client offers. They have the rights that servers have by default; where the settings know a server of the same name,
    /// theirs is used, with the rights that it has there. The values of variables that the servers are given may be secrets.
    #[cfg(feature = "mcp")]
    pub fn offer_servers(&mut self, offered: BTreeMap<String, McpServerConfig>) -> Result<(), RunsError> {
        let (mut variables, mut taken) = (Vec::new(), Vec::new());
        for (name, server) in offered {
            variables.extend(server.env.iter().map(|(name, value)| (name.clone(), value.clone())));
            match self.config.mcp.servers.entry(name) {
                Entry::Vacant(place) => drop(place.insert(server)),
                Entry::Occupied(known) => taken.push(known.key().clone()),
            }
        }
        taken.iter().for_each(|name| self.note(format!("the MCP server {name} of the editor: that of the settings is used")));
        let faults = self.config.mcp.faults();
        if !faults.is_empty() {
            return Err(RunsError::usage(faults.join("; ")));
        }
        let found = variables.into_iter().filter_map(|(name, value)| secrets::secret_in(&name, &value));
        self.redactor = Redactor::new(secrets::secrets(&self.environment, &self.config).into_iter().chain(found));
        Ok(())
    }

    /// Refuses servers that a client offers: this build has none.
    #[cfg(not(feature = "mcp"))]
    pub fn offer_servers(&mut self, offered: BTreeMap<String, McpServerConfig>) -> Result<(), RunsError> {
        if offered.is_empty() {
            return Ok(());
        }
        Err(RunsError::usage("this aime was built without MCP: it cannot use the servers of the editor"))
    }

    /// Does something that needs the tools of servers: learns them first, where they are not known, and ends what was started afterwards.
    #[cfg(feature = "mcp")]
    pub async fn with_servers<T, E: From<RunsError>>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        self.begin_servers().await?;
        let done = work.await;
        self.end_servers().await;
        done
    }

    /// Learns the servers of the settings, where they are not known. Whoever calls it does so once, and ends them.
    #[cfg(feature = "mcp")]
    pub async fn begin_servers(&self) -> Result<(), RunsError> {
        if self.config.mcp.used().next().is_some() {
            let servers = Servers::of(self)?;
            servers.learn(self).await;
            self.servers.get_or_init(|| servers);
        }
        Ok(())
    }

    /// Keeps what was learnt of servers, and ends those that run.
    #[cfg(feature = "mcp")]
    pub async fn end_servers(&self) {
        if let Some(servers) = self.servers.get() {
            servers.keep(self);
            servers.all.end().await;
        }
    }

    /// Says that the servers of the settings are not used.
    #[cfg(not(feature = "mcp"))]
    pub async fn begin_servers(&self) -> Result<(), RunsError> {
        self.with_servers(async { Ok(()) }).await
    }

    /// There are none.
    #[cfg(not(feature = "mcp"))]
    pub async fn end_servers(&self) {}

    /// Does something, without servers.
    #[cfg(not(feature = "mcp"))]
    pub async fn with_servers<T, E: From<RunsError>>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        if self.config.mcp.used().next().is_some() {
            self.note("this aime was built without MCP: the servers of the settings are not used");
        }
        work.await
    }
}
