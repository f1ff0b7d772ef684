//! One request to a server, with time limits and cancellation.

use std::{sync::Arc, time::Duration};

use rmcp::{
    ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam, ClientNotification, ClientRequest,
        ElicitRequestParams, ElicitResult, ElicitationAction, ErrorCode, ErrorData, InputRequest, InputRequiredResult, InputResponses,
        RequestMetaObject, ServerResult,
    },
    service::PeerRequestOptions,
};
use serde_json::Value;
use tokio::{
    select,
    time::{Instant, sleep_until},
};

use super::{
    McpServerSettings, challenge::Challenge, connection::Connection, handler::Handler, pages::raw, rejection::HttpRejection,
    result::is_of_tool,
};
use crate::ToolContext;

/// Maximum number of times that a server may answer one call with questions.
const MAX_ROUNDS: usize = 10;
/// Error of a server that refuses a request until a person has opened pages, since version 2025-11-25 of the protocol.
const URL_ELICITATION_REQUIRED: ErrorCode = ErrorCode(-32042);

/// Reason why a request gave no result.
#[derive(Debug)]
pub(super) enum CallError {
    /// The server refused the request.
    Refused {
        /// Its message.
        message: String,
        /// Pages that a person has to open before it takes the request.
        pages: Vec<ElicitRequestParams>,
    },
    /// No response and no progress within this time.
    Slow(Duration),
    /// The total time limit has passed.
    Long(Duration),
    /// The caller cancelled the request; the server was notified.
    Cancelled,
    /// The server demands a login, or more scopes.
    Unauthorized(Challenge),
    /// The HTTP response is a failure, or cannot be read. The connection stays usable unless the session may be lost.
    Rejected(HttpRejection),
    /// The connection was lost. The request may have taken effect.
    ConnectionLost,
    /// The server sent an unexpected response.
    UnexpectedResponse(&'static str),
}

/// Calls a tool, with as many rounds of questions as its server needs. Returns the result as raw JSON.
pub(super) async fn call_tool(
    connection: &Connection,
    settings: &McpServerSettings,
    mut params: CallToolRequestParams,
    context: &ToolContext,
) -> Result<Value, CallError> {
    for _ in 0..MAX_ROUNDS {
        let asked = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
        let answered = match request(connection, settings, asked, context).await {
            Err(CallError::Refused { message, pages }) if !pages.is_empty() => {
                for page in &pages {
                    if elicit(connection.handler(), page.clone(), context).await?.action != ElicitationAction::Accept {
                        return Err(CallError::Refused { message, pages });
                    }
                }
                continue;
            }
            answered => answered?,
        };
        match answered {
            ServerResult::InputRequiredResult(result) => {
                let InputRequiredResult { input_requests, request_state, .. } = result;
                let mut responses = InputResponses::new();
                for (key, input) in input_requests.unwrap_or_default() {
                    responses.insert(key, answer(connection.handler(), input, context).await?);
                }
                params.input_responses = Some(responses);
                params.request_state = request_state;
            }
            other => {
                let answer = raw(other);
                let unexpected = CallError::UnexpectedResponse("something that is no result of a tool");
                return if is_of_tool(&answer) { Ok(answer) } else { Err(unexpected) };
            }
        }
    }
    Err(CallError::UnexpectedResponse("one question after the other"))
}

async fn answer(handler: &Arc<Handler>, input: InputRequest, context: &ToolContext) -> Result<Value, CallError> {
    let InputRequest::Elicitation(request) = input else {
        return Err(CallError::UnexpectedResponse(
            "a request for what aime does not offer to servers: its model (sampling) or its folders (roots)",
        ));
    };
    let answered = elicit(handler, request.params, context).await?;
    serde_json::to_value(answered).map_err(|_| CallError::UnexpectedResponse("a question that cannot be answered"))
}

/// Asks the person behind the call.
async fn elicit(handler: &Arc<Handler>, request: ElicitRequestParams, context: &ToolContext) -> Result<ElicitResult, CallError> {
    let (_watched, _) = handler.begin(context);
    context.cancel.run_until_cancelled(handler.elicit(request)).await.ok_or(CallError::Cancelled)
}

/// Returns the pages that a person has to open before the server takes the request that it refused with this error.
fn pages_to_open(error: &ErrorData) -> Vec<ElicitRequestParams> {
    let data = error.data.as_ref().filter(|_| error.code == URL_ELICITATION_REQUIRED);
    let listed = data.and_then(|data| data.get("elicitations")?.as_array()).into_iter().flatten().take(MAX_ROUNDS);
    let read = listed.filter_map(|page| serde_json::from_value::<ElicitRequestParams>(page.clone()).ok());
    read.filter(|page| matches!(page, ElicitRequestParams::UrlElicitationParams { .. })).collect()
}

/// Makes one request. The time that a person takes to answer the server's questions does not count.
pub(super) async fn request(
    connection: &Connection,
    settings: &McpServerSettings,
    request: ClientRequest,
    context: &ToolContext,
) -> Result<ServerResult, CallError> {
    let (watched, mut activity) = connection.handler().begin(context);
    let mut options = PeerRequestOptions::no_options();
    if let Some(trace_parent) = &context.trace_parent {
        let mut meta = RequestMetaObject::default();
        meta.set_traceparent(trace_parent.as_str());
        options = options.with_meta(meta);
    }
    let sent = connection.peer().send_cancellable_request(request, options);
    let mut handle = context.cancel.run_until_cancelled(sent).await.ok_or(CallError::Cancelled)??;
    watched.as_token(handle.progress_token.clone());
    let begun = Instant::now();
    let (mut idle, mut total) = (begun + settings.call_limit, begun + settings.total_limit);
    let mut asked_at: Option<Instant> = None;
    let error = loop {
        select! {
            biased;
            answer = &mut handle.rx => return Ok(answer.map_err(|_| CallError::ConnectionLost)??),
            () = context.cancel.cancelled() => break CallError::Cancelled,
            changed = activity.changed() => {
                if changed.is_err() {
                    break CallError::ConnectionLost;
                }
                let asking = activity.borrow_and_update().asking > 0;
                let now = Instant::now();
                match (asking, asked_at) {
                    (true, None) => asked_at = Some(now),
                    (false, Some(since)) => {
                        total += now - since;
                        asked_at = None;
                    }
                    _ => {}
                }
                idle = now + settings.call_limit;
            }
            () = sleep_until(total), if asked_at.is_none() && total <= idle => break CallError::Long(settings.total_limit),
            () = sleep_until(idle), if asked_at.is_none() => break CallError::Slow(settings.call_limit),
        }
    };
    let notice = CancelledNotificationParam::new(Some(handle.id.clone()), Some("no longer wanted".to_owned()));
    let notice = ClientNotification::CancelledNotification(CancelledNotification::new(notice));
    // The server may be gone or not listen, so the wait for the notification is short.
    let _sent = tokio::time::timeout(Duration::from_secs(1), connection.peer().send_notification(notice)).await;
    Err(error)
}

impl From<ServiceError> for CallError {
    fn from(error: ServiceError) -> Self {
        if let Some(challenge) = Challenge::of_request(&error) {
            return Self::Unauthorized(challenge);
        }
        if let Some(rejection) = HttpRejection::of(&error) {
            return Self::Rejected(rejection);
        }
        match error {
            ServiceError::McpError(error) => Self::Refused { pages: pages_to_open(&error), message: error.message.into_owned() },
            ServiceError::TransportSend(error) => {
                tracing::debug!(%error, "an MCP server could not be reached");
                Self::ConnectionLost
            }
            ServiceError::TransportClosed => Self::ConnectionLost,
            ServiceError::Cancelled { .. } => Self::Refused { message: "the server cancelled it".to_owned(), pages: Vec::new() },
            _ => Self::UnexpectedResponse("what does not fit the request"),
        }
    }
}
