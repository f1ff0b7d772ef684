//! Settings of MCP servers.

use std::{collections::BTreeMap, path::PathBuf};

use aime_messages::message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    NetworkConfig,
    check::{OtherKey, ValueFault, range},
};

/// Longest timeout of a server or a call, in seconds.
const MAX_TIMEOUT_SECONDS: u64 = 24 * 60 * 60;
/// Longest name of a server, in characters.
const MAX_NAME: usize = 40;

/// MCP servers whose tools actors can use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpConfig {
    /// Maximum number of tools of all servers in a model's request. Tools of a server that does not fit are searched and called on
    /// demand.
    pub listed_tools: usize,
    /// Servers by name: the middle of `mcp__NAME__TOOL`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, McpServerConfig>,
}

impl Default for McpConfig {
    fn default() -> Self {
        Self { listed_tools: 30, servers: BTreeMap::new() }
    }
}

/// A server: a command that uses its standard input and output, or the address of a server over streamable HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpServerConfig {
    /// Program to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Arguments of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables of the program, in addition to the usual ones.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Names of variables that it inherits from aime's own environment, such as the one that holds its token.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_vars: Vec<String>,
    /// True if the program is confined as commands are. Otherwise it may do what its user may.
    #[serde(skip_serializing_if = "is_true")]
    pub confined: bool,
    /// Network access of the program: `false`, `true` or a list of hosts. With `false` it has the access of commands, which
    /// `sandbox.network` sets.
    #[serde(skip_serializing_if = "NetworkConfig::is_none")]
    pub network: NetworkConfig,
    /// Files and folders that it may read in addition to those of commands. A path is relative to the file of this setting, `~/` is
    /// the home folder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<PathBuf>,
    /// Files and folders that it may write in addition to those of commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<PathBuf>,
    /// Address of a server over streamable HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Environment variable that holds the server's token. The token itself must not be in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_token_env: Option<String>,
    /// Id of a client that is registered at the server's authorisation server, for `aime mcp login`. Without it aime registers itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Environment variable that holds the secret of that client. The secret itself must not be in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_env: Option<String>,
    /// Headers of every request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// True if the server is used.
    pub enabled: bool,
    /// Patterns for the tools that may be used.
    pub tools: Vec<String>,
    /// Patterns for the tools that change nothing. The server's own statement does not count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read_only: Vec<String>,
    /// True if you vouch for what the server says and does. Otherwise an actor that has read its output sends nothing anywhere without
    /// consent.
    #[serde(skip_serializing_if = "is_false")]
    pub trusted: bool,
    /// Listing of its tools in a model's request: `auto`, `always` or `on_demand`.
    pub load: McpLoadConfig,
    /// Time limit for the start and the list of tools, in seconds.
    pub start_timeout_seconds: u64,
    /// Time limit for a call without an answer and without progress, in seconds.
    pub call_timeout_seconds: u64,
    /// Time limit for a whole call, in seconds.
    pub max_call_seconds: u64,
}

impl Default for McpServerConfig {
    fn default() -> Self {
        Self {
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            env_vars: Vec::new(),
            confined: true,
            network: NetworkConfig::None,
            read: Vec::new(),
            write: Vec::new(),
            url: None,
            bearer_token_env: None,
            client_id: None,
            client_secret_env: None,
            headers: BTreeMap::new(),
            enabled: true,
            tools: vec!["*".to_owned()],
            read_only: Vec::new(),
            trusted: false,
            load: McpLoadConfig::Auto,
            start_timeout_seconds: 30,
            call_timeout_seconds: 120,
            max_call_seconds: 1_800,
        }
    }
}

/// Condition under which tools are listed in a model's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpLoadConfig {
    /// If there is room.
    Auto,
    /// Always.
    Always,
    /// Never: they are searched and called on demand.
    OnDemand,
}

impl McpConfig {
    /// Iterates over the enabled servers.
    pub fn used(&self) -> impl Iterator<Item = (&str, &McpServerConfig)> {
        self.servers.iter().filter(|(_, server)| server.enabled).map(|(name, server)| (name.as_str(), server))
    }

