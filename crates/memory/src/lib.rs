#![doc = include_str!("../README.md")]

mod chunk;
mod error;
mod excerpt;
mod knowledge;
mod memories;
mod rank;
mod render;
mod schema;
mod store;
mod tokenizer;
mod tokens;

pub use error::MemoryError;
pub use knowledge::{Chunk, IndexReport, Knowledge, KnowledgeSettings, SkipReason, SkippedFile};
pub use memories::{Memory, MemoryKind, RecalledMemory, RememberResult, StoredMemory, UnixMillis};
pub use render::{Origin, PromptBounds, RenderedMemories, Rendering, render};
pub use store::{MemorySettings, MemoryStore};

#[cfg(test)]
mod tests;
