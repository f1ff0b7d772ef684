//! Working folders in which nothing stays.

use std::{fmt::Debug, path::Path, sync::Arc};

use aime_undo::{Recorder, Scope};
use futures::future::BoxFuture;

/// That nobody else works in a folder, until it is dropped.
pub type FolderTurn = Box<dyn Send>;

/// A working folder that goes from host to host: each effect begins from a state that was put into it, and hands back another one. What a run did to
/// files before stands in the past of that state, and not in the folder.
pub trait PassingFolder: Debug + Send + Sync {
    /// Where what one effect does to files is kept, for as long as it lasts.
    fn keep(&self) -> &Path;

    /// Brings what the run did before into what is kept there, since `scope` of it is to be undone. Nobody else is let into the folder before what this
    /// gives is dropped.
    fn bring_past(&self, recorder: Arc<Recorder>, scope: Scope) -> BoxFuture<'static, Result<FolderTurn, String>>;
}
