//! Growth of a plan during its execution: an emergent plan is updated after its TODOs, a complex one between its tasks.
//!
//! Pure rules: they decide when the model is asked for an update, and limit the update.

use aime_messages::{Message, message};
use aime_progress_management::{EvidenceId, PlanChange, PlanPatch, ProgressState, Significance, TaskKind, TaskStatus, TriggerIndex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings for the growth of an emergent plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GrowthSettings {
    /// Maximum number of TODOs in total, without those that were merged or removed.
    pub max_todos: u32,
    /// Share of that maximum, 0 to 1, from which TODOs must be merged or finished before others are added.
    pub merge_at: f64,
    /// Number of completed TODOs after which the plan is reviewed.
    pub update_every: u32,
    /// Number of failures after which a TODO is held back as blocked.
    pub max_failures: u32,
    /// Maximum number of updates in a row without a completed TODO; after one more the run stops and reports.
    pub stagnant_rounds: u32,
}

impl Default for GrowthSettings {
    fn default() -> Self {
        Self { max_todos: 20, merge_at: 0.8, update_every: 3, max_failures: 3, stagnant_rounds: 3 }
    }
}

/// Condition under which a complex plan is reviewed between its tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Adaptive {
    /// Only on a replan.
    Never,
    /// After a completed task, if evidence of medium significance was reported that no decision has used.
    #[default]
    Evidence,
    /// After every completed task.
    Always,
}

/// Progress since the last update of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    completed: u32,
    failed: Vec<String>,
    /// Number of consecutive updates without a completed task.
    stagnant: u32,
    /// Version of the plan at the last update.
    looked_at: Option<u32>,
    /// True if the last update had no result, because it was stopped or the plan changed before its answer.
    lost: bool,
}

impl Growth {
    /// Records that a task was completed.
    pub const fn completed(&mut self) {
        self.completed = self.completed.saturating_add(1);
    }

    /// Records that an attempt at a task failed.
    pub fn failed(&mut self, task: &str) {
        if !self.failed.iter().any(|known| known == task) {
            self.failed.push(task.to_owned());
        }
    }

    /// Records that the last update had no result and must be repeated.
    pub const fn lost(&mut self) {
        self.lost = true;
    }

    /// Returns true if the planner has looked at the last failure of this task.
    #[must_use]
    pub fn has_seen(&self, task: &str) -> bool {
        !self.lost && !self.failed.iter().any(|known| known == task)
    }

    /// Returns the reason for an update of an emergent plan now, if there is one. `still` is true if no task runs or is
    /// ready.
    #[must_use]
    pub fn update_due(&self, state: &ProgressState, still: bool, settings: &GrowthSettings) -> Option<Message> {
        if !self.failed.is_empty() {
            return Some(message!("growth-failed", tasks = self.failed.join(", ")));
        }
        if self.completed >= settings.update_every.max(1) {
            return Some(message!("growth-completed", number = self.completed));
        }
        if self.lost {
            return Some(message!("growth-lost"));
        }
        let changed = self.completed > 0 || self.looked_at != Some(state.version);
        if !still || !changed {
            return None;
        }
        let open = todos(state).filter(|(_, status)| status.is_open()).map(|(id, _)| id).collect::<Vec<_>>();
        Some(if open.is_empty() { message!("growth-settled") } else { message!("growth-stuck", tasks = open.join(", ")) })
    }

    /// Returns the reason for an update of a complex plan between two tasks, if there is one. `trigger_index` belongs to the
    /// state; evidence for which `is_known` returns true was processed earlier and is no reason.
    #[must_use]
    pub fn adaptation_due(
        &self,
        state: &ProgressState,
        trigger_index: &TriggerIndex,
        adaptive: Adaptive,
        is_known: impl Fn(&EvidenceId) -> bool,
    ) -> Option<Message> {
        if (self.completed == 0 && !self.lost) || !trigger_index.has_waiting() {
            return None;
        }
        match adaptive {
            Adaptive::Never => None,
            Adaptive::Always => Some(message!("growth-task")),
            Adaptive::Evidence => {
                let unused = trigger_index.unused(state, Significance::Medium);
                unused.iter().any(|evidence| !is_known(&evidence.id)).then(|| message!("growth-learnt"))
            }
        }
    }

    /// Records an update of the plan now. Returns the number of consecutive updates, including this one, without a
    /// completed task.
    pub fn observe(&mut self, state: &ProgressState) -> u32 {
        self.stagnant = if self.completed == 0 { self.stagnant.saturating_add(1) } else { 0 };
        self.completed = 0;
        self.failed.clear();
        self.lost = false;
        self.looked_at = Some(state.version);
        self.stagnant
    }
}

/// Checks an update against the rules of growth. Returns every fault as a text for the model.
#[must_use]
pub fn check_update(before: &ProgressState, after: &ProgressState, patch: &PlanPatch, settings: &GrowthSettings) -> Vec<String> {
    let (had, has) = (count(before), count(after));
    let mut faults = Vec::new();
    if has > settings.max_todos && has > had {
        faults.push(format!("there would be {has} TODOs, and at most {} are allowed: merge or remove some", settings.max_todos));
    }
    // A TODO may be split if no other could be merged or finished first.
    let is_replaced = |id: &str| {
        let replaces = |change: &PlanChange| match change {
            PlanChange::AddTask { replaces, .. } => replaces.iter().any(|replaced| replaced.as_str() == id),
            _ => false,
        };
        patch.changes.iter().any(replaces)
    };
    let others_open = todos(before).any(|(id, status)| status.is_open() && !is_replaced(id));
    if has > had && others_open && must_merge(before, settings) {
        faults.push(format!(
            "{had} of {} TODOs are used: merge TODOs, or let the open ones be finished, before you add others",
            settings.max_todos
        ));
    }
    faults
}

/// Room of a growing plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Room {
    /// Number of tasks that count.
    pub used: u32,
    /// Maximum number of tasks.
    pub most: u32,
    /// True if so few are left that there may not be more tasks while others are open.
    pub must_merge: bool,
}

impl Room {
    /// Returns the room of the current plan.
    #[must_use]
    pub fn of(state: &ProgressState, settings: &GrowthSettings) -> Self {
        Self { used: count(state), most: settings.max_todos, must_merge: must_merge(state, settings) }
    }
}

fn must_merge(state: &ProgressState, settings: &GrowthSettings) -> bool {
    let most = f64::from(settings.max_todos) * settings.merge_at.clamp(0.0, 1.0);
    f64::from(count(state)) >= most && todos(state).any(|(_, status)| status.is_open())
}

/// Returns the number of TODOs that count; merged, replaced or removed ones do not.
fn count(state: &ProgressState) -> u32 {
    u32::try_from(todos(state).filter(|(_, status)| *status != TaskStatus::Skipped).count()).unwrap_or(u32::MAX)
}

/// Returns the tasks that are work themselves, without groups.
fn todos(state: &ProgressState) -> impl Iterator<Item = (&str, TaskStatus)> {
    let work = state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group);
    work.map(|task| (task.spec.id.as_str(), task.status))
}

#[cfg(test)]
mod tests;
