//! Changes of files, which the run publishes as notes.

use aime_progress_management::ProgressEvent;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A change of a file by a file tool, or by the merge of the private folder of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The task that the tool call was for, if any.
    pub task: Option<String>,
    /// The tool; `join` for a merge.
    pub tool: String,
    /// Path relative to the working folder. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Kind of change: `created`, `changed` or `deleted`. For a change that nobody approved to a file that is executed
    /// later, and for a change that a check made: `put_back`, or `not_put_back` if the file could not be restored.
    pub did: String,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// The first 30 lines of a unified diff; empty for a file that is not text.
    pub diff: String,
}

impl FileChange {
    /// Topic of the note that reports a change.
    pub const TOPIC: &str = "file_changed";

    /// Returns the note that reports the change.
    #[must_use]
    pub fn event(&self) -> ProgressEvent {
        let Self { task, tool, path, did, added, removed, diff } = self;
        let detail = [
            ("task", Value::from(task.clone())),
            ("tool", tool.clone().into()),
            ("path", path.clone().into()),
            ("did", did.clone().into()),
            ("added", (*added).into()),
            ("removed", (*removed).into()),
            ("diff", diff.clone().into()),
        ];
        let detail = detail.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        ProgressEvent::Noted { topic: Self::TOPIC.to_owned(), detail }
    }

    /// Reads a change from the note that reports it.
    #[must_use]
    pub fn from_event(event: &ProgressEvent) -> Option<Self> {
        match event {
            ProgressEvent::Noted { topic, detail } if topic == Self::TOPIC => {
                serde_json::from_value(Value::Object(detail.clone().into_iter().collect())).ok()
            }
            _ => None,
        }
    }
}
