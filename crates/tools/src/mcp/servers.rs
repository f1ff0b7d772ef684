//! All MCP servers of a run, and their tools.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use super::{
    McpAbilities, McpError, McpLoading, McpLogin, McpServerSettings, McpSettings, McpTransport, auth, demand,
    login::StoredLogin,
    names::{Names, Origin},
    offers,
    server::Server,
    tools::ServerTool,
};
use crate::Tool;

/// Environment in which servers are started.
#[derive(Debug, Clone)]
pub struct McpPlace {
    /// Working folder of the servers.
    pub working_folder: PathBuf,
    /// Environment variables of all servers, without secrets.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
}

/// Servers of a run. They start on first use, and end when this value and all tools created from it are dropped.
#[derive(Clone)]
pub struct McpServers {
    all: Arc<All>,
}

pub(super) struct All {
    pub(super) servers: Vec<Arc<Server>>,
    listed_tools: usize,
    /// Names of tools. A name that was assigned once is kept, because a model continues to use it.
    given: RwLock<Names>,
}

impl McpServers {
    /// Creates the servers without starting any. `known` contains earlier offers, from [`offers`](Self::offers); these servers need not be
    /// asked.
    #[must_use]
    pub fn new(settings: McpSettings, place: &McpPlace, mut known: BTreeMap<String, McpAbilities>) -> Self {
        let servers = settings.servers.into_iter().map(|server| {
            let known = known.remove(&server.name);
            Arc::new(Server::new(server, place.clone(), known))
        });
        let all = All { servers: servers.collect(), listed_tools: settings.listed_tools, given: RwLock::default() };
        Self { all: Arc::new(all) }
    }

    /// Requests the offers of all servers without a known one, concurrently, each with its time limit. An empty offer counts as unknown: the
    /// server may have more to offer by now. Returns the errors of those that failed.
    pub async fn learn(&self, cancel: &CancellationToken) -> Vec<McpError> {
        let unknown = self.all.servers.iter().filter(|server| server.offer().is_none_or(|offer| offer.is_empty()));
        let learnt = join_all(unknown.map(|server| server.connection(cancel))).await;
        learnt.into_iter().filter_map(Result::err).collect()
    }

    /// Returns the known offer of each server, to be stored for the next run.
    #[must_use]
    pub fn offers(&self) -> BTreeMap<String, McpAbilities> {
        let known = |server: &Arc<Server>| Some((server.settings.name.clone(), server.offer()?.as_ref().clone()));
        self.all.servers.iter().filter_map(known).collect()
    }

    /// Starts one server and requests its offer, even if one is known.
    ///
    /// # Errors
    /// [`McpError`] with the reason why it cannot be used.
    pub async fn test(&self, name: &str, cancel: &CancellationToken) -> Result<McpAbilities, McpError> {
        let server = self.all.server(name)?;
        server.connection(cancel).await?;
        Ok(server.offer().map(|offer| offer.as_ref().clone()).unwrap_or_default())
    }

    /// Logs in to a server that requires it. `announce` gets the URL that a person must open in a browser on this machine to approve.
    ///
    /// # Errors
    /// [`McpError`] with the reason why the login failed.
    pub async fn log_in(&self, name: &str, announce: impl Fn(&str) + Send + Sync) -> Result<(), McpError> {
        let (url, login) = self.login(name)?;
        let done = auth::log_in(url, login, &announce).await;
        done.map_err(|reason| McpError::Login { server: name.to_owned(), reason })
    }

    /// Deletes the login at a server. Returns true if there was one.
    ///
    /// # Errors
    /// [`McpError`] with the reason why it could not be deleted.
    pub fn log_out(&self, name: &str) -> Result<bool, McpError> {
        let (url, McpLogin { file, .. }) = self.login(name)?;
        let removed = StoredLogin::new(file, url).remove();
        removed.map_err(|error| McpError::Login { server: name.to_owned(), reason: format!("{}: {error}", file.display()) })
    }

    /// Returns true if a login at a server exists.
    #[must_use]
    pub fn is_logged_in(&self, name: &str) -> bool {
        self.login(name).is_ok_and(|(url, login)| StoredLogin::new(&login.file, url).is_there())
    }

    fn login(&self, name: &str) -> Result<(&str, &McpLogin), McpError> {
        let fault = |reason: &str| McpError::Settings { server: name.to_owned(), reason: reason.to_owned() };
        match &self.all.server(name)?.settings.transport {
            McpTransport::Stdio { .. } => Err(fault("it is a program here, which asks for no login")),
            McpTransport::Http { bearer: Some(_), .. } => Err(fault("its token is named by bearer_token_env: take that out to log in")),
            McpTransport::Http { login: None, .. } => Err(fault("there is no place for a login: HOME is not set")),
            McpTransport::Http { url, login: Some(login), .. } => Ok((url, login)),
        }
    }

