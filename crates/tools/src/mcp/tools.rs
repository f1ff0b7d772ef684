//! The tools that stand for what servers offer.

use std::{sync::Arc, time::Duration};

use aime_llm::ToolDefinition;
use futures::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, ClientRequest, GetPromptRequest, GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequest,
    ReadResourceRequestParams, ServerResult,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    McpError, McpOffer, McpTool,
    call::{CallError, call_tool, request},
    connection::{Connection, chain},
    listed::{self, one_line},
    result,
    server::Server,
    servers::All,
};
use crate::{Tool, ToolContext, ToolError, ToolOutput, ToolSheet, Touches, typed::sheet};

/// How much longer the registry waits than a server is given: a person may take long to answer its question.
pub(super) const BEHIND: Duration = Duration::from_secs(24 * 60 * 60);
/// The most resources or prompts of one server that are listed.
const MOST_LISTED: usize = 200;

/// One tool of one server.
pub(super) struct ServerTool {
    sheet: Arc<ToolSheet>,
    tool: String,
    server: Arc<Server>,
}

impl ServerTool {
    pub(super) fn new(name: &str, tool: &McpTool, server: Arc<Server>) -> Self {
        Self { sheet: listed::sheet(name, tool, &server.settings), tool: tool.name.clone(), server }
    }
}

impl Tool for ServerTool {
    fn sheet(&self) -> &Arc<ToolSheet> {
        &self.sheet
    }

    fn time_limit(&self, _: &Map<String, Value>) -> Duration {
        self.sheet.time_limit.saturating_add(BEHIND)
    }

    fn call<'a>(&'a self, parameters: Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(call(&self.server, &self.tool, parameters, context))
    }
}

/// Calls a tool of a server by the server's own name for it.
pub(super) async fn call(
    server: &Server,
    tool: &str,
    parameters: Map<String, Value>,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let connection = connected(server, context).await?;
    if let Some(offer) = server.offer().filter(|offer| !offer.tools.iter().any(|known| known.name == tool)) {
        let known: Vec<&str> = offer.tools.iter().take(50).map(|tool| tool.name.as_str()).collect();
        return Err(ToolError::Failed(format!(
            "the MCP server `{}` no longer has the tool {:?}; it has: {}",
            server.settings.name,
            one_line(tool),
            one_line(&known.join(", "))
        )));
    }
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(parameters);
    let answered = call_tool(&connection, &server.settings, params, context).await;
    settled(server, &connection, answered).await.and_then(result::of_tool)
}

async fn connected(server: &Server, context: &ToolContext) -> Result<Arc<Connection>, ToolError> {
    server.connection(&context.cancel).await.map_err(|error| match error {
        McpError::Cancelled { .. } => ToolError::Cancelled,
        error => ToolError::Failed(chain(&error)),
    })
}

/// Notes what an answer says of the server.
async fn settled<T>(server: &Server, connection: &Arc<Connection>, answered: Result<T, CallError>) -> Result<T, ToolError> {
    match &answered {
        Ok(_) | Err(CallError::Refused(_)) => server.is_sound().await,
        Err(CallError::Gone) => server.is_gone(connection).await,
        Err(_) => {}
    }
    answered.map_err(|error| result::error(error, &server.settings))
}

/// The sheet of a tool that serves all servers.
pub(super) fn sheet_of<P: JsonSchema>(name: &str, description: &str, all: &All, reads: &[&str]) -> Arc<ToolSheet> {
    let read_only = !reads.is_empty() && all.servers.iter().all(|server| reads.iter().all(|name| server.settings.read_only.fit(name)));
    let limit = all.servers.iter().map(|server| server.settings.total_limit).max().unwrap_or_default();
    let touches = all.servers.first().map_or(Touches::Network, |server| listed::touches(&server.settings));
    Arc::new(ToolSheet { read_only, idempotent: read_only, touches, time_limit: limit, ..sheet::<P>(name, description) })
}

/// What one may ask of servers beside their tools.
const READS: [&str; 2] = ["resources/read", "prompts/get"];

#[derive(Deserialize, JsonSchema)]
struct ListParameters {
    /// What to list
    kind: Kind,
    /// One server; all when left out
    server: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Resources,
    Prompts,
}

