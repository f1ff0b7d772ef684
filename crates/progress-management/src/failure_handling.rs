//! Checks how a replan deals with failed tasks. Each replan has to replace them by smaller work or by another
//! approach.

use aime_messages::{Describe, Message, message};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{EdgeType, EvidenceKind, PlanChange, PlanPatch, ProgressState, Task, TaskChange, TaskId, TaskKind, TaskSpec, TaskStatus};

/// Treatment of a failed task by a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureHandling {
    /// Several tasks replace it.
    Split,
    /// One task with another approach replaces it.
    AnotherWay,
    /// It is retried with another description, tool, profile, criterion or preparation.
    Changed,
    /// It is retried unchanged, after new preparation. A group continues.
    Again,
    /// The plan leaves it out.
    Removed,
    /// It stays failed.
    Left,
}

/// A failed task, with its treatment by a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandledFailure {
    /// The task that failed.
    pub task: TaskId,
    /// Treatment of the task.
    pub how: FailureHandling,
    /// Tasks that replace it, preceded by those that prepare them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub into: Vec<TaskId>,
}

impl Describe for HandledFailure {
    fn describe(&self) -> Message {
        let Self { task, how, into } = self;
        let into: Vec<&str> = into.iter().map(TaskId::as_str).collect();
        let (number, into) = (into.len(), into.join(", "));
        match how {
            FailureHandling::Split => message!("handled-split", task, number, into),
            FailureHandling::AnotherWay => message!("handled-another-way", task, into),
            FailureHandling::Changed => message!("handled-changed", task),
            FailureHandling::Again => message!("handled-again", task),
            FailureHandling::Removed => message!("handled-removed", task),
            FailureHandling::Left => message!("handled-left", task),
        }
    }
}

impl std::fmt::Display for HandledFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.describe().fmt(f)
    }
}

