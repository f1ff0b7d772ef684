//! Folder with its configuration, and the parts of runs that are created from it.

#[cfg(feature = "acp")]
mod agents;
mod hooks;
mod overrides;
mod reach;
mod secrets;
mod servers;
mod skills;
mod telemetry;
#[cfg(test)]
mod tests;
#[cfg(feature = "web")]
mod web;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use aime_actor_factory::ActorFactory;
use aime_durable::Journal;
use aime_dynamic_planner::{Fallback, PlannerSettings, RouteSettings};
use aime_memory::{KnowledgeSettings, MemorySettings, PromptBounds};
use aime_messages::{Message, message};
use aime_orchestrator::{
    HumanChannel, KeptPlans, Models, Orchestrator, OrchestratorBuilder, OrchestratorError, ProjectInstructions, RunMemory,
    RunMemorySettings,
};
use aime_progress_management::{ProgressState, RunStatus};
use aime_redact::Redactor;
use aime_sandbox::{ConfinedFolder, Confinement, ConfinementSettings, Launcher, clean_environment};
use aime_tools::{BuiltinSettings, Diagnostics, RuleLists, ToolContext, ToolRegistry, builtin_with, learn_secrets_of, load_skill};

use crate::{
    caller::{Caller, Notice},
    config::{Config, FallbackConfig, Loaded, Places, SandboxMode, load},
    consents::Consents,
    environment::Environment,
    error::{ErrorKind, RunsError},
};

pub use self::{overrides::PromptOverrides, servers::Servers, skills::FoundSkills, telemetry::WatchedRun};

/// Options for opening folders: environment, settings file, caller and launcher. One builder can open several folders.
#[derive(Clone)]
pub struct SetupBuilder {
    environment: Environment,
    config_file: Option<PathBuf>,
    caller: Arc<dyn Caller>,
    launcher: Option<Launcher>,
    /// False if runs are carried out on an engine.
    has_agents: bool,
}

impl SetupBuilder {
    /// Reads this settings file after those of the user and the project.
    #[must_use]
    pub fn config_file(self, file: Option<PathBuf>) -> Self {
        Self { config_file: file, ..self }
    }

    /// Sends notices to this caller.
    #[must_use]
    pub fn caller(self, caller: Arc<dyn Caller>) -> Self {
        Self { caller, ..self }
    }

    /// Sets the launcher that gives confined commands their own network. Without one, Linux refuses a command that is limited to certain
    /// hosts.
    #[must_use]
    pub fn launcher(self, launcher: Launcher) -> Self {
        Self { launcher: Some(launcher), ..self }
    }

    /// Returns the environment.
    pub const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the settings files for a folder.
    pub fn places(&self, folder: &Path) -> Places {
        Places::new(&self.environment, folder, self.config_file.clone())
    }

    /// Reads the configuration for a working folder, or for the current folder.
    pub fn open(&self, folder: Option<&Path>) -> Result<Setup, RunsError> {
        let folder = working_folder(folder)?;
        let places = self.places(&folder);
        let loaded = load(&places, &self.environment)?;
        Ok(self.loaded(folder, places, loaded))
    }

    pub(crate) fn loaded(&self, folder: PathBuf, places: Places, loaded: Loaded) -> Setup {
        let Loaded { config, sources, notes } = loaded;
        let redactor = Redactor::new(secrets::secrets(&self.environment, &config));
        Setup {
            environment: self.environment.clone(),
            opener: self.clone(),
            folder,
            places,
            config,
            sources,
            notes,
            skills: OnceLock::new(),
            confinement: OnceLock::new(),
            servers: OnceLock::new(),
            #[cfg(feature = "otel")]
            telemetry: OnceLock::new(),
            redactor,
        }
    }
}

