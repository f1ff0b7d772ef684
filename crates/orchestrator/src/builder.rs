//! Builder of an orchestrator. It takes everything that touches the outside world.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use aime_actor_factory::{ActorFactory, ActorPromptError};
use aime_durable::{Clock, Journal, JournalError, SystemClock};
use aime_dynamic_planner::{Category, PlanValidator, PlannerSettings, Prompts, RouteSettings, default_categories};
use aime_llm::Tiers;
use aime_redact::Redactor;
use aime_sandbox::FileError;
use aime_tools::{Tool, ToolContext, ToolRegistry, builtin};
use aime_undo::UndoSettings;

use crate::{
    AnswerPrompt, ExternalAgents, Hooks, HumanChannel, KeptPlans, Models, NoHuman, Orchestrator, RunMemory, TraceParents, parts::Parts,
    project,
};

/// Builds an [`Orchestrator`]. It needs a [`folder`](Self::folder) or a [`tool_context`](Self::tool_context).
/// Everything else has a default: the built-in tools, profiles, categories and prompts, the system's clock, and no
/// person to ask.
#[derive(Clone)]
#[must_use]
pub struct OrchestratorBuilder {
    place: Option<FolderSource>,
    journal: Option<(Journal, PathBuf)>,
    models: Option<Models>,
    tools: Arc<ToolRegistry>,
    actors: Option<Arc<ActorFactory>>,
    categories: Vec<Category>,
    route: RouteSettings,
    planner: PlannerSettings,
    validators: Vec<Arc<dyn PlanValidator>>,
    prompts: Arc<Prompts>,
    answer_prompt: AnswerPrompt,
    kept_plans: Option<KeptPlans>,
    memory: Option<Arc<RunMemory>>,
    project: String,
    project_chars: usize,
    undo: Option<UndoSettings>,
    trust_files: bool,
    redactor: Option<Redactor>,
    hooks: Hooks,
    human: Arc<dyn HumanChannel>,
    agents: Option<Arc<dyn ExternalAgents>>,
    trace_parents: Option<TraceParents>,
    clock: Arc<dyn Clock>,
}

/// The place that tools work in.
#[derive(Clone)]
enum FolderSource {
    Folder(PathBuf),
    Context(Box<ToolContext>),
}

