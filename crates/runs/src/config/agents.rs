//! Settings of profiles whose tasks external agents do.

use std::{collections::BTreeMap, path::PathBuf};

use aime_messages::message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    NetworkConfig,
    check::{ValueFault, range},
};

/// Longest time limit, in seconds.
const MAX_TIMEOUT_SECONDS: u64 = 24 * 60 * 60;

/// A profile whose tasks an external agent does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileConfig {
    /// Purpose in one sentence. Planners choose by it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The agent.
    pub agent: AgentConfig,
}

/// A program that speaks the Agent Client Protocol over its standard input and output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentConfig {
    /// Program to start.
    pub command: String,
    /// Arguments of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Names of variables that it inherits from aime's own environment, such as the one that holds its key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Values of environment variables, in addition to the usual ones.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// True if the program is confined to the folder of its task. Otherwise it may do what its user may.
    pub confined: bool,
    /// Network access of the program: `false`, `true` or a list of hosts.
    pub network: NetworkConfig,
    /// Files and folders that it may read in addition to those of commands. A path is relative to the file of this setting, `~/` is
    /// the home folder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<PathBuf>,
    /// Files and folders that it may write in addition to the folder of its task, such as the folder of its sessions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<PathBuf>,
    /// True if it may have aime read and write files. Otherwise it reads and writes them itself, within its confinement.
    pub files: bool,
    /// Time limit for the start of the program and of a session, in seconds.
    pub start_timeout_seconds: u64,
    /// Time limit for its work without any message, in seconds.
    pub silence_timeout_seconds: u64,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            command: String::new(),
            args: Vec::new(),
            env: Vec::new(),
            set: BTreeMap::new(),
            confined: true,
            network: NetworkConfig::None,
            read: Vec::new(),
            write: Vec::new(),
            files: true,
            start_timeout_seconds: 60,
            silence_timeout_seconds: 600,
        }
    }
}

impl ProfileConfig {
    /// Returns the fault of a profile for which no source names a program.
    pub(super) fn combination_fault(&self, name: &str) -> Option<ValueFault> {
        let key = format!("profiles.{name}.agent.command");
        self.agent.command.trim().is_empty().then(|| ValueFault::new(key.clone(), message!("program-empty", key)))
    }

    /// Returns a message for every invalid value.
    pub(super) fn faults(&self, name: &str) -> Vec<ValueFault> {
        let key = |key: &str| format!("profiles.{name}.agent.{key}");
        let mut found = Vec::new();
        for (wrong, seconds) in
            [("start_timeout_seconds", self.agent.start_timeout_seconds), ("silence_timeout_seconds", self.agent.silence_timeout_seconds)]
        {
            if !(1..=MAX_TIMEOUT_SECONDS).contains(&seconds) {
                found.push(ValueFault::value(key(wrong), seconds, range(1, MAX_TIMEOUT_SECONDS)));
            }
        }
        found.extend(self.agent.network.fault(&key("network")));
        found
    }
}
