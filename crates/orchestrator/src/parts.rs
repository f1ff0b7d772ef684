//! The parts of an orchestrator.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use aime_actor_factory::{ActorFactory, ActorInput};
use aime_durable::{Clock, Journal};
use aime_dynamic_planner::{Category, PlanValidator, PlannerSettings, Prompts, RouteSettings};
use aime_llm::Tiers;
use aime_progress_management::{ProgressEvent, ProgressState, RunId, TaskId, write_snapshot};
use aime_redact::Redactor;
use aime_tools::{Approval, ToolContext, ToolRegistry};
use aime_undo::{Recorder, UndoSettings};

use crate::{
    AnswerPrompt, ExternalAgents, Hooks, HumanChannel, KeptPlans, Models, RunInput, RunMemory, TraceParents, found_programs::FoundPrograms,
};

/// The parts that an [`OrchestratorBuilder`](crate::OrchestratorBuilder) was given.
#[derive(Clone)]
pub(crate) struct Parts {
    /// The journal of all runs.
    pub(crate) journal: Journal,
    /// Path of `.aime`, the folder for the blobs and snapshots of runs.
    pub(crate) keep: PathBuf,
    /// The models. Without them only plans of tool tasks can run.
    pub(crate) models: Option<Models>,
    /// The tools.
    pub(crate) tools: Arc<ToolRegistry>,
    /// Folder and confinement of tools. The permission rules in it apply to the runs that are started with it.
    pub(crate) tool_context: ToolContext,
    /// Creates actors.
    pub(crate) actors: Arc<ActorFactory>,
    /// The categories of goals.
    pub(crate) categories: Vec<Category>,
    /// Settings for the routing of goals.
    pub(crate) route: RouteSettings,
    /// Settings of the planner.
    pub(crate) planner: PlannerSettings,
    /// Additional rules for plans and for patched plans.
    pub(crate) validators: Vec<Arc<dyn PlanValidator>>,
    /// The planner's prompts.
    pub(crate) prompts: Arc<Prompts>,
    /// The prompt of final answers.
    pub(crate) answer_prompt: AnswerPrompt,
    /// Known capabilities of each model's server.
    pub(crate) tiers: Arc<Tiers>,
    /// Kept plans of recurring goals and their folder, if plans are kept.
    pub(crate) kept_plans: Option<KeptPlans>,
    /// Long-term memory and knowledge, if enabled.
    pub(crate) memory: Option<Arc<RunMemory>>,
    /// The project's description of itself, such as its `AGENTS.md`; may be empty.
    pub(crate) project: String,
    /// Maximum number of characters of `AGENTS.md` in a prompt, when it is read again.
    pub(crate) project_chars: usize,
    /// Limits of the recorded file changes that an undo needs. Without it nothing is recorded.
    pub(crate) undo: Option<UndoSettings>,
    /// True if the user trusts the files of the working folder like their own words.
    pub(crate) trust_files: bool,
    /// Removes secrets from everything that is journaled and from everything that models see.
    pub(crate) redactor: Redactor,
    /// The user's hooks, which see, change or block the actions of a run.
    pub(crate) hooks: Hooks,
    /// Channel to the people who answer questions.
    pub(crate) human: Arc<dyn HumanChannel>,
    /// External agents that profiles name, if there are any.
    pub(crate) agents: Option<Arc<dyn ExternalAgents>>,
    /// Trace contexts of calls, if telemetry is on.
    pub(crate) trace_parents: Option<TraceParents>,
    /// The time.
    pub(crate) clock: Arc<dyn Clock>,
    /// The programs of this machine, as runs have found them.
    pub(crate) programs: Arc<FoundPrograms>,
}

impl Parts {
    /// Returns a recorder of the run's file changes in a folder, or `None` if recording is turned off.
    pub(crate) fn recorder(&self, run: &RunId, keep: &Path) -> Option<Recorder> {
        let settings = self.undo.clone()?;
        Some(Recorder::new(self.tool_context.folder.clone(), keep, run.as_str(), settings))
    }

    /// Applies the denials from the start of a run beside the current ones, and its approval mode, to every call.
    pub(crate) fn hold_to(&mut self, input: &RunInput) {
        let context = &mut self.tool_context;
        context.rules = Arc::new(input.rules.at_most(&context.rules));
        context.read_only = input.settings.approval == Approval::ReadOnly;
    }

    /// Saves the state of a run as a snapshot for people and other programs. The journal remains the truth.
    pub(crate) fn keep_snapshot(&self, state: &ProgressState) {
        let path = self.keep.join("progress").join(format!("{}.json", state.plan_id));
        if let Err(error) = write_snapshot(&path, state) {
            tracing::warn!(%error, "the snapshot could not be written; the journal is whole");
        }
    }

    /// Returns the event for the creation of an actor, which the actor's own machine does not emit.
    pub(crate) fn actor_created(&self, task: Option<&TaskId>, input: &ActorInput, reasons: Vec<String>) -> ProgressEvent {
        let spec = &input.spec;
        ProgressEvent::ActorCreated {
            task: task.cloned(),
            actor: spec.id.to_string(),
            name: spec.name.clone(),
            description: spec.description.clone(),
            profile: spec.profile.clone(),
            model: if spec.agent {
                Some(spec.model.clone())
            } else {
                self.models.as_ref().map(|models| models.role(&spec.model).name().to_owned())
            }
            .unwrap_or_default(),
            tools: spec.tools.iter().map(|tool| tool.name().to_owned()).collect(),
            skills: spec.skills.clone(),
            inline_skills: spec.inline_skills.clone(),
            effort: spec.effort.map(|effort| effort.as_str().to_owned()),
            // Through its decimal form, so that the event says 0.2 and not 0.20000000298.
            temperature: spec.temperature.and_then(|temperature| temperature.to_string().parse().ok()),
            max_steps: spec.max_steps,
            created_at: Some(spec.created_at),
            call: input.call.clone(),
            reasons,
        }
    }
}
