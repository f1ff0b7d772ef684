//! Whose words a result is, and what an actor that has read others' words does not do without consent.
//!
//! Pure. An actor may obey what it reads. So it is not asked whether a text looks like an instruction: once text that nobody vouches for stands in
//! its prompt, no call of its by which something could get out is made without a person's consent or the user's own word for it.

use aime_hosts::{host_fits, host_of};
use aime_progress::Origin;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Approval, ToolSheet, Touches,
    approval::{Decision, ProposedCall, question},
    permission::Verdict,
    secrets::key_files_named,
};

/// Whose words the results of a tool are, where what it touches does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Source {
    /// Of what the tool touches.
    #[default]
    Touched,
    /// Of one MCP server.
    Server {
        /// Its name.
        name: String,
        /// Whether the user vouches for it.
        trusted: bool,
        /// Whether something can get out by it.
        network: bool,
    },
    /// Of the MCP server that the call names.
    Servers {
        /// Those that the user vouches for.
        trusted: Vec<String>,
        /// Whether these are all there are.
        all: bool,
    },
}

/// What a user vouches for, and what is in reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trust {
    /// The files of the working folder, and its documents, hold nobody's words but the user's.
    pub files: bool,
    /// Commands and code reach the network.
    pub commands_reach_network: bool,
}

/// Whose words the result of a call is; none where they are aime's own.
#[must_use]
pub fn origin_of(sheet: &ToolSheet, parameters: &Map<String, Value>) -> Option<Origin> {
    let text = |name: &str| parameters.get(name).and_then(Value::as_str);
    match (&sheet.source, sheet.touches) {
        _ if sheet.handled_by.is_inside() => match sheet.name() {
            "ask_human" => Some(Origin::Person),
            crate::DELEGATE_TASK => Some(Origin::Actor),
            _ => None,
        },
        (Source::Server { name, .. }, _) => Some(Origin::Server(name.clone())),
        (Source::Servers { .. }, _) => Some(Origin::Server(server_of(parameters).unwrap_or("all").to_owned())),
        (Source::Touched, Touches::Nothing) => None,
        (Source::Touched, Touches::Files) => Some(Origin::Files),
        (Source::Touched, Touches::Processes) => Some(Origin::Command),
        (Source::Touched, Touches::Network) => Some(Origin::Web(text("url").and_then(host_of).unwrap_or_else(|| sheet.name().to_owned()))),
        (Source::Touched, Touches::People) => Some(Origin::Person),
        (Source::Touched, Touches::Anything) => Some(Origin::Other(sheet.name().to_owned())),
    }
}

/// The server that a call names.
fn server_of(parameters: &Map<String, Value>) -> Option<&str> {
    let text = |name: &str| parameters.get(name).and_then(Value::as_str);
    text("server").or_else(|| text("name")?.strip_prefix("mcp__")?.split_once("__").map(|(server, _)| server))
}

impl Trust {
    /// The origin of a call's result, where nobody vouches for it.
    #[must_use]
    pub fn untrusted(&self, sheet: &ToolSheet, parameters: &Map<String, Value>) -> Option<Origin> {
        let vouched = match (&sheet.source, origin_of(sheet, parameters)?) {
            // What another actor has read comes with its result.
            (_, Origin::Person | Origin::Actor) => true,
            (Source::Server { trusted, .. }, _) => *trusted,
            (Source::Servers { trusted, all }, _) => {
                *all || server_of(parameters).is_some_and(|name| trusted.iter().any(|known| known == name))
            }
            (_, Origin::Files) => self.files,
            (_, Origin::Command) => self.files && !self.commands_reach_network,
            _ => false,
        };
        if vouched { None } else { origin_of(sheet, parameters) }
    }

