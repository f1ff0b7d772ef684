//! Tools on demand: searched, read, then called, so that many of them do not fill a model's context.

use std::sync::Arc;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    find::find,
    listed,
    server::Server,
    servers::All,
    tools::{call, read, sheet_of, told},
};
use crate::{Tool, ToolContext, ToolError, ToolOutput, ToolSheet, Touches, UnknownTool, schema::Checker, typed::sheet};

/// The name of the tool that finds others.
pub(crate) const FIND_TOOLS: &str = "mcp_find_tools";
/// The name of the tool that calls what was found.
pub(crate) const CALL_TOOL: &str = "mcp_call_tool";
/// How many tools are told of at once, unless more are asked for, and at most.
const USUAL: usize = 5;
const MOST: usize = 20;

#[derive(Deserialize, JsonSchema)]
struct FindParameters {
    /// Words for what the tool should do, such as `create issue`
    query: String,
    /// How many tools to tell of, 5 when left out
    #[schemars(range(min = 1, max = 20))]
    limit: Option<usize>,
}

/// `mcp_find_tools`.
pub(super) struct FindTools {
    sheet: Arc<ToolSheet>,
    all: Arc<All>,
}

impl FindTools {
    pub(super) fn new(all: Arc<All>, searched: &[Arc<Server>]) -> Self {
        let servers: Vec<String> = searched
            .iter()
            .map(|server| format!("{} ({} tools)", server.settings.name, server.offer().map_or(0, |offer| offer.tools.len())))
            .collect();
        let named = if servers.is_empty() { String::new() } else { format!(" Servers: {}.", servers.join(", ")) };
        let description = format!("Search further tools by words; tells their names and parameters, for `{CALL_TOOL}`.{named}");
        let sheet = Arc::new(ToolSheet {
            read_only: true,
            idempotent: true,
            touches: Touches::Nothing,
            ..sheet::<FindParameters>(FIND_TOOLS, &description)
        });
        Self { sheet, all }
    }

    fn find(&self, parameters: &FindParameters) -> ToolOutput {
        let names = self.all.names();
        let mut sheets = Vec::new();
        for server in &self.all.servers {
            let Some(offer) = server.offer() else { continue };
            for tool in &offer.tools {
                if let Some(name) = names.name(&server.settings.name, &tool.name) {
                    sheets.push(listed::sheet(name, tool, &server.settings));
                }
            }
        }
        let texts: Vec<(&str, &str)> = sheets.iter().map(|sheet| (sheet.name(), sheet.definition.description.as_str())).collect();
        let found = find(&parameters.query, &texts);
        let limit = parameters.limit.unwrap_or(USUAL).clamp(1, MOST);
        let shown: Vec<String> =
            found.iter().take(limit).filter_map(|place| sheets.get(*place)).map(|sheet| told(&sheet.definition)).collect();
        let text = if shown.is_empty() {
            format!("No tool fits. Try other words; there are {} tools.", sheets.len())
        } else {
            let more = found.len().saturating_sub(limit);
            let more = if more == 0 { String::new() } else { format!("\n[{more} more fit]") };
            format!("{}{more}", shown.join("\n"))
        };
        ToolOutput { text, value: Value::Null, references: Vec::new() }
    }
}

impl Tool for FindTools {
    fn sheet(&self) -> &Arc<ToolSheet> {
        &self.sheet
    }

    fn call<'a>(&'a self, parameters: Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let parameters = read(parameters)?;
            // What has changed is asked for first: what is found should be there.
            for server in self.all.servers.iter().filter(|server| server.offer().is_some_and(|offer| offer.changes)) {
                if let Err(error) = server.connection(&context.cancel).await {
                    tracing::warn!(%error, "an MCP server cannot be asked for its tools");
                }
            }
            Ok(self.find(&parameters))
        })
    }
}

#[derive(Deserialize, JsonSchema)]
struct CallParameters {
    /// The name of the tool, as `mcp_find_tools` tells it
    name: String,
    /// Its parameters, by the schema that `mcp_find_tools` tells
    parameters: Option<Map<String, Value>>,
}

/// `mcp_call_tool`.
pub(super) struct CallTool {
    sheet: Arc<ToolSheet>,
    all: Arc<All>,
}

impl CallTool {
    pub(super) fn new(all: Arc<All>) -> Self {
        let description = format!("Call a tool that `{FIND_TOOLS}` has found.");
        Self { sheet: sheet_of::<CallParameters>(CALL_TOOL, &description, &all, &[]), all }
    }

    async fn make(&self, parameters: CallParameters, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let CallParameters { name, parameters } = parameters;
        let names = self.all.names();
        let found = names.origin(&name).and_then(|origin| {
            let server = self.all.servers.iter().find(|server| server.settings.name == origin.server)?;
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
        let parameters =
            Checker::new(&name, &tool.parameters).check(parameters.unwrap_or_default()).map_err(ToolError::InvalidParameters)?;
        call(server, &tool.name, parameters, context).await
    }
}

impl Tool for CallTool {
    fn sheet(&self) -> &Arc<ToolSheet> {
        &self.sheet
    }

    fn time_limit(&self, _: &Map<String, Value>) -> std::time::Duration {
        self.sheet.time_limit.saturating_add(super::tools::BEHIND)
    }

    fn call<'a>(&'a self, parameters: Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { self.make(read(parameters)?, context).await })
    }
}