/// `mcp_list`: resources and prompts.
pub(super) struct ListOffer {
    sheet: Arc<ToolSheet>,
    all: Arc<All>,
}

impl ListOffer {
    pub(super) fn new(all: Arc<All>) -> Self {
        let description = format!("List the resources or the prompts that MCP servers offer. {}", offering(&all));
        Self { sheet: sheet_of::<ListParameters>("mcp_list", &description, &all, &READS), all }
    }

    async fn list(&self, parameters: ListParameters, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let ListParameters { kind, server } = parameters;
        let servers: Vec<&Arc<Server>> = match &server {
            Some(name) => vec![self.all.server(name).map_err(|error| ToolError::Failed(error.to_string()))?],
            None => self.all.servers.iter().collect(),
        };
        let mut lines = Vec::new();
        for server in servers {
            let has = |offer: Arc<McpOffer>| if kind == Kind::Resources { offer.resources } else { offer.prompts };
            if !server.offer().is_some_and(has) {
                continue;
            }
            let connection = connected(server, context).await?;
            lines.push(format!("{}:", server.settings.name));
            let listed = async { if kind == Kind::Resources { resources(&connection).await } else { prompts(&connection).await } };
            let listed = tokio::time::timeout(server.settings.call_limit, context.cancel.run_until_cancelled(listed)).await;
            let listed = match listed {
                Ok(Some(listed)) => listed.map_err(|error| CallError::Refused(error.to_string())),
                Ok(None) => Err(CallError::Cancelled),
                Err(_) => Err(CallError::Slow(server.settings.call_limit)),
            };
            lines.extend(settled(server, &connection, listed).await?);
        }
        let text = if lines.is_empty() { "There are none.".to_owned() } else { lines.join("\n") };
        Ok(ToolOutput { text, value: Value::Null, references: Vec::new() })
    }
}

async fn resources(connection: &Connection) -> Result<Vec<String>, rmcp::ServiceError> {
    let mut lines = Vec::new();
    let mut page = PaginatedRequestParams::default();
    while lines.len() < MOST_LISTED {
        let listed = connection.peer().list_resources(Some(page)).await?;
        lines.extend(listed.resources.iter().map(|known| line(&known.uri, &known.name, known.description.as_deref())));
        match listed.next_cursor {
            Some(cursor) => page = PaginatedRequestParams::default().with_cursor(Some(cursor)),
            None => break,
        }
    }
    // Many servers have none and say so with an error.
    if let Ok(templates) = connection.peer().list_resource_templates(None).await {
        let told = |known: &rmcp::model::ResourceTemplate| line(&known.uri_template, &known.name, known.description.as_deref());
        lines.extend(templates.resource_templates.iter().map(told));
    }
    lines.truncate(MOST_LISTED);
    Ok(lines)
}

async fn prompts(connection: &Connection) -> Result<Vec<String>, rmcp::ServiceError> {
    let listed = connection.peer().list_prompts(None).await?;
    let told = listed.prompts.iter().take(MOST_LISTED).map(|prompt| {
        let arguments = prompt.arguments.iter().flatten().map(|argument| {
            let mark = if argument.required == Some(true) { "" } else { "?" };
            format!("{}{mark}", argument.name)
        });
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        line(&format!("{}({arguments})", prompt.name), "", prompt.description.as_deref())
    });
    Ok(told.collect())
}

fn line(what: &str, name: &str, description: Option<&str>) -> String {
    let words: Vec<String> = [Some(name), description]
        .into_iter()
        .flatten()
        .filter(|text| !text.is_empty())
        .map(|text| one_line(text).chars().take(200).collect())
        .collect();
    format!("  {}{}{}", one_line(what), if words.is_empty() { "" } else { "  " }, words.join(": "))
}

