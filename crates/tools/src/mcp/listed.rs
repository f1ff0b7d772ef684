//! Sanitized lists of a server: bounded, and with schemas that can be checked.

use std::sync::Arc;

use aime_llm::ToolDefinition;
use aime_messages::{Message, message};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{McpServerSettings, McpTransport, pages::PartialList};
use crate::{Source, ToolScope, ToolSpec};

/// Maximum number of tools that are accepted from one server.
const MAX_TOOLS: usize = 2_000;
/// Maximum number of entries that are read of a list of tools. The settings may exclude most of them.
pub(super) const MAX_ENTRIES: usize = 20_000;
/// Maximum characters of a description.
const MAX_DESCRIPTION: usize = 2_000;
/// Maximum size of a schema in bytes of JSON, and its maximum depth.
const MAX_SCHEMA: usize = 30_000;
const MAX_SCHEMA_DEPTH: usize = 40;
/// Maximum bytes of a tool's name.
const MAX_NAME: usize = 256;

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpTool {
    /// Name that the server gives the tool.
    pub name: String,
    /// Description of the tool; may be empty.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of the parameters.
    pub parameters: Value,
}

/// The offer of a server: its tools and its other features.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpAbilities {
    /// Usable tools of the server.
    #[serde(default)]
    pub tools: Vec<McpTool>,
    /// True if the server has resources.
    #[serde(default)]
    pub resources: bool,
    /// True if the server has prompts.
    #[serde(default)]
    pub prompts: bool,
    /// True if the server announces changes of its tools.
    #[serde(default)]
    pub changes: bool,
    /// Name and version of the server's software; may be empty.
    #[serde(default)]
    pub software: String,
    /// Notes on omissions, with their reasons.
    #[serde(default)]
    pub notes: Vec<Message>,
}

impl McpTool {
    /// Parses an entry of a server's list. A missing name becomes empty, a missing schema null: [`McpAbilities::take`] rejects both.
    fn read(entry: &Value) -> Self {
        let text = |member: &str| entry.get(member).and_then(Value::as_str);
        Self {
            name: text("name").unwrap_or_default().to_owned(),
            description: text("description").or_else(|| text("title")).unwrap_or_default().to_owned(),
            parameters: entry.get("inputSchema").cloned().unwrap_or_default(),
        }
    }
}

impl McpAbilities {
    /// Returns true if the server offers nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty() && !self.resources && !self.prompts
    }

    /// Adds the usable tools of a list, and records where aime stopped reading it.
    pub(super) fn take_listed(&mut self, listed: PartialList, settings: &McpServerSettings) {
        self.take(listed.entries.iter().map(McpTool::read), settings);
        self.notes.extend(listed.stopped.map(|stop| message!("mcp-stopped", reason = stop.to_string())));
    }

    /// Adds the usable tools, and records why others were rejected.
    pub(super) fn take(&mut self, tools: impl IntoIterator<Item = McpTool>, settings: &McpServerSettings) {
        for (at, tool) in tools.into_iter().enumerate() {
            if !settings.tools.fit(&tool.name) {
                continue;
            }
            if tool.name.is_empty() {
                self.notes.push(message!("mcp-no-name", number = at + 1));
                continue;
            }
            match usable(tool) {
                Ok(tool) if self.tools.iter().any(|known| known.name == tool.name) => {
                    self.notes.push(message!("mcp-second", tool = format!("{:?}", tool.name)));
                }
                Ok(tool) if self.tools.len() < MAX_TOOLS => self.tools.push(tool),
                Ok(_) => {
                    self.notes.push(message!("mcp-most", number = MAX_TOOLS));
                    return;
                }
                Err(note) => self.notes.push(note),
            }
        }
    }
}

/// Returns a tool with bounded texts and a schema that can be checked, or the reason for its rejection.
fn usable(tool: McpTool) -> Result<McpTool, Message> {
    let McpTool { name, description, mut parameters } = tool;
    let shown: String = one_line(&name).chars().take(80).collect();
    let without = |why: &str| message!("mcp-tool", tool = format!("{shown:?}"), why);
    if name.len() > MAX_NAME {
        return Err(without("its name is too long"));
    }
    if parameters.is_null() {
        return Err(without("it has no schema"));
    }
    let Some(schema) = parameters.as_object_mut() else {
        return Err(without("its schema is no object"));
    };
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Err(without("its schema is not one of an object"));
    }
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    // A declared dialect other than the validator's could only confuse it.
    schema.remove("$schema");
    if parameters.to_string().len() > MAX_SCHEMA || depth(&parameters) > MAX_SCHEMA_DEPTH {
        return Err(without("its schema is too large"));
    }
    if names_what_is_elsewhere(&parameters) {
        return Err(without("its schema refers to what is elsewhere"));
    }
    if let Err(error) = aime_llm::compile_schema(&parameters) {
        return Err(without(&format!("its schema is none: {error}")));
    }
    Ok(McpTool { name, description: bounded(&description), parameters })
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn names_what_is_elsewhere(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(names_what_is_elsewhere),
        Value::Object(members) => members.iter().any(|(key, member)| {
            let refers = matches!(key.as_str(), "$ref" | "$dynamicRef") && member.as_str().is_some_and(|target| !target.starts_with('#'));
            refers || names_what_is_elsewhere(member)
        }),
        _ => false,
    }
}

/// Returns a text without invisible and control characters, cut to the maximum length.
fn bounded(text: &str) -> String {
    let shown: String = text.trim().chars().filter(|character| !hidden(*character)).take(MAX_DESCRIPTION + 1).collect();
    if shown.chars().count() <= MAX_DESCRIPTION {
        return shown;
    }
    shown.chars().take(MAX_DESCRIPTION).chain(['…']).collect()
}

