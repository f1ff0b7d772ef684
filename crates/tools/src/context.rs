//! What a tool call is given beside its parameters.

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

/// Where and under whose control a call runs.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The working folder, absolute.
    pub working_folder: PathBuf,
    /// Cancelled when the call is no longer wanted.
    pub cancel: CancellationToken,
}
