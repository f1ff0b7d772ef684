//! Inputs of a run: its goal, its settings and its bounds.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use aime_dynamic_planner::{Adaptive, GrowthSettings, Strategy};
use aime_llm::Image;
use aime_progress_management::{Check, Criterion, GoalImage, Origin, Plan, PlanId, PlanMode, ProgressEvent, RunId};
use aime_replan_triggers::{FrequencySettings, TriggerSettings};
use aime_tools::{Approval, PermissionRule, PermissionRules, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ModelUse, RunMachine, RunRequest, conversation::ConversationPosition};

/// Limits of a run, over the whole tree of its actors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bounds {
    /// Maximum number of tokens sent and received.
    pub max_tokens: Option<u64>,
    /// Maximum cost in US dollars.
    pub max_cost_usd: Option<f64>,
    /// Maximum seconds of work; time spent waiting for a person in another process does not count.
    pub max_seconds: Option<u64>,
    /// Maximum number of think-act steps of one actor; replaces the bound of its model's class.
    pub max_steps: Option<u32>,
    /// Maximum number of tool calls.
    pub max_tool_calls: u64,
    /// Maximum number of actors.
    pub max_actors: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { max_tokens: None, max_cost_usd: None, max_seconds: None, max_steps: None, max_tool_calls: 1_000, max_actors: 100 }
    }
}

/// Condition under which a run with finished tasks is verified before it counts as completed. A refusal asks for a replan, within
/// the frequency control.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reflect {
    /// Never: finished tasks are enough.
    Never,
    /// If the plan names success criteria.
    #[default]
    Criteria,
    /// Always: a plan without criteria is compared with its goal.
    Always,
}

/// Working folders of tasks that run at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// A task that may write has a private copy of the working folder if others may write at the same time, and works in the working
    /// folder otherwise. The copy is merged back when the task has ended.
    #[default]
    Auto,
    /// All tasks share the working folder.
    Shared,
    /// Each actor of a plan has a private copy of the working folder, which is merged back when the actor has ended.
    Worktree,
}

/// Ignored files and folders that private copies of the working folder get, relative to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorktreeSettings {
    /// Paths that are copied into each private copy.
    pub copy: Vec<PathBuf>,
    /// Paths that are linked to the working folder, where commands can only read them.
    pub link: Vec<PathBuf>,
}

/// Way in which the mode of a goal is chosen and its plan is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanRoute {
    /// The lead, one conversation that explores by itself, if its model is capable; rules for small models.
    #[default]
    Auto,
    /// Rules, with one request for each plan and each change.
    Rules,
}

/// Rules for the work of a run's lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadPolicy {
    /// True if the lead must submit a plan and may not do the work itself.
    pub must_plan: bool,
    /// The mode of the lead's plans; without one the lead chooses.
    pub mode: Option<PlanMode>,
}

impl LeadPolicy {
    /// Returns the policy of the lead under these settings, or `None` if a single actor does the whole goal or rules plan.
    #[must_use]
    pub fn of(settings: &RunSettings) -> Option<Self> {
        if settings.route == PlanRoute::Rules {
            return None;
        }
        match (settings.mode, settings.strategy) {
            (Some(PlanMode::Direct), _) | (None, Strategy::Never) => None,
            (Some(mode), _) => Some(Self { must_plan: true, mode: Some(mode) }),
            (None, Strategy::Always) => Some(Self { must_plan: true, mode: None }),
            (None, Strategy::Adaptive) => Some(Self { must_plan: false, mode: None }),
        }
    }
}

/// Settings of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunSettings {
    /// The component that plans: the lead or the routing rules.
    #[serde(default)]
    pub route: PlanRoute,
    /// Decides if the goal is planned.
    pub strategy: Strategy,
    /// A fixed mode; without one the mode is chosen.
    pub mode: Option<PlanMode>,
    /// Maximum number of tasks that run at the same time.
    pub max_parallel: u32,
    /// Isolation of the folders that tasks work in.
    #[serde(default)]
    pub isolation: Isolation,
    /// Contents of private copies of the working folder.
    #[serde(default)]
    pub worktree: WorktreeSettings,
    /// True if the work is committed to a new branch at the end of the run, with one commit for each task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub commit: bool,
    /// Limits of the run.
    pub bounds: Bounds,
    /// Conditions that trigger a replan.
    pub triggers: TriggerSettings,
    /// Limits on the frequency of replans.
    pub frequency: FrequencySettings,
    /// Growth of an emergent plan.
    #[serde(default)]
    pub growth: GrowthSettings,
    /// Conditions for a review of a complex plan between its tasks.
    #[serde(default)]
    pub adaptive: Adaptive,
    /// Conditions for a review at the end of a run, before the end counts.
    #[serde(default)]
    pub reflect: Reflect,
    /// Time limit for the command of a criterion, in seconds: 1 to 600.
    #[serde(default = "check_seconds")]
    pub check_seconds: u32,
    /// Commands of the project that must pass in every run. They become success criteria of each plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Criterion>,
    /// Actions that actors may take without asking.
    pub approval: Approval,
    /// True if the tool tasks of a plan that a person handed over need no further approval. Tool tasks that a replan
    /// adds or changes still need it, and those whose parameters refer to a result with untrusted text.
    pub plan_approved: bool,
    /// True if no person is there. aime then asks for no consent, and a question that only a person can answer leaves the
    /// run waiting.
    pub unattended: bool,
    /// Trusted sources. [`Orchestrator::run`](crate::Orchestrator::run) sets this from its parts. Without it, texts
    /// that actors read do not change their permissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Sources of the texts that every prompt contains: file names and the project's description of itself.
    /// [`Orchestrator::run`](crate::Orchestrator::run) adds these to the sources that the caller names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
}

