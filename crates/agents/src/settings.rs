//! Settings of an external agent, and the place that it works in.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use aime_llm::ModelLimits;
use aime_sandbox::Confinement;
use aime_tools::{Approval, PermissionRules, ToolContext, ToolSpec, builtin};

/// Time limits of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLimits {
    /// Longest time from the start of the program to its session.
    pub start: Duration,
    /// Longest time without any message of the agent while it works.
    pub silence: Duration,
}

impl Default for AgentLimits {
    /// Returns 60 seconds for the start and 10 minutes of silence.
    fn default() -> Self {
        Self { start: Duration::from_secs(60), silence: Duration::from_secs(600) }
    }
}

/// Program that speaks the Agent Client Protocol over its standard input and output.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// Name of its profile.
    pub name: String,
    /// Program to start.
    pub program: OsString,
    /// Arguments of the program.
    pub arguments: Vec<OsString>,
    /// Environment variables in addition to those of commands.
    pub environment: BTreeMap<OsString, OsString>,
    /// Sandbox of the program, for the working folder. It is moved to the folder of the task.
    pub confinement: Confinement,
    /// True if it is offered the file methods of the protocol. Otherwise it reads and writes files itself, within its sandbox.
    pub files: bool,
    /// Time limits.
    pub limits: AgentLimits,
}

impl AgentSettings {
    /// Returns the settings of a program with this sandbox.
    #[must_use]
    pub fn new(name: impl Into<String>, program: impl Into<OsString>, confinement: Confinement) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            confinement,
            files: true,
            limits: AgentLimits::default(),
        }
    }
}

/// Place and rights of one task.
#[derive(Debug, Clone)]
pub struct AgentWork {
    /// Context of the actor's tool calls. Its folder is the folder of the session.
    pub context: ToolContext,
    /// Paths outside of the folder that the program may read, such as the objects of a clone.
    pub reads: Vec<PathBuf>,
    /// Approval mode.
    pub approval: Approval,
    /// Permission rules.
    pub rules: PermissionRules,
    /// Tools of the actor.
    pub tools: Vec<Arc<ToolSpec>>,
    /// True if a person can answer questions.
    pub attended: bool,
}

impl AgentWork {
    /// Returns a place with the built-in tools and the rules of `context`, where nobody can be asked.
    #[must_use]
    pub fn new(context: &ToolContext, approval: Approval) -> Self {
        let registry = builtin();
        let tools = registry.names().filter_map(|name| Some(Arc::clone(registry.get(name)?.spec()))).collect();
        Self { context: context.clone(), reads: Vec::new(), approval, rules: context.rules.as_ref().clone(), tools, attended: false }
    }

    /// Returns the spec of a tool of the actor.
    pub(crate) fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().map(AsRef::as_ref).find(|spec| spec.name() == name)
    }
}

/// Returns the limits of an external agent as an actor's model. It keeps its own history, so aime never compacts it.
#[must_use]
pub const fn agent_limits() -> ModelLimits {
    ModelLimits { context_tokens: 1_000_000, max_output_tokens: 1_000, small: false }
}
