//! Stage: the parts that all simulated runs share.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use aime_durable::{Disk, Fate, Journal};
use aime_orchestrator::{OrchestratorBuilder, actors::ActorFactory};
use aime_sandbox::ConfinedFolder;
use aime_tools::{Surroundings, ToolContext};
use tempfile::TempDir;

use crate::{
    tools::tools,
    world::{World, lock},
};

/// Reason why the stage cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("the stage cannot be set: {0}")]
pub struct StageError(String);

/// Slot for the world of the current run, which tools use.
#[derive(Clone, Default)]
pub(crate) struct Slot(Arc<Mutex<Option<Arc<World>>>>);

impl Slot {
    pub(crate) fn world(&self) -> Option<Arc<World>> {
        lock(&self.0).clone()
    }

    pub(crate) fn set(&self, world: Option<Arc<World>>) {
        *lock(&self.0) = world;
    }
}

/// Plays runs, one after the other. Each thread has its own stage.
pub struct Stage {
    _folder: TempDir,
    pub(crate) builder: OrchestratorBuilder,
    pub(crate) keep: PathBuf,
    pub(crate) slot: Slot,
}

struct Whole;

impl Disk for Whole {
    fn fate(&self) -> Fate {
        Fate::Written
    }
}

impl Stage {
    /// Sets up a stage in a temporary folder.
    ///
    /// # Errors
    /// [`StageError`] if that fails.
    pub fn new() -> Result<Self, StageError> {
        let failed = |error: &dyn std::fmt::Display| StageError(error.to_string());
        let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
        let keep = folder.path().join(".aime");
        std::fs::create_dir_all(&keep).map_err(|error| failed(&error))?;
        // A file in the place of the snapshot folder disables progress snapshots: they are only views, and each would take longer than its
        // run.
        std::fs::write(keep.join("progress"), "").map_err(|error| failed(&error))?;
        let confined = ConfinedFolder::open(folder.path()).map_err(|error| failed(&error))?;
        let journal = Journal::simulated(Arc::new(Whole)).map_err(|error| failed(&error))?;
        // Reading the folder would need a real thread, whose timing does not depend on the seed.
        let context = ToolContext::new(confined, BTreeMap::new()).with_surroundings(Surroundings::default());
        let actors = ActorFactory::builtin().map_err(|error| failed(&error))?;
        let slot = Slot::default();
        let builder = OrchestratorBuilder::new().tool_context(context).journal(journal, &keep).actors(actors);
        Ok(Self { _folder: folder, builder: builder.tools(tools(&slot)).undo(None), keep, slot })
    }
}
