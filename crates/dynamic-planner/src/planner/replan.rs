//! Replanning: asks a model for a patch.

use std::{collections::HashSet, sync::Arc};

use aime_llm::{ChatModel, Effort, Image, InvalidAnswer, ModelLimits};
use aime_messages::{Message, message};
use aime_progress_management::{
    ModelCost, Plan, PlanChange, PlanMode, PlanPatch, ProgressState, Task, TaskId, TaskKind, TaskStatus, TriggerKind, TriggerReason,
};
use aime_tools::ModelClasses;

use super::{
    AskError, Planner, PlannerAnswer, PlannerError,
    request::{FOLDER_SHARE, STATE_SHARE, choice, share},
    with_images,
};
use crate::{
    LeadMemory, ParsedPatch, PlanChecker, PlanFault, PlanTools, ProfileBrief, Room, TaskChanges, Wake, WakeKind,
    draft::first_lines,
    patch_from_value,
    prompt::{FailedTask, PatchContext},
    schema::{self, Nameable, TaskShape},
    wake_message,
};

/// Request for a patch.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplanRequest {
    /// The wake that asks for it, with [fresh](LeadMemory::Fresh) memory.
    pub wake: Wake,
    /// The run: its goal, its current plan, which the patch is checked against, and the progress of the tasks.
    pub state: Box<ProgressState>,
    /// Images that belong to the goal.
    pub images: Vec<Image>,
    /// Memories of earlier runs and documents on the goal, as Markdown, limited by the caller; may be empty.
    pub recalled: String,
    /// Names in the working folder, one per line; may be empty.
    pub folder: String,
    /// Room of a plan that has to grow; absent for a plan that has to be repaired.
    pub room: Option<Room>,
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
}

/// An applicable patch, and the course of its making.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplanResult {
    /// The patch; one without changes leaves the plan unchanged.
    pub patch: PlanPatch,
    /// Descriptions of the harmless faults that were repaired.
    pub repairs: Vec<Message>,
    /// The refused answers.
    pub refused: Vec<InvalidAnswer>,
    /// Cost of all requests.
    pub spent: ModelCost,
    /// The model that was asked.
    pub model: String,
    /// Reasoning effort that the last request asked for.
    pub effort: Option<Effort>,
}

impl ReplanRequest {
    /// Returns the request for a run's state and the reasons for a change of its plan. The caller adds images, recalled
    /// texts, the folder, tools, profiles, models and bundles.
    #[must_use]
    pub fn of(state: &ProgressState, reasons: Vec<TriggerReason>) -> Self {
        let is_update = !reasons.is_empty() && reasons.iter().all(|reason| reason.kind == TriggerKind::Update);
        let kind = if is_update { WakeKind::Update } else { WakeKind::Trouble };
        Self::of_wake(Wake::fresh(1, kind, reasons, state), state.clone())
    }

    /// Returns the request of a wake with [fresh](LeadMemory::Fresh) memory, as [`of`](Self::of) does.
    #[must_use]
    pub fn of_wake(wake: Wake, state: ProgressState) -> Self {
        Self {
            wake: Wake { memory: LeadMemory::Fresh, ..wake },
            state: Box::new(state),
            images: Vec::new(),
            room: None,
            recalled: String::new(),
            folder: String::new(),
            tools: PlanTools::default(),
            actor_tools: Vec::new(),
            profiles: Vec::new(),
            models: Vec::new(),
            bundles: Vec::new(),
        }
    }

    pub(super) fn context(&self, limits: ModelLimits, classes: ModelClasses) -> PatchContext {
        PatchContext {
            goal: self.state.goal.trim().to_owned(),
            known: self.recalled.trim().to_owned(),
            folder: first_lines(self.folder.trim(), share(limits, FOLDER_SHARE)),
            // A fresh conversation gets the results of the tasks, but not their diffs.
            state: wake_message(&self.wake, &self.state, &TaskChanges::new(), share(limits, STATE_SHARE)).trim().to_owned(),
            failed: failed(&self.state),
            room: self.room,
            tools: Arc::clone(self.tools.lines()),
            profiles: choice(&self.profiles),
            simple: classes.of(limits).simple_tools,
        }
    }