/// Folder with its configuration, and the parts of runs created from it.
pub struct Setup {
    /// The environment.
    pub environment: Environment,
    opener: SetupBuilder,
    /// Working folder, without links.
    pub folder: PathBuf,
    /// The settings files.
    pub places: Places,
    /// The settings in force.
    pub config: Config,
    /// Files and variables that were read, lowest precedence first.
    pub sources: Vec<String>,
    /// Settings that were left out, with the reasons.
    pub notes: Vec<Message>,
    /// Loaded at the first use.
    skills: OnceLock<FoundSkills>,
    /// Shared by all processes, so that they share a temp folder.
    confinement: OnceLock<Confinement>,
    /// MCP servers, created at the first use and started later.
    servers: OnceLock<Servers>,
    /// Sends telemetry if its variables are set; created when the first run is watched.
    #[cfg(feature = "otel")]
    telemetry: OnceLock<Option<aime_telemetry::Telemetry>>,
    redactor: Redactor,
}

impl Setup {
    /// Returns a builder for folders that are opened with this environment.
    pub fn builder(environment: Environment) -> SetupBuilder {
        SetupBuilder { environment, config_file: None, caller: Arc::new(()), launcher: None, has_agents: true }
    }

    /// Leaves out the profiles of external agents, for a worker of an engine: their processes cannot move between workers.
    #[must_use]
    pub fn without_agents(mut self) -> Self {
        self.opener.has_agents = false;
        self
    }

    /// Sends a message to the caller.
    pub fn note(&self, message: impl Into<Message>) {
        self.caller().on_notice(&Notice::Message(&message.into()));
    }

    /// Returns the program that starts confined commands in their own network, if there is one.
    pub const fn launcher(&self) -> Option<&Launcher> {
        self.opener.launcher.as_ref()
    }

    /// Returns the program that opened the folder.
    pub(crate) fn caller(&self) -> &dyn Caller {
        self.opener.caller.as_ref()
    }

    /// Returns the builder that opened the folder, for opening others in the same way.
    pub const fn opener(&self) -> &SetupBuilder {
        &self.opener
    }

    /// Returns the redactor, which removes secrets from the texts for models, journals and people.
    pub const fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Tells the caller which parts of the configuration were left out.
    pub fn report_notes(&self) {
        self.notes.iter().for_each(|note| self.note(note));
    }

    /// Returns the folder of the runs.
    pub fn data_folder(&self) -> PathBuf {
        self.folder.join(".aime")
    }

    /// Returns the folder of the runs, unless something else has that name.
    pub fn checked_data_folder(&self) -> Result<PathBuf, RunsError> {
        let keep = self.data_folder();
        if keep.exists() && !keep.is_dir() {
            return Err(RunsError::usage(message!("keep-taken", folder = keep.display())).hint(message!("keep-taken-hint")));
        }
        Ok(keep)
    }

    /// Opens the journal, and creates it if necessary.
    pub fn journal(&self) -> Result<Journal, RunsError> {
        let keep = self.create_data_folder()?;
        Journal::open(keep.join("aime.db")).map_err(|error| OrchestratorError::from(error).into())
    }

    /// Returns the folder of the runs. Creates it and excludes it from git.
    pub fn create_data_folder(&self) -> Result<PathBuf, RunsError> {
        let keep = self.checked_data_folder()?;
        let failed = |error: std::io::Error| {
            RunsError::usage(message!("folder-unwritable", folder = keep.display(), reason = Message::text(error)))
                .hint(message!("keep-hint"))
        };
        std::fs::create_dir_all(&keep).map_err(failed)?;
        let ignore = keep.join(".gitignore");
        if !ignore.exists() {
            std::fs::write(&ignore, "*\n").map_err(failed)?;
        }
        Ok(keep)
    }

    /// Opens the journal if it exists. Missing access rights are an error, not an absence.
    pub fn existing_journal(&self) -> Result<Option<Journal>, RunsError> {
        let keep = self.checked_data_folder()?;
        let there = keep.join("aime.db").try_exists().map_err(|error| {
            RunsError::usage(message!("keep-closed", folder = keep.display(), reason = Message::text(error))).hint(message!("folder-hint"))
        })?;
        if there { self.journal().map(Some) } else { Ok(None) }
    }

    /// Returns true if a run was ever started in this folder.
    pub fn has_runs(&self) -> bool {
        self.data_folder().join("aime.db").exists()
    }

