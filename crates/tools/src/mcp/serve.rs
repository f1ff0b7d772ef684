//! MCP server: offers tools to other agents over a pair of streams.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use rmcp::{
    ErrorData, Peer, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequestParams, ElicitationAction, ElicitationSchema,
        Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ServerCapabilities,
        ServerConfig, Tool as Offered, ToolAnnotations,
    },
    service::{ElicitationMode, QuitReason, RequestContext, ServerInitializeError, serve_server_with_ct},
    transport::async_rw::AsyncRwTransport,
};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::mpsc,
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::connection::chain;
use crate::{AskPerson, ProgressReporter, ToolContext, ToolError, ToolOutput, ToolRegistry, ToolSpec};

/// Maximum time to deliver the last progress messages of a call before its result is sent.
const PROGRESS_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// Name of the form field for the answer of the person behind a client.
const ANSWER: &str = "answer";

/// MCP service: the offered tools and their context.
#[derive(Debug, Clone)]
pub struct McpService {
    /// Tools, under their own names.
    pub tools: ToolRegistry,
    /// Instructions on all tools for the model behind the client.
    pub instructions: String,
    /// Context of the calls. Each call gets its own `cancel`, `person` and `progress`; the person is the one behind the client, if the
    /// client supports elicitation.
    pub context: ToolContext,
}

/// Error that ended a service before its client did.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the MCP client could not be served: {reason}")]
pub struct McpServeError {
    /// Message of the protocol library.
    pub reason: String,
}

impl McpService {
    /// Serves one client until it closes its end, or `stop` is cancelled. Then cancels the calls in progress and gives them some seconds to
    /// end.
    ///
    /// # Errors
    /// [`McpServeError`] for a client that violates the protocol. A client that disconnects is no error.
    pub async fn serve<R, W>(self, input: R, output: W, stop: &CancellationToken) -> Result<(), McpServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        // The end of the input cancels the calls, but not the service, so that earlier requests are still answered.
        let closed = stop.child_token();
        let handler = Handler { service: self, closed: closed.clone() };
        let transport = AsyncRwTransport::new_server(CancelAtEof { input, closed }, output);
        let running = match serve_server_with_ct(handler, transport, CancellationToken::new()).await {
            Ok(running) => running,
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
            Err(error) => return Err(McpServeError { reason: chain(&error) }),
        };
        let ended = running.cancellation_token();
        let mut waiting = std::pin::pin!(running.waiting());
        let quit = tokio::select! {
            quit = &mut waiting => quit,
            () = stop.cancelled() => {
                ended.cancel();
                waiting.await
            }
        };
        match quit {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(McpServeError { reason: error.to_string() }),
            Ok(_) => Ok(()),
        }
    }
}

struct Handler {
    service: McpService,
    /// Cancelled once the client no longer reads responses.
    closed: CancellationToken,
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("aime", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.service.instructions.clone())
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.service.tools.all_specs().map(|spec| offered(spec)).collect()))
    }

    async fn call_tool(&self, call: CallToolRequestParams, request: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let mut context = self.service.context.clone().with_cancel(request.ct.child_token());
        context.person = person(&request.peer);
        let telling = request.meta.get_progress_token().map(|token| progress_sender(request.peer.clone(), token));
        let (progress, telling) = telling.unzip();
        context.progress = progress;
        let cancel = context.cancel.clone();
        let called = async {
            let context = context;
            self.service.tools.call_with_consent(&call.name, call.arguments.unwrap_or_default(), &context).await
        };
        let mut called = std::pin::pin!(called);
        let outcome = tokio::select! {
            outcome = &mut called => outcome,
            () = self.closed.cancelled() => {
                cancel.cancel();
                called.await
            }
        };
        if let Some(telling) = telling {
            // Limit the wait for messages that the client does not read.
            let _sent = timeout(PROGRESS_FLUSH_TIMEOUT, telling).await;
        }
        answered(outcome)
    }
}

