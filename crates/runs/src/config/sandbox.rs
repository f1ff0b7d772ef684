//! Settings of the sandbox for processes.

use std::path::PathBuf;

use aime_sandbox::{Guarantee, ResourceLimits};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

use super::NetworkConfig;

/// How processes are run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxConfig {
    /// `on` confines commands, Python, hooks and MCP servers, or refuses to run them where that cannot be done; `off` lets them do what you may.
    pub mode: SandboxMode,
    /// Files and folders that they may read beside the usual ones. A path is relative to the file that it stands in, `~/` is the home folder.
    pub read: Vec<PathBuf>,
    /// Files and folders that they may write beside the working folder and their temp folder.
    pub write: Vec<PathBuf>,
    /// What of the network they reach: `none`, `all`, or a list of hosts such as `crates.io`, `*.example.org` or `127.0.0.1:9000`.
    pub network: NetworkConfig,
    /// Environment variables that processes see beside the usual ones. Names that look like a secret are never passed on.
    pub environment: Vec<String>,
    /// Processes that one command may run at once.
    pub processes: u64,
    /// Megabytes of memory that one command may use, with all that it starts.
    pub memory_mb: u64,
    /// Megabytes of one file.
    pub file_mb: u64,
    /// Guarantees that are done without where this machine cannot keep them: `files`, `truncation`, `signals`, `system-calls`, `keys`,
    /// `network-namespace`.
    #[serde(deserialize_with = "guarantees")]
    pub go_without: Vec<String>,
}

/// Whether processes are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// Processes are confined.
    On,
    /// Processes may do what the user may.
    Off,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        let limits = ResourceLimits::default();
        Self {
            mode: SandboxMode::On,
            read: Vec::new(),
            write: Vec::new(),
            network: NetworkConfig::None,
            environment: Vec::new(),
            processes: limits.processes,
            memory_mb: limits.memory_bytes >> 20,
            file_mb: limits.file_bytes >> 20,
            go_without: Vec::new(),
        }
    }
}

impl SandboxConfig {
    /// Returns the limits of one command.
    pub fn limits(&self) -> ResourceLimits {
        let bytes = |megabytes: u64| megabytes.saturating_mul(1 << 20);
        ResourceLimits { processes: self.processes, memory_bytes: bytes(self.memory_mb), file_bytes: bytes(self.file_mb) }
    }

    /// Returns the sandbox guarantees that may be missing on this machine. Their names were validated when the settings were read.
    pub fn go_without(&self) -> impl Iterator<Item = Guarantee> {
        self.go_without.iter().filter_map(|name| name.parse().ok())
    }

    /// Returns a message for every invalid value.
    pub(super) fn faults(&self) -> impl Iterator<Item = String> {
        let bounds = [("processes", self.processes, 16), ("memory_mb", self.memory_mb, 64), ("file_mb", self.file_mb, 1)];
        bounds
            .into_iter()
            .filter(|(_, value, least)| value < least)
            .map(|(key, value, least)| format!("sandbox.{key} is {value}: write at least {least}"))
    }
}

fn guarantees<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    names.iter().try_for_each(|name| name.parse::<Guarantee>().map(drop).map_err(Error::custom))?;
    Ok(names)
}
