//! Working folders without a permanent content.

use std::{error::Error, fmt::Debug, path::Path, sync::Arc};

use aime_undo::{Recorder, Scope};
use futures::future::BoxFuture;

/// Exclusive access to a folder until it is dropped.
pub type WorkspaceLease = Box<dyn Send>;

/// Reason why earlier changes cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The call that had the folder has ended.
    #[error("the call has ended")]
    Ended,
    /// The changes cannot be loaded.
    #[error(transparent)]
    Failed(Box<dyn Error + Send + Sync>),
}

/// A working folder that moves from host to host. Each effect starts from a state that is put into the folder and
/// returns a new state. The run's earlier changes of files are part of that state and not of the folder.
pub trait TransientWorkspace: Debug + Send + Sync {
    /// Returns the path where the file changes of one effect are recorded for as long as the effect lasts.
    fn recording_folder(&self) -> &Path;

    /// Loads the run's earlier changes into `recorder`, because `scope` of them is to be undone. Nobody else gets
    /// access to the folder until the returned turn is dropped.
    fn load_past_changes(&self, recorder: Arc<Recorder>, scope: Scope) -> BoxFuture<'static, Result<WorkspaceLease, WorkspaceError>>;
}
