//! Resources and prompts of MCP servers.

use std::sync::Arc;

use rmcp::model::{ClientRequest, GetPromptRequest, GetPromptRequestParams, ReadResourceRequest, ReadResourceRequestParams};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    McpAbilities, McpServerSettings,
    call::{CallError, request},
    connection::Connection,
    listed::one_line,
    pages::{List, PartialList, raw},
    result,
    server::Server,
    servers::All,
    tools::{connected, for_all, settled},
};
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// Maximum number of listed resources or prompts of one server.
const MAX_LISTED: usize = 200;
/// Requests to servers other than tool calls.
const READS: [&str; 2] = ["resources/read", "prompts/get"];

/// Returns the tools for resources and prompts; empty if no server is known to offer any.
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

/// Returns the names of the servers that are known to offer something.
fn having(all: &All, what: fn(&McpAbilities) -> bool) -> Vec<&str> {
    let having = all.servers.iter().filter(|server| server.offer().is_some_and(|offer| what(&offer)));
    having.map(|server| server.settings.name.as_str()).collect()
}

#[derive(Deserialize, JsonSchema)]
struct ListParameters {
    /// Things to list
    kind: Kind,
    /// One server; all if absent
    server: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Resources,
    Prompts,
}

impl Kind {
    async fn lines(self, connection: &Connection, settings: &McpServerSettings, context: &ToolContext) -> Result<Vec<String>, CallError> {
        let read = |list: List| list.read(MAX_LISTED, |asked| request(connection, settings, asked, context));
        if self == Self::Prompts {
            return Ok(lines(List::Prompts, &read(List::Prompts).await?));
        }
        let mut all = lines(List::Resources, &read(List::Resources).await?);
        match read(List::ResourceTemplates).await {
            Ok(templates) => all.extend(lines(List::ResourceTemplates, &templates)),
            // Many servers have no templates and answer with an error.
            Err(CallError::Refused { .. } | CallError::UnexpectedResponse(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(all)
    }
}

async fn list(all: Arc<All>, parameters: ListParameters, context: ToolContext) -> Result<ToolOutput, ToolError> {
    let ListParameters { kind, server } = parameters;
    let servers: Vec<&Arc<Server>> = match &server {
        Some(name) => vec![find_server(&all, name)?],
        None => all.servers.iter().collect(),
    };
    let has = |offer: Arc<McpAbilities>| if kind == Kind::Resources { offer.resources } else { offer.prompts };
    let having: Vec<&Arc<Server>> = servers.into_iter().filter(|server| server.offer().is_some_and(has)).collect();
    let mut lines = Vec::new();
    for server in &having {
        let listed = match list_of(server, kind, &context).await {
            // The lists of the other servers are still useful.
            Err(error) if having.len() > 1 && error != ToolError::Cancelled => vec![format!("  [not listed: {error}]")],
            listed => listed?,
        };
        lines.push(format!("{}:", server.settings.name));
        lines.extend(listed);
    }
    Ok(ToolOutput::text(if lines.is_empty() { "There are none.".to_owned() } else { lines.join("\n") }))
}

/// Returns the lines for what one server offers.
async fn list_of(server: &Arc<Server>, kind: Kind, context: &ToolContext) -> Result<Vec<String>, ToolError> {
    let connection = connected(server, context).await?;
    let limit = server.settings.total_limit;
    let listed = tokio::time::timeout(limit, kind.lines(&connection, &server.settings, context)).await;
    settled(server, &connection, listed.unwrap_or(Err(CallError::Long(limit)))).await
}

/// Returns one line per entry of a list, and a line on where aime stopped reading it.
fn lines(list: List, listed: &PartialList) -> Vec<String> {
    let identity = list.identity();
    let lines = listed.entries.iter().map(|entry| {
        let text = |member: &str| entry.get(member).and_then(Value::as_str);
        let Some(what) = text(identity) else { return format!("  [left out: an entry without `{identity}`]") };
        match list {
            List::Prompts => line(&format!("{what}({})", arguments(entry)), "", text("description")),
            _ => line(what, text("name").unwrap_or_default(), text("description")),
        }
    });
    let stopped = listed.stopped.map(|stop| format!("  [stopped reading the list: {stop}]"));
    lines.chain(stopped).collect()
}

/// Formats the arguments of a prompt; a question mark marks optional ones.
fn arguments(prompt: &Value) -> String {
    let arguments = prompt.get("arguments").and_then(Value::as_array).into_iter().flatten().filter_map(|argument| {
        let mark = if argument.get("required") == Some(&Value::Bool(true)) { "" } else { "?" };
        Some(format!("{}{mark}", argument.get("name")?.as_str()?))
    });
    arguments.collect::<Vec<_>>().join(", ")
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
    /// Address of the resource, as `mcp_list` gives it
    uri: String,
}

async fn read_resource(all: Arc<All>, parameters: ResourceParameters, context: ToolContext) -> Result<ToolOutput, ToolError> {
    let server = find_server(&all, &parameters.server)?;
    let asked = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(ReadResourceRequestParams::new(parameters.uri)));
    let answer = ask(server, asked, &context).await?;
    result::of_resource(&answer)
        .ok_or_else(|| result::error(CallError::UnexpectedResponse("something that is no resource"), &server.settings))
}

#[derive(Deserialize, JsonSchema)]
struct PromptParameters {
    /// The server
    server: String,
    /// Name of the prompt, as `mcp_list` gives it
    name: String,
    /// Arguments of the prompt
    arguments: Option<Map<String, Value>>,
}

async fn get_prompt(all: Arc<All>, parameters: PromptParameters, context: ToolContext) -> Result<ToolOutput, ToolError> {
    let PromptParameters { server, name, arguments } = parameters;
    let server = find_server(&all, &server)?;
    let params = GetPromptRequestParams::new(name).with_arguments(arguments.unwrap_or_default());
    let answer = ask(server, ClientRequest::GetPromptRequest(GetPromptRequest::new(params)), &context).await?;
    result::of_prompt(&answer).ok_or_else(|| result::error(CallError::UnexpectedResponse("something that is no prompt"), &server.settings))
}

fn find_server<'a>(all: &'a All, name: &str) -> Result<&'a Arc<Server>, ToolError> {
    all.server(name).map_err(|error| ToolError::Failed(error.to_string()))
}

/// Makes one request other than a tool call. Returns the result as raw JSON.
async fn ask(server: &Server, asked: ClientRequest, context: &ToolContext) -> Result<Value, ToolError> {
    let connection = connected(server, context).await?;
    let answered = request(&connection, &server.settings, asked, context).await;
    settled(server, &connection, answered).await.map(raw)
}
