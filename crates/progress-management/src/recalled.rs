//! Recalled items: memories of earlier runs and pieces of documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where something that was recalled is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecalledFrom {
    /// Long-term memory.
    Memory,
    /// A document of the knowledge folder.
    Document,
}

/// Something that was recalled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecalledItem {
    /// Where it is from.
    pub from: RecalledFrom,
    /// The name of the memory, or the path of the document in the knowledge folder.
    pub name: String,
    /// The first line in the document, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The goal or subject of the memory, or the headings above the piece of the document.
    pub title: String,
    /// Whether its end is missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}
