//! What is told to a model in the process.

use std::path::PathBuf;

/// Settings of a model in the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalModelSettings {
    /// The name under which it is reported.
    pub name: String,
    /// The GGUF file.
    pub file: PathBuf,
    /// Tokens of request and answer together; at most what the model was trained for.
    pub context_tokens: u32,
    /// The most bytes that weights and kept keys and values may take together; without it, what is there.
    pub memory_bytes: Option<u64>,
    /// Threads that compute; without it, as many as there are cores.
    pub threads: Option<usize>,
}

impl LocalModelSettings {
    /// A model of this name in this file, with 16,384 tokens of context and no other bounds.
    #[must_use]
    pub fn new(name: impl Into<String>, file: impl Into<PathBuf>) -> Self {
        Self { name: name.into(), file: file.into(), context_tokens: 16_384, memory_bytes: None, threads: None }
    }
}
