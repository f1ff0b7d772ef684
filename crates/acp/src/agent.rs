//! The agent's side of the protocol.

use std::sync::Arc;

use agent_client_protocol::{
    Agent, ByteStreams, Client, Error, ErrorCode, JsonRpcResponse, Result as Answer,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            AgentCapabilities, AuthMethod, AuthMethodTerminal, CancelNotification, ClientCapabilities, ClientRequest, Implementation,
            InitializeResponse, McpCapabilities, PromptCapabilities, SessionCapabilities, SessionCloseCapabilities,
            SessionDeleteCapabilities, SessionListCapabilities, SessionResumeCapabilities, SetSessionConfigOptionResponse,
            SetSessionModeResponse,
        },
    },
};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

use crate::{FolderService, session::refused, sessions::Sessions};

/// Reason why the connection to the client ended early.
#[derive(Debug, thiserror::Error)]
#[error("the connection to the client failed: {0}")]
pub struct AcpError(String);

/// Serves one client until it closes the connection. Turns in progress are then stopped, so that they can be resumed
/// later; `serve` does not wait for their end.
///
/// # Errors
/// [`AcpError`] if the input is not the protocol, or cannot be read or answered.
pub async fn serve(
    service: Arc<dyn FolderService>,
    introduction: Introduction,
    input: impl AsyncRead + Send + 'static,
    output: impl AsyncWrite + Send + 'static,
) -> Result<(), AcpError> {
    let sessions = Arc::new(Sessions::new(service));
    let served = Agent
        .v1()
        .name("aime")
        // One handler for all requests: the library compiles all of its dispatch for each handler.
        .on_receive_request(
            {
                let sessions = Arc::clone(&sessions);
                async move |request: ClientRequest, responder: Responder<Value>, client: ConnectionTo<Client>| {
                    answer(&sessions, &introduction, request, responder, client)
                }
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_notification(
            {
                let sessions = Arc::clone(&sessions);
                async move |request: CancelNotification, _: ConnectionTo<Client>| {
                    sessions.of(&request.session_id).map(|session| session.cancel())
                }
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .connect_to(ByteStreams::new(output.compat_write(), input.compat()))
        .await;
    sessions.cancel_all();
    served.map_err(|error| AcpError(error.to_string()))
}

/// Answers a request.
fn answer(
    sessions: &Arc<Sessions>,
    introduction: &Introduction,
    request: ClientRequest,
    responder: Responder<Value>,
    client: ConnectionTo<Client>,
) -> Answer<()> {
    /// Answers beside the reading of messages, because it may take long.
    macro_rules! beside {
        ($request:ident, $answer:ident) => {{
            let sessions = Arc::clone(sessions);
            spawn_answer(responder.cast(), async move { sessions.$answer($request, client).await })
        }};
    }
    match request {
        ClientRequest::InitializeRequest(request) => {
            sessions.introduced(&request.client_capabilities);
            responder.cast().respond(introduction.answer(&request.client_capabilities))
        }
        ClientRequest::NewSessionRequest(request) => beside!(request, begin),
        ClientRequest::LoadSessionRequest(request) => beside!(request, load),
        ClientRequest::ResumeSessionRequest(request) => beside!(request, resume),
        ClientRequest::CloseSessionRequest(request) => beside!(request, close),
        ClientRequest::DeleteSessionRequest(request) => beside!(request, delete),
        ClientRequest::ListSessionsRequest(request) => beside!(request, list),
        ClientRequest::PromptRequest(request) => {
            // The turn is taken while messages are read in order, so that a later cancellation finds it.
            let turn = sessions.take_turn(&request.session_id);
            spawn_answer(responder.cast(), async move { turn?.answer(&request.prompt).await })
        }
        ClientRequest::AuthenticateRequest(request) => responder.respond_with_error(no_login(&request.method_id.0)),
        ClientRequest::SetSessionModeRequest(request) => {
            let chosen = || sessions.of(&request.session_id)?.choose_mode(&request.mode_id.0).map_err(refused);
            responder.cast().respond_with_result(chosen().map(|_| SetSessionModeResponse::new()))
        }
        ClientRequest::SetSessionConfigOptionRequest(request) => {
            let chosen = || sessions.of(&request.session_id)?.choose(&request.config_id.0, &request.value).map_err(refused);
            responder.cast().respond_with_result(chosen().map(|chosen| SetSessionConfigOptionResponse::new(chosen.options())))
        }
        _ => responder.respond_with_error(Error::method_not_found()),
    }
}

/// Does what takes long beside the reading of messages, and answers when it is done.
fn spawn_answer<T: JsonRpcResponse + Send>(
    responder: Responder<T>,
    work: impl Future<Output = Answer<T>> + Send + 'static,
) -> Result<(), Error> {
    tokio::spawn(async move {
        if let Err(error) = responder.respond_with_result(work.await) {
            tracing::debug!(%error, "the client has gone before it was answered");
        }
    });
    Ok(())
}

/// Returns the refusal of a login. aime announces none that a request carries out: its models have keys, which its environment and settings
/// name.
fn no_login(method: &str) -> Error {
    let message = format!(
        "aime has no login {method:?}: name the key of the model's provider in the environment of `aime acp`, such as OPENAI_API_KEY"
    );
    Error::new(ErrorCode::INVALID_PARAMS, message)
}

/// The description of the agent that a client gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Introduction {
    /// Version of aime.
    pub version: String,
    /// Arguments that, after those of the agent, have its program write settings in a terminal. Clients that can do so are offered it as a
    /// method of authentication; empty if there is none.
    pub setup: Vec<String>,
}

impl Introduction {
    /// Returns the identity and capabilities of this agent. It speaks version 1 even if the client requests another one;
    /// a client without support for it ends the connection.
    fn answer(&self, client: &ClientCapabilities) -> InitializeResponse {
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .delete(SessionDeleteCapabilities::new());
        let prompts = PromptCapabilities::new().image(true);
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(prompts)
            .mcp_capabilities(McpCapabilities::new().http(true))
            .session_capabilities(sessions);
        let offers_setup = client.auth.terminal && !self.setup.is_empty();
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(Implementation::new("aime", &*self.version).title("aime".to_owned()))
            .auth_methods(offers_setup.then(|| self.setup_method()).into_iter().collect())
    }

    fn setup_method(&self) -> AuthMethod {
        let method = AuthMethodTerminal::new("setup", "Write settings");
        let method =
            method.description("Writes settings with a model of this machine, if there is one. Keys come from the environment.".to_owned());
        AuthMethod::Terminal(method.args(self.setup.clone()))
    }
}
