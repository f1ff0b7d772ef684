//! Origins: sources of texts.

use std::{borrow::Cow, convert::Infallible, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Maximum number of origins that are kept of one text: the first ones, in order.
pub(crate) const MAX_ORIGINS: usize = 16;
/// Maximum number of characters of a name, because the named party may have chosen it.
const MAX_NAME_CHARS: usize = 100;

/// Source of a text: a tool's result, or the texts that it was made from. Written as one line, such as `files` or `web
/// docs.rs`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum Origin {
    /// Files of the working folder, and their names.
    Files,
    /// Output of a command or of code.
    Command,
    /// The web: name of the host.
    Web(String),
    /// An MCP server: its name.
    Server(String),
    /// A person.
    Person,
    /// Another actor.
    Actor,
    /// An external agent, which may have read anything: the name of its profile.
    Agent(String),
    /// Memories of earlier runs.
    Memory,
    /// The folder of documents.
    Knowledge,
    /// Another source: its own word.
    Other(String),
}

impl Origin {
    /// Merges origins, each once, in order, 16 at most.
    pub fn merge<'a>(into: &mut Vec<Self>, origins: impl IntoIterator<Item = &'a Self>) {
        into.extend(origins.into_iter().cloned());
        into.sort();
        into.dedup();
        into.truncate(MAX_ORIGINS);
    }

    /// Formats origins in one line.
    #[must_use]
    pub fn line(origins: &[Self]) -> String {
        origins.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files => f.write_str("files"),
            Self::Command => f.write_str("command"),
            Self::Web(host) => write!(f, "web {}", plain(host)),
            Self::Server(name) => write!(f, "mcp {}", plain(name)),
            Self::Person => f.write_str("person"),
            Self::Actor => f.write_str("actor"),
            Self::Agent(name) => write!(f, "agent {}", plain(name)),
            Self::Memory => f.write_str("memory"),
            Self::Knowledge => f.write_str("knowledge"),
            Self::Other(word) => f.write_str(&plain(word)),
        }
    }
}

/// Returns a name without characters that could end the mark around it.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | ' ')).take(MAX_NAME_CHARS).collect()
}

impl From<String> for Origin {
    fn from(text: String) -> Self {
        let word = text.as_str();
        match word.split_once(' ') {
            Some(("web", host)) => Self::Web(host.to_owned()),
            Some(("mcp", name)) => Self::Server(name.to_owned()),
            Some(("agent", name)) => Self::Agent(name.to_owned()),
            _ => match word {
                "files" => Self::Files,
                "command" => Self::Command,
                "person" => Self::Person,
                "actor" => Self::Actor,
                "memory" => Self::Memory,
                "knowledge" => Self::Knowledge,
                _ => Self::Other(text),
            },
        }
    }
}

impl FromStr for Origin {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::from(text.to_owned()))
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> Self {
        origin.to_string()
    }
}

impl JsonSchema for Origin {
    fn schema_name() -> Cow<'static, str> {
        "Origin".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Where a text comes from: files, command, person, actor, memory, knowledge, `web HOST`, `mcp SERVER` or `agent PROFILE`."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_read_as_it_is_written() {
        let all = [
            (Origin::Files, "files"),
            (Origin::Command, "command"),
            (Origin::Web("docs.rs".into()), "web docs.rs"),
            (Origin::Server("git".into()), "mcp git"),
            (Origin::Agent("helper".into()), "agent helper"),
            (Origin::Person, "person"),
            (Origin::Actor, "actor"),
            (Origin::Memory, "memory"),
            (Origin::Knowledge, "knowledge"),
            (Origin::Other("printer".into()), "printer"),
        ];
        for (origin, text) in all {
            assert_eq!(serde_json::to_value(&origin).unwrap(), text);
            assert_eq!(serde_json::from_value::<Origin>(text.into()).unwrap(), origin);
        }
        assert_eq!(Origin::Web("a]\n[end 1] x".into()).to_string(), "web aend 1 x");
    }

    #[test]
    fn origins_are_kept_once_and_bounded() {
        let mut origins = vec![Origin::Memory];
        Origin::merge(&mut origins, &[Origin::Files, Origin::Memory]);
        assert_eq!(Origin::line(&origins), "files, memory");
        let hosts: Vec<Origin> = (0..40).map(|number| Origin::Web(format!("h{number:02}"))).collect();
        Origin::merge(&mut origins, &hosts);
        assert_eq!(origins.len(), MAX_ORIGINS);
    }
}
