//! What servers offer beside their tools: resources and prompts.

use std::sync::Arc;

use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequest, ReadResourceRequestParams,
    ServerResult,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    McpOffer,
    call::{CallError, request},
    connection::Connection,
    listed::one_line,
    result,
    server::Server,
    servers::All,
    tools::{connected, for_all, settled},
};
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// The most resources or prompts of one server that are listed.
const MOST_LISTED: usize = 200;
/// What one may ask of servers beside their tools.
const READS: [&str; 2] = ["resources/read", "prompts/get"];

/// The tools for what is offered: nothing where no server is known to offer it.
pub(super) fn tools(all: &Arc<All>) -> Vec<Arc<dyn Tool>> {
    let (resources, prompts) = (having(all, |offer| offer.resources), having(all, |offer| offer.prompts));
    let named = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let mut tools = Vec::new();
    if !(resources.is_empty() && prompts.is_empty()) {
        let offering = format!("With resources: {}; with prompts: {}.", named(&resources), named(&prompts));
        let description = format!("List the resources or the prompts that MCP servers offer. {offering}");
        tools.push(for_all("mcp_list", &description, all, &READS, list));
    }
    if !resources.is_empty() {
        tools.push(for_all("mcp_read_resource", "Read a resource of an MCP server.", all, &READS, read_resource));
    }
    if !prompts.is_empty() {
        tools.push(for_all("mcp_get_prompt", "Fill in a prompt that an MCP server offers, and read it.", all, &READS, get_prompt));
    }
    tools
}

/// The names of the servers that are known to offer something.
fn having(all: &All, what: fn(&McpOffer) -> bool) -> Vec<&str> {
    let having = all.servers.iter().filter(|server| server.offer().is_some_and(|offer| what(&offer)));
    having.map(|server| server.settings.name.as_str()).collect()
}

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

async fn list(all: Arc<All>, parameters: ListParameters, context: ToolContext) -> Result<ToolOutput, ToolError> {
    let ListParameters { kind, server } = parameters;
    let servers: Vec<&Arc<Server>> = match &server {
        Some(name) => vec![named(&all, name)?],
        None => all.servers.iter().collect(),
    };
    let mut lines = Vec::new();
    for server in servers {
        let has = |offer: Arc<McpOffer>| if kind == Kind::Resources { offer.resources } else { offer.prompts };
        if !server.offer().is_some_and(has) {
            continue;
        }
        let connection = connected(server, &context).await?;
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
    Ok(ToolOutput::text(if lines.is_empty() { "There are none.".to_owned() } else { lines.join("\n") }))
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

#[derive(Deserialize, JsonSchema)]
struct ResourceParameters {
    /// The server
    server: String,
    /// The address of the resource, as `mcp_list` tells it
    uri: String,
}

async fn read_resource(all: Arc<All>, parameters: ResourceParameters, context: ToolContext) -> Result<ToolOutput, ToolError> {
    let server = named(&all, &parameters.server)?;
    let asked = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(ReadResourceRequestParams::new(parameters.uri)));
    match ask(server, asked, &context).await? {
        ServerResult::ReadResourceResult(result) => Ok(result::of_resource(&result)),
        _ => Err(result::error(CallError::Odd("something that is no resource"), &server.settings)),
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

async fn get_prompt(all: Arc<All>, parameters: PromptParameters, context: ToolContext) -> Result<ToolOutput, ToolError> {
    let PromptParameters { server, name, arguments } = parameters;
    let server = named(&all, &server)?;
    let params = GetPromptRequestParams::new(name).with_arguments(arguments.unwrap_or_default());
    match ask(server, ClientRequest::GetPromptRequest(GetPromptRequest::new(params)), &context).await? {
        ServerResult::GetPromptResult(result) => Ok(result::of_prompt(&result)),
        _ => Err(result::error(CallError::Odd("something that is no prompt"), &server.settings)),
    }
}

fn named<'a>(all: &'a All, name: &str) -> Result<&'a Arc<Server>, ToolError> {
    all.server(name).map_err(|error| ToolError::Failed(error.to_string()))
}

/// Makes one request that is no call of a tool.
async fn ask(server: &Server, asked: ClientRequest, context: &ToolContext) -> Result<ServerResult, ToolError> {
    let connection = connected(server, context).await?;
    let answered = request(&connection, &server.settings, asked, context).await;
    settled(server, &connection, answered).await
}
