//! Puts the parts together.

mod hooks;
mod own;
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

use aime_actors::ActorFactory;
use aime_durable::{Journal, SystemClock};
use aime_llm::Tiers;
use aime_memory::{KnowledgeSettings, MemorySettings, PromptBounds};
use aime_orchestrator::{HumanChannel, KeptPlans, Models, NobodyThere, Parts, ProjectWords, RunMemory, RunMemorySettings};
use aime_planner::{Fallback, PlannerSettings, RouteSettings};
use aime_redact::Redactor;
use aime_sandbox::{ConfinedFolder, Confinement, ConfinementSettings, clean_environment};
use aime_tools::{BuiltinSettings, RuleLists, ToolContext, ToolRegistry, builtin_with, learn_secrets_of, load_skill};

use crate::{
    config::{Config, Environment, FallbackConfig, Loaded, Places, SandboxMode, load},
    consents::Consents,
    failure::{Failure, code},
    output,
};

#[cfg(target_os = "linux")]
pub(crate) use self::reach::LAUNCH;
pub(crate) use self::{own::OwnPrompts, reach::launcher, servers::Servers, skills::FoundSkills, telemetry::Watched};

/// What every command works from.
pub(crate) struct Setup {
    pub(crate) environment: Environment,
    pub(crate) folder: PathBuf,
    pub(crate) places: Places,
    pub(crate) config: Config,
    pub(crate) sources: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// Read when they are first wanted.
    pub(crate) skills: OnceLock<FoundSkills>,
    /// One for all processes: they share a temp folder.
    pub(crate) confinement: OnceLock<Confinement>,
    /// MCP servers, made when they are first wanted; they start later still.
    pub(crate) servers: OnceLock<Servers>,
    /// What sends telemetry, where it is wanted; made when a run is first watched.
    #[cfg(feature = "otel")]
    pub(crate) telemetry: OnceLock<Option<aime_telemetry::Telemetry>>,
    /// Takes secrets out of what models, journals and people see.
    pub(crate) redactor: Redactor,
}

impl Setup {
    /// Finds the working folder and reads the configuration.
    pub(crate) fn new(environment: Environment, directory: Option<&Path>, flag: Option<PathBuf>) -> Result<Self, Failure> {
        let folder = working_folder(directory)?;
        let places = Places::new(&environment, &folder, flag);
        let Loaded { config, sources, notes } = load(&places, &environment)?;
        let (skills, confinement, servers) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let redactor = Redactor::new(secrets::secrets(&environment, &config));
        Ok(Self {
            environment,
            folder,
            places,
            config,
            sources,
            notes,
            skills,
            confinement,
            servers,
            #[cfg(feature = "otel")]
            telemetry: OnceLock::new(),
            redactor,
        })
    }

    /// Takes secrets out of what models, journals and people see.
    pub(crate) const fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Learns the secrets of settings that came from elsewhere than files: of variables by their names, and of the configuration as it is now.
    #[cfg(all(feature = "acp", feature = "mcp"))]
    pub(crate) fn learn_secrets(&mut self, variables: Vec<(String, String)>) {
        let found = variables.into_iter().filter_map(|(name, value)| secrets::secret_in(&name, &value));
        self.redactor = Redactor::new(secrets::secrets(&self.environment, &self.config).into_iter().chain(found));
    }

    /// Says what was left out of the configuration.
    pub(crate) fn tell_notes(&self) {
        self.notes.iter().for_each(|note| output::note(note));
    }

    /// Where runs are kept.
    pub(crate) fn keep(&self) -> PathBuf {
        self.folder.join(".aime")
    }

    /// The same, unless something else has that name.
    pub(crate) fn usable_keep(&self) -> Result<PathBuf, Failure> {
        let keep = self.keep();
        if keep.exists() && !keep.is_dir() {
            return Err(Failure::usage(format!("{} is not a folder, and runs are kept in a folder of that name", keep.display()))
                .hint("move it away, or choose another working folder with -C"));
        }
        Ok(keep)
    }

    /// The journal, made if it is not there yet.
    pub(crate) fn journal(&self) -> Result<Journal, Failure> {
        let keep = self.made_keep()?;
        Journal::open(keep.join("aime.db")).map_err(|error| Failure::caused(code::USAGE, &error))
    }

