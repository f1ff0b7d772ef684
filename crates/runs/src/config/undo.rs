//! Settings of the undo record of files that runs change.

use aime_undo::UndoSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much is kept of what runs do to files, for `aime runs undo`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UndoConfig {
    /// Whether it is kept.
    pub enabled: bool,
    /// Megabytes of the largest file that is.
    pub file_mb: u64,
    /// Megabytes of a working folder that are.
    pub folder_mb: u64,
    /// Megabytes that all runs in a folder keep; the oldest give way.
    pub store_mb: u64,
    /// Megabytes that must stay free on the disk.
    pub free_mb: u64,
}

/// Bytes per megabyte.
const MB: u64 = 1_000_000;

impl Default for UndoConfig {
    fn default() -> Self {
        let UndoSettings { max_file_bytes, max_folder_bytes, max_store_bytes, reserve_bytes, .. } = UndoSettings::default();
        Self {
            enabled: true,
            file_mb: max_file_bytes / MB,
            folder_mb: max_folder_bytes / MB,
            store_mb: max_store_bytes / MB,
            free_mb: reserve_bytes / MB,
        }
    }
}

impl UndoConfig {
    /// Converts to the settings of the recorder.
    pub fn settings(&self) -> UndoSettings {
        UndoSettings {
            max_file_bytes: self.file_mb.saturating_mul(MB),
            max_folder_bytes: self.folder_mb.saturating_mul(MB),
            max_store_bytes: self.store_mb.saturating_mul(MB),
            reserve_bytes: self.free_mb.saturating_mul(MB),
            ..UndoSettings::default()
        }
    }
}