    /// Returns true if no run of this folder has ended yet; `before` is the state of a resumed run.
    pub fn is_first_run(&self, before: Option<&ProgressState>) -> bool {
        let Some(before) = before else { return !self.has_runs() };
        let runs = self.existing_journal().ok().flatten().and_then(|journal| journal.runs().ok());
        before.status != RunStatus::Completed && runs.is_some_and(|runs| runs.len() == 1)
    }

    /// Returns the tools.
    pub fn tools(&self) -> Arc<ToolRegistry> {
        self.tools_with(None)
    }

    /// Returns the tools of a run with these models; without models, with the configured ones.
    #[cfg_attr(not(feature = "web"), expect(unused_variables, reason = "only a search of the web depends on the models"))]
    fn tools_with(&self, models: Option<&Models>) -> Arc<ToolRegistry> {
        let tools = &self.config.tools;
        let mut registry = builtin_with(&BuiltinSettings {
            bash_time_limit: Duration::from_secs(tools.bash_timeout_seconds),
            python_time_limit: Duration::from_secs(tools.python_timeout_seconds),
        });
        let skills = &self.skills().catalog;
        if !skills.is_empty() {
            registry.register(load_skill(skills.clone()));
        }
        #[cfg(feature = "web")]
        for tool in self.web_tools(models) {
            registry.register(tool);
        }
        for tool in self.servers_known().into_iter().flat_map(Servers::tools) {
            registry.register(tool);
        }
        Arc::new(registry)
    }

    /// Returns all tools, including those of servers that no model request lists: actors find them on demand.
    pub fn every_tool(&self) -> ToolRegistry {
        let mut registry = self.tools().as_ref().clone();
        for tool in self.servers_known().into_iter().flat_map(Servers::every_tool) {
            registry.register(tool);
        }
        registry
    }

    /// Returns the project's instructions for prompts, and tells the user which parts are left out.
    pub fn project(&self) -> String {
        let read = ConfinedFolder::open(&self.folder).and_then(|folder| ProjectInstructions::read(&folder, self.config.run.project_chars));
        match read {
            Ok(ProjectInstructions { text, left_out }) => {
                if left_out > 0 {
                    self.note(message!("project-long", number = left_out));
                }
                text
            }
            Err(error) => {
                self.note(message!("no-project", reason = Message::text(error)));
                String::new()
            }
        }
    }

    /// Returns the skills: the user's own, then the project's. Like `AGENTS.md` they are text for a model, so they need no trust.
    pub fn skills(&self) -> &FoundSkills {
        let own = || self.places.user_folder().map(|folder| (folder.join("skills"), None));
        let of_the_project =
            || [".agents", ".claude", ".aime"].map(|folder| (self.folder.join(folder).join("skills"), Some(self.folder.as_path())));
        self.skills.get_or_init(|| skills::find(own().into_iter().chain(of_the_project())))
    }

    /// Returns the environment of commands: the listed variables, without those that look like secrets. Python writes no byte code: an actor
    /// that runs a program to look at it changes no file of the project.
    pub fn clean_environment(&self) -> BTreeMap<OsString, OsString> {
        let allowed: Vec<&str> = self.config.sandbox.environment.iter().map(String::as_str).collect();
        let mut environment = clean_environment(self.environment.variables(), &allowed);
        environment.entry("PYTHONDONTWRITEBYTECODE".into()).or_insert_with(|| "1".into());
        environment
    }

    /// Returns the sandbox of processes.
    pub fn confinement(&self) -> &Confinement {
        self.confinement.get_or_init(|| self.confinement_with(|_| {}))
    }

    /// Returns a sandbox with changed settings and its own temp folder.
    fn confinement_with(&self, change: impl FnOnce(&mut ConfinementSettings)) -> Confinement {
        let sandbox = &self.config.sandbox;
        if sandbox.mode == SandboxMode::Off {
            return Confinement::off();
        }
        let expanded = |paths: &[PathBuf]| paths.iter().map(|path| self.environment.expand_home(path)).collect();
        let mut settings = ConfinementSettings::new(&self.folder, &self.clean_environment());
        settings.read = expanded(&sandbox.read);
        settings.write = expanded(&sandbox.write);
        settings.secrets.extend([self.places.user_folder(), self.places.state_folder()].into_iter().flatten().map(Path::to_owned));
        settings.network = reach::network(&sandbox.network, "sandbox.network", self.launcher());
        settings.limits = sandbox.limits();
        settings.allow_missing = sandbox.allow_missing().collect();
        change(&mut settings);
        Confinement::or_refuse(settings)
    }

