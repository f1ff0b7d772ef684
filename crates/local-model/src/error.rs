//! Why a model file cannot be used.

use std::path::PathBuf;

/// Why a model in the process cannot be opened or loaded. Each text names the file and the mend.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LocalModelError {
    /// The file cannot be opened or read.
    #[error("cannot read the model file {}: {reason}; check the path, or fetch the model again", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The file is something else.
    #[error("{} is not a GGUF file: {reason}; give a model in GGUF version 2 or 3", .file.display())]
    NotGguf {
        /// The file.
        file: PathBuf,
        /// What was found instead.
        reason: String,
    },
    /// The file ends early or contradicts itself.
    #[error("{} is damaged: {reason}; fetch it again", .file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
    /// A sound file of a kind that this engine cannot run.
    #[error("{} cannot be run here: {reason}; {mend}", .file.display())]
    Unsupported {
        /// The file.
        file: PathBuf,
        /// What it has or lacks.
        reason: String,
        /// What would do instead.
        mend: String,
    },
    /// The weights are larger than the memory that was granted.
    #[error(
        "{} needs {needed} bytes of memory, of which {weights} are weights, but only {granted} are granted; grant more, lower the context, or use a smaller model",
        .file.display()
    )]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// Bytes of weights.
        weights: u64,
        /// Bytes of weights and of the keys and values of a smallest useful context.
        needed: u64,
        /// Bytes granted in the settings.
        granted: u64,
    },
    /// The system gave no thread.
    #[error("cannot start the threads of the model in {}: {reason}; lower the number of threads", .file.display())]
    Threads {
        /// The file.
        file: PathBuf,
        /// What the system said.
        reason: String,
    },
}
