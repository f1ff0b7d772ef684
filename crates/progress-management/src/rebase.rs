//! Rebases a patch onto a plan that has changed while the patch was made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Fault, Faults, PlanChange, PlanPatch, ProgressState};

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
    /// change each.
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
            // A fault of the whole graph belongs to no single change, so the last change is dropped.
            let at = faults.iter().filter_map(|fault| change_at(fault).map(|(at, _)| at)).max().unwrap_or(last).min(last);
            let (number, change) = kept.remove(at);
            dropped.push((number, DroppedChange { change: change.clone(), faults: faults_of(&faults, at) }));
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
}

/// Returns the number of the change that contains a fault, and the place within it.
fn change_at(fault: &Fault) -> Option<(usize, &str)> {
    let (number, place) = fault.place.strip_prefix("changes[")?.split_once(']')?;
    Some((number.parse().ok()?, place.trim_start_matches('.')))
}

/// Returns the faults of one change; those of the whole graph if it has none of its own.
fn faults_of(faults: &[Fault], at: usize) -> Vec<String> {
    let own = faults.iter().filter_map(|fault| match change_at(fault) {
        Some((number, "")) if number == at => Some(fault.problem.to_string()),
        Some((number, place)) if number == at => Some(format!("{place}: {}", fault.problem)),
        _ => None,
    });
    let own: Vec<String> = own.collect();
    if own.is_empty() { faults.iter().map(ToString::to_string).collect() } else { own }
}

#[cfg(test)]
mod tests;