/// Which servers have what, in a sentence.
fn offering(all: &All) -> String {
    let having = |what: fn(&McpOffer) -> bool| {
        let named = all.servers.iter().filter(|server| server.offer().is_some_and(|offer| what(&offer)));
        named.map(|server| server.settings.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (resources, prompts) = (having(|offer| offer.resources), having(|offer| offer.prompts));
    let none = |names: String| if names.is_empty() { "none".to_owned() } else { names };
    format!("With resources: {}; with prompts: {}.", none(resources), none(prompts))
}

impl Tool for ListOffer {
    fn sheet(&self) -> &Arc<ToolSheet> {
        &self.sheet
    }

    fn call<'a>(&'a self, parameters: Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { self.list(read(parameters)?, context).await })
    }
}

#[derive(Deserialize, JsonSchema)]
struct ResourceParameters {
    /// The server
    server: String,
    /// The address of the resource, as `mcp_list` tells it
    uri: String,
}

/// `mcp_read_resource`.
pub(super) struct ReadResource {
    sheet: Arc<ToolSheet>,
    all: Arc<All>,
}

impl ReadResource {
    pub(super) fn new(all: Arc<All>) -> Self {
        Self { sheet: sheet_of::<ResourceParameters>("mcp_read_resource", "Read a resource of an MCP server.", &all, &READS), all }
    }

    async fn read(&self, parameters: ResourceParameters, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let ResourceParameters { server, uri } = parameters;
        let server = self.all.server(&server).map_err(|error| ToolError::Failed(error.to_string()))?;
        let connection = connected(server, context).await?;
        let asked = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(ReadResourceRequestParams::new(uri)));
        let answered = request(&connection, &server.settings, asked, context).await;
        match settled(server, &connection, answered).await? {
            ServerResult::ReadResourceResult(result) => Ok(result::of_resource(&result)),
            _ => Err(result::error(CallError::Odd("something that is no resource"), &server.settings)),
        }
    }
}

impl Tool for ReadResource {
    fn sheet(&self) -> &Arc<ToolSheet> {
        &self.sheet
    }

    fn call<'a>(&'a self, parameters: Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { self.read(read(parameters)?, context).await })
    }
}

#[derive(Deserialize, JsonSchema)]
struct PromptParameters {
    /// The server
    server: String,
    /// The prompt, as `mcp_list` tells it
    name: String,
    /// Its arguments
    arguments: Option<Map<String, Value>>,
}

/// `mcp_get_prompt`.
pub(super) struct GetPrompt {
    sheet: Arc<ToolSheet>,
    all: Arc<All>,
}

impl GetPrompt {
    pub(super) fn new(all: Arc<All>) -> Self {
        let description = "Fill in a prompt that an MCP server offers, and read it.";
        Self { sheet: sheet_of::<PromptParameters>("mcp_get_prompt", description, &all, &READS), all }
    }

    async fn get(&self, parameters: PromptParameters, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let PromptParameters { server, name, arguments } = parameters;
        let server = self.all.server(&server).map_err(|error| ToolError::Failed(error.to_string()))?;
        let connection = connected(server, context).await?;
        let params = GetPromptRequestParams::new(name).with_arguments(arguments.unwrap_or_default());
        let answered =
            request(&connection, &server.settings, ClientRequest::GetPromptRequest(GetPromptRequest::new(params)), context).await;
        match settled(server, &connection, answered).await? {
            ServerResult::GetPromptResult(result) => Ok(result::of_prompt(&result)),
            _ => Err(result::error(CallError::Odd("something that is no prompt"), &server.settings)),
        }
    }
}

impl Tool for GetPrompt {
    fn sheet(&self) -> &Arc<ToolSheet> {
        &self.sheet
    }

    fn call<'a>(&'a self, parameters: Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { self.get(read(parameters)?, context).await })
    }
}

/// The parameters as their type; the registry has checked them.
pub(super) fn read<P: serde::de::DeserializeOwned>(parameters: Map<String, Value>) -> Result<P, ToolError> {
    serde_json::from_value(Value::Object(parameters))
        .map_err(|error| ToolError::InvalidParameters(format!("The parameters do not fit: {error}.")))
}

/// The definition of a tool as text, for a model that is to call it.
pub(super) fn told(definition: &ToolDefinition) -> String {
    let parameters = json!(definition.parameters).to_string();
    format!("{}\n  {}\n  parameters: {parameters}", definition.name, one_line(&definition.description))
}
