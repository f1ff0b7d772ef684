//! The servers of the settings, with what was learnt of them in earlier runs: only what is new is asked, the others start when they are called.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use aime_sandbox::Confinement;
use aime_tools::{McpLoading, McpOffer, McpPlace, McpServerSettings, McpServers, McpSettings, McpTransport, NamePatterns, Tool};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{McpLoadConfig, McpServerConfig},
    error::{ErrorKind, RunsError},
    files::write_whole,
    setup::{Setup, reach},
};

/// The form of the file.
const SCHEMA: &str = "aime.mcp/v1";

/// What was learnt of servers, in `.aime/mcp.json`. It can be deleted: servers are asked again then.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    schema: String,
    servers: BTreeMap<String, KeptServer>,
}

/// One server: what it offered when its settings were these.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct KeptServer {
    settings: McpServerConfig,
    offer: McpOffer,
}

/// The servers of the settings.
pub struct Servers {
    /// The servers.
    pub all: McpServers,
}

impl Servers {
    /// Those that are enabled and have what they need. What is missing is said.
    pub fn of(setup: &Setup) -> Result<Self, RunsError> {
        let mut servers = Vec::new();
        for (name, config) in setup.config.mcp.used() {
            match settings(name, config, setup)? {
                Ok(settings) => servers.push(settings),
                Err(missing) => setup.note(format!("without the MCP server {name}: {missing}")),
            }
        }
        let context = setup.tool_context()?;
        let place = McpPlace { working_folder: setup.folder.clone(), environment: context.environment };
        let known = kept(setup).servers.into_iter().filter(|(name, kept)| setup.config.mcp.servers.get(name) == Some(&kept.settings));
        let known = known.map(|(name, kept)| (name, kept.offer)).collect();
        Ok(Self {
            all: McpServers::new(McpSettings { listed_tools: setup.config.mcp.listed_tools, ..McpSettings::new(servers) }, &place, known),
        })
    }

    /// Asks the servers of which nothing is known. A run goes on without those that cannot tell.
    pub(super) async fn learn(&self, setup: &Setup) {
        for fault in self.all.learn(&CancellationToken::new()).await {
            setup.note(format!("without tools: {}", RunsError::caused(ErrorKind::Usage, fault).with_causes()));
        }
        for (name, offer) in self.all.offers() {
            offer.notes.iter().for_each(|note| setup.note(format!("MCP server {name}: {note}")));
        }
    }

    pub(in crate::setup) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.all.tools()
    }

    pub(in crate::setup) fn every_tool(&self) -> Vec<Arc<dyn Tool>> {
        self.all.every_tool()
    }

    /// Keeps what is known for the next run, where there is a place for it.
    pub fn keep(&self, setup: &Setup) {
        if !setup.keep().is_dir() {
            return;
        }
        let before = kept(setup).servers;
        let mut servers = before.clone();
        servers.retain(|name, _| setup.config.mcp.servers.contains_key(name));
        for (name, mut offer) in self.all.offers() {
            // They are said once.
            offer.notes.clear();
            if let Some(settings) = setup.config.mcp.servers.get(&name) {
                servers.insert(name, KeptServer { settings: settings.clone(), offer });
            }
        }
        if servers == before {
            return;
        }
        let kept = Kept { schema: SCHEMA.to_owned(), servers };
        let written = serde_json::to_string(&kept).map_err(std::io::Error::other);
        if let Err(error) = written.and_then(|text| write_whole(&file(setup), &text, true)) {
            setup.note(format!("what MCP servers offer could not be kept: {error}"));
        }
    }
}

fn file(setup: &Setup) -> PathBuf {
    setup.keep().join("mcp.json")
}

/// What was kept; nothing where there is nothing that can be read.
fn kept(setup: &Setup) -> Kept {
    let text = std::fs::read_to_string(file(setup)).unwrap_or_default();
    serde_json::from_str(&text).ok().filter(|kept: &Kept| kept.schema == SCHEMA).unwrap_or_default()
}

/// The settings of one server, with the secrets that it needs; else what is missing.
fn settings(name: &str, config: &McpServerConfig, setup: &Setup) -> Result<Result<McpServerSettings, String>, RunsError> {
    let variable = |name: &String| setup.environment.text(name).ok_or_else(|| format!("the variable {name} is not set"));
    let patterns = |patterns: &[String]| {
        NamePatterns::new(patterns).map_err(|error| RunsError::caused(ErrorKind::Usage, error).hint(format!("mend mcp.servers.{name}")))
    };
    let transport = match (&config.command, &config.url) {
        (Some(command), _) => {
            let mut environment: BTreeMap<OsString, OsString> =
                config.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
            for name in &config.env_vars {
                match variable(name) {
                    Ok(value) => drop(environment.insert(name.into(), value.into())),
                    Err(missing) => return Ok(Err(missing)),
                }
            }
            let program = setup.environment.expand_home(command.as_ref()).into_os_string();
            let confinement = confinement(name, config, setup);
            McpTransport::Stdio { program, arguments: config.args.iter().map(OsString::from).collect(), environment, confinement }
        }
        (None, url) => {
            let bearer = match config.bearer_token_env.as_ref().map(variable).transpose() {
                Ok(bearer) => bearer.map(SecretString::from),
                Err(missing) => return Ok(Err(missing)),
            };
            let headers = config.headers.iter().map(|(name, value)| (name.clone(), SecretString::from(value.clone())));
            let login = setup.places.state_folder().map(|folder| folder.join("mcp").join(file_name(name)));
            McpTransport::Http { url: url.clone().unwrap_or_default(), bearer, login, headers: headers.collect() }
        }
    };
    Ok(Ok(McpServerSettings {
        start_limit: Duration::from_secs(config.start_timeout_seconds),
        call_limit: Duration::from_secs(config.call_timeout_seconds),
        total_limit: Duration::from_secs(config.max_call_seconds.max(config.call_timeout_seconds)),
        tools: patterns(&config.tools)?,
        read_only: patterns(&config.read_only)?,
        trusted: config.trusted,
        loading: match config.load {
            McpLoadConfig::Auto => McpLoading::Auto,
            McpLoadConfig::Always => McpLoading::Always,
            McpLoadConfig::OnDemand => McpLoading::OnDemand,
        },
        ..McpServerSettings::new(name, transport)
    }))
}

/// The name of the file that keeps the login of a server: what leads elsewhere in a path is spelt out.
fn file_name(server: &str) -> String {
    let plain = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") }
    };
    format!("{}.json", server.bytes().map(plain).collect::<String>())
}

/// What confines the program of a server: what confines commands, with what its settings allow beside, and a temp folder of its own.
fn confinement(name: &str, config: &McpServerConfig, setup: &Setup) -> Confinement {
    if !config.confined {
        return Confinement::off();
    }
    let expanded = |paths: &[PathBuf]| paths.iter().map(|path| setup.environment.expand_home(path)).collect::<Vec<_>>();
    setup.confinement_with(|settings| {
        settings.read.extend(expanded(&config.read));
        settings.write.extend(expanded(&config.write));
        if !config.network.is_none() {
            settings.network = reach::network(&config.network, &format!("mcp.servers.{name}.network"), setup.launcher());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_stands_in_its_folder_whatever_its_server_is_called() {
        for (server, file) in [("tracker", "tracker.json"), ("../x", "%2e%2e%2fx.json"), ("é b", "%c3%a9%20b.json")] {
            assert_eq!(file_name(server), file);
        }
    }
}
