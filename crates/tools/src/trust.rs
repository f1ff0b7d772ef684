//! Origins of results, and calls that need consent after an actor has read untrusted text.
//!
//! Pure. An actor may obey any text that it reads, so this module does not try to detect instructions in a text. Once untrusted text is in
//! an actor's prompt, each call that could send data out needs a person's consent or a setting of the user that allows it.

use aime_hosts::{host_fits, host_of};
use aime_progress_management::Origin;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Approval, ToolScope, ToolSpec,
    approval::{PermissionDecision, ProposedCall, question},
    permission::RuleMatch,
    secrets::key_file_read,
};

/// Origin of a tool's results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Source {
    /// Derived from the resources that the tool touches.
    #[default]
    Touched,
    /// One MCP server.
    Server {
        /// Name of the server.
        name: String,
        /// If true, the user trusts the server.
        trusted: bool,
        /// If true, the server can send data out.
        network: bool,
    },
    /// The MCP server that the call names.
    Servers {
        /// Servers that the user trusts.
        trusted: Vec<String>,
        /// If true, the user trusts all servers.
        all: bool,
    },
}

/// Sources that the user trusts, and reach of commands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trust {
    /// If true, the files of the working folder and its documents contain only the user's own text.
    pub files: bool,
    /// If true, commands and code can reach the network.
    pub commands_reach_network: bool,
    /// Names of the credential files in the working folder, as [`credential_files_in`](crate::credential_files_in) returns them. With
    /// `None`, each name that looks like one may be a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential_files: Option<Vec<String>>,
}

/// Returns the origin of a call's result; `None` if aime itself produces it.
#[must_use]
pub fn origin_of(spec: &ToolSpec, parameters: &Map<String, Value>) -> Option<Origin> {
    let text = |name: &str| parameters.get(name).and_then(Value::as_str);
    match (&spec.source, spec.touches) {
        _ if spec.handled_by.is_inside() => match spec.name() {
            "ask_human" => Some(Origin::Person),
            crate::DELEGATE_TASK => Some(Origin::Actor),
            _ => None,
        },
        (Source::Server { name, .. }, _) => Some(Origin::Server(name.clone())),
        (Source::Servers { .. }, _) => Some(Origin::Server(server_of(parameters).unwrap_or("all").to_owned())),
        (Source::Touched, ToolScope::Nothing) => None,
        (Source::Touched, ToolScope::Files) => Some(Origin::Files),
        (Source::Touched, ToolScope::Processes) => Some(Origin::Command),
        (Source::Touched, ToolScope::Network) => Some(Origin::Web(text("url").and_then(host_of).unwrap_or_else(|| spec.name().to_owned()))),
        (Source::Touched, ToolScope::People) => Some(Origin::Person),
        (Source::Touched, ToolScope::Anything) => Some(Origin::Other(spec.name().to_owned())),
    }
}

/// Returns the server that a call names.
fn server_of(parameters: &Map<String, Value>) -> Option<&str> {
    let text = |name: &str| parameters.get(name).and_then(Value::as_str);
    text("server").or_else(|| text("name")?.strip_prefix("mcp__")?.split_once("__").map(|(server, _)| server))
}

impl Trust {
    /// Returns the origin of a call's result if it is untrusted.
    #[must_use]
    pub fn untrusted(&self, spec: &ToolSpec, parameters: &Map<String, Value>) -> Option<Origin> {
        let vouched = match (&spec.source, origin_of(spec, parameters)?) {
            // The result of another actor already carries the origins that it has read.
            (_, Origin::Person | Origin::Actor) => true,
            (Source::Server { trusted, .. }, _) => *trusted,
            (Source::Servers { trusted, all }, _) => {
                *all || server_of(parameters).is_some_and(|name| trusted.iter().any(|known| known == name))
            }
            (_, Origin::Files) => self.files,
            (_, Origin::Command) => self.files && !self.commands_reach_network,
            _ => false,
        };
        if vouched { None } else { origin_of(spec, parameters) }
    }