/// Reason why an orchestrator could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The builder got neither a folder nor a tool context.
    #[error("the orchestrator has no working folder: give its builder a folder or a tool context")]
    NoFolder,
    /// The folder cannot be opened.
    #[error(transparent)]
    Folder(#[from] FileError),
    /// Its journal cannot be opened.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A built-in prompt is invalid, which a test rules out.
    #[error(transparent)]
    Prompt(#[from] ActorPromptError),
}

impl Default for OrchestratorBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl OrchestratorBuilder {
    /// Creates a builder without a model. Its orchestrator executes only plans of tool tasks.
    pub fn new() -> Self {
        Self {
            place: None,
            journal: None,
            models: None,
            tools: Arc::new(builtin()),
            actors: None,
            categories: default_categories(),
            route: RouteSettings::default(),
            planner: PlannerSettings::default(),
            validators: Vec::new(),
            prompts: Arc::default(),
            answer_prompt: AnswerPrompt::default(),
            kept_plans: None,
            memory: None,
            project: String::new(),
            project_chars: project::MAX_CHARS,
            undo: Some(UndoSettings::default()),
            trust_files: false,
            redactor: None,
            hooks: Hooks::default(),
            human: Arc::new(NoHuman),
            agents: None,
            trace_parents: None,
            clock: Arc::new(SystemClock),
        }
    }

    /// Sets the model, or the models by role.
    pub fn model(mut self, model: impl Into<Models>) -> Self {
        self.models = Some(model.into());
        self
    }

    /// Sets the working folder. Tools cannot leave it, and child processes get an empty environment.
    pub fn folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.place = Some(FolderSource::Folder(folder.as_ref().to_owned()));
        self
    }

    /// Sets the folder and confinement of tools, instead of [`folder`](Self::folder). The permission rules and the
    /// redactor of the context apply to all runs.
    pub fn tool_context(mut self, context: ToolContext) -> Self {
        self.place = Some(FolderSource::Context(Box::new(context)));
        self
    }

    /// Sets the journal of the runs, and the folder `keep` for large contents and snapshots. The default is `.aime` in
    /// the working folder.
    pub fn journal(mut self, journal: Journal, keep: impl Into<PathBuf>) -> Self {
        self.journal = Some((journal, keep.into()));
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        Arc::make_mut(&mut self.tools).register(Arc::new(tool));
        self
    }

    /// Replaces all tools, including the built-in ones.
    pub fn tools(mut self, tools: impl Into<Arc<ToolRegistry>>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Sets the factory of actors.
    pub fn actors(mut self, actors: impl Into<Arc<ActorFactory>>) -> Self {
        self.actors = Some(actors.into());
        self
    }

    /// Sets the categories of goals and the settings of their routing.
    pub fn routing(mut self, categories: Vec<Category>, route: RouteSettings) -> Self {
        (self.categories, self.route) = (categories, route);
        self
    }

    /// Sets the settings and the prompts of the planner.
    pub fn planner(mut self, settings: PlannerSettings, prompts: impl Into<Arc<Prompts>>) -> Self {
        (self.planner, self.prompts) = (settings, prompts.into());
        self
    }

    /// Adds a rule for plans and for patched plans.
    pub fn validator(mut self, validator: impl PlanValidator + 'static) -> Self {
        self.validators.push(Arc::new(validator));
        self
    }

    /// Sets the prompt of final answers.
    pub fn answer_prompt(mut self, prompt: AnswerPrompt) -> Self {
        self.answer_prompt = prompt;
        self
    }

    /// Keeps plans of recurring goals. By default no plan is kept.
    pub fn kept_plans(mut self, plans: KeptPlans) -> Self {
        self.kept_plans = Some(plans);
        self
    }

    /// Sets the long-term memory and knowledge. By default there is none.
    pub fn memory(mut self, memory: Arc<RunMemory>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Makes each plan anew.
    pub fn without_kept_plans(mut self) -> Self {
        self.kept_plans = None;
        self
    }

    /// Adds to the project's description of itself, such as its `AGENTS.md`. It is part of every prompt.
    pub fn project(mut self, text: impl AsRef<str>) -> Self {
        self.project.push_str(text.as_ref());
        self
    }

    /// Sets the maximum number of characters of `AGENTS.md`, for engines whose effects read the file again.
    pub const fn project_chars(mut self, chars: usize) -> Self {
        self.project_chars = chars;
        self
    }

    /// Sets the limits of the recorded file changes that an undo needs; `None` records nothing.
    pub fn undo(mut self, settings: Option<UndoSettings>) -> Self {
        self.undo = settings;
        self
    }

    /// Trusts the files of the working folder as much as the user's own words.
    pub const fn trust_files(mut self) -> Self {
        self.trust_files = true;
        self
    }

    /// Sets the redactor, which removes secrets from prompts, the journal, results and events. The default is the
    /// redactor of the tool context.
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// Sets the hooks, which see, change or block the actions of a run.
    pub fn hooks(mut self, hooks: Hooks) -> Self {
        self.hooks = hooks;
        self
    }

    /// Sets the channel to people. By default no person can be asked.
    pub fn human(mut self, human: Arc<dyn HumanChannel>) -> Self {
        self.human = human;
        self
    }

    /// Sets the external agents that profiles name.
    pub fn agents(mut self, agents: Arc<dyn ExternalAgents>) -> Self {
        self.agents = Some(agents);
        self
    }

    /// Sets the trace contexts that calls pass to servers.
    pub fn trace_parents(mut self, trace_parents: TraceParents) -> Self {
        self.trace_parents = Some(trace_parents);
        self
    }

    /// Sets the clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Opens the folder and its journal.
    ///
    /// # Errors
    /// [`BuildError`] if there is no folder, or if it does not exist or cannot be written to.
    pub fn build(self) -> Result<Orchestrator, BuildError> {
        let mut tool_context = match self.place {
            None => return Err(BuildError::NoFolder),
            Some(FolderSource::Folder(folder)) => ToolContext::in_folder(folder)?,
            Some(FolderSource::Context(context)) => *context,
        };
        if let Some(redactor) = self.redactor {
            tool_context.redactor = redactor;
        }
        let (journal, keep) = match self.journal {
            Some(given) => given,
            None => {
                let keep = tool_context.folder.path().join(".aime");
                (Journal::open(keep.join("aime.db"))?, keep)
            }
        };
        let actors = match self.actors {
            Some(given) => given,
            None => Arc::new(ActorFactory::builtin()?),
        };
        Ok(Orchestrator::new(Parts {
            journal,
            keep,
            redactor: tool_context.redactor.clone(),
            tool_context,
            actors,
            models: self.models,
            tools: self.tools,
            categories: self.categories,
            route: self.route,
            planner: self.planner,
            validators: self.validators,
            prompts: self.prompts,
            answer_prompt: self.answer_prompt,
            tiers: Arc::new(Tiers::new()),
            kept_plans: self.kept_plans,
            memory: self.memory,
            project: self.project,
            project_chars: self.project_chars,
            undo: self.undo,
            trust_files: self.trust_files,
            hooks: self.hooks,
            human: self.human,
            agents: self.agents,
            trace_parents: self.trace_parents,
            clock: self.clock,
            programs: Arc::default(),
        }))
    }
}