    /// Returns the tasks that a patch may name.
    fn nameable(&self) -> Nameable {
        let names = |of: &dyn Fn(TaskStatus) -> bool| {
            self.state.tasks.values().filter(|task| of(task.status)).map(|task| task.spec.id.to_string()).collect()
        };
        let waits = |status| matches!(status, TaskStatus::Pending | TaskStatus::Ready | TaskStatus::Blocked | TaskStatus::Failed);
        Nameable { waiting: names(&waits), running: names(&|status| status == TaskStatus::Running) }
    }
}

fn failed(state: &ProgressState) -> Vec<FailedTask> {
    let gave_up =
        |task: &&Task| task.status == TaskStatus::Failed || (task.status == TaskStatus::Blocked && task.held && task.attempts > 0);
    let failed = state.tasks.values().filter(gave_up);
    failed.map(|task| FailedTask { id: task.spec.id.to_string(), attempts: task.attempts }).collect()
}

/// If a patch adds tasks without relating them to the failed task, makes the last new task replace it. Otherwise the
/// tasks that wait for the failed task would wait for ever.
fn replace_failed(patch: &mut PlanPatch, failed: &[FailedTask]) -> Option<Message> {
    let [failed] = failed else { return None };
    let id = TaskId::new(failed.id.as_str()).ok()?;
    let names = |change: &PlanChange| match change {
        PlanChange::AddTask { task, replaces } => !replaces.is_empty() || task.dependencies.contains(&id),
        PlanChange::MergeTasks { .. } => true,
        PlanChange::AddEdge { edge } => edge.from == id || edge.to == id,
        PlanChange::RemoveEdge { from, to } => *from == id || *to == id,
        PlanChange::ModifyTask { id: named, .. }
        | PlanChange::RemoveTask { id: named, .. }
        | PlanChange::BlockTask { id: named, .. }
        | PlanChange::UnblockTask { id: named }
        | PlanChange::CancelTask { id: named, .. } => *named == id,
        PlanChange::AmendCriterion { task, .. } => task.as_ref() == Some(&id),
        PlanChange::SetStrategic { .. } => false,
    };
    if patch.changes.iter().any(names) {
        return None;
    }
    let added = patch.changes.iter_mut().rev().find_map(|change| match change {
        PlanChange::AddTask { task, replaces } if task.kind != TaskKind::Group => Some((task.id.clone(), replaces)),
        _ => None,
    });
    let (new, replaces) = added?;
    replaces.push(id);
    Some(message!("repair-replaces", task = new, failed = failed.id))
}

/// Drops changes to a task that an earlier change of the same patch has replaced or removed.
fn leave_what_is_gone(patch: &mut PlanPatch) -> Vec<Message> {
    let (mut gone, mut repairs): (HashSet<TaskId>, _) = (HashSet::new(), Vec::new());
    patch.changes.retain(|change| {
        match change {
            PlanChange::AddTask { replaces, .. } => gone.extend(replaces.iter().cloned()),
            PlanChange::MergeTasks { ids, .. } => gone.extend(ids.iter().cloned()),
            PlanChange::RemoveTask { id, .. }
            | PlanChange::ModifyTask { id, .. }
            | PlanChange::BlockTask { id, .. }
            | PlanChange::UnblockTask { id } => {
                if gone.contains(id) {
                    repairs.push(message!("repair-gone", task = id));
                    return false;
                }
                if matches!(change, PlanChange::RemoveTask { .. }) {
                    gone.insert(id.clone());
                }
            }
            PlanChange::CancelTask { .. }
            | PlanChange::AddEdge { .. }
            | PlanChange::RemoveEdge { .. }
            | PlanChange::SetStrategic { .. }
            | PlanChange::AmendCriterion { .. } => {}
        }
        true
    });
    repairs
}

/// Renames an added task that has the id of a failed one, because it is meant to replace that task.
fn rename_again(patch: &mut PlanPatch, failed: &[FailedTask]) -> Vec<Message> {
    let mut repairs = Vec::new();
    for failed in failed {
        let Ok(id) = TaskId::new(failed.id.as_str()) else { continue };
        let Ok(new) = TaskId::new(format!("{id}-{}", failed.attempts + 1)) else { continue };
        let is_added = |change: &PlanChange, id: &TaskId| matches!(change, PlanChange::AddTask { task, .. } if task.id == *id);
        if !patch.changes.iter().any(|change| is_added(change, &id)) || patch.changes.iter().any(|change| is_added(change, &new)) {
            continue;
        }
        for change in &mut patch.changes {
            let PlanChange::AddTask { task, replaces } = change else { continue };
            if task.id == id {
                task.id = new.clone();
                if !replaces.contains(&id) {
                    replaces.push(id.clone());
                }
            }
            for before in task.dependencies.iter_mut().filter(|before| **before == id) {
                *before = new.clone();
            }
        }
        repairs.push(message!("repair-renamed", task = id, new));
    }
    repairs
}