    /// Where runs are kept, made and out of git.
    pub(crate) fn made_keep(&self) -> Result<PathBuf, Failure> {
        let keep = self.usable_keep()?;
        let failed = |error: std::io::Error| {
            Failure::new(code::USAGE, format!("cannot write to {}: {error}", keep.display()))
                .hint("choose another working folder with -C, or mend its rights or the disk's space")
        };
        std::fs::create_dir_all(&keep).map_err(failed)?;
        let ignore = keep.join(".gitignore");
        if !ignore.exists() {
            std::fs::write(&ignore, "*\n").map_err(failed)?;
        }
        Ok(keep)
    }

    /// The journal, if there is one. Where nobody may look that is no answer.
    pub(crate) fn existing_journal(&self) -> Result<Option<Journal>, Failure> {
        let keep = self.usable_keep()?;
        let there = keep.join("aime.db").try_exists().map_err(|error| {
            Failure::usage(format!("cannot look into {}: {error}", keep.display()))
                .hint("mend the rights of the folder, or choose another working folder with -C")
        })?;
        if there { self.journal().map(Some) } else { Ok(None) }
    }

    /// Whether a run was ever begun in this folder.
    pub(crate) fn has_runs(&self) -> bool {
        self.keep().join("aime.db").exists()
    }

    /// The tools.
    pub(crate) fn tools(&self) -> Arc<ToolRegistry> {
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
        for tool in self.web_tools() {
            registry.register(tool);
        }
        for tool in self.servers_known().into_iter().flat_map(Servers::tools) {
            registry.register(tool);
        }
        Arc::new(registry)
    }

    /// The same, and those of servers that stand in no model's request: actors find them on demand.
    pub(crate) fn every_tool(&self) -> ToolRegistry {
        let mut registry = self.tools().as_ref().clone();
        for tool in self.servers_known().into_iter().flat_map(Servers::every_tool) {
            registry.register(tool);
        }
        registry
    }

    /// What the project says of itself, as it stands in prompts; what is left out of it is told to the user.
    pub(crate) fn project(&self) -> String {
        let read = ConfinedFolder::open(&self.folder).and_then(|folder| ProjectWords::read(&folder, self.config.run.project_chars));
        match read {
            Ok(ProjectWords { text, left_out }) => {
                if left_out > 0 {
                    output::note(&format!("AGENTS.md is long: {left_out} of its lines are left out of prompts (run.project_chars)"));
                }
                text
            }
            Err(error) => {
                output::note(&format!("without AGENTS.md: {error}"));
                String::new()
            }
        }
    }

    /// The skills: the user's own, then the project's. They are text for a model, as `AGENTS.md` is, so no trust is asked for.
    pub(crate) fn skills(&self) -> &FoundSkills {
        let own = || self.places.user_folder().map(|folder| (folder.join("skills"), None));
        let of_the_project = || [".agents", ".aime"].map(|folder| (self.folder.join(folder).join("skills"), Some(self.folder.as_path())));
        self.skills.get_or_init(|| skills::find(own().into_iter().chain(of_the_project())))
    }

    /// What commands see: listed variables, and none that looks like a secret.
    pub(crate) fn clean_environment(&self) -> BTreeMap<OsString, OsString> {
        let allowed: Vec<&str> = self.config.sandbox.environment.iter().map(String::as_str).collect();
        clean_environment(self.environment.variables(), &allowed)
    }

    /// How processes are confined.
    pub(crate) fn confinement(&self) -> &Confinement {
        self.confinement.get_or_init(|| self.confinement_with(|_| {}))
    }

