//! Settings of the sandbox for processes.

use std::path::PathBuf;

use aime_messages::message;
use aime_sandbox::{Guarantee, ResourceLimits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    NetworkConfig,
    check::{ValueFault, least},
};

/// Settings for the confinement of processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxConfig {
    /// Confinement: `on` confines commands, Python, hooks and MCP servers, or refuses to run them if that is impossible; `off` gives
    /// them the rights of the user.
    pub mode: SandboxMode,
    /// Files and folders that processes may read in addition to the usual ones. A path is relative to the file of this setting, `~/`
    /// is the home folder.
    pub read: Vec<PathBuf>,
    /// Files and folders that processes may write, in addition to the working folder and their temp folder.
    pub write: Vec<PathBuf>,
    /// Network access of processes: `none`, `all`, or a list of hosts such as `crates.io`, `*.example.org` or `127.0.0.1:9000`.
    pub network: NetworkConfig,
    /// Environment variables that processes see in addition to the usual ones. Names that look like a secret are never passed on.
    pub environment: Vec<String>,
    /// Maximum number of processes that one command may run at once.
    pub processes: u64,
    /// Maximum memory of one command with its children, in megabytes.
    pub memory_mb: u64,
    /// Maximum size of one file, in megabytes.
    pub file_mb: u64,
    /// Guarantees that may be missing on this machine: `files`, `truncation`, `signals`, `system-calls`, `keys`, `network-namespace`.
    pub allow_missing: Vec<String>,
}

/// Confinement of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// Processes are confined.
    On,
    /// Processes have the rights of the user.
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
            allow_missing: Vec::new(),
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
    pub fn allow_missing(&self) -> impl Iterator<Item = Guarantee> {
        self.allow_missing.iter().filter_map(|name| name.parse().ok())
    }

    /// Returns a message for every invalid value.
    pub(super) fn faults(&self) -> impl Iterator<Item = ValueFault> {
        let bounds = [("processes", self.processes, 16), ("memory_mb", self.memory_mb, 64), ("file_mb", self.file_mb, 1)];
        bounds
            .into_iter()
            .filter(|(_, value, least)| value < least)
            .map(|(key, value, limit)| ValueFault::value(format!("sandbox.{key}"), value, least(limit)))
            .chain(self.network.fault("sandbox.network"))
            .chain(self.allow_missing.iter().filter(|name| name.parse::<Guarantee>().is_err()).map(|name| {
                let names = Guarantee::ALL.map(Guarantee::name).join(", ");
                ValueFault::value("sandbox.allow_missing", format!("{name:?}"), message!("wanted-one", names))
            }))
    }
}