    /// Returns the origins of the tool descriptions in a request: an MCP server describes its own tools.
    #[must_use]
    pub fn untrusted_descriptions<'a>(specs: impl IntoIterator<Item = &'a ToolSpec>) -> Vec<Origin> {
        let of_server = |spec: &ToolSpec| match &spec.source {
            Source::Server { name, trusted: false, .. } => Some(Origin::Server(name.clone())),
            _ => None,
        };
        let mut origins = Vec::new();
        Origin::merge(&mut origins, &specs.into_iter().filter_map(of_server).collect::<Vec<_>>());
        origins
    }

    /// Returns the untrusted ones among the origins of texts in a prompt.
    #[must_use]
    pub fn only_untrusted(&self, origins: &[Origin]) -> Vec<Origin> {
        origins.iter().filter(|origin| !(self.files && matches!(origin, Origin::Files | Origin::Knowledge))).cloned().collect()
    }

    /// Revises a decision for a caller whose prompt contains untrusted texts of these origins. A call that the mode allows may then need
    /// consent. A call that the user's own settings name (an allowed host, a trusted or read-only tool of a server) does not.
    #[must_use]
    pub(crate) fn apply_trust(&self, decision: PermissionDecision, call: ProposedCall<'_>, origins: &[Origin]) -> PermissionDecision {
        if origins.is_empty() {
            return decision;
        }
        let rules = call.rules;
        // A call of a plan that a person handed over may contain a path chosen by untrusted text.
        let later = runs_later(call);
        let Some(risk) = later.clone().or_else(|| self.risk(call.spec, call.parameters)) else { return decision };
        // A rule that allows the call is the user's own consent.
        if later.is_none() && rules.evaluate(call.approval, call.spec.name(), call.parameters) == RuleMatch::Allowed {
            return decision;
        }
        let read = Origin::line(origins);
        match decision {
            PermissionDecision::Deny { .. } => decision,
            PermissionDecision::Allow if call.approval == Approval::ReadOnly => PermissionDecision::Deny {
                reason: format!("`{}` {risk}, after text from others was read ({read}), and this run is read-only", call.spec.name()),
            },
            PermissionDecision::Allow => {
                let question = question(call.spec.name(), call.parameters);
                let always = match later {
                    Some(_) => Vec::new(),
                    None => rules.to_remember(call.approval, call.spec.name(), call.parameters),
                };
                PermissionDecision::Ask {
                    question: format!("This call {risk}, and its caller has read text from others ({read}).\n{question}"),
                    always,
                }
            }
            PermissionDecision::Ask { question, always } => {
                PermissionDecision::Ask { question: format!("Its caller has read text from others ({read}).\n{question}"), always }
            }
        }
    }

    /// Returns a phrase on the way by which a call could send data out; `None` if it cannot, or if the user has named the way.
    fn risk(&self, spec: &ToolSpec, parameters: &Map<String, Value>) -> Option<String> {
        if spec.handled_by.is_inside() {
            return None;
        }
        if (spec.read_only || spec.touches == ToolScope::Processes)
            && let Some(file) = key_file_read(spec.name(), parameters, self.credential_files.as_deref())
        {
            return Some(format!("reads {file}, which looks like a file of keys or passwords"));
        }
        let server = |name: &str| Some(format!("sends to the MCP server {name}, which is not marked as trusted"));
        match (&spec.source, spec.touches) {
            (Source::Server { trusted: true, .. } | Source::Server { network: false, .. }, _) => None,
            (Source::Server { name, .. }, _) => {
                if spec.read_only {
                    None
                } else {
                    server(name)
                }
            }
            (Source::Servers { .. }, ToolScope::Nothing) => None,
            (Source::Servers { trusted, all }, _) => match server_of(parameters) {
                Some(name) if trusted.iter().any(|known| known == name) => None,
                _ if *all || spec.read_only => None,
                name => server(name.unwrap_or("that it names")),
            },
            (Source::Touched, ToolScope::Network) => match &spec.hosts {
                Some(hosts) => {
                    let host = parameters.get("url").and_then(Value::as_str).and_then(host_of);
                    let named = host.as_ref().is_some_and(|host| hosts.iter().any(|pattern| host_fits(pattern, host)));
                    (!named)
                        .then(|| format!("reaches {}, which web.allowed_hosts does not name", host.unwrap_or_else(|| "a host".to_owned())))
                }
                // Such a tool only contacts a service that the user configured, as a search does.
                None if spec.read_only => None,
                None => Some("reaches the network".to_owned()),
            },
            // It only reads the output of a command that was decided on when it began.
            (Source::Touched, ToolScope::Processes) if spec.read_only => None,
            (Source::Touched, ToolScope::Processes) => self.commands_reach_network.then(|| "runs with the network in reach".to_owned()),
            (Source::Touched, ToolScope::Anything) => Some("may reach the network".to_owned()),
            (Source::Touched, ToolScope::Nothing | ToolScope::Files | ToolScope::People) => None,
        }
    }
}

/// Returns a phrase on the protected places that a call writes; `None` in mode `all`, and if a rule names them.
fn runs_later(call: ProposedCall<'_>) -> Option<String> {
    if call.approval == Approval::All || call.spec.read_only || call.spec.handled_by.is_inside() {
        return None;
    }
    let places = call.rules.protected_writes(call.spec.name(), call.parameters);
    let first = places.first()?;
    Some(format!("writes {first}, which runs later on its own"))
}

#[cfg(test)]
mod tests;