    /// The origins of what tools say of themselves in a request: a server describes its own.
    #[must_use]
    pub fn untrusted_descriptions<'a>(sheets: impl IntoIterator<Item = &'a ToolSheet>) -> Vec<Origin> {
        let of_server = |sheet: &ToolSheet| match &sheet.source {
            Source::Server { name, trusted: false, .. } => Some(Origin::Server(name.clone())),
            _ => None,
        };
        let mut origins = Vec::new();
        Origin::merge(&mut origins, &sheets.into_iter().filter_map(of_server).collect::<Vec<_>>());
        origins
    }

    /// Those origins for which nobody vouches, of texts that stand in a prompt.
    #[must_use]
    pub fn only_untrusted(&self, origins: &[Origin]) -> Vec<Origin> {
        origins.iter().filter(|origin| !(self.files && matches!(origin, Origin::Files | Origin::Knowledge))).cloned().collect()
    }

    /// A decision once more, for a caller in whose prompt stand texts of these origins, for which nobody vouches. What the mode allows may
    /// then need consent. What the user's own settings name (an allowed host, a trusted or read-only tool of a server) does not.
    #[must_use]
    pub(crate) fn beware(&self, decision: Decision, call: ProposedCall<'_>, origins: &[Origin]) -> Decision {
        if origins.is_empty() {
            return decision;
        }
        let rules = call.rules;
        // Others' words may have chosen the path in a call of a plan that a person handed over.
        let later = runs_later(call);
        let Some(risk) = later.clone().or_else(|| self.risk(call.sheet, call.parameters)) else { return decision };
        // A rule that allows the call is the user's word for it.
        if later.is_none() && rules.judge(call.approval, call.sheet.name(), call.parameters) == Verdict::Allowed {
            return decision;
        }
        let read = Origin::line(origins);
        match decision {
            Decision::Deny { .. } => decision,
            Decision::Allow if call.approval == Approval::ReadOnly => Decision::Deny {
                reason: format!("`{}` {risk}, after text from others was read ({read}), and this run is read-only", call.sheet.name()),
            },
            Decision::Allow => {
                let question = question(call.sheet.name(), call.parameters);
                let always = match later {
                    Some(_) => Vec::new(),
                    None => rules.to_remember(call.approval, call.sheet.name(), call.parameters),
                };
                Decision::Ask {
                    question: format!("This call {risk}, and its caller has read text from others ({read}).\n{question}"),
                    always,
                }
            }
            Decision::Ask { question, always } => {
                Decision::Ask { question: format!("Its caller has read text from others ({read}).\n{question}"), always }
            }
        }
    }

    /// By what something could get out in a call, in words; none where it could not, or where the user has named the way.
    fn risk(&self, sheet: &ToolSheet, parameters: &Map<String, Value>) -> Option<String> {
        if sheet.handled_by.is_inside() {
            return None;
        }
        if (sheet.read_only || sheet.touches == Touches::Processes)
            && let Some(file) = key_files_named(parameters).next()
        {
            return Some(format!("reads {file}, which looks like a file of keys or passwords"));
        }
        let server = |name: &str| Some(format!("sends to the MCP server {name}, which is not marked as trusted"));
        match (&sheet.source, sheet.touches) {
            (Source::Server { trusted: true, .. } | Source::Server { network: false, .. }, _) => None,
            (Source::Server { name, .. }, _) => {
                if sheet.read_only {
                    None
                } else {
                    server(name)
                }
            }
            (Source::Servers { .. }, Touches::Nothing) => None,
            (Source::Servers { trusted, all }, _) => match server_of(parameters) {
                Some(name) if trusted.iter().any(|known| known == name) => None,
                _ if *all || sheet.read_only => None,
                name => server(name.unwrap_or("that it names")),
            },
            (Source::Touched, Touches::Network) => match &sheet.hosts {
                Some(hosts) => {
                    let host = parameters.get("url").and_then(Value::as_str).and_then(host_of);
                    let named = host.as_ref().is_some_and(|host| hosts.iter().any(|pattern| host_fits(pattern, host)));
                    (!named)
                        .then(|| format!("reaches {}, which web.allowed_hosts does not name", host.unwrap_or_else(|| "a host".to_owned())))
                }
                // Whoever is asked by such a tool was chosen by the user: a search.
                None if sheet.read_only => None,
                None => Some("reaches the network".to_owned()),
            },
            // It only reads what a command prints that was judged when it began.
            (Source::Touched, Touches::Processes) if sheet.read_only => None,
            (Source::Touched, Touches::Processes) => self.commands_reach_network.then(|| "runs with the network in reach".to_owned()),
            (Source::Touched, Touches::Anything) => Some("may reach the network".to_owned()),
            (Source::Touched, Touches::Nothing | Touches::Files | Touches::People) => None,
        }
    }
}

/// Which protected places a call writes, in words; none in the mode that asks for nothing, and where a rule names them.
fn runs_later(call: ProposedCall<'_>) -> Option<String> {
    if call.approval == Approval::All || call.sheet.read_only || call.sheet.handled_by.is_inside() {
        return None;
    }
    let places = call.rules.protected_writes(call.sheet.name(), call.parameters);
    let first = places.first()?;
    Some(format!("writes {first}, which runs later on its own"))
}

#[cfg(test)]
mod tests;
