//! The sessions of one client.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use agent_client_protocol::{
    Client, Error,
    v1::{
        ConnectionTo,
        schema::{
            self, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest,
            NewSessionResponse, SessionId, SessionInfo,
        },
    },
};
use aime_progress_management::RunId;

use crate::{
    Folder, KnownRun, OfferedServer, Reach, Refusal, Workshop,
    session::{Session, locked, refused},
    turn::place,
    updates::first_line,
};

/// The most sessions that are listed.
const LISTED: usize = 100;

/// All sessions.
pub(crate) struct Sessions {
    workshop: Arc<dyn Workshop>,
    open: Mutex<BTreeMap<String, Arc<Session>>>,
}

impl Sessions {
    pub(crate) fn new(workshop: Arc<dyn Workshop>) -> Self {
        Self { workshop, open: Mutex::default() }
    }

    /// Returns the session of a name.
    pub(crate) fn of(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        locked(&self.open).get(&*id.0).cloned().ok_or_else(|| schema::Error::session_not_found(id.clone()).into())
    }

    pub(crate) async fn begin(&self, request: NewSessionRequest, client: ConnectionTo<Client>) -> Result<NewSessionResponse, Error> {
        let folder = self.folder(request.cwd, &request.additional_directories, request.mcp_servers).await?;
        let session = Session::new(self.workshop.new_name().map_err(refused)?, folder, client);
        let (id, chosen) = (session.id(), session.chosen());
        self.keep(session);
        Ok(NewSessionResponse::new(id).modes(chosen.modes()).config_options(chosen.options()))
    }

    pub(crate) async fn load(&self, request: LoadSessionRequest, client: ConnectionTo<Client>) -> Result<LoadSessionResponse, Error> {
        let id = request.session_id;
        let unknown = || Error::from(schema::Error::session_not_found(id.clone()));
        let name = RunId::new(&*id.0).map_err(|_| unknown())?;
        let folder = self.folder(request.cwd, &request.additional_directories, request.mcp_servers).await?;
        let session = Session::known(name, folder, client).map_err(refused)?.ok_or_else(unknown)?;
        session.replay().map_err(refused)?;
        let chosen = session.chosen();
        self.keep(session);
        Ok(LoadSessionResponse::new().modes(chosen.modes()).config_options(chosen.options()))
    }

    /// Returns the sessions of a folder, or of those that are open.
    pub(crate) async fn list(&self, request: ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        let mut folders: Vec<Arc<dyn Folder>> = match request.cwd {
            Some(cwd) => vec![self.folder(cwd, &[], Vec::new()).await?],
            None => locked(&self.open).values().map(|session| Arc::clone(session.folder())).collect(),
        };
        folders.sort_by(|one, other| one.path().cmp(other.path()));
        folders.dedup_by(|one, other| one.path() == other.path());
        let mut sessions = Vec::new();
        for folder in folders {
            sessions.extend(listed(folder.path(), &folder.runs().map_err(refused)?));
        }
        sessions.truncate(LISTED);
        Ok(ListSessionsResponse::new(sessions))
    }

    /// Stops all turns.
    pub(crate) fn cancel_all(&self) {
        locked(&self.open).values().for_each(|session| session.cancel());
    }

    async fn folder(&self, cwd: PathBuf, more: &[PathBuf], servers: Vec<McpServer>) -> Result<Arc<dyn Folder>, Error> {
        if !cwd.is_absolute() {
            return Err(refused(Refusal::Invalid(format!("cwd is not absolute: {}", cwd.display()))));
        }
        if !more.is_empty() {
            return Err(refused(Refusal::Invalid("a session works in one folder: additionalDirectories cannot be used".to_owned())));
        }
        let servers = servers.into_iter().map(offered).collect::<Result<_, _>>().map_err(refused)?;
        self.workshop.open(cwd, servers).await.map_err(refused)
    }

    fn keep(&self, session: Session) {
        // One that is loaded again takes the place of itself, whose turn is over with that.
        let before = locked(&self.open).insert(session.id().0.to_string(), Arc::new(session));
        if let Some(before) = before {
            before.cancel();
        }
    }
}

/// Groups these runs into sessions, the latest first. A run that no session began is a session of its own.
fn listed(folder: &Path, runs: &[KnownRun]) -> Vec<SessionInfo> {
    let first_of = |run: &RunId| {
        runs.iter()
            .find(|first| first.run != *run && place(&first.run, run).is_some())
            .map_or_else(|| run.clone(), |first| first.run.clone())
    };
    let mut sessions: Vec<SessionInfo> = Vec::new();
    for known in runs {
        let first = first_of(&known.run);
        if sessions.iter().any(|session| *session.session_id.0 == *first.as_str()) {
            continue;
        }
        let goal = runs.iter().find(|run| run.run == first).map_or(known.goal.as_str(), |run| run.goal.as_str());
        sessions.push(SessionInfo::new(SessionId::new(first.as_str()), folder).title(first_line(goal)).updated_at(known.updated.clone()));
    }
    sessions
}

/// Converts a server to the type that the rest of aime uses.
fn offered(server: McpServer) -> Result<OfferedServer, Refusal> {
    Ok(match server {
        McpServer::Stdio(server) => OfferedServer {
            name: server.name,
            reach: Reach::Command {
                program: server.command,
                arguments: server.args,
                variables: server.env.into_iter().map(|variable| (variable.name, variable.value)).collect(),
            },
        },
        McpServer::Http(server) => OfferedServer {
            name: server.name,
            reach: Reach::Http { url: server.url, headers: server.headers.into_iter().map(|header| (header.name, header.value)).collect() },
        },
        McpServer::Sse(server) => {
            return Err(Refusal::Invalid(format!(
                "the MCP server {:?} speaks SSE, which is not supported: use streamable HTTP",
                server.name
            )));
        }
        _ => return Err(Refusal::Invalid("an MCP server of a kind that is not known".to_owned())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_session_are_listed_once() {
        let known = |run: &str, goal: &str| KnownRun { run: RunId::new(run).unwrap(), goal: goal.to_owned(), updated: format!("of {run}") };
        let runs = [known("a-2", "then that"), known("mend-3", "mend"), known("b", "other"), known("a", "this")];
        let sessions = listed(Path::new("/work"), &runs);
        let told: Vec<_> =
            sessions.iter().map(|session| (&*session.session_id.0, session.title.as_deref(), session.updated_at.as_deref())).collect();
        let expected =
            [("a", Some("this"), Some("of a-2")), ("mend-3", Some("mend"), Some("of mend-3")), ("b", Some("other"), Some("of b"))];
        assert_eq!(told, expected);
    }
}