/// Returns how a patch deals with each task that failed for good, or that is held back after failures.
///
/// # Errors
///
/// A line for each of them that the patch would only repeat: it is replaced by a single task with the same words or the
/// same call, or it is retried and neither the work nor its dependencies change. A new task with the words or the call of
/// a task that the patch removes replaces it, even if it does not say so. A task for which an earlier decision
/// changed the plan, or that replaced such a task, must be split, or its tool, profile or model must change. If no
/// decision has used a message of a person yet, a task may be retried unchanged, because something else may have
/// changed.
pub fn handled_failures(state: &ProgressState, patch: &PlanPatch) -> Result<Vec<HandledFailure>, Vec<Message>> {
    let gave_up = |task: &&Task| {
        (task.status == TaskStatus::Failed && task.failed_for_good)
            || (task.status == TaskStatus::Blocked && task.held && task.attempts > 0 && !held_by_plan(&task.spec.id, state))
    };
    let (mut lowered, mut faults) = (Vec::new(), Vec::new());
    for task in state.tasks.values().filter(gave_up) {
        match of(&task.spec, state, patch) {
            Ok((how, into)) => lowered.push(HandledFailure { task: task.spec.id.clone(), how, into }),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(lowered) } else { Err(faults) }
}

fn of(failed: &TaskSpec, state: &ProgressState, patch: &PlanPatch) -> Result<(FailureHandling, Vec<TaskId>), Message> {
    let id = &failed.id;
    let replacing = replacing(failed, patch);
    if !replacing.is_empty() {
        let into = with_preparation(&replacing, patch);
        let work: Vec<&TaskSpec> = into.iter().copied().filter(|task| task.kind != TaskKind::Group).collect();
        let ids = work.iter().map(|task| task.id.clone()).collect();
        return match work.as_slice() {
            [one] if is_same(failed, one) && !means_differ(failed, one) && !person_spoke(state) && !waits_for_more(failed, one, state) => {
                Err(message!("rule-again", task = one.id, failed = id))
            }
            [one] if !means_differ(failed, one) && !person_spoke(state) => match replanned_before(id, state) {
                Some(first) => Err(again_in_other_words(id, first)),
                None => Ok((FailureHandling::AnotherWay, ids)),
            },
            [_] => Ok((FailureHandling::AnotherWay, ids)),
            _ => Ok((FailureHandling::Split, ids)),
        };
    }
    let mut how = FailureHandling::Left;
    for change in &patch.changes {
        match change {
            PlanChange::RemoveTask { id: removed, .. } if removed == id => how = FailureHandling::Removed,
            PlanChange::ModifyTask { id: changed, change } if changed == id => {
                if !changes_the_work(failed, change) {
                    return Err(message!("rule-modify-again", task = id));
                }
                let mut changed = failed.clone();
                change.apply_to(&mut changed);
                let again = !means_differ(failed, &changed) && change.dependencies.is_none() && !person_spoke(state);
                if let Some(first) = replanned_before(id, state).filter(|_| again) {
                    return Err(again_in_other_words(id, first));
                }
                how = FailureHandling::Changed;
            }
            PlanChange::UnblockTask { id: unblocked } if unblocked == id && how == FailureHandling::Left => how = FailureHandling::Again,
            _ => {}
        }
    }
    // A group does no work itself; its failed tasks are checked separately.
    if how == FailureHandling::Again && failed.kind != TaskKind::Group && !is_prepared(failed, state, patch) && !person_spoke(state) {
        return Err(message!("rule-unblock-again", task = id));
    }
    Ok((how, Vec::new()))
}

/// Returns the task that failed first, if a replan has already replaced or changed the work of this one: `id` itself, or
/// the failed task whose place it took.
fn replanned_before<'a>(id: &'a TaskId, state: &'a ProgressState) -> Option<&'a TaskId> {
    let lowered = || state.decisions.iter().flat_map(|decision| &decision.lowered);
    let before = |id: &TaskId| lowered().find(|lowered| lowered.into.contains(id)).map(|lowered| &lowered.task);
    // A task is never in its own place, but a damaged journal must not loop.
    let first = std::iter::successors(before(id), |id| before(id)).take(state.tasks.len()).last();
    first.or_else(|| lowered().any(|lowered| lowered.task == *id && lowered.how == FailureHandling::Changed).then_some(id))
}

/// Returns the fault of a second replan of the same work that differs in words alone.
fn again_in_other_words(id: &TaskId, first: &TaskId) -> Message {
    if id == first { message!("rule-reworded", task = id) } else { message!("rule-reworded-place", task = id, first) }
}

/// Returns true if another tool, profile or model, or other tools of the actor, do the work of the second task.
fn means_differ(failed: &TaskSpec, new: &TaskSpec) -> bool {
    failed.kind != new.kind
        || (failed.kind == TaskKind::Tool && failed.tool != new.tool)
        || failed.profile != new.profile
        || failed.model != new.model
        || failed.bundles != new.bundles
        || failed.denied_tools != new.denied_tools
}

/// Returns true if a patch gives a failed task a dependency that it lacked before, or that is still unfinished.
fn is_prepared(failed: &TaskSpec, state: &ProgressState, patch: &PlanPatch) -> bool {
    let Ok(after) = state.patched(patch, state.last_progress_at) else { return false };
    let before = needed(&failed.id, state);
    needed(&failed.id, &after)
        .into_iter()
        .any(|needed| !before.contains(&needed) || after.tasks.get(needed).is_some_and(|task| task.status.is_open()))
}

/// Returns the dependencies of a task.
fn needed<'a>(id: &TaskId, state: &'a ProgressState) -> Vec<&'a TaskId> {
    let named = state.tasks.get(id).into_iter().flat_map(|task| &task.spec.dependencies);
    named.chain(state.edges.iter().filter(|edge| edge.to == *id && edge.kind != EdgeType::Rollback).map(|edge| &edge.from)).collect()
}

/// Returns true if a decision held the task back, and not the number of its failures.
fn held_by_plan(id: &TaskId, state: &ProgressState) -> bool {
    let changes = state.decisions.iter().flat_map(|decision| &decision.patch.changes);
    changes.into_iter().any(|change| matches!(change, PlanChange::BlockTask { id: held, .. } if held == id))
}

fn person_spoke(state: &ProgressState) -> bool {
    state.evidence.iter().any(|evidence| evidence.kind == EvidenceKind::UserInput && evidence.task.is_none() && !evidence.processed)
}

/// Returns true if a task waits for an open task for which the failed one did not wait.
fn waits_for_more(failed: &TaskSpec, task: &TaskSpec, state: &ProgressState) -> bool {
    let is_open = |id: &TaskId| state.tasks.get(id).is_some_and(|known| known.status.is_open());
    task.dependencies.iter().any(|id| !failed.dependencies.contains(id) && is_open(id))
}

