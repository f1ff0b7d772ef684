//! Routing, planning and replanning: the inputs of the planner, and the facts made of its answers.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use aime_durable::EffectId;
use aime_dynamic_planner::{
    GrowthSettings, PlanFault, PlanRequest, PlanTools, Planner, PlannerError, ProfileBrief, ReplanRequest, ReusedPlan, Room, Route,
    RouteDecision, RouteSettings, UndecidedGoal, WakeKind, ask_route, check_update, route,
};
use aime_llm::{Effort, InvalidAnswer, Model, ModelError};
use aime_messages::{Describe as _, Message, message};
use aime_progress_management::{Faults, ModelCost, Plan, PlanMode, PlanPatch, ProgressState, TaskStatus, handled_failures};
use aime_tools::{BUNDLES, Executor, ToolRegistry};
use tokio::time::Instant;

use super::{Context, RunRunner, millis_since};
use crate::{ChosenRoute, LeadWakeOrder, ModelUse, Planning, RefusedAnswer, Replanning, RunFact, profile_briefs};

/// Descriptions of tools for plans, made once for all plans of an orchestrator.
#[derive(Clone)]
pub(crate) struct ToolsOfPlans {
    /// The tools that the runtime calls.
    runtime: PlanTools,
    /// The names of the tools that only an actor can call.
    of_actors: Arc<[String]>,
}

impl ToolsOfPlans {
    pub(crate) fn new(registry: &ToolRegistry) -> Self {
        let handled = |by| registry.all_specs().filter(move |tool| tool.handled_by == by).map(|tool| tool.definition.clone());
        let runtime = PlanTools::from(handled(Executor::Runtime).collect::<Vec<_>>());
        Self { runtime, of_actors: handled(Executor::Actor).map(|tool| tool.name).collect() }
    }

    /// Returns the tools that the runtime calls.
    pub(super) fn of_runtime(&self) -> &[aime_llm::ToolDefinition] {
        &self.runtime
    }

    /// Returns the names of the tools that only an actor can call.
    pub(super) fn of_actors(&self) -> &[String] {
        &self.of_actors
    }
}

/// Maximum number of file names of the working folder in the prompt of an actor with a small model.
const LISTING: usize = 40;

impl RunRunner {
    pub(super) async fn route(&self, id: EffectId, context: &Context) -> RunFact {
        let begun = Instant::now();
        let settings = RouteSettings { strategy: self.input.settings.strategy, mode: self.input.settings.mode, ..self.parts.route.clone() };
        let mut calls = Vec::new();
        let routed = match (route(&self.input.goal, &settings, &self.parts.categories), self.model("classifier", context)) {
            (Route::Decided(routed), _) => routed,
            (Route::AskModel(undecided), Some(model)) => {
                let asked = ask_route(&model, &self.parts.tiers, &self.parts.prompts, &self.input.goal, undecided.clone()).await;
                match asked {
                    Ok(asked) => {
                        calls.push(model_use("route", &asked.model, asked.effort, asked.spent, begun));
                        asked.routed
                    }
                    Err(error) => complex(undecided, Message::text(error)),
                }
            }
            (Route::AskModel(undecided), None) => complex(undecided, message!("route-no-model")),
        };
        let RouteDecision { mode, by, score, category, reasons } = routed;
        let profile = self.category_profile(&category);
        RunFact::Routed { id, route: ChosenRoute { mode, by, score, category, profile, reasons }, calls }
    }