impl Planner {
    /// Asks for a patch that repairs or extends a plan. `judge` returns the patched plan or every fault, as
    /// `ProgressState::patched` and `plan` do. The [custom rules](Self::with_validators) are applied to that plan. A
    /// patch without changes is legal: the plan stays unchanged.
    ///
    /// # Errors
    ///
    /// [`PlannerError::NoPatch`] with all faults if no answer could be used; [`PlannerError::Model`] if the model
    /// cannot be used.
    pub async fn replan(
        &self,
        request: &ReplanRequest,
        judge: impl Fn(&PlanPatch) -> Result<Plan, Vec<PlanFault>>,
    ) -> Result<ReplanResult, PlannerError> {
        let model = self.model.name().to_owned();
        let context = request.context(self.model.limits(), self.classes);
        let shape = TaskShape { tools: &context.tools, profiles: &context.profiles, tool_tasks: self.settings.tool_tasks };
        let messages = if request.room.is_some() { self.prompts.update(&context)? } else { self.prompts.patch(&context)? };
        let messages = with_images(messages, &request.images);
        let question = self.question("aime_patch", schema::patch(shape, &request.nameable()), messages, self.settings.max_attempts);
        let plan = request.state.plan();
        let checker = PlanChecker {
            tools: &request.tools,
            actor_tools: &request.actor_tools,
            profiles: &request.profiles,
            models: &request.models,
            bundles: &request.bundles,
            mode: Some(PlanMode::Complex),
            ..PlanChecker::default()
        };
        let answer = self.ask(question, |value| {
            let ParsedPatch { mut patch, mut repairs } = patch_from_value(&value, &plan)?;
            repairs.extend(rename_again(&mut patch, &context.failed));
            repairs.extend(replace_failed(&mut patch, &context.failed));
            repairs.extend(leave_what_is_gone(&mut patch));
            // Both checks run, so that all faults are reported at once.
            let mut faults = Vec::new();
            match checker.check_patch(&mut patch, &plan) {
                Ok(repaired) => repairs.extend(repaired),
                Err(found) => faults.extend(found),
            }
            if !patch.changes.is_empty() {
                match judge(&patch) {
                    Ok(plan) if faults.is_empty() => faults.extend(self.validators.iter().flat_map(|validator| validator.validate(&plan))),
                    Ok(_) => {}
                    Err(found) => faults.extend(found),
                }
            }
            if faults.is_empty() { Ok((patch, repairs)) } else { Err(faults) }
        });
        match answer.await {
            Ok(PlannerAnswer { value: (patch, more), mut repairs, refused, spent, effort }) => {
                repairs.extend(more);
                Ok(ReplanResult { patch, repairs, refused, spent, model, effort })
            }
            Err(AskError::Prompt(error)) => Err(error.into()),
            Err(AskError::Structured(error)) => {
                Err(PlannerError::of(error, model, |model, refused, spent| PlannerError::NoPatch { model, refused, spent }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use aime_progress_management::TaskSpec;

    use super::*;

    #[test]
    fn a_task_under_the_name_of_one_that_failed_takes_its_place() {
        let id = |text: &str| TaskId::new(text).unwrap();
        let mut after = TaskSpec::actor(id("report"), "Report");
        after.dependencies = vec![id("find")];
        let add = |task: TaskSpec| PlanChange::AddTask { task: Box::new(task), replaces: Vec::new() };
        let changes = vec![add(TaskSpec::actor(id("find"), "Find it another way")), add(after)];
        let mut patch = PlanPatch { schema: aime_progress_management::PATCH_SCHEMA.to_owned(), reasoning: String::new(), changes };
        let failed = [FailedTask { id: "find".to_owned(), attempts: 3 }];
        assert_eq!(rename_again(&mut patch, &failed), ["the new `find` was renamed to `find-4`, because the failed task has this id"]);
        let [PlanChange::AddTask { task: new, replaces }, PlanChange::AddTask { task: after, .. }] = patch.changes.as_slice() else {
            panic!("two tasks were added");
        };
        assert_eq!((new.id.as_str(), replaces.as_slice()), ("find-4", [id("find")].as_slice()));
        assert_eq!(after.dependencies, [id("find-4")]);
    }
}
