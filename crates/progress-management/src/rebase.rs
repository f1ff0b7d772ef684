//! Rebases a patch onto a plan that has changed while the patch was made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Fault, Faults, PlanChange, PlanPatch, Problem, ProgressState, TaskId};

/// The part of a patch that fits the plan, and the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct RebasedPatch {
    /// The changes that fit, in their order.
    pub patch: PlanPatch,
    /// The changes that do not fit, in their order.
    pub dropped: Vec<DroppedChange>,
}

/// A change that no longer fits the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DroppedChange {
    /// The change.
    pub change: PlanChange,
    /// Faults of the change. Places are members of the change: `task.dependencies[0]: …`.
    pub faults: Vec<String>,
}

impl ProgressState {
    /// Returns the part of a patch that fits this state. Drops a change that names a task which a dropped change would
    /// have created. If two changes contradict each other, keeps the earlier one. `replaces` and `merge_tasks` are one
    /// change each. If a task needs the result of one that several changes replace, they are dropped together.
    ///
    /// # Errors
    ///
    /// The faults of the whole patch if none of its changes fits.
    pub fn rebase(&self, patch: &PlanPatch) -> Result<RebasedPatch, Faults> {
        let Err(all) = self.check_patch(patch) else { return Ok(RebasedPatch { patch: patch.clone(), dropped: Vec::new() }) };
        let mut kept: Vec<(usize, &PlanChange)> = patch.changes.iter().enumerate().collect();
        let mut dropped: Vec<(usize, DroppedChange)> = Vec::new();
        let mut faults = all.faults.clone();
        while let Some(last) = kept.len().checked_sub(1) {
            let causes: Vec<Vec<usize>> = faults.iter().map(|fault| self.causes(fault, &kept)).collect();
            // A fault of the whole graph belongs to no single change, so the last change is dropped.
            let latest = causes.iter().max_by_key(|causes| causes.last()).filter(|causes| !causes.is_empty());
            let mut going = latest.cloned().unwrap_or_else(|| vec![last]);
            // The rest of a split would be taken for the whole.
            let together = causes.iter().filter(|causes| causes.len() > 1 && causes.iter().any(|at| going.contains(at)));
            going.extend(together.flatten().copied().collect::<Vec<_>>());
            going.sort_unstable();
            going.dedup();
            for at in going.into_iter().rev() {
                let (number, change) = kept.remove(at);
                dropped.push((number, DroppedChange { change: change.clone(), faults: faults_of(&faults, &causes, at) }));
            }
            let rest = PlanPatch { changes: kept.iter().map(|(_, change)| (*change).clone()).collect(), ..patch.clone() };
            match self.check_patch(&rest) {
                Ok(()) if rest.changes.is_empty() => return Err(all),
                Ok(()) => {
                    dropped.sort_by_key(|(number, _)| *number);
                    return Ok(RebasedPatch { patch: rest, dropped: dropped.into_iter().map(|(_, dropped)| dropped).collect() });
                }
                Err(found) => faults = found.faults,
            }
        }
        Err(all)
    }

    /// Returns the indexes of the changes that cause a fault, in ascending order: the change at its place, or those that take out
    /// a task which another one needs. Returns none for a fault of the whole graph.
    fn causes(&self, fault: &Fault, changes: &[(usize, &PlanChange)]) -> Vec<usize> {
        if let Some((at, _)) = change_at(fault) {
            return Some(at).filter(|at| *at < changes.len()).into_iter().collect();
        }
        match &fault.problem {
            Problem::LostResult { of, .. } | Problem::LostCondition { of, .. } => {
                let takes_out = |(at, (_, change)): (usize, &(usize, &PlanChange))| self.takes_out(change, of).then_some(at);
                changes.iter().enumerate().filter_map(takes_out).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns true if a change removes or replaces a task or a group around it.
    fn takes_out(&self, change: &PlanChange, task: &TaskId) -> bool {
        let named = match change {
            PlanChange::RemoveTask { id, .. } | PlanChange::CancelTask { id, .. } => std::slice::from_ref(id),
            PlanChange::AddTask { replaces: ids, .. } | PlanChange::MergeTasks { ids, .. } => ids,
            _ => return false,
        };
        let parent = |id: &&TaskId| self.tasks.get(*id).and_then(|task| task.spec.parent.as_ref());
        std::iter::successors(Some(task), parent).take(self.tasks.len() + 1).any(|id| named.contains(id))
    }
}

/// Returns the number of the change that contains a fault, and the place within it.
fn change_at(fault: &Fault) -> Option<(usize, &str)> {
    let (number, place) = fault.place.strip_prefix("changes[")?.split_once(']')?;
    Some((number.parse().ok()?, place.trim_start_matches('.')))
}

/// Returns the faults that one change causes; those of the whole graph if it causes none.
fn faults_of(faults: &[Fault], causes: &[Vec<usize>], at: usize) -> Vec<String> {
    let own = faults.iter().zip(causes).filter(|(_, causes)| causes.contains(&at)).map(|(fault, _)| match change_at(fault) {
        Some((_, "")) => fault.problem.to_string(),
        Some((_, place)) => format!("{place}: {}", fault.problem),
        None => fault.to_string(),
    });
    let own: Vec<String> = own.collect();
    if own.is_empty() { faults.iter().map(ToString::to_string).collect() } else { own }
}

#[cfg(test)]
mod tests;
