//! MCP servers: those of the settings, and what was learnt of them earlier.

#[cfg(feature = "mcp")]
mod kept;

use super::Setup;
use crate::failure::Failure;
#[cfg(not(feature = "mcp"))]
use crate::output;

#[cfg(feature = "mcp")]
pub(crate) use self::kept::Servers;

/// Nothing: this build speaks to no servers.
#[cfg(not(feature = "mcp"))]
pub(crate) struct Servers;

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

    /// Does something that needs the tools of servers: learns them first, where they are not known, and ends what was started afterwards.
    #[cfg(feature = "mcp")]
    pub(crate) async fn with_servers<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        self.begin_servers().await?;
        let done = work.await;
        self.end_servers().await;
        done
    }

    /// Learns the servers of the settings, where they are not known. Whoever calls it does so once, and ends them.
    #[cfg(feature = "mcp")]
    pub(crate) async fn begin_servers(&self) -> Result<(), Failure> {
        if self.config.mcp.used().next().is_some() {
            let servers = Servers::of(self)?;
            servers.learn().await;
            self.servers.get_or_init(|| servers);
        }
        Ok(())
    }

    /// Keeps what was learnt of servers, and ends those that run.
    #[cfg(feature = "mcp")]
    pub(crate) async fn end_servers(&self) {
        if let Some(servers) = self.servers.get() {
            servers.keep(self);
            servers.all.end().await;
        }
    }

    /// Says that the servers of the settings are not used.
    #[cfg(not(feature = "mcp"))]
    pub(crate) async fn begin_servers(&self) -> Result<(), Failure> {
        self.with_servers(async { Ok(()) }).await
    }

    /// There are none.
    #[cfg(not(feature = "mcp"))]
    pub(crate) async fn end_servers(&self) {}

    /// Does something, without servers.
    #[cfg(not(feature = "mcp"))]
    pub(crate) async fn with_servers<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        if self.config.mcp.used().next().is_some() {
            output::note("this aime was built without MCP: the servers of the settings are not used");
        }
        work.await
    }
}
