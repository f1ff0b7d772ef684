//! Tools for the offers of MCP servers: one per tool of a server, and those that serve all servers.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use rmcp::model::CallToolRequestParams;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    McpError, McpTool, McpTransport,
    call::{CallError, call_tool},
    connection::{Connection, chain},
    listed::{self, one_line},
    names::beginning,
    result,
    server::Server,
    servers::All,
};
use crate::{Source, Tool, ToolContext, ToolError, ToolOutput, ToolScope, ToolSpec, TypedTool, ValidatedCall};

/// Additional time that the registry waits beyond a server's limits, because a person may take long to answer its question.
const BEHIND: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum number of tools that are named in an error.
const MAX_SHOWN: usize = 50;

/// One tool of one server.
pub(super) struct ServerTool {
    spec: Arc<ToolSpec>,
    tool: String,
    server: Arc<Server>,
    all: Arc<All>,
}

impl ServerTool {
    pub(super) fn new(name: &str, tool: &McpTool, server: Arc<Server>, all: Arc<All>) -> Self {
        Self { spec: listed::spec(name, tool, &server.settings), tool: tool.name.clone(), server, all }
    }
}

impl Tool for ServerTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn time_limit(&self, _: &Map<String, Value>) -> Duration {
        self.spec.time_limit.saturating_add(BEHIND)
    }

    fn call<'a>(&'a self, made: ValidatedCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(call(&self.all, &self.server, &self.tool, made.into_parameters(), context))
    }
}

/// Calls a tool of a server by the server's own name for it.
pub(super) async fn call(
    all: &All,
    server: &Server,
    tool: &str,
    parameters: Map<String, Value>,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let connection = connected(server, context).await?;
    if let Some(offer) = server.offer().filter(|offer| !offer.tools.iter().any(|known| known.name == tool)) {
        let names = all.names();
        let shown = offer.tools.iter().take(MAX_SHOWN);
        let known: Vec<&str> = shown.filter_map(|tool| names.name(&server.settings.name, &tool.name)).collect();
        return Err(ToolError::Failed(format!(
            "the MCP server `{}` no longer has the tool {:?}; it has: {}",
            server.settings.name,
            one_line(tool),
            one_line(&known.join(", "))
        )));
    }
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(parameters);
    let before = connection.denials();
    let answered = call_tool(&connection, &server.settings, params, context).await;
    let answered = settled(server, &connection, answered).await.and_then(result::of_tool);
    answered.map_err(|error| connection.explained(error, &server.settings, &before))
}

pub(super) async fn connected(server: &Server, context: &ToolContext) -> Result<Arc<Connection>, ToolError> {
    server.connection(&context.cancel).await.map_err(|error| match error {
        McpError::Cancelled { .. } => ToolError::Cancelled,
        error => ToolError::Failed(chain(&error)),
    })
}

/// Updates the state of the server from the result of a request.
pub(super) async fn settled<T>(server: &Server, connection: &Arc<Connection>, answered: Result<T, CallError>) -> Result<T, ToolError> {
    match &answered {
        Ok(_) | Err(CallError::Refused { .. }) => server.is_sound().await,
        Err(CallError::ConnectionLost) => server.is_gone(connection).await,
        // A slow program still runs; an HTTP server may have lost the session.
        Err(CallError::Slow(_) | CallError::Long(_)) if matches!(server.settings.transport, McpTransport::Http { .. }) => {
            server.is_doubtful(connection).await;
        }
        // The next call opens a connection with the login that exists then.
        Err(CallError::Unauthorized(_)) => server.is_doubtful(connection).await,
        // The next call opens a new session.
        Err(CallError::Rejected(rejection)) if rejection.may_lack_session() => server.is_doubtful(connection).await,
        Err(_) => {}
    }
    answered.map_err(|error| result::error(error, &server.settings))
}

/// Returns the origin of the results of a tool that serves all servers. A call may name a tool only, so a server counts as trusted only if
/// no tool of an untrusted one has a name of the same beginning: `mcp__a__b__c` may be a tool of `a` or of `a__b`.
pub(super) fn source_of(all: &All) -> Source {
    let (trusted, others): (Vec<_>, Vec<_>) = all.servers.iter().map(|server| &server.settings).partition(|settings| settings.trusted);
    let is_all = others.is_empty();
    let others: Vec<String> = others.into_iter().map(|settings| beginning(&settings.name)).collect();
    let is_clear = |name: &str| {
        let own = beginning(name);
        !others.iter().any(|other| other.starts_with(&own) || own.starts_with(other))
    };
    let trusted = trusted.into_iter().map(|settings| settings.name.clone()).filter(|name| is_clear(name));
    Source::Servers { trusted: trusted.collect(), all: is_all }
}

/// Returns the tools that the user has declared read-only, by their names for models.
fn reading_tools(all: &All) -> Vec<String> {
    let names = all.names();
    let of_server = |server: &Arc<Server>| {
        let offer = server.offer().unwrap_or_default();
        let reading = offer.tools.iter().filter(|tool| server.settings.read_only.fit(&tool.name));
        reading.filter_map(|tool| names.name(&server.settings.name, &tool.name).map(str::to_owned)).collect::<Vec<_>>()
    };
    all.servers.iter().flat_map(of_server).collect()
}

/// Creates a tool that serves all servers. It counts as read-only if `reads` is not empty and the user has declared those requests
/// read-only for every server. A tool without `reads` calls a tool of a server, and a call of it is as read-only as that tool.
pub(super) fn for_all<P, C>(
    name: &str,
    description: &str,
    all: &Arc<All>,
    reads: &[&str],
    act: impl Fn(Arc<All>, P, ToolContext) -> C + Send + Sync + 'static,
) -> Arc<dyn Tool>
where
    P: DeserializeOwned + JsonSchema + 'static,
    C: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    let read_only = !reads.is_empty() && all.servers.iter().all(|server| reads.iter().all(|name| server.settings.read_only.fit(name)));
    let limit = all.servers.iter().map(|server| server.settings.total_limit).max().unwrap_or_default();
    let has_program = all.servers.iter().any(|server| listed::touches(&server.settings) == ToolScope::Processes);
    let touches = if has_program { ToolScope::Processes } else { ToolScope::Network };
    let reading = if reads.is_empty() { reading_tools(all) } else { Vec::new() };
    let shared = Arc::clone(all);
    let tool = TypedTool::new(name, description, move |parameters, context| act(Arc::clone(&shared), parameters, context));
    let tool = tool.touches(touches).time_limit(limit.saturating_add(BEHIND)).of_source(source_of(all)).calls_reading(reading);
    if read_only { Arc::new(tool.read_only()) } else { Arc::new(tool) }
}
