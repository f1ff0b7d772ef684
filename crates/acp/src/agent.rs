//! The agent's side of the protocol.

use std::sync::Arc;

use agent_client_protocol::{
    Agent, ByteStreams, Client, Error, JsonRpcResponse, Result as Answer,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            AgentCapabilities, CancelNotification, Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest,
            LoadSessionRequest, McpCapabilities, NewSessionRequest, PromptCapabilities, PromptRequest, SessionCapabilities,
            SessionListCapabilities, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
            SetSessionModeResponse,
        },
    },
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

use crate::{Workshop, session::refused, sessions::Sessions};

/// Reason why the connection to the client ended early.
#[derive(Debug, thiserror::Error)]
#[error("the connection to the client failed: {0}")]
pub struct AcpError(String);

/// Serves one client until it closes the connection. Turns in progress are then stopped, so that they can be resumed
/// later; `serve` does not wait for their end.
///
/// `version` is the version of aime that the client is shown.
///
/// # Errors
/// [`AcpError`] if the input is not the protocol, or cannot be read or answered.
pub async fn serve(
    workshop: Arc<dyn Workshop>,
    version: &str,
    input: impl AsyncRead + Send + 'static,
    output: impl AsyncWrite + Send + 'static,
) -> Result<(), AcpError> {
    let sessions = &Arc::new(Sessions::new(workshop));
    let version = version.to_owned();
    let served = Agent
        .v1()
        .name("aime")
        .on_receive_request(
            async move |_: InitializeRequest, responder, _| responder.respond(introduction(&version)),
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            {
                let sessions = Arc::clone(sessions);
                async move |request: NewSessionRequest, responder, client| {
                    let sessions = Arc::clone(&sessions);
                    beside(responder, async move { sessions.begin(request, client).await })
                }
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            {
                let sessions = Arc::clone(sessions);
                async move |request: LoadSessionRequest, responder, client| {
                    let sessions = Arc::clone(&sessions);
                    beside(responder, async move { sessions.load(request, client).await })
                }
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            {
                let sessions = Arc::clone(sessions);
                async move |request: ListSessionsRequest, responder, _| {
                    let sessions = Arc::clone(&sessions);
                    beside(responder, async move { sessions.list(request).await })
                }
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            {
                let sessions = Arc::clone(sessions);
                async move |request: PromptRequest, responder, _| {
                    let sessions = Arc::clone(&sessions);
                    beside(responder, async move { sessions.of(&request.session_id)?.prompt(&request.prompt).await })
                }
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_notification(
            {
                let sessions = Arc::clone(sessions);
                async move |request: CancelNotification, _: ConnectionTo<Client>| {
                    sessions.of(&request.session_id).map(|session| session.cancel())
                }
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            {
                let sessions = Arc::clone(sessions);
                async move |request: SetSessionModeRequest, responder: Responder<_>, _| {
                    let chosen = || sessions.of(&request.session_id)?.choose_mode(&request.mode_id.0).map_err(refused);
                    responder.respond_with_result(chosen().map(|_| SetSessionModeResponse::new()))
                }
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            {
                let sessions = Arc::clone(sessions);
                async move |request: SetSessionConfigOptionRequest, responder: Responder<_>, _| {
                    let chosen = || sessions.of(&request.session_id)?.choose(&request.config_id.0, &request.value).map_err(refused);
                    responder.respond_with_result(chosen().map(|chosen| SetSessionConfigOptionResponse::new(chosen.options())))
                }
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_to(ByteStreams::new(output.compat_write(), input.compat()))
        .await;
    sessions.cancel_all();
    served.map_err(|error| AcpError(error.to_string()))
}

/// Does what takes long beside the reading of messages, and answers when it is done.
fn beside<T: JsonRpcResponse + Send>(responder: Responder<T>, work: impl Future<Output = Answer<T>> + Send + 'static) -> Result<(), Error> {
    tokio::spawn(async move {
        if let Err(error) = responder.respond_with_result(work.await) {
            tracing::debug!(%error, "the client has gone before it was answered");
        }
    });
    Ok(())
}

/// Returns the identity and capabilities of this agent. It speaks version 1 even if the client requests another one;
/// a client without support for it ends the connection.
fn introduction(version: &str) -> InitializeResponse {
    let sessions = SessionCapabilities::new().list(SessionListCapabilities::new());
    let prompts = PromptCapabilities::new().image(true);
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(prompts)
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(sessions);
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(Implementation::new("aime", version).title("aime".to_owned()))
}
