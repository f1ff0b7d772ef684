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

/// Number of sessions on one page of the list.
const PAGE: usize = 100;

/// All sessions.
pub(crate) struct Sessions {
    service: Arc<dyn FolderService>,
    open: Mutex<BTreeMap<String, Arc<Session>>>,
    /// Folder of the agent, and those that the client has named.
    folders: Mutex<BTreeSet<PathBuf>>,
    /// True if the client shows forms.
    shows_forms: AtomicBool,
}

impl Sessions {
    pub(crate) fn new(service: Arc<dyn FolderService>) -> Self {
        let folders = Mutex::new(BTreeSet::from([service.own_folder()]));
        Self { service, open: Mutex::default(), folders, shows_forms: AtomicBool::new(false) }
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

    /// Deletes the runs of a session. A session without runs is deleted already.
    pub(crate) async fn delete(&self, request: DeleteSessionRequest, _: ConnectionTo<Client>) -> Result<DeleteSessionResponse, Error> {
        let id = request.session_id;
        let open = locked(&self.open).get(&*id.0).map(|session| session.folder().path().to_owned());
        self.end(&id).await;
        let Ok(name) = RunId::new(&*id.0) else { return Ok(DeleteSessionResponse::new()) };
        let folders = open.map_or_else(|| locked(&self.folders).clone(), |folder| BTreeSet::from([folder]));
        let (folders, unread) = self.read(folders, |folder, runs| (Arc::clone(folder), runs_of(&name, &runs))).await;
        let Some((folder, runs)) = folders.into_iter().find(|(_, runs)| !runs.is_empty()) else {
            // The runs may be in a folder that could not be read.
            return unread.map_or_else(|| Ok(DeleteSessionResponse::new()), |refusal| Err(refused(refusal)));
        };
        for run in runs {
            folder.delete(run).await.map_err(refused)?;
        }
        Ok(DeleteSessionResponse::new())
    }

    /// Takes the next turn of an open session.
    pub(crate) fn take_turn(&self, id: &SessionId) -> Result<SessionTurn, Error> {
        // With the lock held, a session that is closed at the same time is either unknown here, or its end stops this turn.
        let open = locked(&self.open);
        let session = open.get(&*id.0).cloned().ok_or_else(|| unknown(id))?;
        session.take_turn()
    }

    /// Returns the sessions of a folder, or of all known folders. Those that changed last come first.
    pub(crate) async fn list(&self, request: ListSessionsRequest, _: ConnectionTo<Client>) -> Result<ListSessionsResponse, Error> {
        let sessions = match request.cwd {
            Some(cwd) => {
                let folder = self.folder(cwd, &[], Vec::new()).await?;
                listed(folder.path(), &folder.runs().map_err(refused)?)
            }
            None => {
                let folders = locked(&self.folders).clone();
                match self.read(folders, |folder, runs| listed(folder.path(), &runs)).await {
                    (read, Some(refusal)) if read.is_empty() => return Err(refused(refusal)),
                    (read, _) => read.into_iter().flatten().collect(),
                }
            }
        };
        let (sessions, next) = page(sessions, request.cursor.as_deref()).map_err(refused)?;
        Ok(ListSessionsResponse::new(sessions).next_cursor(next))
    }

    /// Applies `work` to the runs of each folder. Returns the results, and the reason why the first unreadable folder was left out. A folder
    /// that does not exist has no runs.
    async fn read<T>(&self, folders: BTreeSet<PathBuf>, work: impl Fn(&Arc<dyn Folder>, Vec<KnownRun>) -> T) -> (Vec<T>, Option<Refusal>) {
        let (mut results, mut unread) = (Vec::new(), None);
        for path in folders.into_iter().filter(|path| path.exists()) {
            let read = match self.service.open(path.clone(), Vec::new()).await {
                Ok(folder) => folder.runs().map(|runs| work(&folder, runs)),
                Err(refusal) => Err(refusal),
            };
            match read {
                Ok(result) => results.push(result),
                Err(refusal) => {
                    tracing::warn!(folder = %path.display(), why = %refusal, "the sessions of this folder cannot be read");
                    unread.get_or_insert(refusal);
                }
            }
        }
        (results, unread)
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

/// Groups these runs into sessions. A run that no session began is a session of its own.
fn listed(folder: &Path, runs: &[KnownRun]) -> Vec<SessionInfo> {
    let mut sessions: Vec<SessionInfo> = Vec::new();
    for known in runs {
        let (name, _) = session_and_place(&known.run);
        if let Some(session) = sessions.iter_mut().find(|session| *session.session_id.0 == *name) {
            // All times have the same form, so their texts have the order of time.
            session.updated_at = session.updated_at.take().max(Some(known.updated.clone()));
            continue;
        }
        let goal = runs.iter().find(|run| run.run.as_str() == name).map_or(known.goal.as_str(), |run| run.goal.as_str());
        sessions.push(SessionInfo::new(SessionId::new(name), folder).title(first_line(goal)).updated_at(known.updated.clone()));
    }
    sessions
}

/// Sorts sessions, those that changed last first. Returns the page that a cursor names, or the first one, and the cursor of the next page.
///
/// A cursor is the sort key of the last session on the page before, so sessions that change in between move no other to another page.
fn page(mut sessions: Vec<SessionInfo>, cursor: Option<&str>) -> Result<(Vec<SessionInfo>, Option<String>), Refusal> {
    let key = |session: &SessionInfo| (session.updated_at.clone().unwrap_or_default(), session.session_id.0.to_string());
    sessions.sort_by_cached_key(|session| std::cmp::Reverse(key(session)));
    if let Some(cursor) = cursor {
        let last = cursor.split_once(' ').ok_or_else(|| Refusal::Invalid(format!("the cursor {cursor:?} is of no list of sessions")))?;
        let last = (last.0.to_owned(), last.1.to_owned());
        sessions.retain(|session| key(session) < last);
    }
    let has_more = sessions.len() > PAGE;
    sessions.truncate(PAGE);
    let next = sessions.last().filter(|_| has_more).map(|last| {
        let (updated, id) = key(last);
        format!("{updated} {id}")
    });
    Ok((sessions, next))
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

    #[test]
    fn pages_of_sessions_begin_with_the_last_changed() {
        let session = |id: usize, updated: usize| {
            SessionInfo::new(SessionId::new(format!("s{id:03}")), Path::new("/work")).updated_at(format!("{updated:03}"))
        };
        // Two sessions each change at the same time.
        let sessions: Vec<_> = (0..PAGE * 2 + 1).map(|id| session(id, id / 2)).collect();
        let ids = |page: &[SessionInfo]| page.iter().map(|session| session.session_id.0.to_string()).collect::<Vec<_>>();
        let (mut listed, mut cursor, mut sizes) = (Vec::new(), None, Vec::new());
        loop {
            let (shown, next) = page(sessions.clone(), cursor.as_deref()).unwrap();
            listed.extend(ids(&shown));
            sizes.push(shown.len());
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        let mut expected = ids(&sessions);
        expected.reverse();
        assert_eq!((listed, sizes), (expected, vec![PAGE, PAGE, 1]));
        assert!(matches!(page(sessions, Some("x")), Err(Refusal::Invalid(_))));
    }
}
