//! The parts of an orchestrator.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use aime_actors::{ActorFactory, ActorInput};
use aime_durable::{Clock, Journal};
use aime_llm::Tiers;
use aime_planner::{Category, PlanValidator, PlannerSettings, Prompts, RouteSettings};
use aime_progress::{ProgressEvent, ProgressState, RunId, TaskId, write_snapshot};
use aime_redact::Redactor;
use aime_tools::{ToolContext, ToolRegistry};
use aime_undo::{Recorder, UndoSettings};
use tokio::sync::OnceCell;

use crate::{AnswerPrompt, Hooks, HumanChannel, KeptPlans, Models, RunMemory};

/// The parts that an [`OrchestratorBuilder`](crate::OrchestratorBuilder) was given.
#[derive(Clone)]
pub(crate) struct Parts {
    /// The journal of all runs.
    pub(crate) journal: Journal,
    /// Where runs keep what is large, and snapshots: `.aime`.
    pub(crate) keep: PathBuf,
    /// The models; without them only plans of tool tasks can run.
    pub(crate) models: Option<Models>,
    /// The tools.
    pub(crate) tools: Arc<ToolRegistry>,
    /// Where and how tools run. Its rules are those of the runs that are begun with it.
    pub(crate) tool_context: ToolContext,
    /// Makes actors.
    pub(crate) actors: Arc<ActorFactory>,
    /// The categories of goals.
    pub(crate) categories: Vec<Category>,
    /// How goals are routed.
    pub(crate) route: RouteSettings,
    /// How plans are asked for.
    pub(crate) planner: PlannerSettings,
    /// Further rules for plans, and for what patches make of them.
    pub(crate) validators: Vec<Arc<dyn PlanValidator>>,
    /// The planner's prompts.
    pub(crate) prompts: Arc<Prompts>,
    /// The prompt of final answers.
    pub(crate) answer_prompt: AnswerPrompt,
    /// What each model's server can do, as far as it is known.
    pub(crate) tiers: Arc<Tiers>,
    /// Plans of goals that come again, and where they are, if they are to be kept.
    pub(crate) kept_plans: Option<KeptPlans>,
    /// What earlier runs learnt and documents say, if it is to be known.
    pub(crate) memory: Option<Arc<RunMemory>>,
    /// What the project says of itself, such as its `AGENTS.md`; may be empty.
    pub(crate) project: String,
    /// How many characters of its `AGENTS.md` stand in a prompt, where it is read anew.
    pub(crate) project_chars: usize,
    /// How much is kept of what tasks do to files, so that it can be undone; nothing is kept without.
    pub(crate) undo: Option<UndoSettings>,
    /// Whether the user vouches for the files of the working folder, as for words of their own.
    pub(crate) trust_files: bool,
    /// Takes secrets out of all that is journaled, and of all that models see.
    pub(crate) redactor: Redactor,
    /// What of one's own sees, changes or blocks what a run does.
    pub(crate) hooks: Hooks,
    /// How people are asked.
    pub(crate) human: Arc<dyn HumanChannel>,
    /// The time.
    pub(crate) clock: Arc<dyn Clock>,
    /// Programs of this machine with their versions, once an actor was told of them.
    pub(crate) programs: Arc<OnceCell<Vec<String>>>,
}

impl Parts {
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
    pub(crate) fn actor_created(&self, task: Option<&TaskId>, input: &ActorInput, reasons: Vec<String>) -> ProgressEvent {
        let spec = &input.spec;
        ProgressEvent::ActorCreated {
            task: task.cloned(),
            actor: spec.id.to_string(),
            profile: spec.profile.clone(),
            model: self.models.as_ref().map(|models| models.role(&spec.model).name().to_owned()).unwrap_or_default(),
            tools: spec.tools.iter().map(|sheet| sheet.name().to_owned()).collect(),
            skills: spec.skills.clone(),
            effort: spec.effort.map(|effort| effort.as_str().to_owned()),
            max_steps: spec.max_steps,
            call: input.call.clone(),
            reasons,
        }
    }
}