    /// Returns the store of permanent consents; none if the user has no place for it outside of the working folder.
    pub fn consents(&self) -> Option<Consents> {
        Consents::of(&self.environment, &self.folder)
    }

    /// Returns the configured rules.
    fn configured_rules(&self) -> RuleLists {
        let permissions = &self.config.permissions;
        // Parsing succeeds, because the check of the configuration has parsed every rule.
        let read = |rules: &[String]| rules.iter().filter_map(|rule| rule.parse().ok()).collect();
        let (allow, ask, deny) = (read(&permissions.allow), read(&permissions.ask), read(&permissions.deny));
        RuleLists { allow, ask, deny, remembered: Vec::new() }
    }

    /// Returns the configured rules with the stored consents for this folder. If the consents cannot be read, a notice says so and none
    /// applies.
    fn rules(&self) -> RuleLists {
        let remembered = self.consents().map(|consents| consents.rules()).transpose().unwrap_or_else(|failure| {
            self.note(message!("consents-out", reason = failure.message));
            None
        });
        RuleLists { remembered: remembered.unwrap_or_default(), ..self.configured_rules() }
    }

    /// Returns the context of tool calls.
    pub fn tool_context(&self) -> Result<ToolContext, RunsError> {
        let files = ConfinedFolder::open(&self.folder).map_err(|error| RunsError::caused(ErrorKind::Usage, error))?;
        // The shell may show the folder by a path with links.
        let files = match self.environment.text("PWD") {
            Some(shown) => files.also_named(Path::new(shown)),
            None => files,
        };
        let mut context = ToolContext::new(files, self.clean_environment()).with_confinement(self.confinement().clone());
        context.classes = self.config.classes;
        let commands = self.config.diagnostics.iter().map(|(pattern, command)| (pattern.as_str(), command.as_str()));
        context.diagnostics = Diagnostics::new(commands).map_err(|error| RunsError::caused(ErrorKind::Usage, error))?;
        learn_secrets_of(&context.folder, &self.redactor);
        Ok(context.with_rules(self.configured_rules()).with_redactor(self.redactor.clone()))
    }

    /// Returns the settings for routing goals.
    pub fn route(&self) -> RouteSettings {
        let planning = &self.config.planning;
        RouteSettings { strategy: planning.strategy, mode: None, bypass: planning.bypass.clone(), classifier: planning.classifier.clone() }
    }

    /// Returns the settings for requesting and checking plans.
    pub fn planner(&self) -> PlannerSettings {
        PlannerSettings {
            max_attempts: self.config.planning.max_attempts,
            temperature: self.config.planning.temperature,
            first_todos_temperature: self.config.planning.first_todos_temperature,
            fallback: match self.config.planning.fallback {
                FallbackConfig::Category => Fallback::Category,
                FallbackConfig::None => Fallback::Fail,
            },
            limits: self.config.planning.limits,
            ..PlannerSettings::default()
        }
    }

    /// Returns the store of plans that later runs reuse.
    pub fn kept_plans(&self) -> KeptPlans {
        KeptPlans::new(self.data_folder().join("plans"))
    }

    /// Returns the file of the project's memory.
    pub fn memory_file(&self) -> PathBuf {
        self.data_folder().join("memory.db")
    }

    /// Returns the configured folder of documents, if any.
    pub fn knowledge_folder(&self) -> Option<PathBuf> {
        let folder = self.config.memory.knowledge.as_deref()?;
        Some(self.folder.join(self.environment.expand_home(folder)))
    }

    /// Returns the memory settings of runs, unless memory is off.
    pub fn memory(&self) -> Option<RunMemorySettings> {
        let memory = &self.config.memory;
        memory.enabled.then(|| RunMemorySettings {
            store: self.memory_bounds(),
            knowledge: self.knowledge_folder(),
            recall: memory.recall,
            chunks: memory.chunks,
            documents: KnowledgeSettings { chunk_tokens: memory.chunk_tokens, ..KnowledgeSettings::default() },
            prompt: PromptBounds { memory_tokens: memory.memory_tokens, knowledge_tokens: memory.knowledge_tokens },
            redactor: self.redactor.clone(),
            ..RunMemorySettings::new(self.memory_file())
        })
    }