    /// The same with a change, and a temp folder of its own.
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
        settings.network = reach::network(&sandbox.network, "sandbox.network");
        settings.limits = sandbox.limits();
        settings.go_without = sandbox.go_without().collect();
        change(&mut settings);
        Confinement::or_refuse(settings)
    }

    /// What people have allowed here for good; none where it has no place outside of the working folder.
    pub(crate) fn consents(&self) -> Option<Consents> {
        Consents::of(&self.environment, &self.folder)
    }

    /// The rules of the configuration.
    fn configured_rules(&self) -> RuleLists {
        let permissions = &self.config.permissions;
        // They were read once when the configuration was checked.
        let read = |rules: &[String]| rules.iter().filter_map(|rule| rule.parse().ok()).collect();
        let (allow, ask, deny) = (read(&permissions.allow), read(&permissions.ask), read(&permissions.deny));
        RuleLists { allow, ask, deny, remembered: Vec::new() }
    }

    /// The same with what is remembered for this folder. A list that cannot be read holds for nothing, and that is said.
    fn rules(&self) -> RuleLists {
        let remembered = self.consents().map(|consents| consents.rules()).transpose().unwrap_or_else(|failure| {
            output::note(&format!("what \"always\" has allowed is left out: {}", failure.message));
            None
        });
        RuleLists { remembered: remembered.unwrap_or_default(), ..self.configured_rules() }
    }

    pub(crate) fn tool_context(&self) -> Result<ToolContext, Failure> {
        let files = ConfinedFolder::open(&self.folder).map_err(|error| Failure::caused(code::USAGE, &error))?;
        let mut context = ToolContext::new(files, self.clean_environment()).with_confinement(self.confinement().clone());
        context.text_limit = Some(self.config.tools.output_characters);
        learn_secrets_of(&context.folder, &self.redactor);
        Ok(context.with_rules(self.configured_rules()).with_redactor(self.redactor.clone()))
    }

    /// How goals are routed and planned.
    pub(crate) fn route(&self) -> RouteSettings {
        let planning = &self.config.planning;
        RouteSettings { strategy: planning.strategy, mode: None, bypass: planning.bypass.clone(), classifier: planning.classifier.clone() }
    }

    pub(crate) fn planner(&self) -> PlannerSettings {
        PlannerSettings {
            tries: self.config.planning.tries,
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

    /// Where plans are kept from one run to the next.
    pub(crate) fn kept_plans(&self) -> KeptPlans {
        KeptPlans::new(self.keep().join("plans"))
    }

    /// The file of the project's memory.
    pub(crate) fn memory_file(&self) -> PathBuf {
        self.keep().join("memory.db")
    }

    /// The folder of documents, if one is named.
    pub(crate) fn knowledge_folder(&self) -> Option<PathBuf> {
        let folder = self.config.memory.knowledge.as_deref()?;
        Some(self.folder.join(self.environment.expand_home(folder)))
    }

    /// How runs use memory, unless it is turned off.
    pub(crate) fn memory(&self) -> Option<RunMemorySettings> {
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

    pub(crate) fn memory_bounds(&self) -> MemorySettings {
        MemorySettings { max_entries: self.config.memory.max_entries, ..MemorySettings::default() }
    }

    /// Everything a run needs.
    pub(crate) fn parts(&self, models: Option<Models>, human: Arc<dyn HumanChannel>) -> Result<Parts, Failure> {
        self.parts_with(self.journal()?, models, human)
    }

    /// Everything that planning alone needs. It keeps nothing, so `.aime` is made only where documents are to be indexed in it.
    pub(crate) fn parts_of_plan(&self, models: Models) -> Result<Parts, Failure> {
        if self.memory().is_some_and(|memory| memory.knowledge.is_some() || memory.file.exists()) {
            self.made_keep()?;
        }
        let journal = Journal::at_first_write(self.usable_keep()?.join("aime.db")).map_err(Failure::internal)?;
        self.parts_with(journal, Some(models), Arc::new(NobodyThere))
    }

    fn parts_with(&self, journal: Journal, models: Option<Models>, human: Arc<dyn HumanChannel>) -> Result<Parts, Failure> {
        let OwnPrompts { planning, acting, answer } = self.prompts()?;
        let tools = self.tools();
        Ok(Parts {
            journal,
            keep: self.keep(),
            models,
            actors: Arc::new(
                ActorFactory::new(self.profiles()?, acting).with_settings(self.config.actors).with_skills(self.skills().catalog.clone()),
            ),
            tools,
            tool_context: self.tool_context()?.with_rules(self.rules()),
            categories: self.categories()?,
            route: self.route(),
            planner: self.planner(),
            validators: Vec::new(),
            prompts: Arc::new(planning),
            answer_prompt: answer,
            tiers: Arc::new(Tiers::new()),
            kept_plans: self.config.planning.cache.then(|| self.kept_plans()),
            memory: self.memory().map(RunMemory::new).map(Arc::new),
            project: self.project(),
            project_chars: self.config.run.project_chars,
            undo: self.config.undo.enabled.then(|| self.config.undo.settings()),
            trust_files: self.config.permissions.trust_files,
            redactor: self.redactor.clone(),
            hooks: self.hooks()?,
            human,
            clock: Arc::new(SystemClock),
        })
    }
}

/// The folder that `-C` names, or the current one.
pub(crate) fn working_folder(directory: Option<&Path>) -> Result<PathBuf, Failure> {
    let wanted = directory.unwrap_or(Path::new("."));
    let mend = "name a folder that is there with -C";
    let folder = wanted
        .canonicalize()
        .map_err(|error| Failure::usage(format!("the working folder {} cannot be used: {error}", wanted.display())).hint(mend))?;
    if folder.is_dir() { Ok(folder) } else { Err(Failure::usage(format!("{} is not a folder", folder.display())).hint(mend)) }
}
