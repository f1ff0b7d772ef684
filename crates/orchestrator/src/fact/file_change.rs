//! Changes of files, which the run tells as notes.

use aime_progress::ProgressEvent;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a file tool did to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The task, if it was for one.
    pub task: Option<String>,
    /// The tool.
    pub tool: String,
    /// Relative to the working folder; what is no UTF-8 in it is replaced.
    pub path: String,
    /// `created`, `changed`, `deleted`; of what runs later and nobody approved `put_back`, or `not_put_back` where that failed.
    pub did: String,
    /// Lines that came.
    pub added: usize,
    /// Lines that went.
    pub removed: usize,
    /// A unified diff of its first 30 lines; empty where it is no text.
    pub diff: String,
}

impl FileChange {
    /// The topic of the note that tells of one.
    pub const TOPIC: &str = "file_changed";

    /// The event that tells of it: a note.
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

    /// Reads one from the event that tells of it.
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
