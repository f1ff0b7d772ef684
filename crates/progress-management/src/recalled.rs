//! Recalled items: memories of earlier runs and pieces of documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Source of a recalled item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecalledFrom {
    /// Long-term memory.
    Memory,
    /// A document in the knowledge folder.
    Document,
}

/// An item recalled from memory or from a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecalledItem {
    /// Source of the item.
    pub from: RecalledFrom,
    /// Name of the memory, or path of the document in the knowledge folder.
    pub name: String,
    /// First line in the document, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Goal or subject of the memory, or the headings above the passage of the document.
    pub title: String,
    /// True if the end of the item was cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}