    /// Returns the name of a server's tool for models.
    #[must_use]
    pub fn tool_name(&self, server: &str, tool: &str) -> Option<String> {
        self.all.names().name(server, tool).map(str::to_owned)
    }

    /// Returns the known tools for a model's request: one for each tool of the listed servers, and, if there are other servers, the two
    /// tools that search and call their tools.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let all = &self.all;
        let names = all.names();
        let listed = all.listed();
        let mut tools: Vec<_> = listed.iter().flat_map(|server| of_server(all, server, &names)).collect();
        let has_tools = |server: &Server| server.offer().is_some_and(|offer| !offer.tools.is_empty());
        let is_listed = |server: &Arc<Server>| listed.iter().any(|known| Arc::ptr_eq(known, server));
        let searched: Vec<_> = all.servers.iter().filter(|server| !is_listed(server) && has_tools(server)).collect();
        let may_change = all.servers.iter().any(|server| server.offer().is_some_and(|offer| offer.changes));
        if !searched.is_empty() || may_change {
            tools.extend(demand::tools(all, &searched));
        }
        tools.extend(offers::tools(all));
        tools
    }

    /// Returns one tool for each known tool, including those outside of a model's request.
    #[must_use]
    pub fn every_tool(&self) -> Vec<Arc<dyn Tool>> {
        let names = self.all.names();
        self.all.servers.iter().flat_map(|server| of_server(&self.all, server, &names)).collect()
    }

    /// Shuts down every running server, and kills those that do not end.
    pub async fn end(&self) {
        join_all(self.all.servers.iter().map(|server| server.end())).await;
    }

    /// Returns the settings of each configured server, and its offer if known.
    pub fn configured(&self) -> impl Iterator<Item = (&McpServerSettings, Option<Arc<McpAbilities>>)> {
        self.all.servers.iter().map(|server| (&server.settings, server.offer()))
    }
}

/// Returns the known tools of a server.
fn of_server(all: &Arc<All>, server: &Arc<Server>, names: &Names) -> Vec<Arc<dyn Tool>> {
    let Some(offer) = server.offer() else { return Vec::new() };
    let named = offer.tools.iter().filter_map(|tool| Some((names.name(&server.settings.name, &tool.name)?, tool)));
    named.map(|(name, tool)| -> Arc<dyn Tool> { Arc::new(ServerTool::new(name, tool, Arc::clone(server), Arc::clone(all))) }).collect()
}

impl std::fmt::Debug for McpServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all.servers.iter().map(|server| &server.settings.name)).finish()
    }
}

impl All {
    pub(super) fn server(&self, name: &str) -> Result<&Arc<Server>, McpError> {
        let found = self.servers.iter().find(|server| server.settings.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.servers.iter().map(|server| server.settings.name.as_str()).collect();
            McpError::NoSuchServer { server: name.to_owned(), known: known.join(", ") }
        })
    }

    /// Returns the names of all tools known now. A tool keeps its first name.
    pub(super) fn names(&self) -> Names {
        let origins = self.servers.iter().flat_map(|server| {
            let tools = server.offer().map(|offer| offer.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>());
            tools.unwrap_or_default().into_iter().map(|tool| Origin { server: server.settings.name.clone(), tool })
        });
        let mut given = self.given.write().unwrap_or_else(PoisonError::into_inner);
        given.extend(origins);
        given.clone()
    }

    /// Returns the servers whose tools are part of a model's request: those that are always included, then the smallest ones as long as there
    /// is room.
    fn listed(&self) -> Vec<Arc<Server>> {
        let count = |server: &Arc<Server>| server.offer().map_or(0, |offer| offer.tools.len());
        let always = |server: &Arc<Server>| server.settings.loading == McpLoading::Always;
        let mut room = self.listed_tools.saturating_sub(self.servers.iter().filter(|server| always(server)).map(count).sum());
        let mut auto: Vec<_> = self.servers.iter().filter(|server| server.settings.loading == McpLoading::Auto).collect();
        auto.sort_by_key(|server| count(server));
        auto.retain(|server| {
            let fits = count(server) <= room;
            if fits {
                room -= count(server);
            }
            fits
        });
        let chosen = |server: &&Arc<Server>| always(server) || auto.iter().any(|known| Arc::ptr_eq(known, server));
        self.servers.iter().filter(chosen).cloned().collect()
    }
}

impl McpTransport {
    /// Returns the command or the URL, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Stdio { program, arguments, .. } => {
                let words = std::iter::once(program).chain(arguments).map(|word| word.to_string_lossy());
                words.collect::<Vec<_>>().join(" ")
            }
            Self::Http { url, .. } => url.clone(),
        }
    }
}
