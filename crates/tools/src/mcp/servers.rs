//! All servers of a run, and the tools that come of them.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use super::{
    McpError, McpLoading, McpOffer, McpServerSettings, McpSettings, McpTransport, auth, demand,
    login::Kept,
    names::{Names, Origin},
    offers,
    server::Server,
    tools::ServerTool,
};
use crate::Tool;

/// Where servers are started.
#[derive(Debug, Clone)]
pub struct McpPlace {
    /// The folder they run in.
    pub working_folder: PathBuf,
    /// The environment of all of them, clean of secrets.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
}

/// Servers that start when they are first needed and end when this and the tools that were made of it are dropped.
#[derive(Clone)]
pub struct McpServers {
    all: Arc<All>,
}

pub(super) struct All {
    pub(super) servers: Vec<Arc<Server>>,
    listed_tools: usize,
    /// Names that were given to tools once are kept: a model goes on to use them.
    given: RwLock<Names>,
}

impl McpServers {
    /// Starts nothing. `known` is what was learnt of servers earlier, by [`offers`](Self::offers): of these nothing need be asked.
    #[must_use]
    pub fn new(settings: McpSettings, place: &McpPlace, mut known: BTreeMap<String, McpOffer>) -> Self {
        let servers = settings.servers.into_iter().map(|server| {
            let known = known.remove(&server.name);
            Arc::new(Server::new(server, place.clone(), known))
        });
        let all = All { servers: servers.collect(), listed_tools: settings.listed_tools, given: RwLock::default() };
        Self { all: Arc::new(all) }
    }

    /// Learns what those servers offer of which nothing is known yet: all at once, each within its time. Gives why some could not tell.
    pub async fn learn(&self, cancel: &CancellationToken) -> Vec<McpError> {
        let unknown = self.all.servers.iter().filter(|server| server.offer().is_none());
        let learnt = join_all(unknown.map(|server| server.connection(cancel))).await;
        learnt.into_iter().filter_map(Result::err).collect()
    }

    /// What each server offers, as far as it is known: to be kept for the next time.
    #[must_use]
    pub fn offers(&self) -> BTreeMap<String, McpOffer> {
        let known = |server: &Arc<Server>| Some((server.settings.name.clone(), server.offer()?.as_ref().clone()));
        self.all.servers.iter().filter_map(known).collect()
    }

    /// Starts one server and asks what it offers, whatever was known.
    ///
    /// # Errors
    /// [`McpError`] says why it cannot be used.
    pub async fn test(&self, name: &str, cancel: &CancellationToken) -> Result<McpOffer, McpError> {
        let server = self.all.server(name)?;
        server.connection(cancel).await?;
        Ok(server.offer().map(|offer| offer.as_ref().clone()).unwrap_or_default())
    }

    /// Logs in to a server that asks for it. A person opens the address that `announce` is told, in a browser on this machine, and says yes there.
    ///
    /// # Errors
    /// [`McpError`] says why nobody is logged in.
    pub async fn log_in(&self, name: &str, announce: impl Fn(&str) + Send + Sync) -> Result<(), McpError> {
        let (url, file) = self.login(name)?;
        let done = auth::log_in(url, file, &announce).await;
        done.map_err(|reason| McpError::Login { server: name.to_owned(), reason })
    }

    /// Forgets the login at a server. Answers whether there was one.
    ///
    /// # Errors
    /// [`McpError`] says why it is still there.
    pub fn log_out(&self, name: &str) -> Result<bool, McpError> {
        let (url, file) = self.login(name)?;
        let removed = Kept::new(file, url).remove();
        removed.map_err(|error| McpError::Login { server: name.to_owned(), reason: format!("{}: {error}", file.display()) })
    }

    /// Whether somebody has logged in at a server.
    #[must_use]
    pub fn is_logged_in(&self, name: &str) -> bool {
        self.login(name).is_ok_and(|(url, file)| Kept::new(file, url).is_there())
    }

    fn login(&self, name: &str) -> Result<(&str, &Path), McpError> {
        let fault = |reason: &str| McpError::Settings { server: name.to_owned(), reason: reason.to_owned() };
        match &self.all.server(name)?.settings.transport {
            McpTransport::Stdio { .. } => Err(fault("it is a program here, which asks for no login")),
            McpTransport::Http { bearer: Some(_), .. } => Err(fault("its token is named by bearer_token_env: take that out to log in")),
            McpTransport::Http { login: None, .. } => Err(fault("there is no place for a login: HOME is not set")),
            McpTransport::Http { url, login: Some(file), .. } => Ok((url, file)),
        }
    }

    /// The name under which a model knows a tool of a server.
    #[must_use]
    pub fn tool_name(&self, server: &str, tool: &str) -> Option<String> {
        self.all.names().name(server, tool).map(str::to_owned)
    }

    /// The tools of all servers, as far as they are known: one for each of those that are to stand in a model's request, and the two by
    /// which the others are found and called, if there are others.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let all = &self.all;
        let names = all.names();
        let listed = all.listed();
        let mut tools: Vec<_> = listed.iter().flat_map(|server| of_server(server, &names)).collect();
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

    /// One for each tool that is known, also of those that stand in no model's request.
    #[must_use]
    pub fn every_tool(&self) -> Vec<Arc<dyn Tool>> {
        let names = self.all.names();
        self.all.servers.iter().flat_map(|server| of_server(server, &names)).collect()
    }

    /// Ends every server that runs: each is asked to, and made to if it does not.
    pub async fn end(&self) {
        join_all(self.all.servers.iter().map(|server| server.end())).await;
    }

    /// What is configured: name, how it is reached, and what is known of it.
    pub fn configured(&self) -> impl Iterator<Item = (&McpServerSettings, Option<Arc<McpOffer>>)> {
        self.all.servers.iter().map(|server| (&server.settings, server.offer()))
    }
}

/// The tools that a server is known to have.
fn of_server(server: &Arc<Server>, names: &Names) -> Vec<Arc<dyn Tool>> {
    let Some(offer) = server.offer() else { return Vec::new() };
    let named = offer.tools.iter().filter_map(|tool| Some((names.name(&server.settings.name, &tool.name)?, tool)));
    named.map(|(name, tool)| -> Arc<dyn Tool> { Arc::new(ServerTool::new(name, tool, Arc::clone(server))) }).collect()
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
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            McpError::NoSuchServer { server: name.to_owned(), known }
        })
    }

    /// The names of all tools that are known now. A tool keeps the name that it was given first.
    pub(super) fn names(&self) -> Names {
        let origins = self.servers.iter().flat_map(|server| {
            let tools = server.offer().map(|offer| offer.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>());
            tools.unwrap_or_default().into_iter().map(|tool| Origin { server: server.settings.name.clone(), tool })
        });
        let mut given = self.given.write().unwrap_or_else(PoisonError::into_inner);
        given.extend(origins);
        given.clone()
    }

    /// The servers whose tools stand in a model's request: the smallest first, as long as there is room.
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
    /// For people: the command or the address.
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
