//! Changes of files, as events report them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TaskId;

/// Kind of a change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    /// The file was created.
    Created,
    /// The file was changed.
    Changed,
    /// The file was deleted.
    Deleted,
    /// A change was put back: one that nobody approved to a file that is executed later, or one that a check made.
    PutBack,
    /// Such a change could not be put back.
    NotPutBack,
    /// Too many paths are to be watched, so changes of files that are executed later may be missed at this path or below it.
    NotWatched,
}

impl FileChangeKind {
    /// Returns the name of the kind, as documents write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Deleted => "deleted",
            Self::PutBack => "put_back",
            Self::NotPutBack => "not_put_back",
            Self::NotWatched => "not_watched",
        }
    }
}

/// A change of a file by a tool, by a check, or by the merge of the private folder of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct FileChange {
    /// Task of the change, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The tool; `merge` for a merge, `check` for a check.
    pub tool: String,
    /// Path relative to the working folder. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Kind of change.
    pub did: FileChangeKind,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// The first 30 lines of a unified diff; empty for a file that is not text.
    pub diff: String,
}