pub(super) fn one_line(text: &str) -> String {
    text.chars().filter(|character| !hidden(*character)).map(|character| if character == '\n' { ' ' } else { character }).collect()
}

/// Returns true for control characters and invisible ones: with them a description could tell a model something that no person sees.
fn hidden(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Creates the spec of a tool under its name for models. The server's own hints are ignored: a call counts as a change unless the user has
/// declared the tool read-only.
pub(super) fn spec(name: &str, tool: &McpTool, settings: &McpServerSettings) -> Arc<ToolSpec> {
    let read_only = settings.read_only.fit(&tool.name);
    let description = if tool.description.is_empty() { "No description.".to_owned() } else { tool.description.clone() };
    Arc::new(ToolSpec {
        read_only,
        idempotent: read_only,
        touches: touches(settings),
        time_limit: settings.total_limit,
        source: source(settings),
        ..ToolSpec::new(ToolDefinition {
            name: name.to_owned(),
            description: format!("[{}] {description}", settings.name),
            parameters: Arc::new(tool.parameters.clone()),
        })
    })
}

fn source(settings: &McpServerSettings) -> Source {
    let network = match &settings.transport {
        McpTransport::Stdio { confinement, .. } => confinement.reaches_network(),
        McpTransport::Http { .. } => true,
    };
    Source::Server { name: settings.name.clone(), trusted: settings.trusted, network }
}

pub(super) const fn touches(settings: &McpServerSettings) -> ToolScope {
    match settings.transport {
        McpTransport::Stdio { .. } => ToolScope::Processes,
        McpTransport::Http { .. } => ToolScope::Network,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::NamePatterns;

    fn settings() -> McpServerSettings {
        McpServerSettings::new(
            "s",
            McpTransport::Http { url: String::new(), bearer: None, login: None, headers: std::collections::BTreeMap::new() },
        )
    }

    fn tool(name: &str, parameters: Value) -> McpTool {
        McpTool { name: name.to_owned(), description: "d".to_owned(), parameters }
    }

    fn offer(tools: Vec<McpTool>, settings: &McpServerSettings) -> McpAbilities {
        let mut offer = McpAbilities::default();
        offer.take(tools, settings);
        offer
    }

    #[test]
    fn what_cannot_be_checked_is_left_out_and_said() {
        let mut deep = json!({"type": "string"});
        for _ in 0..50 {
            deep = json!({"type": "object", "properties": {"a": deep}});
        }
        let table = [
            (tool("good", json!({"type": "object", "properties": {"a": {"type": "string"}}})), None),
            (tool("none", json!({})), None),
            (tool("inner", json!({"$defs": {"a": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/a"}}})), None),
            (tool("good", json!({})), Some("the second tool \"good\" is not used")),
            (tool("", json!({})), Some("at position 5 of the list: it has no name")),
            (tool(&"n".repeat(300), json!({})), Some("too long")),
            (tool("missing", Value::Null), Some("it has no schema")),
            (tool("list", json!([])), Some("no object")),
            (tool("text", json!({"type": "string"})), Some("not one of an object")),
            (tool("odd", json!({"type": "object", "properties": {"a": {"type": "colour"}}})), Some("its schema is none")),
            (tool("away", json!({"properties": {"a": {"$ref": "http://127.0.0.1/x"}}})), Some("elsewhere")),
            (tool("deep", deep), Some("too large")),
            (tool("large", json!({"description": "x".repeat(40_000)})), Some("too large")),
        ];
        let expected: Vec<&str> = table.iter().filter_map(|(_, note)| *note).collect();
        let taken = offer(table.iter().map(|(tool, _)| tool.clone()).collect(), &settings());
        assert_eq!(taken.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["good", "none", "inner"]);
        assert_eq!(taken.notes.len(), expected.len(), "{:?}", taken.notes);
        for (note, expected) in taken.notes.iter().zip(expected) {
            assert!(note.to_string().contains(expected), "{note}: {expected}");
        }
    }

    #[test]
    fn words_are_bounded_and_nothing_hides_in_them() {
        let description = format!("Look\u{200b} at\u{1b}[2J\u{e0041} this\n{}", "x".repeat(5_000));
        let tool = McpTool { name: "t".to_owned(), description, parameters: json!({}) };
        let taken = offer(vec![tool], &settings());
        let description = &taken.tools[0].description;
        assert!(description.starts_with("Look at[2J this\nxxx") && description.ends_with("x…"), "{description}");
        assert_eq!(description.chars().count(), MAX_DESCRIPTION + 1);
    }

    #[test]
    fn rights_are_those_that_the_user_gives() {
        let mut settings = settings();
        settings.tools = NamePatterns::new(["list_*", "make"]).unwrap();
        settings.read_only = NamePatterns::new(["list_*"]).unwrap();
        let taken = offer(["list_all", "make", "drop"].map(|name| tool(name, json!({}))).to_vec(), &settings);
        let specs: Vec<_> = taken.tools.iter().map(|tool| spec("n", tool, &settings)).collect();
        let rights: Vec<_> = taken.tools.iter().zip(&specs).map(|(tool, spec)| (tool.name.as_str(), spec.read_only)).collect();
        assert_eq!(rights, [("list_all", true), ("make", false)]);
        assert_eq!(specs[0].definition.description, "[s] d");
        assert_eq!(specs[1].touches, ToolScope::Network);
    }
}
