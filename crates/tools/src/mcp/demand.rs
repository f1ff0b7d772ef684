//! Tools on demand: searched, described, then called, so that a large number of them does not fill a model's context.

use std::sync::Arc;

use aime_llm::ToolDefinition;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    find::find,
    listed::{self, one_line},
    server::Server,
    servers::All,
    tools::{call, for_all, source_of},
};
use crate::{Tool, ToolContext, ToolError, ToolOutput, TypedTool, UnknownTool};

/// Name of the tool that searches for tools.
const FIND_TOOLS: &str = "mcp_find_tools";
/// Name of the tool that calls a found tool.
const CALL_TOOL: &str = "mcp_call_tool";
/// Default and maximum number of tools in one search result.
const DEFAULT_RESULTS: usize = 5;
const MAX_RESULTS: usize = 20;

/// Returns the tools that search and call other tools. `searched` are the servers whose tools are not part of requests.
pub(super) fn tools(all: &Arc<All>, searched: &[&Arc<Server>]) -> [Arc<dyn Tool>; 2] {
    let count = |server: &Server| server.offer().map_or(0, |offer| offer.tools.len());
    let servers: Vec<String> = searched.iter().map(|server| format!("{} ({} tools)", server.settings.name, count(server))).collect();
    let named = if servers.is_empty() { String::new() } else { format!(" Servers: {}.", servers.join(", ")) };
    let description = format!("Search further tools by words; tells their names and parameters, for `{CALL_TOOL}`.{named}");
    let shared = Arc::clone(all);
    let find = TypedTool::new(FIND_TOOLS, &description, move |parameters, context| find_tools(Arc::clone(&shared), parameters, context));
    let description = format!("Call a tool that `{FIND_TOOLS}` has found.");
    [Arc::new(find.read_only().of_source(source_of(all))), for_all(CALL_TOOL, &description, all, &[], call_tool)]
}

#[derive(Deserialize, JsonSchema)]
struct FindParameters {
    /// Words for the purpose of the tool, such as `create issue`
    query: String,
    /// Most tools to list, 5 if absent
    #[schemars(range(min = 1, max = 20))]
    limit: Option<usize>,
}

async fn find_tools(all: Arc<All>, parameters: FindParameters, context: ToolContext) -> Result<ToolOutput, ToolError> {
    // Refresh changed lists first, so that the found tools exist.
    for server in all.servers.iter().filter(|server| server.offer().is_some_and(|offer| offer.changes)) {
        if let Err(error) = server.connection(&context.cancel).await {
            tracing::warn!(%error, "an MCP server cannot be asked for its tools");
        }
    }
    let names = all.names();
    let mut specs = Vec::new();
    for server in &all.servers {
        let Some(offer) = server.offer() else { continue };
        for tool in &offer.tools {
            if let Some(name) = names.name(&server.settings.name, &tool.name) {
                specs.push(listed::spec(name, tool, &server.settings));
            }
        }
    }
    let texts: Vec<(&str, &str)> = specs.iter().map(|spec| (spec.name(), spec.definition.description.as_str())).collect();
    let found = find(&parameters.query, &texts);
    let limit = parameters.limit.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS);
    let shown: Vec<String> =
        found.iter().take(limit).filter_map(|place| specs.get(*place)).map(|spec| definition_text(&spec.definition)).collect();
    if shown.is_empty() {
        return Ok(ToolOutput::text(format!("No tool fits. Try other words; there are {} tools.", specs.len())));
    }
    let more = found.len().saturating_sub(limit);
    let more = if more == 0 { String::new() } else { format!("\n[{more} more fit]") };
    Ok(ToolOutput::text(format!("{}{more}", shown.join("\n"))))
}

/// Formats the definition of a tool for a model that is to call it.
fn definition_text(definition: &ToolDefinition) -> String {
    let parameters = json!(definition.parameters).to_string();
    format!("{}\n  {}\n  parameters: {parameters}", definition.name, one_line(&definition.description))
}

#[derive(Deserialize, JsonSchema)]
struct CallParameters {
    /// Name of the tool, as `mcp_find_tools` gives it
    name: String,
    /// Its parameters, by the schema that `mcp_find_tools` gives
    parameters: Option<Map<String, Value>>,
}

async fn call_tool(all: Arc<All>, parameters: CallParameters, context: ToolContext) -> Result<ToolOutput, ToolError> {
    let CallParameters { name, parameters } = parameters;
    let names = all.names();
    let found = names.origin(&name).and_then(|origin| {
        let server = all.servers.iter().find(|server| server.settings.name == origin.server)?;
        let offer = server.offer()?;
        let tool = offer.tools.iter().find(|tool| tool.name == origin.tool)?;
        Some((server, tool.clone()))
    });
    let Some((server, tool)) = found else {
        let UnknownTool { known, .. } = UnknownTool::new(&name, names.known());
        let nearest: Vec<String> = known.into_iter().take(5).collect();
        return Err(ToolError::Failed(format!(
            "there is no tool {name:?}; the nearest are {}; `{FIND_TOOLS}` finds others",
            nearest.join(", ")
        )));
    };
    let checked = listed::spec(&name, &tool, &server.settings).check(parameters.unwrap_or_default())?;
    call(&all, server, &tool.name, checked.parameters().clone(), &context).await
}
