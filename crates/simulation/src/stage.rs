//! Where runs are played: what is made once for all of them.

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

/// Why there is no stage.
#[derive(Debug, thiserror::Error)]
#[error("the stage cannot be set: {0}")]
pub struct StageError(String);

/// The world that tools meet now.
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

/// Plays runs, one after the other. Each thread that plays has its own.
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
    /// Sets a stage in a temporary folder.
    ///
    /// # Errors
    /// [`StageError`] where there can be none.
    pub fn new() -> Result<Self, StageError> {
        let failed = |error: &dyn std::fmt::Display| StageError(error.to_string());
        let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
        let keep = folder.path().join(".aime");
        std::fs::create_dir_all(&keep).map_err(|error| failed(&error))?;
        // A file where the folder of snapshots should be: they are views, and each would cost more time than its run.
        std::fs::write(keep.join("progress"), "").map_err(|error| failed(&error))?;
        let confined = ConfinedFolder::open(folder.path()).map_err(|error| failed(&error))?;
        let journal = Journal::simulated(Arc::new(Whole)).map_err(|error| failed(&error))?;
        // Reading the folder takes a thread of the machine's, whose time no seed decides.
        let context = ToolContext::new(confined, BTreeMap::new()).with_surroundings(Surroundings::default());
        let actors = ActorFactory::builtin().map_err(|error| failed(&error))?;
        let slot = Slot::default();
        let builder = OrchestratorBuilder::new().tool_context(context).journal(journal, &keep).actors(actors);
        Ok(Self { _folder: folder, builder: builder.tools(tools(&slot)).undo(None), keep, slot })
    }
}
