//! What a run is given: its goal, its settings and its bounds.

use std::{borrow::Cow, sync::Arc};

use aime_llm::Image;
use aime_planner::{Adaptive, GrowthSettings, Strategy};
use aime_progress::{Criterion, GoalImage, Origin, Plan, PlanId, PlanMode, ProgressEvent, RunId};
use aime_replan_triggers::{FrequencySettings, TriggerSettings};
use aime_tools::{Approval, PermissionRule, PermissionRules, ToolSheet, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ModelUse, RunMachine, RunRequest};

/// Limits on a run, over the whole tree of its actors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bounds {
    /// Tokens sent and received.
    pub max_tokens: Option<u64>,
    /// US dollars.
    pub max_cost_usd: Option<f64>,
    /// Seconds of work; time spent waiting for a person in another process does not count.
    pub max_seconds: Option<u64>,
    /// Think-act steps of one actor, in the place of the bound of its model's class.
    pub max_steps: Option<u32>,
    /// Tool calls.
    pub max_tool_calls: u64,
    /// Actors.
    pub max_actors: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { max_tokens: None, max_cost_usd: None, max_seconds: None, max_steps: None, max_tool_calls: 1_000, max_actors: 100 }
    }
}

/// When a run whose tasks are done is looked at before it counts as completed. A refusal asks for a replan, within the frequency control.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reflect {
    /// Never: tasks that are done are enough.
    Never,
    /// Where the plan names success criteria.
    #[default]
    Criteria,
    /// Always: a plan without criteria is held against its goal.
    Always,
}

/// The folders that tasks which run at once work in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// All in the working folder.
    #[default]
    Shared,
    /// Each actor of a plan in a private copy of it, joined with the working folder when the actor has ended.
    Worktree,
}

/// Who decides how a goal is worked on and plans it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanRoute {
    /// The lead, one conversation that looks for itself, where its model is capable; rules for small models.
    #[default]
    Auto,
    /// Rules, and one request for each plan and each change.
    Rules,
}

/// How the lead of a run may work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadPolicy {
    /// The lead must submit a plan and may not do the work itself.
    pub must_plan: bool,
    /// The mode of its plans; the lead chooses where there is none.
    pub mode: Option<PlanMode>,
}

impl LeadPolicy {
    /// Returns how the lead works under these settings; none where a single actor does the whole goal.
    pub(crate) fn of(settings: &RunSettings) -> Option<Self> {
        match (settings.mode, settings.strategy) {
            (Some(PlanMode::Direct), _) | (None, Strategy::Never) => None,
            (Some(mode), _) => Some(Self { must_plan: true, mode: Some(mode) }),
            (None, Strategy::Always) => Some(Self { must_plan: true, mode: None }),
            (None, Strategy::Adaptive) => Some(Self { must_plan: false, mode: None }),
        }
    }
}

/// How a run works.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunSettings {
    /// Who plans.
    #[serde(default)]
    pub route: PlanRoute,
    /// Whether goals are planned.
    pub strategy: Strategy,
    /// The mode, where it is set and not to be chosen.
    pub mode: Option<PlanMode>,
    /// How many tasks run at once, at most.
    pub max_parallel: u32,
    /// The folders that they work in.
    #[serde(default)]
    pub isolation: Isolation,
    /// Limits.
    pub bounds: Bounds,
    /// When a replan is wanted.
    pub triggers: TriggerSettings,
    /// How often one is allowed.
    pub frequency: FrequencySettings,
    /// How an emergent plan grows.
    #[serde(default)]
    pub growth: GrowthSettings,
    /// When a complex plan is looked at between its tasks.
    #[serde(default)]
    pub adaptive: Adaptive,
    /// When the end of a run is looked at before it counts as one.
    #[serde(default)]
    pub reflect: Reflect,
    /// The commands of the project that every run must pass: success criteria of each plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Criterion>,
    /// What actors may do without asking.
    pub approval: Approval,
    /// The tool tasks of a plan that a person handed over need no further approval. Those that a replan adds or changes do.
    pub plan_approved: bool,
    /// Nobody is there and nobody will come: questions are not asked, an escalation ends the run.
    pub unattended: bool,
    /// What is vouched for. [`Orchestrator::run`](crate::Orchestrator::run) sets it from its parts. A run of a journal from before there was this
    /// has none: what its actors read changes nothing in what they may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Where the texts come from that stand in every prompt: the names of files, what the project says of itself. Set
    /// likewise; what the caller names beside them is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            route: PlanRoute::default(),
            strategy: Strategy::default(),
            mode: None,
            max_parallel: 3,
            isolation: Isolation::default(),
            bounds: Bounds::default(),
            triggers: TriggerSettings::default(),
            frequency: FrequencySettings::default(),
            growth: GrowthSettings::default(),
            adaptive: Adaptive::default(),
            reflect: Reflect::default(),
            checks: Vec::new(),
            approval: Approval::Edits,
            plan_approved: false,
            unattended: false,
            trust: None,
            origins: Vec::new(),
        }
    }
}