/// Returns the default time limit for the command of a criterion, in seconds.
const fn check_seconds() -> u32 {
    300
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            route: PlanRoute::default(),
            strategy: Strategy::default(),
            mode: None,
            max_parallel: 3,
            isolation: Isolation::default(),
            worktree: WorktreeSettings::default(),
            commit: false,
            bounds: Bounds::default(),
            triggers: TriggerSettings::default(),
            frequency: FrequencySettings::default(),
            growth: GrowthSettings::default(),
            adaptive: Adaptive::default(),
            reflect: Reflect::default(),
            check_seconds: check_seconds(),
            checks: Vec::new(),
            approval: Approval::Edits,
            plan_approved: false,
            unattended: false,
            trust: None,
            origins: Vec::new(),
        }
    }
}

/// Returns the rules of a run, extended by the permanent consents that people have given since it began.
pub(crate) fn in_force<'a>(rules: &'a PermissionRules, consents: &[String]) -> Cow<'a, PermissionRules> {
    if consents.is_empty() {
        return Cow::Borrowed(rules);
    }
    let consents: Vec<PermissionRule> = consents.iter().filter_map(|rule| rule.parse().ok()).collect();
    Cow::Owned(rules.clone().with_remembered(&consents))
}

/// Input that a run starts from: the first record of its journal.
#[expect(unnameable_types, reason = "it is opaque; its name outside of this crate is `<RunMachine as Machine>::Input`")]
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunInput {
    /// Id of the run.
    pub(crate) run: RunId,
    /// Id of its plan.
    pub(crate) plan_id: PlanId,
    /// Text of the goal.
    pub(crate) goal: String,
    /// Images that belong to the goal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) images: Vec<Image>,
    /// A plan that a person handed over.
    pub(crate) plan: Option<Plan>,
    /// True if the run has a model to plan with.
    pub(crate) can_plan: bool,
    /// Policy of the lead; absent if rules plan the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lead: Option<LeadPolicy>,
    /// True if the run has a long-term memory to read from and to write to.
    #[serde(default)]
    pub(crate) has_memory: bool,
    /// True if the run ends once its plan is made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) plan_only: bool,
    /// The model calls of `plan`, if a plan-only run of this goal made the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) planning: Vec<ModelUse>,
    /// Point from which the lead continues the conversation in which it made `plan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) conversation: Option<ConversationPosition>,
    /// Comments of a person on `plan`, which a plan-only run has the lead act on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) comments: Option<String>,
    /// Settings of the run.
    pub(crate) settings: RunSettings,
    /// Permission rules of the folder that the run's tools work in. They take precedence over the approval mode.
    pub(crate) rules: PermissionRules,
    /// Specifications of the tools at the start of the run.
    pub(crate) tools: Vec<Arc<ToolSpec>>,
}

impl RunInput {
    /// Returns the id of the run.
    #[must_use]
    pub const fn run(&self) -> &RunId {
        &self.run
    }

    /// Returns the goal.
    #[must_use]
    pub fn goal(&self) -> &str {
        &self.goal
    }

    /// Returns the settings.
    #[must_use]
    pub const fn settings(&self) -> &RunSettings {
        &self.settings
    }

    /// Returns whether the result is compared with these criteria of the plan, or with the goal if there are none.
    pub(crate) fn reflects(&self, criteria: &[Criterion]) -> bool {
        let named = !criteria.is_empty();
        match self.settings.reflect {
            // Commands and file facts of a person and of the project cost no request.
            Reflect::Never => criteria.iter().any(|known| known.owner.needs_consent() && !matches!(known.check, Check::Text(_))),
            Reflect::Criteria => named,
            Reflect::Always => named || self.can_plan,
        }
    }

    /// Sets the lead, which a worker of an engine decides about.
    #[must_use]
    pub fn led_by(self, lead: Option<LeadPolicy>) -> Self {
        Self { lead, ..self }
    }

    /// Returns the tools as they were specified at the start of the run.
    #[must_use]
    pub fn tools(&self) -> &[Arc<ToolSpec>] {
        &self.tools
    }

    /// Returns the first event of the run.
    pub(crate) fn started(&self) -> ProgressEvent {
        let images = self.images.iter();
        let images = images.map(|image| GoalImage { name: image.name.clone(), media_type: image.format.media_type().to_owned() }).collect();
        ProgressEvent::RunStarted { plan_id: self.plan_id.clone(), goal: self.goal.clone(), images }
    }
}

impl RunMachine {
    /// Returns the input of a run of `request`, for your own host that can plan. `tools` are the tools that tasks of
    /// the plan may name; `rules` decide which calls need consent.
    #[must_use]
    pub fn input(request: RunRequest, tools: Vec<Arc<ToolSpec>>, rules: PermissionRules) -> RunInput {
        let RunRequest { run, goal, images, plan, planning, conversation: _, settings } = request;
        RunInput {
            plan_id: PlanId::from(&run),
            run,
            goal,
            images,
            plan,
            can_plan: true,
            lead: None,
            has_memory: false,
            plan_only: false,
            planning,
            conversation: None,
            comments: None,
            settings,
            rules,
            tools,
        }
    }
}

#[cfg(test)]
mod tests;
