//! Recorded state of a path.

use std::path::PathBuf;

use aime_messages::{Describe, Message, message};
use serde::{Deserialize, Serialize};

/// State of a path. Equal entries have the same content and mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// A file with recorded content.
    File {
        /// Permission bits: 12 bits of the mode.
        mode: u32,
        /// Size in bytes.
        size: u64,
        /// BLAKE3 hash of the content.
        hash: String,
    },
    /// A folder.
    Folder {
        /// Permission bits: 12 bits of the mode.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Target, as it is written.
        #[serde(with = "crate::name")]
        target: PathBuf,
    },
    /// An entry without recorded content: its creation and removal are noticed, but it cannot be restored.
    NotKept {
        /// Reason why the content is not recorded.
        why: UnrecordedReason,
        /// Size in bytes, for a file.
        size: u64,
        /// Modification time of a file, in nanoseconds since the Unix epoch.
        modified: i64,
    },
}

impl Entry {
    /// Returns the reason why the content is not recorded, if so.
    #[must_use]
    pub const fn not_kept(&self) -> Option<UnrecordedReason> {
        match self {
            Self::NotKept { why, .. } => Some(*why),
            _ => None,
        }
    }

    pub(crate) const fn is_folder(&self) -> bool {
        matches!(self, Self::Folder { .. })
    }

    /// Returns the BLAKE3 hash of the content, for a file with recorded content.
    #[must_use]
    pub fn hash(&self) -> Option<&str> {
        match self {
            Self::File { hash, .. } => Some(hash),
            _ => None,
        }
    }
}

/// Reason why the content of a path is not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnrecordedReason {
    /// The file is larger than [`UndoSettings::max_file_bytes`](crate::UndoSettings::max_file_bytes).
    TooLarge,
    /// The folder is larger than [`UndoSettings::max_folder_bytes`](crate::UndoSettings::max_folder_bytes), or has too many files.
    NoRoom,
    /// The folder belongs to a version control system.
    Repository,
    /// The content can be regenerated, as a marker file (`CACHEDIR.TAG`) or the name (`node_modules`) shows.
    Cache,
    /// The entry is a device, a pipe or a socket.
    Special,
    /// The entry is on another file system.
    Mount,
    /// The entry cannot be read.
    Unreadable,
}

impl Describe for UnrecordedReason {
    fn describe(&self) -> Message {
        match self {
            Self::TooLarge => message!("kept-too-large"),
            Self::NoRoom => message!("kept-no-room"),
            Self::Repository => message!("kept-repository"),
            Self::Cache => message!("kept-cache"),
            Self::Special => message!("kept-special"),
            Self::Mount => message!("kept-mount"),
            Self::Unreadable => message!("kept-unreadable"),
        }
    }
}

/// Change of one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Path relative to the folder.
    #[serde(with = "crate::name")]
    pub path: PathBuf,
    /// Former state; `None` if the path did not exist.
    pub before: Option<Entry>,
    /// New state; `None` if the path was removed.
    pub after: Option<Entry>,
}

impl Change {
    /// Returns the effect on the path in one word: `delete`, `recreate` or `restore`.
    #[must_use]
    pub const fn effect(&self) -> &'static str {
        match (&self.before, &self.after) {
            (_, None) => "delete",
            (None, _) => "recreate",
            _ => "restore",
        }
    }
}

/// Author of a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Author {
    /// Task; `None` for work on the run as a whole.
    pub task: Option<String>,
    /// Tool, or another cause of the change.
    pub tool: String,
    /// Actor that called the tool, by its name in the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
}

impl Author {
    /// Creates the author for a tool, called for a task or for the run as a whole.
    #[must_use]
    pub fn new(task: Option<&str>, tool: &str) -> Self {
        Self { task: task.map(str::to_owned), tool: tool.to_owned(), actor: None }
    }

    /// Sets the actor that called the tool.
    #[must_use]
    pub fn of_actor(self, actor: Option<&str>) -> Self {
        Self { actor: actor.map(str::to_owned), ..self }
    }
}
