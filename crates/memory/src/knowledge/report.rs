//! Report of an update.

use serde::{Deserialize, Serialize};

/// Result of [`Knowledge::update`](crate::Knowledge::update). Paths are relative to the folder, with `/` between
/// their parts, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexReport {
    /// Documents that were not in the index.
    pub added: Vec<String>,
    /// Documents whose content is another.
    pub changed: Vec<String>,
    /// Documents that were deleted, or are skipped now.
    pub removed: Vec<String>,
    /// Number of documents that did not change.
    pub unchanged: usize,
    /// Files that are no documents, and why.
    pub skipped: Vec<SkippedFile>,
    /// True if there are more files than [`max_files`](crate::KnowledgeSettings::max_files); the excess files are not
    /// in the index.
    pub more: bool,
    /// True if the caller ended the update early.
    pub stopped: bool,
}

/// A file that is not indexed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedFile {
    /// The file; of a name that is not UTF-8, what can be shown of it.
    pub path: String,
    /// Reason why the file was skipped.
    pub reason: SkipReason,
}

/// Reason why a file is not indexed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// A link, which could lead out of the folder.
    Link,
    /// A file that looks like one of keys or passwords.
    Keys,
    /// A file larger than [`max_file_bytes`](crate::KnowledgeSettings::max_file_bytes).
    TooLarge {
        /// Size of the file.
        bytes: u64,
    },
    /// A file with which all documents together would exceed
    /// [`max_total_bytes`](crate::KnowledgeSettings::max_total_bytes).
    NoRoom,
    /// A file with bytes that do not occur in text.
    Binary,
    /// A text in another encoding.
    NotUtf8,
    /// A file whose name is not UTF-8.
    Name,
    /// A file that cannot be read.
    Unreadable {
        /// Error of the operating system.
        error: String,
    },
}

impl std::fmt::Display for SkipReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Link => f.write_str("is a link: put the file itself into the folder"),
            Self::Keys => f.write_str("looks like a file of keys or passwords: these are never indexed"),
            Self::TooLarge { bytes } => write!(f, "is too large ({bytes} bytes): split it, or raise the bound"),
            Self::NoRoom => f.write_str("goes beyond the bytes of all documents: remove others, or raise the bound"),
            Self::Binary => f.write_str("is binary: only text is indexed"),
            Self::NotUtf8 => f.write_str("is not UTF-8: convert it"),
            Self::Name => f.write_str("has a name that is not UTF-8: rename it"),
            Self::Unreadable { error } => write!(f, "cannot be read: {error}"),
        }
    }
}
