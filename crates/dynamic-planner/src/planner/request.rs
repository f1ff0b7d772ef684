//! Settings of a planner, and its requests.

use std::sync::Arc;

use aime_llm::{Image, ModelLimits};
use aime_progress_management::{Plan, PlanMode};
use aime_tools::ModelClasses;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    PlanLimits, PlanTools, ProfileBrief,
    draft::first_lines,
    prompt::{PlanContext, PlanExample, summary},
};

/// Share of the model's context window for the state of the run in a prompt for a patch, in percent.
pub(super) const STATE_SHARE: u64 = 20;
/// Share of the window for the project's notes, in percent.
const PROJECT_SHARE: u64 = 4;
/// Share of the window for the names in the working folder, in percent.
pub(super) const FOLDER_SHARE: u64 = 2;

/// Fallback if there is no acceptable plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// The actor of the goal's category works on the whole goal.
    #[default]
    Category,
    /// Planning fails.
    Fail,
}

/// Settings of a planner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlannerSettings {
    /// Number of answers that the planner asks for before it falls back to something simpler.
    pub max_attempts: u32,
    /// Temperature for plans and patches; low, but above 0 so that a second try can differ from the first.
    pub temperature: f32,
    /// Temperature for the first TODOs of an emergent plan.
    pub first_todos_temperature: f32,
    /// True if a task may be a single tool call.
    pub tool_tasks: bool,
    /// Maximum number of estimated tokens of the plan of a similar goal in a prompt; 0 leaves it out.
    pub example_tokens: u64,
    /// Fallback if there is no acceptable plan.
    pub fallback: Fallback,
    /// Size limits of plans.
    pub limits: PlanLimits,
}

impl Default for PlannerSettings {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            temperature: 0.2,
            first_todos_temperature: 0.3,
            tool_tasks: true,
            example_tokens: 250,
            fallback: Fallback::default(),
            limits: PlanLimits::default(),
        }
    }
}

/// Request for a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanRequest {
    /// The goal.
    pub goal: String,
    /// Images that belong to the goal.
    pub images: Vec<Image>,
    /// The mode of the plan.
    pub mode: PlanMode,
    /// The project's description of itself, such as `AGENTS.md`; may be empty.
    pub project: String,
    /// Memories of earlier runs and documents on the goal, as Markdown, limited by the caller; may be empty.
    pub recalled: String,
    /// Names in the working folder, one per line; may be empty.
    pub folder: String,
    /// The tools that the runtime calls.
    pub tools: PlanTools,
    /// The names of tools that only an actor can call.
    pub actor_tools: Vec<String>,
    /// The available profiles.
    pub profiles: Vec<ProfileBrief>,
    /// The names that a task may give as its model; if empty, models are not checked.
    pub models: Vec<String>,
    /// The available tool bundles.
    pub bundles: Vec<String>,
    /// The profile of the goal's category, for direct plans.
    pub category_profile: Option<String>,
}

impl PlanRequest {
    /// Returns a request with only a goal and a mode.
    #[must_use]
    pub fn new(goal: impl Into<String>, mode: PlanMode) -> Self {
        Self {
            goal: goal.into(),
            images: Vec::new(),
            mode,
            project: String::new(),
            recalled: String::new(),
            folder: String::new(),
            tools: PlanTools::default(),
            actor_tools: Vec::new(),
            profiles: Vec::new(),
            models: Vec::new(),
            bundles: Vec::new(),
            category_profile: None,
        }
    }

    /// Returns the context of a prompt, which is short where the class of the model says so, with the plan of a similar goal as an
    /// example if there is one.
    pub(super) fn context(
        &self,
        settings: &PlannerSettings,
        (limits, classes): (ModelLimits, ModelClasses),
        similar: Option<&Plan>,
    ) -> PlanContext {
        PlanContext {
            goal: self.goal.trim().to_owned(),
            project: first_lines(self.project.trim(), share(limits, PROJECT_SHARE)),
            known: self.recalled.trim().to_owned(),
            folder: first_lines(self.folder.trim(), share(limits, FOLDER_SHARE)),
            example: similar.and_then(|plan| PlanExample::of(plan, settings.example_tokens)),
            tools: Arc::clone(self.tools.lines()),
            profiles: choice(&self.profiles),
            tool_tasks: settings.tool_tasks && !self.tools.is_empty(),
            max_tasks: settings.limits.max_tasks,
            max_sub_goals: settings.limits.max_sub_goals,
            first_todos: settings.limits.first_todos,
            max_actions: settings.limits.max_actions,
            simple: classes.of(limits).simple_tools,
        }
    }
}

/// Returns the profiles for a prompt, or none if there is no choice.
pub(super) fn choice(profiles: &[ProfileBrief]) -> Vec<ProfileBrief> {
    let brief = |profile: &ProfileBrief| ProfileBrief { description: summary(&profile.description), ..profile.clone() };
    if profiles.len() > 1 { profiles.iter().map(brief).collect() } else { Vec::new() }
}

/// Returns a share of a model's context window, in tokens.
pub(super) fn share(limits: ModelLimits, percent: u64) -> u64 {
    u64::from(limits.context_tokens) * percent / 100
}
