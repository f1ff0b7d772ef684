//! What an orchestrator works with. Everything that meets the world is handed in.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use aime_actors::{ActorFactory, ActorSpec, PromptError};
use aime_durable::{Clock, Journal, JournalError, SystemClock};
use aime_llm::Tiers;
use aime_planner::{Category, PlanValidator, PlannerSettings, Prompts, RouteSettings, default_categories};
use aime_progress::{ProgressEvent, ProgressState, RunId, TaskId, write_snapshot};
use aime_redact::Redactor;
use aime_sandbox::{ConfinedFolder, FileError};
use aime_tools::{ToolContext, ToolRegistry, builtin};
use aime_undo::{Recorder, UndoSettings};

use crate::{AnswerPrompt, Hooks, HumanChannel, KeptPlans, Models, NobodyThere, RunMemory};

/// The parts of an orchestrator.
#[derive(Clone)]
pub struct Parts {
    /// The journal of all runs.
    pub journal: Journal,
    /// Where runs keep what is large, and snapshots: `.aime`.
    pub keep: PathBuf,
    /// The models; without them only plans of tool tasks can run.
    pub models: Option<Models>,
    /// The tools.
    pub tools: Arc<ToolRegistry>,
    /// Where and how tools run. Its rules are those of the runs that are begun with it.
    pub tool_context: ToolContext,
    /// Makes actors.
    pub actors: Arc<ActorFactory>,
    /// The categories of goals.
    pub categories: Vec<Category>,
    /// How goals are routed.
    pub route: RouteSettings,
    /// How plans are asked for.
    pub planner: PlannerSettings,
    /// Further rules for plans, and for what patches make of them.
    pub validators: Vec<Arc<dyn PlanValidator>>,
    /// The planner's prompts.
    pub prompts: Arc<Prompts>,
    /// The prompt of final answers.
    pub answer_prompt: AnswerPrompt,
    /// What each model's server can do, as far as it is known.
    pub tiers: Arc<Tiers>,
    /// Plans of goals that come again, and where they are, if they are to be kept.
    pub kept_plans: Option<KeptPlans>,
    /// What earlier runs learnt and documents say, if it is to be known.
    pub memory: Option<Arc<RunMemory>>,
    /// What the project says of itself, such as its `AGENTS.md`; may be empty.
    pub project: String,
    /// How many characters of its `AGENTS.md` stand in a prompt, where it is read anew.
    pub project_chars: usize,
    /// How much is kept of what tasks do to files, so that it can be undone; nothing is kept without.
    pub undo: Option<UndoSettings>,
    /// Whether the user vouches for the files of the working folder, as for words of their own.
    pub trust_files: bool,
    /// Takes secrets out of all that is journaled, and of all that models see.
    pub redactor: Redactor,
    /// What of one's own sees, changes or blocks what a run does.
    pub hooks: Hooks,
    /// How people are asked.
    pub human: Arc<dyn HumanChannel>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// Why a folder cannot be worked in.
#[derive(Debug, thiserror::Error)]
pub enum PartsError {
    /// The folder cannot be opened.
    #[error(transparent)]
    Folder(#[from] FileError),
    /// Its journal cannot be opened.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A built-in prompt is broken, which a test rules out.
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

impl Parts {
    /// The parts of [`Parts::new`] for work in `folder`: the journal and what runs keep stand in its `.aime`, tools cannot leave it, and
    /// child processes get an empty environment.
    ///
    /// # Errors
    /// [`PartsError`] where the folder does not exist or cannot be written to.
    pub fn in_folder(folder: impl AsRef<Path>) -> Result<Self, PartsError> {
        let confined = ConfinedFolder::open(folder)?;
        let keep = confined.path().join(".aime");
        let journal = Journal::open(keep.join("aime.db"))?;
        Ok(Self::new(journal, keep, ToolContext::new(confined, BTreeMap::new()))?)
    }

    /// The parts that come with aime: the built-in tools, profiles, categories and prompts, the system's clock, no models, and nobody
    /// who could be asked. Replace what is to be another by `Parts { tools, ..parts }`.
    ///
    /// # Errors
    /// [`PromptError`] if a built-in prompt of actors is broken, which a test rules out.
    pub fn new(journal: Journal, keep: impl Into<PathBuf>, tool_context: ToolContext) -> Result<Self, PromptError> {
        Ok(Self {
            journal,
            keep: keep.into(),
            trust_files: false,
            redactor: tool_context.redactor.clone(),
            models: None,
            tools: Arc::new(builtin()),
            tool_context,
            actors: Arc::new(ActorFactory::builtin()?),
            categories: default_categories(),
            route: RouteSettings::default(),
            planner: PlannerSettings::default(),
            validators: Vec::new(),
            prompts: Arc::default(),
            answer_prompt: AnswerPrompt::default(),
            tiers: Arc::default(),
            kept_plans: None,
            memory: None,
            project: String::new(),
            project_chars: crate::project::MOST_CHARS,
            undo: Some(UndoSettings::default()),
            hooks: Hooks::default(),
            human: Arc::new(NobodyThere),
            clock: Arc::new(SystemClock),
        })
    }

    /// Keeps what a run does to files, in a folder; nothing where that is turned off.
    pub(crate) fn recorder(&self, run: &RunId, keep: &Path) -> Option<Recorder> {
        let settings = self.undo.clone()?;
        Some(Recorder::new(self.tool_context.folder.clone(), keep, run.as_str(), settings))
    }

    /// Keeps where a run stands as a view for people and other programs: the journal stays the truth.
    pub(crate) fn keep_snapshot(&self, state: &ProgressState) {
        let path = self.keep.join("progress").join(format!("{}.json", state.plan_id));
        if let Err(error) = write_snapshot(&path, state) {
            tracing::warn!(%error, "the snapshot could not be written; the journal is whole");
        }
    }

    /// The report that an actor was made, which is none of its machine's own.
    pub(crate) fn actor_created(&self, task: &TaskId, spec: &ActorSpec, reasons: Vec<String>) -> ProgressEvent {
        ProgressEvent::ActorCreated {
            task: task.clone(),
            actor: spec.id.to_string(),
            profile: spec.profile.clone(),
            model: self.models.as_ref().map(|models| models.role(&spec.model).name().to_owned()).unwrap_or_default(),
            tools: spec.tools.iter().map(|sheet| sheet.name().to_owned()).collect(),
            reasons,
        }
    }
}
