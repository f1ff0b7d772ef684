//! The agent's side of the protocol.

use std::sync::Arc;

use agent_client_protocol::{
    Agent, ByteStreams, Client, Error, ErrorCode, JsonRpcResponse, Result as Answer,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            AgentCapabilities, AuthenticateRequest, AuthenticateResponse, CancelNotification, CloseSessionRequest, DeleteSessionRequest,
            Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest, LoadSessionRequest, McpCapabilities,
            NewSessionRequest, PromptCapabilities, PromptRequest, ResumeSessionRequest, SessionCapabilities, SessionCloseCapabilities,
            SessionDeleteCapabilities, SessionListCapabilities, SessionResumeCapabilities, SetSessionConfigOptionRequest,
            SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse,
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
    /// Answers a request beside the reading of messages, because it may take long.
    macro_rules! beside {
        ($request:ty, $answer:ident) => {{
            let sessions = Arc::clone(sessions);
            async move |request: $request, responder, client: ConnectionTo<Client>| {
                let sessions = Arc::clone(&sessions);
                beside(responder, async move { sessions.$answer(request, client).await })
            }
        }};
    }
    let served = Agent
        .v1()
        .name("aime")
        .on_receive_request(
            {
                let sessions = Arc::clone(sessions);
                async move |request: InitializeRequest, responder, _| {
                    sessions.introduced(&request.client_capabilities);
                    responder.respond(introduction(&version))
                }
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(beside!(NewSessionRequest, begin), agent_client_protocol::on_receive_request!())
        .on_receive_request(beside!(LoadSessionRequest, load), agent_client_protocol::on_receive_request!())
        .on_receive_request(beside!(ResumeSessionRequest, resume), agent_client_protocol::on_receive_request!())
        .on_receive_request(beside!(CloseSessionRequest, close), agent_client_protocol::on_receive_request!())
        .on_receive_request(beside!(DeleteSessionRequest, delete), agent_client_protocol::on_receive_request!())
        .on_receive_request(beside!(ListSessionsRequest, list), agent_client_protocol::on_receive_request!())
        .on_receive_request(beside!(PromptRequest, prompt), agent_client_protocol::on_receive_request!())
        .on_receive_request(
            async move |request: AuthenticateRequest, responder: Responder<AuthenticateResponse>, _| {
                responder.respond_with_result(Err(no_login(&request.method_id.0)))
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

/// Returns the refusal of a login. aime announces no method for one: its models have keys, which its environment and settings name.
fn no_login(method: &str) -> Error {
    let message = format!(
        "aime has no login {method:?}: name the key of the model's provider in the environment of `aime acp`, such as OPENAI_API_KEY"
    );
    Error::new(ErrorCode::INVALID_PARAMS, message)
}

/// Returns the identity and capabilities of this agent. It speaks version 1 even if the client requests another one;
/// a client without support for it ends the connection.
fn introduction(version: &str) -> InitializeResponse {
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
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(Implementation::new("aime", version).title("aime".to_owned()))
}