    /// Makes the first plan, for a lead with fresh memory.
    pub(super) async fn plan(&self, id: EffectId, order: LeadWakeOrder, context: &Context) -> RunFact {
        let LeadWakeOrder { state, known, .. } = order;
        let begun = Instant::now();
        let Some(planner) = self.planner(context) else {
            let outcome = Planning::ModelFailed { message: message!("none-configured"), hint: None };
            return RunFact::Planned { id, outcome, calls: Vec::new() };
        };
        let request = PlanRequest {
            images: self.input.images.clone(),
            project: self.parts.project.clone(),
            recalled: known,
            folder: self.folder_names().join("\n"),
            tools: self.plan_tools.runtime.clone(),
            actor_tools: self.plan_tools.of_actors.to_vec(),
            profiles: self.profiles(),
            models: self.model_names(),
            bundles: bundles(),
            category_profile: self.category_profile(&state.category),
            ..PlanRequest::new(self.input.goal.clone(), state.mode.unwrap_or(PlanMode::Complex))
        };
        let (planner, notes) = self.with_kept_plans(planner).await;
        let mut notes: Vec<Message> = notes.into_iter().map(Message::text).collect();
        let key = planner.key(&request);
        match self.plan_with_hooks(planner, &request, context).await {
            Ok(planned) => {
                if !self.input.plan_only {
                    self.store_active_plan(key, &request, &planned).await;
                }
                if let Some(ReusedPlan { owner: run }) = planned.reused {
                    notes.extend(planned.repairs);
                    let outcome = Planning::Reused { plan: Box::new(planned.plan), run, notes };
                    return RunFact::Planned { id, outcome, calls: Vec::new() };
                }
                let calls = vec![model_use("plan", &planned.model, planned.effort, planned.spent, begun)];
                let refused = refused(&planned.refused);
                notes.extend(planned.repairs);
                let outcome = Planning::Planned { plan: Box::new(planned.plan), repairs: notes, refused, fallback: planned.fallback };
                RunFact::Planned { id, outcome, calls }
            }
            Err(error) => {
                let calls = vec![model_use("plan", "", None, error.spent(), begun)];
                let (message, hint) = explain(&error);
                let outcome = match &error {
                    PlannerError::Model { source, .. } if !is_blocked(source) => Planning::ModelFailed { message, hint },
                    _ => Planning::NoPlan { message, refused: refused(error.refused()) },
                };
                RunFact::Planned { id, outcome, calls }
            }
        }
    }

    /// Makes a patch, for a lead with fresh memory.
    pub(super) async fn replan(&self, id: EffectId, order: LeadWakeOrder, context: &Context) -> RunFact {
        let LeadWakeOrder { wake, state, known, .. } = order;
        let begun = Instant::now();
        let Some(planner) = self.planner(context) else {
            let outcome = Replanning::NoPatch { message: message!("none-configured"), refused: Vec::new() };
            return RunFact::Replanned { id, outcome, repairs: Vec::new(), calls: Vec::new() };
        };
        let room = (wake.kind == WakeKind::Update).then(|| Room::of(&state, &self.input.settings.growth));
        let request = ReplanRequest {
            images: self.input.images.clone(),
            recalled: known,
            folder: self.folder_names().join("\n"),
            room,
            tools: self.plan_tools.runtime.clone(),
            actor_tools: self.plan_tools.of_actors.to_vec(),
            profiles: self.profiles(),
            models: self.model_names(),
            bundles: bundles(),
            ..ReplanRequest::of_wake(wake, *state)
        };
        // A patch that leaves a failed task unchanged is rejected once. If the planner repeats it, the patch is
        // accepted.
        let asked = AtomicBool::new(false);
        let state = &*request.state;
        let judged = |patch: &PlanPatch| match room {
            Some(_) => judge_update(state, patch, &self.input.settings.growth),
            None => check_patch(state, patch, !asked.swap(true, Ordering::Relaxed)),
        };
        match self.replan_with_hooks(planner, &request, judged, context).await {
            Ok(replanned) => {
                let calls = vec![model_use("patch", &replanned.model, replanned.effort, replanned.spent, begun)];
                let outcome = Replanning::Patched { patch: replanned.patch, refused: refused(&replanned.refused) };
                RunFact::Replanned { id, outcome, repairs: replanned.repairs, calls }
            }
            Err(error) => {
                let calls = vec![model_use("patch", "", None, error.spent(), begun)];
                let (message, hint) = explain(&error);
                let outcome = match &error {
                    PlannerError::Model { source, .. } if !is_blocked(source) => Replanning::ModelFailed { message, hint },
                    _ => Replanning::NoPatch { message, refused: refused(error.refused()) },
                };
                RunFact::Replanned { id, outcome, repairs: Vec::new(), calls }
            }
        }
    }

    fn planner(&self, context: &Context) -> Option<Planner> {
        Some(self.planner_of(self.model("planner", context)?))
    }

    pub(super) fn planner_of(&self, model: Model) -> Planner {
        let planner = Planner::new(model, self.parts.planner.clone()).with_prompts(Arc::clone(&self.parts.prompts));
        let planner = planner.with_classes(self.parts.tool_context.classes);
        planner.with_tiers(Arc::clone(&self.parts.tiers)).with_validators(self.parts.validators.clone())
    }

    pub(super) fn profiles(&self) -> Vec<ProfileBrief> {
        profile_briefs(self.parts.actors.profiles(), &self.parts.tools)
    }

    /// Returns the names that a task may give as its model.
    pub(super) fn model_names(&self) -> Vec<String> {
        self.parts.models.as_ref().map(|models| models.names().map(str::to_owned).collect()).unwrap_or_default()
    }

