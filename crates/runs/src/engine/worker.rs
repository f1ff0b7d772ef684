//! A worker of an engine.

use std::{collections::BTreeSet, sync::Arc};

use aime_messages::message;
use aime_orchestrator::NoHuman;
use aime_temporal::{Capability, Side, WorkerResources, work};

use super::{EngineOptions, access, files::trees};
use crate::{
    ErrorKind, RunsError, Setup,
    models::{self, Choice, NamedModel},
};

/// Worker that serves an engine with the models and tools of a folder.
pub struct EngineWorker<'a> {
    options: &'a EngineOptions,
    setup: &'a Setup,
    choice: Option<Choice>,
    serves: BTreeSet<Capability>,
}

impl<'a> EngineWorker<'a> {
    /// Creates a worker for these capabilities, or for all that it can serve if `wanted` is empty.
    pub fn new(
        options: &'a EngineOptions,
        wanted: &[Capability],
        model: Option<NamedModel<'_>>,
        setup: &'a Setup,
    ) -> Result<Self, RunsError> {
        let choice = models::choose(&setup.config, &setup.environment, model)?;
        if choice.is_none() && wanted.contains(&Capability::Llm) {
            return Err(models::none_configured());
        }
        let mut serves: BTreeSet<Capability> = if wanted.is_empty() { Capability::ALL.into() } else { wanted.iter().copied().collect() };
        if choice.is_none() {
            // Workers that have a model must get these requests.
            serves.remove(&Capability::Llm);
        }
        Ok(Self { options, setup, choice, serves })
    }

    /// Returns the models that it uses.
    pub fn model(&self) -> Option<&Choice> {
        let asks = self.serves.contains(&Capability::Llm) || self.serves.contains(&Capability::Planner);
        self.choice.as_ref().filter(|_| asks)
    }

    /// Serves the engine until `stop` is ready.
    pub async fn run(&self, stop: impl Future<Output = ()>) -> Result<(), RunsError> {
        // Only planners, which give actors the tools of MCP servers, and workers that call them start the servers.
        if self.serves.contains(&Capability::Planner) || self.serves.contains(&Capability::Mcp) {
            self.setup.with_servers(self.serve(stop)).await
        } else {
            self.serve(stop).await
        }
    }

    async fn serve(&self, stop: impl Future<Output = ()>) -> Result<(), RunsError> {
        let Self { options, setup, serves, .. } = self;
        let resources = if serves.iter().all(|capability| *capability == Capability::Runs) {
            None
        } else {
            let models = match self.model() {
                Some(choice) => Some(models::ready(choice, setup).await?),
                None => None,
            };
            let orchestrator = setup.orchestrator(models, Arc::new(NoHuman))?;
            let trees = if options.git_handoff { Some(trees(Side::Worker, options, setup).await?) } else { None };
            Some(WorkerResources { orchestrator, trees })
        };
        let client = access::client(options, setup).await?;
        let words: Vec<&str> = serves.iter().map(|capability| capability.word()).collect();
        setup.note(message!("engine-serves", what = words.join(", "), folder = setup.folder.display()));
        work(client, resources, serves, &options.queues, stop).await.map_err(|error| RunsError::described(ErrorKind::Usage, error))
    }
}
