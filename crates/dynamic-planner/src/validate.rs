//! Validates a plan in layers: parsing, the rules between tasks, tools and their parameters, profiles, the limits of
//! the mode, and custom rules. All faults are reported at once, except that custom rules are applied only to plans
//! without other faults.

mod denied;
mod mode;
mod patch;
#[cfg(test)]
mod tests;
mod tool;

use std::{collections::BTreeSet, sync::Arc};

use aime_llm::ToolDefinition;
use aime_messages::{Message, message};
use aime_progress_management::{Plan, PlanMode, Strategic, TaskId, TaskSpec};
use aime_tools::{Capability, capabilities_of, tools_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ParsedPlan, PlanFault, PlanProblem, ProfileBrief,
    fault::suggestion,
    parse::{MAX_TASKS, read_plan, read_whole},
};

/// Size limits of plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlanLimits {
    /// Maximum number of tasks of a simple plan.
    pub max_tasks: usize,
    /// Maximum number of sub-goals of a complex plan.
    pub max_sub_goals: usize,
    /// Maximum number of TODOs of an emergent plan at its start.
    pub first_todos: usize,
    /// Maximum number of actions of a sub-goal. A complex plan has at most as many tasks as all its sub-goals may have actions.
    pub max_actions: usize,
}

impl Default for PlanLimits {
    fn default() -> Self {
        Self { max_tasks: 6, max_sub_goals: 5, first_todos: 3, max_actions: 3 }
    }
}

/// A custom rule for plans.
pub trait PlanValidator: Send + Sync {
    /// Returns every fault of the plan; none if it is valid. The plan has passed all other layers. For a patch, the
    /// plan is the patched one, without the tasks that were taken out.
    fn validate(&self, plan: &Plan) -> Vec<PlanFault>;
}

/// A validated plan.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedPlan {
    /// The plan.
    pub plan: Plan,
    /// Descriptions of the repairs.
    pub repairs: Vec<Message>,
}

/// Rules and names that plans are checked against.
#[derive(Clone, Default)]
pub struct PlanChecker<'a> {
    /// The tools that the runtime calls.
    pub tools: &'a [ToolDefinition],
    /// The names of tools that only an actor can call, such as `todo` and `terminate`.
    pub actor_tools: &'a [String],
    /// The available profiles; if empty, profiles are not checked.
    pub profiles: &'a [ProfileBrief],
    /// The names that a task may give as its model; if empty, models are not checked, and an unknown one means the
    /// default.
    pub models: &'a [String],
    /// The available bundles; if empty, bundles are not checked.
    pub bundles: &'a [String],
    /// Custom rules.
    pub validators: &'a [Arc<dyn PlanValidator>],
    /// The mode of a model's plan. Without one the plan is a person's: no limits apply, and fewer faults are repaired.
    pub mode: Option<PlanMode>,
    /// Limits on the size of the plan.
    pub limits: PlanLimits,
}