/// Returns the new tasks that replace a task: those that name it, and those that do its work if the patch removes it.
fn replacing<'a>(failed: &TaskSpec, patch: &'a PlanPatch) -> Vec<&'a TaskSpec> {
    let id = &failed.id;
    let is_removed = patch.changes.iter().any(|change| matches!(change, PlanChange::RemoveTask { id: removed, .. } if removed == id));
    let replaces = |change: &'a PlanChange| match change {
        PlanChange::AddTask { task, replaces } if replaces.contains(id) || (is_removed && is_same(failed, task)) => Some(task.as_ref()),
        PlanChange::MergeTasks { ids, task } if ids.contains(id) => Some(task.as_ref()),
        _ => None,
    };
    patch.changes.iter().filter_map(replaces).collect()
}

/// Returns these tasks, the children of those that are groups, and all new tasks that they wait for, in the order of
/// the patch.
fn with_preparation<'a>(tasks: &[&TaskSpec], patch: &'a PlanPatch) -> Vec<&'a TaskSpec> {
    let added = |change: &'a PlanChange| match change {
        PlanChange::AddTask { task, .. } | PlanChange::MergeTasks { task, .. } => Some(task.as_ref()),
        _ => None,
    };
    let added: Vec<&TaskSpec> = patch.changes.iter().filter_map(added).collect();
    let mut found: Vec<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    let mut at = 0;
    while let Some(id) = found.get(at).copied() {
        at += 1;
        let of_it = added.iter().find(|task| task.id == *id).map(|task| task.dependencies.as_slice()).unwrap_or_default();
        let parts = added.iter().filter(|task| task.parent.as_ref() == Some(id)).map(|task| &task.id);
        let more: Vec<&TaskId> = added.iter().filter(|task| of_it.contains(&task.id)).map(|task| &task.id).chain(parts).collect();
        more.into_iter().for_each(|id| {
            if !found.contains(&id) {
                found.push(id);
            }
        });
    }
    added.into_iter().filter(|task| found.contains(&&task.id)).collect()
}

/// Returns true if two tasks are the same work: the same call, or the same words except for case and punctuation.
fn is_same(failed: &TaskSpec, new: &TaskSpec) -> bool {
    match (failed.kind, new.kind) {
        (TaskKind::Tool, TaskKind::Tool) => failed.tool == new.tool && failed.parameters == new.parameters,
        (TaskKind::Actor, TaskKind::Actor) => words(failed) == words(new),
        _ => false,
    }
}

fn words(task: &TaskSpec) -> String {
    letters(if task.description.is_empty() { task.title() } else { &task.description })
}

fn letters(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns true if a change affects the work of a task, its executor, its dependencies or its completion criteria.
fn changes_the_work(task: &TaskSpec, change: &TaskChange) -> bool {
    let TaskChange {
        name: _,
        description,
        completion_criteria,
        tool,
        parameters,
        profile,
        model,
        effort,
        bundles,
        denied_tools,
        skills,
        exclusive,
        dependencies,
        effort_seconds: _,
    } = change;
    let calls = task.kind == TaskKind::Tool;
    description.as_deref().is_some_and(|text| letters(text) != words(task))
        || tool.as_ref().is_some_and(|tool| calls && task.tool.as_ref() != Some(tool))
        || parameters.as_ref().is_some_and(|parameters| calls && *parameters != task.parameters)
        || profile.as_ref().is_some_and(|profile| task.profile.as_ref() != Some(profile))
        || model.as_ref().is_some_and(|model| task.model.as_ref() != Some(model))
        || effort.is_some_and(|effort| task.effort != Some(effort))
        || bundles.as_ref().is_some_and(|bundles| *bundles != task.bundles)
        || denied_tools.as_ref().is_some_and(|denied| *denied != task.denied_tools)
        || skills.as_ref().is_some_and(|skills| *skills != task.skills)
        || exclusive.as_ref().is_some_and(|exclusive| *exclusive != task.exclusive)
        || completion_criteria.as_ref().is_some_and(|criteria| *criteria != task.completion_criteria)
        || dependencies.as_ref().is_some_and(|dependencies| *dependencies != task.dependencies)
}

#[cfg(test)]
mod tests;
