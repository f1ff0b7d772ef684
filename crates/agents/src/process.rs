//! The agent's process, and the connection to it.

use std::{collections::BTreeMap, ffi::OsString, future, io, sync::Mutex, sync::PoisonError, time::Duration};

use agent_client_protocol::{
    Agent, Client, Error, Lines,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            AgentRequest, CancelNotification, ClientCapabilities, FileSystemCapabilities, InitializeRequest, InitializeResponse, SessionId,
            SessionNotification,
        },
    },
};
use aime_sandbox::{Confinement, Service, ServiceRequest};
use aime_tools::Approval;
use futures::{SinkExt, StreamExt, pin_mut};
use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};

use crate::{AgentSettings, AgentWork, calls::AgentMessage};

/// Maximum bytes kept of the program's standard error.
const ERROR_LIMIT: usize = 16 * 1024;
/// Maximum bytes of one message of the agent, such as a file that it writes. A longer one ends the connection.
const MAX_LINE: usize = 16 * 1024 * 1024;
/// Maximum number of messages that wait for the actor. After that the agent waits until some are read.
const QUEUE: usize = 64;
/// Time that a program that has just failed has to write the reason.
pub(crate) const EXPLAIN_TIMEOUT: Duration = Duration::from_millis(50);
/// Time that a program has to exit by itself.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Reason why an agent cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Its program cannot be started.
    #[error("the agent {agent} cannot be started: {reason}")]
    Start {
        /// The agent.
        agent: String,
        /// Description of the error.
        reason: String,
    },
    /// Its program does not speak the protocol, has ended, or refuses a request.
    #[error("the agent {agent} {reason}{stderr}")]
    Protocol {
        /// The agent.
        agent: String,
        /// Description of the error.
        reason: String,
        /// Output of the program to standard error; may be empty.
        stderr: String,
    },
    /// It cannot load a session of an earlier process.
    #[error("the agent {agent} cannot load its session: {reason}")]
    Forgotten {
        /// The agent.
        agent: String,
        /// Description of the error, with the output of the program to standard error.
        reason: String,
    },
}

/// A running agent. Dropping it kills its process group.
pub(crate) struct AgentProcess {
    name: String,
    service: Mutex<Service>,
    /// Keeps the program's temporary folder.
    _confinement: Confinement,
    connection: JoinHandle<Result<(), Error>>,
    pub(crate) agent: ConnectionTo<Agent>,
    /// Its answer to the greeting.
    pub(crate) introduced: InitializeResponse,
    /// Its requests and updates, in order.
    pub(crate) messages: mpsc::Receiver<AgentMessage>,
    /// Puts the end of a turn behind the updates before it.
    pub(crate) asks: mpsc::Sender<AgentMessage>,
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl AgentProcess {
    /// Starts the program in the folder of the task, and greets it.
    pub(crate) async fn start(settings: &AgentSettings, work: &AgentWork) -> Result<Self, AgentError> {
        let name = settings.name.clone();
        let failed = |reason: String| AgentError::Start { agent: name.clone(), reason };
        let mut environment: BTreeMap<OsString, OsString> = work.context.environment.as_ref().clone();
        environment.extend(settings.environment.clone());
        let folder = work.context.working_folder();
        let confinement = settings.confinement.in_folder(folder, &work.reads);
        let confinement = if work.approval == Approval::ReadOnly { confinement.read_only() } else { confinement };
        let mut service = Service::start(ServiceRequest {
            program: settings.program.clone(),
            arguments: settings.arguments.clone(),
            working_folder: folder.to_owned(),
            environment,
            error_limit: ERROR_LIMIT,
            confinement: confinement.clone(),
        })
        .map_err(|error| failed(error.to_string()))?;
        let (output, input) = service.streams().ok_or_else(|| failed("it has no streams".to_owned()))?;
        let (asks, asked) = mpsc::channel(QUEUE);
        let (connected, connection) = oneshot::channel();
        let output = FramedRead::new(output, LinesCodec::new_with_max_length(MAX_LINE)).map(|line| line.map_err(io::Error::other));
        let input = SinkExt::<String>::sink_map_err(FramedWrite::new(input, LinesCodec::new()), io::Error::other);
        let running = tokio::spawn(connect(Lines::new(input, output), asks.clone(), connected));
        let gone = |service: &Service| {
            let stderr = stderr_note(service);
            AgentError::Protocol { agent: name.clone(), reason: "does not speak the protocol".to_owned(), stderr }
        };
        let agent = match timeout(settings.limits.start, connection).await {
            Ok(Ok(agent)) => agent,
            _ => return Err(gone(&service)),
        };
        let files = FileSystemCapabilities::new().read_text_file(settings.files).write_text_file(settings.files);
        let capabilities = ClientCapabilities::new().fs(files).terminal(true);
        let greeting = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities);
        let greeted = timeout(settings.limits.start, agent.send_request(greeting).block_task()).await;
        let introduced = match greeted {
            Ok(Ok(introduced)) => introduced,
            Ok(Err(error)) => {
                // Give a program that exits at once a moment to write the reason.
                tokio::time::sleep(EXPLAIN_TIMEOUT).await;
                let AgentError::Protocol { agent, stderr, .. } = gone(&service) else { return Err(gone(&service)) };
                return Err(AgentError::Protocol { agent, reason: format!("does not answer its greeting: {error}"), stderr });
            }
            Err(_) => {
                let reason = format!("does not answer its greeting within {} s", settings.limits.start.as_secs());
                return Err(AgentError::Protocol { agent: name, reason, stderr: stderr_note(&service) });
            }
        };
        Ok(Self {
            name,
            service: Mutex::new(service),
            _confinement: confinement,
            connection: running,
            agent,
            introduced,
            messages: asked,
            asks,
        })
    }

