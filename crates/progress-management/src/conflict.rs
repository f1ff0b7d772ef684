//! Conflicts of merges: changes of tasks that others' changes have kept out of the working folder.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TaskId;

/// Kind of a merge conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// Both sides changed the same lines.
    Text,
    /// Both sides changed a file that cannot be merged line by line.
    Binary,
    /// At least one side has a symbolic link.
    Symlink,
    /// One side deleted what the other changed.
    DeleteEdit,
    /// One side has a file where the other has a folder, or the sides moved a file to different paths.
    Place,
}

impl ConflictKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Text, Self::Binary, Self::Symlink, Self::DeleteEdit, Self::Place];

    /// Returns the name of the kind, as documents write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Binary => "binary",
            Self::Symlink => "symlink",
            Self::DeleteEdit => "delete_edit",
            Self::Place => "place",
        }
    }
}

/// A path where the changes of a task conflict with those that others made meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MergeConflict {
    /// Task whose changes came second.
    pub task: TaskId,
    /// Path of the file, relative to the working folder.
    pub path: String,
    /// Kind of the conflict.
    pub kind: ConflictKind,
    /// Path of the task's own version, relative to the working folder; absent if the task deleted the file, or if the version is not needed
    /// any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// True if the task's actor resolved the conflict, so that the working folder contains the resolution. If false, the working folder
    /// contains the version of the others.
    #[serde(default)]
    pub resolved: bool,
}
