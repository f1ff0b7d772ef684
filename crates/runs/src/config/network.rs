//! Setting of the network access of processes.

use std::{borrow::Cow, fmt};

use aime_hosts::HostGrants;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, SeqAccess, Unexpected, Visitor},
};

use super::check::ValueFault;

/// Forms of the setting in errors; [`explain`](super::read::explain) translates them.
pub(super) const WANTED: &str = "\"none\", \"all\", or a list of hosts such as [\"crates.io\", \"*.example.org\"]";

/// Network access of processes: `"none"` or `false`, `"all"` or `true`, or a list of hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum NetworkConfig {
    #[default]
    /// No access.
    None,
    /// Access to every host.
    All,
    /// Access to these hosts; the list is never empty.
    Hosts(Vec<String>),
}

impl NetworkConfig {
    /// Returns true if no host is reachable.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Returns the fault of the first invalid host; `key` is that of the setting.
    pub(super) fn fault(&self, key: &str) -> Option<ValueFault> {
        let Self::Hosts(hosts) = self else { return None };
        HostGrants::read(hosts).err().map(|error| ValueFault::of(key, &error))
    }
}

impl Serialize for NetworkConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_str("none"),
            Self::All => serializer.serialize_str("all"),
            Self::Hosts(hosts) => hosts.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for NetworkConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

/// Deserializes any of the forms.
struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = NetworkConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WANTED)
    }

    fn visit_bool<E: Error>(self, all: bool) -> Result<NetworkConfig, E> {
        Ok(if all { NetworkConfig::All } else { NetworkConfig::None })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<NetworkConfig, E> {
        match text {
            "none" | "false" => Ok(NetworkConfig::None),
            "all" | "true" => Ok(NetworkConfig::All),
            other => Err(E::invalid_value(Unexpected::Str(other), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<NetworkConfig, A::Error> {
        let mut hosts = Vec::<String>::new();
        while let Some(host) = entries.next_element()? {
            hosts.push(host);
        }
        Ok(if hosts.is_empty() { NetworkConfig::None } else { NetworkConfig::Hosts(hosts) })
    }
}

impl JsonSchema for NetworkConfig {
    fn schema_name() -> Cow<'static, str> {
        "NetworkConfig".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What of the network processes reach: nothing, all of it, or the hosts of a list.",
            "anyOf": [
                { "type": "string", "enum": ["none", "all"] },
                { "type": "boolean" },
                { "type": "array", "items": { "type": "string" } },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Result<NetworkConfig, String> {
        serde_json::from_str(value).map_err(|error| error.to_string())
    }

    #[test]
    fn all_forms_are_read_and_written_again() {
        let hosts = NetworkConfig::Hosts(vec!["crates.io".to_owned(), "127.0.0.1:9000".to_owned()]);
        for (text, expected) in [
            ("\"none\"", NetworkConfig::None),
            ("false", NetworkConfig::None),
            ("[]", NetworkConfig::None),
            ("\"all\"", NetworkConfig::All),
            ("true", NetworkConfig::All),
            ("[\"crates.io\", \"127.0.0.1:9000\"]", hosts),
        ] {
            let network = read(text).unwrap();
            assert_eq!(network, expected, "{text}");
            assert_eq!(read(&serde_json::to_string(&network).unwrap()), Ok(expected));
        }
    }

    #[test]
    fn what_is_no_host_is_told() {
        for (text, part) in [("\"crates.io\"", "a list of hosts such as"), ("7", "a list of hosts such as")] {
            let fault = read(text).unwrap_err();
            assert!(fault.contains(part), "{text}: {fault}");
        }
    }
}
