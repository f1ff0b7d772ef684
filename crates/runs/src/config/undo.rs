//! Settings of the undo record of files that runs change.

use aime_undo::UndoSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits on the data that is kept about changes of files, for `aime runs undo`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UndoConfig {
    /// True if the data is kept.
    pub enabled: bool,
    /// Maximum size of a file that is kept, in megabytes.
    pub file_mb: u64,
    /// Maximum size of a working folder that is kept, in megabytes.
    pub folder_mb: u64,
    /// Maximum data of all runs in a folder, in megabytes; the oldest is removed first.
    pub store_mb: u64,
    /// Minimum free space on the disk, in megabytes.
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