    /// Returns a message for every invalid value.
    pub(crate) fn faults(&self) -> Vec<ValueFault> {
        self.servers.iter().flat_map(|(name, server)| server.faults(name)).collect()
    }

    /// Returns the faults of servers that lack a setting, or have settings that exclude each other.
    pub(crate) fn combination_faults(&self) -> Vec<ValueFault> {
        self.servers.iter().flat_map(|(name, server)| server.combination_faults(name)).collect()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_true(value: &bool) -> bool {
    *value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl McpServerConfig {
    fn faults(&self, name: &str) -> Vec<ValueFault> {
        let mut found = Vec::new();
        let key = |key: &str| format!("mcp.servers.{name}.{key}");
        if name.is_empty() || name.len() > MAX_NAME {
            found.push(ValueFault::new("mcp.servers", message!("server-name", name = format!("{name:?}"), longest = MAX_NAME)));
        }
        if self.command.as_ref().is_some_and(|command| command.trim().is_empty()) {
            found.push(ValueFault::new(key("command"), message!("program-empty", key = key("command"))));
        }
        if self.url.as_ref().is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
            found.push(ValueFault::new(key("url"), message!("url-scheme", key = key("url"))));
        }
        // No other source can take a setting back, so these settings of one source exclude each other whatever the other sources say.
        found.extend(self.exclusions(name));
        for (wrong, seconds) in [
            ("start_timeout_seconds", self.start_timeout_seconds),
            ("call_timeout_seconds", self.call_timeout_seconds),
            ("max_call_seconds", self.max_call_seconds),
        ] {
            if !(1..=MAX_TIMEOUT_SECONDS).contains(&seconds) {
                found.push(ValueFault::value(key(wrong), seconds, range(1, MAX_TIMEOUT_SECONDS)));
            }
        }
        found.extend(self.network.fault(&key("network")));
        found
    }

    fn combination_faults(&self, name: &str) -> Vec<ValueFault> {
        let section = format!("mcp.servers.{name}");
        let mut found = self.exclusions(name);
        if self.command.is_none() && self.url.is_none() {
            found.push(ValueFault::new(section.clone(), message!("server-neither", section)));
        }
        if self.client_secret_env.is_some() && self.client_id.is_none() {
            let (key, other) = (format!("{section}.client_secret_env"), format!("{section}.client_id"));
            found.push(ValueFault::new(key.clone(), message!("server-client", key, other)));
        }
        found
    }

    /// Returns the faults of settings that exclude each other.
    fn exclusions(&self, name: &str) -> Vec<ValueFault> {
        let section = format!("mcp.servers.{name}");
        let key = |key: &str| format!("{section}.{key}");
        let conflicts = |other: &str| OtherKey::Conflicts(key(other));
        let mut found = Vec::new();
        if self.command.is_some() && self.url.is_some() {
            let message = message!("server-both", section = section);
            found.push(ValueFault::new(key("url"), message).against(conflicts("command")));
        }
        let of_the_other = [
            ("url", "args", !self.args.is_empty()),
            ("url", "env", !self.env.is_empty()),
            ("url", "env_vars", !self.env_vars.is_empty()),
            ("url", "confined", !self.confined),
            ("url", "network", !self.network.is_none()),
            ("url", "read", !self.read.is_empty()),
            ("url", "write", !self.write.is_empty()),
            ("command", "bearer_token_env", self.bearer_token_env.is_some()),
            ("command", "client_id", self.client_id.is_some()),
            ("command", "client_secret_env", self.client_secret_env.is_some()),
            ("command", "headers", !self.headers.is_empty()),
        ];
        for (other, wrong, is_set) in of_the_other {
            let has_other = if other == "url" { self.url.is_some() } else { self.command.is_some() };
            if has_other && is_set {
                let message = match other {
                    "url" => message!("server-of-command", key = key(wrong)),
                    _ => message!("server-of-url", key = key(wrong)),
                };
                found.push(ValueFault::new(key(wrong), message).against(conflicts(other)));
            }
        }
        if self.client_id.is_some() && self.bearer_token_env.is_some() {
            let message = message!("server-token", key = key("client_id"), other = key("bearer_token_env"));
            found.push(ValueFault::new(key("client_id"), message).against(conflicts("bearer_token_env")));
        }
        found
    }
}
