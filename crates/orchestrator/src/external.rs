//! Interface to external agents, which do tasks in the place of actors.

use std::path::PathBuf;

use aime_actor_factory::ActorSpec;
use aime_llm::ModelStack;
use aime_tools::ToolContext;

/// Place and rights of a task that an external agent does.
pub struct AgentOrder<'a> {
    /// The actor that the agent acts for. Its profile names the agent.
    pub spec: &'a ActorSpec,
    /// Context of the actor's tool calls, in the folder of the task.
    pub context: &'a ToolContext,
    /// Paths outside of the folder that a private folder needs.
    pub reads: &'a [PathBuf],
    /// True if a person can answer questions.
    pub attended: bool,
}

/// Makes the external agents of profiles.
pub trait ExternalAgents: Send + Sync {
    /// Returns the agent for a task: a model whose answers are the calls that the agent needs. Its process starts with the first request
    /// and ends when the model is dropped. Returns `None` if no agent has the name of the profile.
    fn agent(&self, order: AgentOrder<'_>) -> Option<ModelStack>;
}