    /// Returns the size limits of the memory.
    pub fn memory_bounds(&self) -> MemorySettings {
        MemorySettings { max_entries: self.config.memory.max_entries, ..MemorySettings::default() }
    }

    /// Creates an orchestrator for runs.
    pub fn orchestrator(&self, models: Option<Models>, human: Arc<dyn HumanChannel>) -> Result<Orchestrator, RunsError> {
        self.orchestrator_builder(models)?.human(human).build().map_err(RunsError::internal)
    }

    /// Returns the builder of an orchestrator that has no person to ask.
    pub fn orchestrator_builder(&self, models: Option<Models>) -> Result<OrchestratorBuilder, RunsError> {
        self.builder_with(self.journal()?, models)
    }

    /// Creates an orchestrator for planning only. It keeps nothing in the folder, so `.aime` is created only if documents must be indexed.
    /// A review of a former plan is added to prompts, and then no kept plan is used again.
    pub fn planning_orchestrator(
        &self,
        models: Models,
        review: Option<String>,
        human: Arc<dyn HumanChannel>,
    ) -> Result<Orchestrator, RunsError> {
        if self.memory().is_some_and(|memory| memory.knowledge.is_some() || memory.file.exists()) {
            self.create_data_folder()?;
        }
        self.checked_data_folder()?;
        // Planning writes nothing into the journal of runs, so none is made.
        let journal = Journal::at_first_write(self.data_folder().join("aime.db")).map_err(RunsError::internal)?;
        let builder = self.builder_with(journal, Some(models))?.human(human);
        let builder = match review {
            Some(review) => builder.project(review).without_kept_plans(),
            None => builder,
        };
        builder.build().map_err(RunsError::internal)
    }

    fn builder_with(&self, journal: Journal, models: Option<Models>) -> Result<OrchestratorBuilder, RunsError> {
        let PromptOverrides { planning, acting, answer } = self.prompts()?;
        let actors = ActorFactory::new(self.profiles()?, acting).with_settings(self.config.actors);
        let tools = self.tools_with(models.as_ref());
        let mut builder = models
            .map_or_else(OrchestratorBuilder::new, Orchestrator::builder)
            .tools(tools)
            .tool_context(self.tool_context()?.with_rules(self.rules()))
            .redactor(self.redactor.clone())
            .journal(journal, self.data_folder())
            .actors(actors.with_skills(self.skills().catalog.clone()))
            .routing(self.categories()?, self.route())
            .planner(self.planner(), planning)
            .answer_prompt(answer)
            .project(self.project())
            .project_chars(self.config.run.project_chars)
            .undo(self.config.undo.enabled.then(|| self.config.undo.settings()))
            .hooks(self.hooks()?);
        #[cfg(feature = "acp")]
        if !self.config.profiles.is_empty() {
            builder = builder.agents(self.agents());
        }
        if let Some(trace_parents) = self.trace_parents() {
            builder = builder.trace_parents(trace_parents);
        }
        if self.config.permissions.trust_files {
            builder = builder.trust_files();
        }
        if self.config.planning.cache {
            builder = builder.kept_plans(self.kept_plans());
        }
        if let Some(memory) = self.memory() {
            builder = builder.memory(Arc::new(RunMemory::new(memory)));
        }
        Ok(builder)
    }
}

/// Returns the folder that `-C` names, or the current one.
pub fn working_folder(directory: Option<&Path>) -> Result<PathBuf, RunsError> {
    let wanted = directory.unwrap_or(Path::new("."));
    let hint = || message!("name-folder");
    let folder = wanted.canonicalize().map_err(|error| {
        RunsError::usage(message!("folder-unusable", folder = wanted.display(), reason = Message::text(error))).hint(hint())
    })?;
    if folder.is_dir() { Ok(folder) } else { Err(RunsError::usage(message!("not-a-folder", folder = folder.display())).hint(hint())) }
}