    pub(super) fn category_profile(&self, category: &str) -> Option<String> {
        self.parts.categories.iter().find(|known| known.name == category).map(|known| known.profile.clone()).filter(|name| !name.is_empty())
    }

    /// Returns the first names in the working folder, one per line.
    pub(super) fn listing(&self) -> String {
        let mut names = self.folder_names();
        let hidden = names.len().saturating_sub(LISTING);
        names.truncate(LISTING);
        if hidden > 0 {
            names.push(format!("… and {hidden} more"));
        }
        names.join("\n")
    }

    /// Returns all names in the working folder, sorted, without hidden ones.
    fn folder_names(&self) -> Vec<String> {
        let Ok(entries) = self.parts.tool_context.folder.read_dir(Path::new(".")) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.into_iter().map(|entry| entry.name.to_string_lossy().into_owned()).filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    }
}

/// Treats an undecided goal as complex, because a plan that is too large costs less than one that is too small.
fn complex(undecided: UndecidedGoal, why: Message) -> RouteDecision {
    let UndecidedGoal { score, category, mut reasons } = undecided;
    reasons.push(why);
    RouteDecision { mode: PlanMode::Complex, by: "rules".to_owned(), score: Some(score), category, reasons }
}

/// Returns the updated plan. The update must fit the plan and its growth limits, and must not repeat a failed task
/// unchanged.
fn judge_update(state: &ProgressState, patch: &PlanPatch, growth: &GrowthSettings) -> Result<Plan, Vec<PlanFault>> {
    let after = state.patched(patch, state.last_progress_at).map_err(broken_rules)?;
    let mut faults: Vec<Message> = check_update(state, &after, patch, growth).into_iter().map(Message::text).collect();
    faults.extend(handled_failures(state, patch).err().into_iter().flatten());
    if faults.is_empty() { Ok(after.plan()) } else { Err(faults.into_iter().map(|fault| PlanFault::new("patch", fault)).collect()) }
}

/// Returns the patched plan. The patch must fit the plan and must not repeat a failed task unchanged. If it must be
/// `whole`, it has to deal with every task that failed for good.
fn check_patch(state: &ProgressState, patch: &PlanPatch, whole: bool) -> Result<Plan, Vec<PlanFault>> {
    let after = state.patched(patch, state.last_progress_at).map_err(broken_rules)?;
    let left: Vec<Message> = after
        .tasks
        .values()
        .filter(|task| task.status == TaskStatus::Failed && task.failed_for_good)
        .map(|task| {
            let id = &task.spec.id;
            message!("rule-left", task = id)
        })
        .collect();
    let mut faults = handled_failures(state, patch).err().unwrap_or_default();
    faults.extend(left.into_iter().filter(|_| whole));
    if faults.is_empty() { Ok(after.plan()) } else { Err(faults.into_iter().map(|fault| PlanFault::new("patch", fault)).collect()) }
}

fn broken_rules(found: Faults) -> Vec<PlanFault> {
    found.faults.into_iter().map(PlanFault::from).collect()
}

pub(super) fn bundles() -> Vec<String> {
    BUNDLES.iter().map(|bundle| bundle.name.to_owned()).collect()
}

fn refused(refused: &[InvalidAnswer]) -> Vec<RefusedAnswer> {
    refused.iter().map(|refused| RefusedAnswer { attempt: refused.attempt, faults: refused.faults.clone() }).collect()
}

pub(super) fn model_use(purpose: &str, model: &str, effort: Option<Effort>, spent: ModelCost, begun: Instant) -> ModelUse {
    ModelUse {
        purpose: purpose.to_owned(),
        model: model.to_owned(),
        effort: effort.map(|effort| effort.as_str().to_owned()),
        spent,
        duration_ms: millis_since(begun),
        finish: None,
    }
}

/// Returns true if a hook blocked the request, so that the model itself is usable.
const fn is_blocked(error: &ModelError) -> bool {
    matches!(error, ModelError::Blocked { .. })
}

/// Formats an error with its causes, and returns the hint of the model client if it has one.
fn explain(error: &PlannerError) -> (Message, Option<Message>) {
    let source: Option<&ModelError> = if let PlannerError::Model { source, .. } = error { Some(source) } else { None };
    match source {
        Some(source) => (Message::list(": ", &[error.describe(), source.describe()]), source.hint().map(|hint| hint.describe())),
        None => (error.describe(), None),
    }
}
