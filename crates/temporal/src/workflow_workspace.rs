//! The state of a run's folder, or of an actor's, in a workflow: effects begin from it, and what they hand back is taken into it.

use aime_durable::EffectId;
use aime_messages::{Message, message};
use aime_orchestrator::{FoundConflict, RunFact};
use aime_progress_management::{RunId, TaskId};
use temporalio_sdk::{WorkflowCancellationToken, WorkflowContext};

use crate::{
    Capability, Effects, Handover, MergeInput, MergeOutcome, Queues, TaskWork, Wire, WorkspaceSnapshot, effect::lost, workflow_context::now,
};

/// A workflow whose folder goes from host to host.
pub(crate) trait HasWorkspace {
    /// Returns its current state; `None` if the folder does not move.
    fn tree(&self) -> &Option<WorkspaceSnapshot>;

    /// Sets a later state.
    fn set_tree(&mut self, tree: WorkspaceSnapshot);
}

/// Returns the current state.
pub(crate) fn current_workspace<W: HasWorkspace>(ctx: &WorkflowContext<W>) -> Option<WorkspaceSnapshot> {
    ctx.state(|workflow| workflow.tree().clone())
}

/// Result of merging work into the state of a workflow's folder.
#[derive(Debug, Default)]
pub(crate) struct MergeReply {
    /// The changes of the merge, as a fact for the run.
    pub(crate) merged: Option<RunFact>,
    /// Conflicts of the work: open ones, or those that it has resolved.
    pub(crate) conflicts: Vec<FoundConflict>,
    /// State in which the work goes on, if it is not merged.
    pub(crate) private: Option<WorkspaceSnapshot>,
}

impl TaskWork {
    /// Work of an execution of a task, or of a call in it.
    pub(crate) fn new(run: &RunId, task: &TaskId, name: &str) -> Self {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let name = name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
        Self { run: run.clone(), task: task.clone(), name, conflicts: Vec::new(), is_partial: false, is_shown: false }
    }
}

/// Merges work that began from an earlier state. `from` is that state, if all of the work is in the state that was handed back; `None` if a part of
/// it was not merged before.
///
/// # Errors
/// Reason why the work is left out. The state is as it was.
pub(crate) async fn merge_reply<W: HasWorkspace + 'static>(
    ctx: &WorkflowContext<W>,
    queues: &Queues,
    id: &EffectId,
    (from, handover): (Option<&WorkspaceSnapshot>, Handover),
    work: TaskWork,
) -> Result<MergeReply, Message> {
    let theirs = match handover {
        Handover::Tree { tree } => tree,
        Handover::Lost { why } => return Err(message!("work-not-handed-back", reason = why)),
    };
    if from.is_some_and(|from| from.commit == theirs.commit) && work.conflicts.is_empty() {
        return Ok(MergeReply::default());
    }
    let begun = now(ctx);
    loop {
        let Some(ours) = current_workspace(ctx) else { return Ok(MergeReply::default()) };
        if !work.is_shown && work.conflicts.is_empty() && from == Some(&ours) {
            ctx.state_mut(|workflow| workflow.set_tree(theirs));
            return Ok(MergeReply::default());
        }
        let queue = queues.name(Capability::Files);
        let options = queues.options(Capability::Files, id, WorkflowCancellationToken::new());
        let order = MergeInput { work: work.clone(), from: from.cloned(), ours: ours.clone(), theirs: theirs.clone() };
        let merged = ctx
            .execute_activity(Effects::merge, Wire(order), options)
            .await
            .map_err(|error| message!("work-not-merged", reason = lost(&queue, &error)))?;
        // Others may have been quicker: then it is merged with theirs.
        if current_workspace(ctx).as_ref() != Some(&ours) {
            continue;
        }
        let duration_ms = u64::try_from(now(ctx).saturating_sub(begun)).unwrap_or_default();
        let (tree, taken) = match merged.0 {
            MergeOutcome::Clean { tree, files, changes, conflicts } => {
                let merged = RunFact::ChangesMerged { task: work.task, duration_ms, files, changes };
                (tree, MergeReply { merged: work.is_shown.then_some(merged), conflicts, private: None })
            }
            MergeOutcome::Conflict { tree, private, conflicts } => (tree, MergeReply { merged: None, conflicts, private: Some(private) }),
        };
        ctx.state_mut(|workflow| workflow.set_tree(tree));
        return Ok(taken);
    }
}

/// Returns the message on work that is left out because it conflicts with that of others.
pub(crate) fn conflict_message(conflicts: &[FoundConflict]) -> Message {
    const NAMED: usize = 20;
    let more = conflicts.len().saturating_sub(NAMED);
    let name = |found: &FoundConflict| {
        let path = &found.conflict.path;
        found.conflict.kept.as_ref().map_or_else(|| Message::text(path), |kept| message!("conflict-kept", path, place = kept))
    };
    let mut named = Message::list(", ", &conflicts.iter().take(NAMED).map(name).collect::<Vec<_>>());
    if more > 0 {
        named = message!("conflict-more", named, more);
    }
    message!("work-conflicts", named)
}

#[cfg(test)]
mod tests {
    use aime_progress_management::{ConflictKind, MergeConflict};

    use super::*;

    #[test]
    fn a_conflict_names_files_within_bounds() {
        let conflict = |path: String, kept: Option<&str>| {
            let (task, kept) = (TaskId::new("a").unwrap(), kept.map(str::to_owned));
            FoundConflict { conflict: MergeConflict { task, path, kind: ConflictKind::Text, kept, resolved: false }, hunks: String::new() }
        };
        let one = conflict_message(&[conflict("a.txt".to_owned(), Some("own/a.txt"))]).to_string();
        assert!(one.contains("meanwhile: a.txt (its version is kept in own/a.txt). Another attempt"), "{one}");
        let many: Vec<FoundConflict> = (0..25).map(|number| conflict(number.to_string(), None)).collect();
        assert!(conflict_message(&many).to_string().contains(", 19 and 5 more. Another"));
    }

    #[test]
    fn the_name_of_work_is_that_of_a_folder() {
        let run = RunId::new("r").unwrap();
        let task = TaskId::new("a").unwrap();
        assert_eq!(TaskWork::new(&run, &task, "a/1/2+1").name, "a-1-2-1");
    }
}
