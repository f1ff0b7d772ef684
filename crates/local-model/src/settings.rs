//! What is told to a model in the process.

use std::path::PathBuf;

/// Settings of a [`LocalModel`](crate::LocalModel). Temperature, `top_p` and `top_k` are what the default model's makers advise.
#[derive(Debug, Clone, PartialEq)]
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
    /// How freely tokens are chosen where a request does not say: 0 for always the likeliest.
    pub temperature: f32,
    /// Only the likeliest tokens are chosen that come to this share together.
    pub top_p: f32,
    /// Only so many of the likeliest tokens are chosen from.
    pub top_k: usize,
    /// How much less what was said in the last 64 tokens is liked: a factor from 1, which is no less.
    pub repetition_penalty: f32,
}

impl LocalModelSettings {
    /// A model of this name in this file, with 16,384 tokens of context and no other bounds.
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
