//! Settings of a local model.

use std::path::PathBuf;

/// Settings of a [`LocalModel`](crate::LocalModel). The defaults of temperature, `top_p` and `top_k` are those recommended for the default
/// model.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalModelSettings {
    /// Name in reports.
    pub name: String,
    /// The GGUF file.
    pub file: PathBuf,
    /// Tokens of request and answer together; at most the context that the model was trained for.
    pub context_tokens: u32,
    /// Largest memory for weights and cached keys and values, in bytes; unlimited if absent.
    pub memory_bytes: Option<u64>,
    /// Number of computing threads; the number of cores if absent.
    pub threads: Option<usize>,
    /// Default temperature of requests; 0 always takes the likeliest token.
    pub temperature: f32,
    /// Share of probability that the candidate tokens reach together.
    pub top_p: f32,
    /// Number of the likeliest tokens that are candidates.
    pub top_k: usize,
    /// Penalty for tokens among the last 64: a factor from 1, which means no penalty.
    pub repetition_penalty: f32,
}

impl LocalModelSettings {
    /// Creates settings with this name and file, 16,384 tokens of context and no other limits.
    #[must_use]
    pub fn new(name: impl Into<String>, file: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            file: file.into(),
            context_tokens: 16_384,
            memory_bytes: None,
            threads: None,
            temperature: 0.7,
            top_p: 0.8,
            top_k: 20,
            repetition_penalty: 1.1,
        }
    }
}
