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
pub use knowledge::{Chunk, IndexReport, Knowledge, KnowledgeSettings, SkipReason, Skipped};
pub use memories::{Memory, MemoryKind, Recalled, Remembered, StoredMemory, UnixMillis};
pub use render::{Origin, PromptBounds, Rendering, Shown, render};
pub use store::{MemorySettings, MemoryStore};

#[cfg(test)]
mod tests;