    /// Waits for an answer of the agent at most this long; `None` if there is none by then. Messages before the answer go to `earlier`.
    pub(crate) async fn answer_of<T>(
        &mut self,
        answer: impl Future<Output = T>,
        longest: Duration,
        mut earlier: impl FnMut(AgentMessage),
    ) -> Option<T> {
        let answer = timeout(longest, answer);
        pin_mut!(answer);
        loop {
            tokio::select! {
                biased;
                answered = &mut answer => break answered.ok(),
                Some(message) = self.messages.recv() => earlier(message),
            }
        }
    }

    /// Returns an error of this agent, with what its program wrote to standard error.
    pub(crate) fn error(&self, reason: impl Into<String>) -> AgentError {
        AgentError::Protocol { agent: self.name.clone(), reason: reason.into(), stderr: self.stderr() }
    }

    /// Returns what the program wrote to standard error, to be put behind an error; empty without any.
    pub(crate) fn stderr(&self) -> String {
        stderr_note(&self.service.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks the agent to stop its turn. It answers the prompt afterwards.
    pub(crate) fn cancel(&self, session: &SessionId) {
        cancel(&self.agent, session);
    }

    /// Ends the program with all that it started.
    pub(crate) async fn end(self) {
        self.connection.abort();
        // Its input is closed now, which asks it to end. Dropping it kills what is left.
        let until = tokio::time::Instant::now() + EXIT_TIMEOUT;
        while self.service.lock().unwrap_or_else(PoisonError::into_inner).is_running() && tokio::time::Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Asks an agent to stop the turn of a session.
pub(crate) fn cancel(agent: &ConnectionTo<Agent>, session: &SessionId) {
    if let Err(error) = agent.send_notification(CancelNotification::new(session.clone())) {
        tracing::debug!(%error, "the agent has gone before its turn was cancelled");
    }
}

fn stderr_note(service: &Service) -> String {
    let stderr = service.stderr();
    let bound = service.exceeded().map(|bound| format!("\n[aime has killed it: it took {bound}]")).unwrap_or_default();
    let refused = service.refused();
    let refused = if refused.is_empty() { String::new() } else { format!("\n[refused: {}]", refused.join(", ")) };
    let all = format!("{}{bound}{refused}", stderr.trim());
    if all.is_empty() { all } else { format!("\n{all}") }
}

/// Serves the connection until it is closed. Requests of the agent are put into `asks`, in order.
async fn connect(
    streams: impl agent_client_protocol::ConnectTo<Client> + 'static,
    asks: mpsc::Sender<AgentMessage>,
    connected: oneshot::Sender<ConnectionTo<Agent>>,
) -> Result<(), Error> {
    let updates = asks.clone();
    Client
        .v1()
        .name("aime")
        .on_receive_notification(
            async move |update: SessionNotification, _: ConnectionTo<Agent>| {
                drop(updates.send(AgentMessage::Update(Box::new(update))).await);
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        // One handler for all requests: the library compiles all of its dispatch for each handler.
        .on_receive_request(
            async move |request: AgentRequest, responder: Responder<Value>, _: ConnectionTo<Agent>| {
                let asked = match request {
                    AgentRequest::RequestPermissionRequest(request) => AgentMessage::Permission(request, responder.cast()),
                    AgentRequest::ReadTextFileRequest(request) => AgentMessage::Read(request, responder.cast()),
                    AgentRequest::WriteTextFileRequest(request) => AgentMessage::Write(request, responder.cast()),
                    AgentRequest::CreateTerminalRequest(request) => AgentMessage::Command(request, responder.cast()),
                    AgentRequest::TerminalOutputRequest(request) => AgentMessage::Output(request, responder.cast()),
                    AgentRequest::WaitForTerminalExitRequest(request) => AgentMessage::Wait(request, responder.cast()),
                    AgentRequest::KillTerminalRequest(request) => AgentMessage::Kill(request, responder.cast()),
                    AgentRequest::ReleaseTerminalRequest(request) => AgentMessage::Release(request, responder.cast()),
                    _ => return responder.respond_with_error(Error::method_not_found()),
                };
                // If nobody reads the queue any more, the agent is being ended.
                drop(asks.send(asked).await);
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(streams, async move |agent: ConnectionTo<Agent>| {
            drop(connected.send(agent));
            future::pending().await
        })
        .await
}