/// The rules of a run, with what people have allowed for good since it began.
pub(crate) fn in_force<'a>(rules: &'a PermissionRules, consents: &[String]) -> Cow<'a, PermissionRules> {
    if consents.is_empty() {
        return Cow::Borrowed(rules);
    }
    let consents: Vec<PermissionRule> = consents.iter().filter_map(|rule| rule.parse().ok()).collect();
    Cow::Owned(rules.clone().with_remembered(&consents))
}

/// What a run starts from. Kept as the first record of its journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunInput {
    /// The run.
    pub(crate) run: RunId,
    /// Its plan.
    pub(crate) plan_id: PlanId,
    /// What is wanted.
    pub(crate) goal: String,
    /// Images that belong to the goal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) images: Vec<Image>,
    /// A plan that a person handed over.
    pub(crate) plan: Option<Plan>,
    /// Whether there is a model to plan with.
    pub(crate) can_plan: bool,
    /// How the lead works; none where rules plan the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lead: Option<LeadPolicy>,
    /// Whether there is a memory of earlier runs to ask, and to tell of this one.
    #[serde(default)]
    pub(crate) has_memory: bool,
    /// Whether all that is told to begin is told to end: a call that was cut off is in doubt when its task is given up, and what was asked of a
    /// call that needs no consent any more is withdrawn. Journals of before do not tell it.
    #[serde(default, alias = "tells_doubts")]
    pub(crate) tells_every_end: bool,
    /// Whether the TODO list of a task is that of the actor alone which works for the plan, and those below it keep theirs to themselves. Journals of before
    /// tell the lists of all.
    #[serde(default)]
    pub(crate) lists_apart: bool,
    /// Whether evidence that asks for a replan stays open where no usable patch came of that. Journals of before tell that it was used.
    #[serde(default)]
    pub(crate) keeps_unused: bool,
    /// Whether the run ends once its plan stands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) plan_only: bool,
    /// The model calls that `plan` took, where a plan-only run of this goal made it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) planning: Vec<ModelUse>,
    /// How it works.
    pub(crate) settings: RunSettings,
    /// The rules that come before the approval mode: those of the folder that its tools work in.
    pub(crate) rules: PermissionRules,
    /// The tools, as they were known when the run began.
    pub(crate) tools: Vec<Arc<ToolSheet>>,
}

impl RunInput {
    /// Returns the run's name.
    #[must_use]
    pub const fn run(&self) -> &RunId {
        &self.run
    }

    /// Returns the goal.
    #[must_use]
    pub fn goal(&self) -> &str {
        &self.goal
    }

    /// Returns the tools as they were known when the run began.
    #[must_use]
    pub fn tools(&self) -> &[Arc<ToolSheet>] {
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
    /// Returns what a run of `request` starts from, for a host of your own that can plan. `tools` are the tools that tasks of the plan may
    /// name; `rules` say which calls need consent.
    #[must_use]
    pub fn input(request: RunRequest, tools: Vec<Arc<ToolSheet>>, rules: PermissionRules) -> RunInput {
        let RunRequest { run, goal, images, plan, planning, settings } = request;
        RunInput {
            plan_id: PlanId::from(&run),
            run,
            goal,
            images,
            plan,
            can_plan: true,
            lead: None,
            has_memory: false,
            tells_every_end: true,
            lists_apart: true,
            keeps_unused: true,
            plan_only: false,
            planning,
            settings,
            rules,
            tools,
        }
    }
}