impl std::fmt::Debug for PlanChecker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tools: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
        f.debug_struct("PlanChecker").field("tools", &tools).field("mode", &self.mode).field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl PlanChecker<'_> {
    /// Parses a plan and checks it.
    ///
    /// # Example
    /// ```
    /// use aime_dynamic_planner::PlanChecker;
    ///
    /// let faults = PlanChecker::default()
    ///     .check(r#"{"tasks": [{"id": "a", "description": "x", "dependencies": ["b"]}, {"id": "b", "tool": "grep"}]}"#)
    ///     .unwrap_err();
    /// assert_eq!(faults[0].place, "tasks[1].tool");
    /// ```
    ///
    /// # Errors
    /// All faults at once.
    pub fn check(&self, text: &str) -> Result<CheckedPlan, Vec<PlanFault>> {
        let mut repairs = Vec::new();
        let plan = self.check_noting(text, &mut repairs)?;
        Ok(CheckedPlan { plan, repairs })
    }

    /// Parses a plan and checks it. Adds a description of each repair to `repairs`, also if the plan has faults.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::check`].
    pub fn check_noting(&self, text: &str, repairs: &mut Vec<Message>) -> Result<Plan, Vec<PlanFault>> {
        let (value, of_text) = read_whole(text)?;
        repairs.extend(of_text);
        self.check_document(&value, repairs)
    }

    /// Parses a plan from JSON and checks it.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::check`].
    pub fn check_value(&self, value: &Value) -> Result<CheckedPlan, Vec<PlanFault>> {
        let mut repairs = Vec::new();
        let plan = self.check_document(value, &mut repairs)?;
        Ok(CheckedPlan { plan, repairs })
    }

    fn check_document(&self, value: &Value, repairs: &mut Vec<Message>) -> Result<Plan, Vec<PlanFault>> {
        let (mut parsed, mut faults) = read_plan(value, self.mode.map(|_| MAX_TASKS));
        if self.mode.is_some() {
            parsed.leave_out_unread();
        }
        let ParsedPlan { mut plan, repairs: of_parsing, places, unread } = parsed;
        repairs.extend(of_parsing);
        faults.extend(unread);
        if plan.tasks.is_empty() && !faults.is_empty() {
            return Err(in_document_order(faults));
        }
        if self.mode == Some(PlanMode::Simple) {
            repairs.extend(mode::chain(&mut plan));
        }
        let unread = faults.len();
        if let Err(found) = plan.check() {
            faults.extend(found.faults.into_iter().map(PlanFault::from));
        }
        for (at, task) in plan.tasks.iter_mut().map(Arc::make_mut).enumerate() {
            self.check_task(task, &format!("tasks[{at}]"), repairs, &mut faults);
        }
        repairs.extend(plan.tasks.iter_mut().map(Arc::make_mut).filter_map(|task| leave_out_unknown_phase(task, &plan.strategic)));
        if let Some(mode) = self.mode {
            faults.extend(mode::faults(&plan, mode, self.limits));
        }
        if faults.is_empty() {
            faults.extend(self.validators.iter().flat_map(|validator| validator.validate(&plan)));
        }
        if faults.is_empty() {
            return Ok(plan);
        }
        // A fault of parsing already has its place in the document.
        faults.iter_mut().skip(unread).for_each(|fault| locate(fault, &plan, &places));
        Err(in_document_order(faults))
    }

    /// Checks tool, parameters, profile, model, bundles and denied tools of one task.
    pub(crate) fn check_task(&self, task: &mut TaskSpec, place: &str, repairs: &mut Vec<Message>, faults: &mut Vec<PlanFault>) {
        self.check_tool(task, place, repairs, faults);
        let of = (&task.id, format!("{place}.profile"));
        self.check_profile(&mut task.profile, of, message!("repair-profile-default"), repairs, faults);
        self.check_model(&mut task.model, (&task.id, format!("{place}.model")), repairs, faults);
        let of = (&task.id, format!("{place}.bundles"));
        self.check_bundles(&mut task.bundles, of, repairs, faults);
        self.check_capabilities(task, &format!("{place}.bundles"), faults);
        let of = (&task.id, format!("{place}.denied_tools"));
        self.check_denied(&mut task.denied_tools, of, repairs, faults);
    }

    /// Checks the bundles of a task. Unknown bundles in a model's plan are left out.
    fn check_bundles(
        &self,
        bundles: &mut Vec<String>,
        (task, place): (&TaskId, String),
        repairs: &mut Vec<Message>,
        faults: &mut Vec<PlanFault>,
    ) {
        // A plan may name a tool instead of a bundle, because an actor may need a tool that no bundle contains.
        let is_tool = |name: &String| self.tools.iter().any(|tool| tool.name == *name) || self.actor_tools.contains(name);
        let known = |name: &String| self.bundles.is_empty() || self.bundles.contains(name) || is_tool(name);
        for name in bundles.iter().filter(|name| !known(name)) {
            if self.mode.is_some() {
                repairs.push(message!("repair-bundle", name = format!("{name:?}"), task));
            } else {
                let fault = PlanFault::new(place.clone(), PlanProblem::UnknownBundle { name: name.clone() });
                faults.push(fault.hint(suggestion(name, self.bundles.iter().map(String::as_str))));
            }
        }
        if self.mode.is_some() {
            bundles.retain(known);
        }
    }

    /// Checks that the profile of a task, or any profile if the task names none, has every capability that the task's bundles give.
    fn check_capabilities(&self, task: &TaskSpec, place: &str, faults: &mut Vec<PlanFault>) {
        if self.profiles.is_empty() {
            return;
        }
        let named = self.profiles.iter().find(|profile| Some(&profile.name) == task.profile.as_ref());
        let needs: Vec<_> = task.bundles.iter().flat_map(|bundle| capabilities_of(bundle).map(move |needed| (bundle, needed))).collect();
        let is_lacking = |profile: &ProfileBrief, bundle: &String, needed: &Capability| {
            let given = tools_of([bundle]).unwrap_or_default();
            given.iter().filter(|tool| needed.tools.contains(tool)).all(|tool| profile.lacks(tool))
        };
        let lacked = |profile: &ProfileBrief| needs.iter().find(|(bundle, needed)| is_lacking(profile, bundle, needed));
        let Some(profile) = named else {
            let mut lacks = self.profiles.iter().map(lacked);
            // The first profile is the usual one.
            if let Some(Some((bundle, needed))) = lacks.next()
                && lacks.all(|lack| lack.is_some())
            {
                let (task, bundle, capability) = (task.id.clone(), (*bundle).clone(), needed.name);
                faults.push(PlanFault::new(place, PlanProblem::Lacks { task, profile: None, bundle, capability }));
            }
            return;
        };
        let able = self.profiles.iter().filter(|profile| lacked(profile).is_none()).map(|profile| format!("`{}`", profile.name));
        let able: Vec<String> = able.collect();
        let mut missing = BTreeSet::new();
        for (bundle, needed) in &needs {
            if is_lacking(profile, bundle, needed) && missing.insert(needed.name) {
                let (bundle, capability) = ((*bundle).clone(), needed.name);
                let problem = PlanProblem::Lacks { task: task.id.clone(), profile: Some(profile.name.clone()), bundle, capability };
                let fault = PlanFault::new(place, problem);
                faults.push(if able.is_empty() { fault } else { fault.hint(message!("plan-lacks-hint", profiles = able.join(", "))) });
            }
        }
        for name in &task.bundles {
            let tools = tools_of([name]).unwrap_or_default();
            let has_capabilities = capabilities_of(name).next().is_some();
            let incapable = if tools.is_empty() { profile.lacks(name) } else { tools.iter().all(|tool| profile.lacks(tool)) };
            if incapable && !has_capabilities {
                let problem = PlanProblem::Incapable { profile: profile.name.clone(), bundle: name.clone() };
                faults.push(PlanFault::new(place, problem).hint(message!("plan-incapable-hint")));
            }
        }
    }

    /// Checks the profile of a task. An unknown profile in a model's plan is left out; `left_out` says what follows.
    fn check_profile(
        &self,
        profile: &mut Option<String>,
        (task, place): (&TaskId, String),
        left_out: Message,
        repairs: &mut Vec<Message>,
        faults: &mut Vec<PlanFault>,
    ) {
        let known = || self.profiles.iter().map(|profile| profile.name.as_str());
        let Some(name) = profile.clone().filter(|name| !self.profiles.is_empty() && !known().any(|known| known == name)) else { return };
        if let Some(same) = known().find(|known| known.eq_ignore_ascii_case(&name)) {
            repairs.push(message!("repair-profile", name = format!("{name:?}"), task, same));
            *profile = Some(same.to_owned());
        } else if self.mode.is_some() {
            repairs.push(message!("repair-no-profile", name = format!("{name:?}"), task, left_out));
            *profile = None;
        } else {
            let all: Vec<&str> = known().collect();
            let fault = PlanFault::new(place, PlanProblem::UnknownProfile { name: name.clone() });
            faults.push(fault.hint(suggestion(&name, all.iter().copied())));
        }
    }

    /// Checks the model of a task. An unknown model in a model's plan is left out.
    fn check_model(
        &self,
        model: &mut Option<String>,
        (task, place): (&TaskId, String),
        repairs: &mut Vec<Message>,
        faults: &mut Vec<PlanFault>,
    ) {
        let Some(name) = model.clone().filter(|name| !self.models.is_empty() && !self.models.contains(name)) else { return };
        if self.mode.is_some() {
            repairs.push(message!("repair-model", name = format!("{name:?}"), task));
            *model = None;
        } else {
            let fault = PlanFault::new(place, PlanProblem::UnknownModel { name });
            faults.push(fault.hint(message!("plan-there-are", names = self.models.join(", "))));
        }
    }
}

