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
}

impl Setup {
    /// The servers, once they were asked what they offer.
    pub(super) fn servers_known(&self) -> Option<&Servers> {
        self.servers.get()
    }

    /// Does something that needs the tools of servers: learns them first, where they are not known, and ends what was started afterwards.
    #[cfg(feature = "mcp")]
    pub(crate) async fn with_servers<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        if self.config.mcp.used().next().is_none() {
            return work.await;
        }
        let servers = Servers::of(self)?;
        servers.learn().await;
        // Nobody else sets it: commands come here once.
        let servers = self.servers.get_or_init(|| servers);
        let done = work.await;
        servers.keep(self);
        servers.all.end().await;
        done
    }

    /// Does something, without servers.
    #[cfg(not(feature = "mcp"))]
    pub(crate) async fn with_servers<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        if self.config.mcp.used().next().is_some() {
            output::note("this aime was built without MCP: the servers of the settings are not used");
        }
        work.await
    }
}
