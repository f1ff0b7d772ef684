//! The sessions of one client.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use agent_client_protocol::{
    Client, Error,
    v1::{
        ConnectionTo,
        schema::{
            self, ClientCapabilities, CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse,
            ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest,
            NewSessionResponse, ResumeSessionRequest, ResumeSessionResponse, SessionId, SessionInfo,
        },
    },
};
use aime_progress_management::RunId;

use crate::{
    Folder, FolderService, KnownRun, OfferedServer, Reach, Refusal,
    session::{Session, SessionTurn, locked, refused},
    turn::{runs_of, session_and_place},
    updates::first_line,
};

/// The most sessions that are listed.
const LISTED: usize = 100;

/// All sessions.
pub(crate) struct Sessions {
    service: Arc<dyn FolderService>,
    open: Mutex<BTreeMap<String, Arc<Session>>>,
    /// Folders that the client has named.
    folders: Mutex<BTreeSet<PathBuf>>,
    /// True if the client shows forms.
    shows_forms: AtomicBool,
}

impl Sessions {
    pub(crate) fn new(service: Arc<dyn FolderService>) -> Self {
        Self { service, open: Mutex::default(), folders: Mutex::default(), shows_forms: AtomicBool::new(false) }
    }

    /// Remembers what the client can do.
    pub(crate) fn introduced(&self, client: &ClientCapabilities) {
        let shows_forms = client.elicitation.as_ref().is_some_and(schema::ElicitationCapabilities::supports_form);
        self.shows_forms.store(shows_forms, Ordering::Relaxed);
    }

    /// Returns the session of a name.
    pub(crate) fn of(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        locked(&self.open).get(&*id.0).cloned().ok_or_else(|| unknown(id))
    }

    pub(crate) async fn begin(&self, request: NewSessionRequest, client: ConnectionTo<Client>) -> Result<NewSessionResponse, Error> {
        let folder = self.folder(request.cwd, &request.additional_directories, request.mcp_servers).await?;
        let session = Session::new(self.service.new_name().map_err(refused)?, folder, self.of_client(client));
        let (id, chosen) = (session.id(), session.choices());
        self.keep(session);
        Ok(NewSessionResponse::new(id).modes(chosen.modes()).config_options(chosen.options()))
    }

    pub(crate) async fn load(&self, request: LoadSessionRequest, client: ConnectionTo<Client>) -> Result<LoadSessionResponse, Error> {
        let folder = self.folder(request.cwd, &request.additional_directories, request.mcp_servers).await?;
        let session = self.known(&request.session_id, folder, client)?;
        session.replay().await.map_err(refused)?;
        let chosen = session.choices();
        self.keep(session);
        Ok(LoadSessionResponse::new().modes(chosen.modes()).config_options(chosen.options()))
    }

    /// Opens an earlier session that the client has shown already.
    pub(crate) async fn resume(&self, request: ResumeSessionRequest, client: ConnectionTo<Client>) -> Result<ResumeSessionResponse, Error> {
        let folder = self.folder(request.cwd, &request.additional_directories, request.mcp_servers).await?;
        let session = self.known(&request.session_id, folder, client)?;
        let chosen = session.choices();
        self.keep(session);
        Ok(ResumeSessionResponse::new().modes(chosen.modes()).config_options(chosen.options()))
    }

    /// Stops the turn of a session and frees what only the session needs. Its runs stay.
    pub(crate) async fn close(&self, request: CloseSessionRequest, _: ConnectionTo<Client>) -> Result<CloseSessionResponse, Error> {
        self.of(&request.session_id)?;
        self.end(&request.session_id).await;
        Ok(CloseSessionResponse::new())
    }

