//! What stands at a path, as it is kept.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What stands at a path. Two that are equal cannot be told apart by their content and mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// A file whose content is kept.
    File {
        /// Who may do what with it: 12 bits.
        mode: u32,
        /// Its size in bytes.
        size: u64,
        /// The BLAKE3 hash of its content.
        hash: String,
    },
    /// A folder.
    Folder {
        /// Who may do what with it: 12 bits.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it points, as it is written.
        #[serde(with = "crate::name")]
        target: PathBuf,
    },
    /// What is there and not kept: it can be seen to come and go, and not be put back.
    NotKept {
        /// Why it is not.
        why: NotKept,
        /// Its size in bytes, of a file.
        size: u64,
        /// When it was changed, of a file: nanoseconds since the Unix epoch.
        modified: i64,
    },
}

impl Entry {
    /// Why it is not kept, if it is not.
    #[must_use]
    pub const fn not_kept(&self) -> Option<NotKept> {
        match self {
            Self::NotKept { why, .. } => Some(*why),
            _ => None,
        }
    }

    pub(crate) const fn is_folder(&self) -> bool {
        matches!(self, Self::Folder { .. })
    }

    /// The BLAKE3 hash of its content, of a file whose content is kept.
    #[must_use]
    pub fn hash(&self) -> Option<&str> {
        match self {
            Self::File { hash, .. } => Some(hash),
            _ => None,
        }
    }
}

/// Why something is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotKept {
    /// The file is larger than [`UndoSettings::max_file_bytes`](crate::UndoSettings::max_file_bytes).
    TooLarge,
    /// The folder is larger than [`UndoSettings::max_folder_bytes`](crate::UndoSettings::max_folder_bytes), or has too many files.
    NoRoom,
    /// It belongs to a version control system.
    Repository,
    /// It can be made again: it says so itself (`CACHEDIR.TAG`), or its name does (`node_modules`).
    Cache,
    /// It is a device, a pipe or a socket.
    Special,
    /// It lies on another file system.
    Mount,
    /// It may not be read.
    Unreadable,
}

impl NotKept {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::TooLarge => "too large",
            Self::NoRoom => "the folder is too large",
            Self::Repository => "version control",
            Self::Cache => "a cache",
            Self::Special => "a device, a pipe or a socket",
            Self::Mount => "another file system",
            Self::Unreadable => "it may not be read",
        }
    }
}

/// What became of one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Relative to the folder.
    #[serde(with = "crate::name")]
    pub path: PathBuf,
    /// What stood there.
    pub before: Option<Entry>,
    /// What stands there since.
    pub after: Option<Entry>,
}

/// On whose behalf something was changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Author {
    /// The task; none for what is done for the run as a whole.
    pub task: Option<String>,
    /// The tool, or what else did it.
    pub tool: String,
    /// The actor that called the tool, by its name in the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
}

impl Author {
    /// A tool, for a task or for the run as a whole.
    #[must_use]
    pub fn new(task: Option<&str>, tool: &str) -> Self {
        Self { task: task.map(str::to_owned), tool: tool.to_owned(), actor: None }
    }

    /// The same, called by an actor.
    #[must_use]
    pub fn of_actor(self, actor: Option<&str>) -> Self {
        Self { actor: actor.map(str::to_owned), ..self }
    }
}
