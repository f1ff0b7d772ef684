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
    /// Documents that are gone, or are skipped now.
    pub removed: Vec<String>,
    /// Number of documents that did not change.
    pub unchanged: usize,
    /// Files that are no documents, and why.
    pub skipped: Vec<Skipped>,
    /// True if there are more files than [`max_files`](crate::KnowledgeSettings::max_files); the excess files are not
    /// in the index.
    pub more: bool,
    /// True if the caller ended the update early.
    pub stopped: bool,
}

/// A file that is not indexed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
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
    /// It is a link: it could lead out of the folder.
    Link,
    /// It looks like a file of keys or passwords.
    Keys,
    /// It is larger than [`max_file_bytes`](crate::KnowledgeSettings::max_file_bytes).
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// With it, all documents together would be larger than [`max_total_bytes`](crate::KnowledgeSettings::max_total_bytes).
    NoRoom,
    /// It has bytes that no text has.
    Binary,
    /// It is text in another encoding.
    NotUtf8,
    /// Its name is not UTF-8.
    Name,
    /// It cannot be read.
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
