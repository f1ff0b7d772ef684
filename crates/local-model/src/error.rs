//! Errors of model files.

use std::path::PathBuf;

/// Reason why a model cannot be opened or loaded. Each message names the file and a remedy.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LocalModelError {
    /// The file cannot be opened or read.
    #[error("cannot read the model file {}: {reason}; check the path, or fetch the model again", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Error of the operating system.
        reason: String,
    },
    /// The file has another format.
    #[error("{} is not a GGUF file: {reason}; give a model in GGUF version 2 or 3", .file.display())]
    NotGguf {
        /// The file.
        file: PathBuf,
        /// Description of what was found instead.
        reason: String,
    },
    /// The file ends early or contradicts itself.
    #[error("{} is damaged: {reason}; fetch it again", .file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Description of the damage and its place.
        reason: String,
    },
    /// The file is valid, but this engine cannot run its kind of model.
    #[error("{} cannot be run here: {reason}; {hint}", .file.display())]
    Unsupported {
        /// The file.
        file: PathBuf,
        /// Feature that is unsupported or missing.
        reason: String,
        /// Suggested alternative.
        hint: String,
    },
    /// The weights need more memory than the settings grant.
    #[error(
        "{} needs {needed} bytes of memory, of which {weights} are weights, but only {granted} are granted; grant more, lower the context, or use a smaller model",
        .file.display()
    )]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// Size of the weights, in bytes.
        weights: u64,
        /// Size of the weights and of the keys and values of the smallest useful context, in bytes.
        needed: u64,
        /// Memory that the settings grant, in bytes.
        granted: u64,
    },
    /// The system could not create a thread.
    #[error("cannot start the threads of the model in {}: {reason}; lower the number of threads", .file.display())]
    Threads {
        /// The file.
        file: PathBuf,
        /// Error of the operating system.
        reason: String,
    },
}
