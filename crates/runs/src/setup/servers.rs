//! MCP servers of the settings, and the offers that were recorded earlier.

#[cfg(feature = "mcp")]
mod offer_cache;

use std::collections::BTreeMap;
#[cfg(feature = "mcp")]
use std::collections::btree_map::Entry;

#[cfg(feature = "mcp")]
use aime_messages::Message;
#[cfg(feature = "mcp")]
use aime_redact::Redactor;

use super::Setup;
#[cfg(feature = "mcp")]
use super::secrets;
use crate::{config::McpServerConfig, error::RunsError};

#[cfg(feature = "mcp")]
pub use self::offer_cache::Servers;

/// Placeholder: this build does not support MCP servers.
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
    /// Returns the servers once their tools are known.
    pub(super) fn servers_known(&self) -> Option<&Servers> {
        self.servers.get()
    }

    /// Adds MCP servers that a client offers. They have the default rights of servers. If the settings configure a server of the same name,
    /// that one is used with its configured rights. Their headers and variables count as secrets like those of the settings.
    #[cfg(feature = "mcp")]
    pub fn offer_servers(&mut self, offered: BTreeMap<String, McpServerConfig>) -> Result<(), RunsError> {
        let mut taken = Vec::new();
        for (name, server) in offered {
            match self.config.mcp.servers.entry(name) {
                Entry::Vacant(place) => drop(place.insert(server)),
                Entry::Occupied(known) => taken.push(known.key().clone()),
            }
        }
        taken.iter().for_each(|name| self.note(format!("the MCP server {name} of the editor: that of the settings is used")));
        let mut faults = self.config.mcp.faults();
        for fault in self.config.mcp.combination_faults() {
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        if !faults.is_empty() {
            let faults: Vec<Message> = faults.into_iter().map(|fault| fault.message).collect();
            return Err(RunsError::usage(Message::list("; ", &faults)));
        }
        self.redactor = Redactor::new(secrets::secrets(&self.environment, &self.config));
        Ok(())
    }

    /// Refuses servers that a client offers, because this build supports none.
    #[cfg(not(feature = "mcp"))]
    pub fn offer_servers(&mut self, offered: BTreeMap<String, McpServerConfig>) -> Result<(), RunsError> {
        if offered.is_empty() {
            return Ok(());
        }
        Err(RunsError::usage("this aime was built without MCP: it cannot use the servers of the editor"))
    }

    /// Runs `work` with the tools of servers known. It asks the servers first if necessary, and ends those that it started.
    #[cfg(feature = "mcp")]
    pub async fn with_servers<T, E: From<RunsError>>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        self.begin_servers().await?;
        let done = work.await;
        self.end_servers().await;
        done
    }

    /// Asks the configured servers for their tools if they are unknown. Call it once, and then [`Self::end_servers`].
    #[cfg(feature = "mcp")]
    pub async fn begin_servers(&self) -> Result<(), RunsError> {
        if self.config.mcp.used().next().is_some() {
            let servers = Servers::of(self)?;
            servers.learn(self).await;
            self.servers.get_or_init(|| servers);
        }
        Ok(())
    }

    /// Stores the servers' offers, and ends the running servers.
    #[cfg(feature = "mcp")]
    pub async fn end_servers(&self) {
        if let Some(servers) = self.servers.get() {
            servers.store(self);
            servers.all.end().await;
        }
    }

    /// Tells the caller that the configured servers are not used.
    #[cfg(not(feature = "mcp"))]
    pub async fn begin_servers(&self) -> Result<(), RunsError> {
        self.with_servers(async { Ok(()) }).await
    }

    /// Does nothing, because this build supports no servers.
    #[cfg(not(feature = "mcp"))]
    pub async fn end_servers(&self) {}

    /// Runs `work` without servers.
    #[cfg(not(feature = "mcp"))]
    pub async fn with_servers<T, E: From<RunsError>>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        if self.config.mcp.used().next().is_some() {
            self.note(aime_messages::message!("mcp-unused"));
        }
        work.await
    }
}