/// Converts a spec to the description of a tool for a client.
fn offered(spec: &ToolSpec) -> Offered {
    let definition = &spec.definition;
    let schema = definition.parameters.as_object().cloned().unwrap_or_default();
    let annotations = ToolAnnotations::from_raw(None, Some(spec.read_only), None, Some(spec.idempotent), None);
    Offered::new(definition.name.clone(), definition.description.clone(), Arc::new(schema)).with_annotations(annotations)
}

/// Converts the outcome of a call to a response for its client.
fn answered(outcome: Result<ToolOutput, ToolError>) -> Result<CallToolResponse, ErrorData> {
    let result = match outcome {
        Ok(ToolOutput { text, value, images, .. }) => {
            let images = images.into_iter().map(|image| ContentBlock::image(image.data.as_ref(), image.format.media_type()));
            let content = std::iter::once(ContentBlock::text(text)).chain(images).collect();
            match value {
                Value::Object(_) => {
                    let mut result = CallToolResult::structured(value);
                    result.content = content;
                    result
                }
                _ => CallToolResult::success(content),
            }
        }
        Err(ToolError::Unknown(unknown)) => return Err(ErrorData::invalid_params(unknown.to_string(), None)),
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
    };
    Ok(CallToolResponse::Complete(result))
}

/// Returns the channel to the person behind a client, if the client supports elicitation.
fn person(peer: &Peer<RoleServer>) -> Option<AskPerson> {
    if !peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
        return None;
    }
    let peer = peer.clone();
    Some(AskPerson::new(move |question| {
        let peer = peer.clone();
        Box::pin(async move {
            let form = ElicitationSchema::builder().required_string(ANSWER).build().ok()?;
            let asked = ElicitRequestParams::FormElicitationParams { meta: None, message: question, requested_schema: form };
            let result = peer.create_elicitation(asked).await;
            let result = result.inspect_err(|error| tracing::debug!(%error, "the person behind an MCP client could not be asked")).ok()?;
            if result.action != ElicitationAction::Accept {
                return None;
            }
            result.content?.get(ANSWER)?.as_str().map(str::to_owned)
        })
    }))
}

/// Sends the progress of a call to a client, in order.
fn progress_sender(peer: Peer<RoleServer>, token: ProgressToken) -> (ProgressReporter, JoinHandle<()>) {
    let (sender, mut receiver) = mpsc::unbounded_channel::<String>();
    let telling = tokio::spawn(async move {
        // The protocol requires an increasing number, so it counts the messages.
        let mut count = 0_u32;
        while let Some(message) = receiver.recv().await {
            count += 1;
            let notification = ProgressNotificationParam::new(token.clone(), f64::from(count)).with_message(message);
            if let Err(error) = peer.notify_progress(notification).await {
                tracing::debug!(%error, "an MCP client could not be told of progress");
                return;
            }
        }
    });
    // The receiver is gone after the end of the call.
    (ProgressReporter::new(move |text| drop(sender.send(text))), telling)
}

/// A reader that cancels a token at the end of its input.
struct CancelAtEof<R> {
    input: R,
    closed: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for CancelAtEof<R> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.input).poll_read(context, buffer);
        if matches!(&read, Poll::Ready(outcome) if outcome.is_err() || buffer.filled().len() == before) {
            self.closed.cancel();
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use aime_llm::Image;
    use serde_json::json;

    use super::*;

    #[test]
    fn images_of_a_result_are_sent_as_blocks() {
        let image = Image::new("a.gif", b"GIF89a\x05\0\x03\0\0\0\0").unwrap();
        for value in [Value::Null, json!({"a": 1})] {
            let output = ToolOutput { text: "t".to_owned(), value, images: vec![image.clone()], ..ToolOutput::default() };
            let Ok(CallToolResponse::Complete(result)) = answered(Ok(output)) else { panic!("an answer") };
            let expected = json!([{"type": "text", "text": "t"}, {"type": "image", "data": &*image.data, "mimeType": "image/gif"}]);
            assert_eq!(serde_json::to_value(result.content).unwrap(), expected);
        }
    }
}