    /// Deletes the runs of a session in a folder that the client has named.
    pub(crate) async fn delete(&self, request: DeleteSessionRequest, _: ConnectionTo<Client>) -> Result<DeleteSessionResponse, Error> {
        let id = request.session_id;
        let name = RunId::new(&*id.0).map_err(|_| unknown(&id))?;
        self.end(&id).await;
        let folders = locked(&self.folders).clone();
        for folder in folders {
            let folder = self.service.open(folder, Vec::new()).await.map_err(refused)?;
            let runs = runs_of(&name, &folder.runs().map_err(refused)?);
            if runs.is_empty() {
                continue;
            }
            for run in runs {
                folder.delete(run).await.map_err(refused)?;
            }
            return Ok(DeleteSessionResponse::new());
        }
        Err(unknown(&id))
    }

    /// Takes the next turn of an open session.
    pub(crate) fn take_turn(&self, id: &SessionId) -> Result<SessionTurn, Error> {
        // With the lock held, a session that is closed at the same time is either unknown here, or its end stops this turn.
        let open = locked(&self.open);
        let session = open.get(&*id.0).cloned().ok_or_else(|| unknown(id))?;
        session.take_turn()
    }

    /// Returns the sessions of a folder, or of those that are open.
    pub(crate) async fn list(&self, request: ListSessionsRequest, _: ConnectionTo<Client>) -> Result<ListSessionsResponse, Error> {
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
        let folder = self.service.open(cwd, servers).await.map_err(refused)?;
        locked(&self.folders).insert(folder.path().to_owned());
        Ok(folder)
    }

    fn of_client(&self, client: ConnectionTo<Client>) -> (ConnectionTo<Client>, bool) {
        (client, self.shows_forms.load(Ordering::Relaxed))
    }

    /// Returns an earlier session of a folder.
    fn known(&self, id: &SessionId, folder: Arc<dyn Folder>, client: ConnectionTo<Client>) -> Result<Session, Error> {
        let name = RunId::new(&*id.0).map_err(|_| unknown(id))?;
        Session::open_known(name, folder, self.of_client(client)).map_err(refused)?.ok_or_else(|| unknown(id))
    }

    /// Ends a session if it is open.
    async fn end(&self, id: &SessionId) {
        let Some(session) = locked(&self.open).remove(&*id.0) else { return };
        session.end().await;
        drop(session);
        self.service.release().await;
    }

    fn keep(&self, session: Session) {
        // One that is loaded again takes the place of itself, whose turn is over with that.
        let before = locked(&self.open).insert(session.id().0.to_string(), Arc::new(session));
        if let Some(before) = before {
            before.cancel();
        }
    }
}

fn unknown(id: &SessionId) -> Error {
    schema::Error::session_not_found(id.clone()).into()
}

/// Groups these runs into sessions, the latest first. A run that no session began is a session of its own.
fn listed(folder: &Path, runs: &[KnownRun]) -> Vec<SessionInfo> {
    let mut sessions: Vec<SessionInfo> = Vec::new();
    for known in runs {
        let (name, _) = session_and_place(&known.run);
        if sessions.iter().any(|session| *session.session_id.0 == *name) {
            continue;
        }
        let goal = runs.iter().find(|run| run.run.as_str() == name).map_or(known.goal.as_str(), |run| run.goal.as_str());
        sessions.push(SessionInfo::new(SessionId::new(name), folder).title(first_line(goal)).updated_at(known.updated.clone()));
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
        let runs = [
            known("a-acp-run-2", "then that"),
            known("repair-3", "repair"),
            known("b", "other"),
            known("repair", "repair first"),
            known("a", "this"),
            known("c-acp-run-2", "its first is deleted"),
        ];
        let sessions = listed(Path::new("/work"), &runs);
        let rows: Vec<_> =
            sessions.iter().map(|session| (&*session.session_id.0, session.title.as_deref(), session.updated_at.as_deref())).collect();
        let expected = [
            ("a", Some("this"), Some("of a-acp-run-2")),
            ("repair-3", Some("repair"), Some("of repair-3")),
            ("b", Some("other"), Some("of b")),
            ("repair", Some("repair first"), Some("of repair")),
            ("c", Some("its first is deleted"), Some("of c-acp-run-2")),
        ];
        assert_eq!(rows, expected);
    }
}