/// Removes an unknown phase, which is harmless because a phase only orders work.
fn leave_out_unknown_phase(task: &mut TaskSpec, strategic: &Strategic) -> Option<Message> {
    let known = |name: &String| strategic.phases.iter().any(|phase| phase.name.trim().eq_ignore_ascii_case(name.trim()));
    let name = task.phase.take_if(|name| !known(name))?;
    Some(message!("repair-phase", name = format!("{name:?}"), task = task.id))
}

/// Sorts faults by their places in the document. Faults of one task keep their order.
fn in_document_order(mut faults: Vec<PlanFault>) -> Vec<PlanFault> {
    faults.sort_by_cached_key(|fault| {
        let member = fault.place.split(['.', '[']).next().unwrap_or_default();
        let order = ["json", "plan", "goal", "strategic", "tasks", "steps", "edges"];
        let indexes = fault.place.split('[').skip(1).filter_map(|part| part.split(']').next()?.parse::<usize>().ok());
        (order.iter().position(|known| *known == member), indexes.collect::<Vec<_>>())
    });
    faults
}

/// Adds to the fault its place in the document, whose tasks may have been nested or in another form, and its task.
fn locate(fault: &mut PlanFault, plan: &Plan, places: &[String]) {
    let Some((at, rest)) = fault.place.strip_prefix("tasks[").and_then(|rest| rest.split_once(']')) else { return };
    let Ok(at) = at.parse::<usize>() else { return };
    fault.task = plan.tasks.get(at).map(|task| task.id.to_string());
    if let Some(place) = places.get(at) {
        fault.place = format!("{place}{rest}");
    }
}
