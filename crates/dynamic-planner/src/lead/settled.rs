//! The tasks that settled or failed since the last wake.

use aime_progress_management::{CheckedCriterion, ProgressState, Task, TaskId, TaskStatus};
use serde_json::Value;

use super::{
    LeadMemory, PlanTool, TaskChanges, Wake,
    message::{sources, title},
};
use crate::{
    ChangedFile,
    draft::{Draft, Share, one_line},
};

/// Maximum number of changed files of a task that the message names.
const FILES: usize = 20;
/// Maximum number of lines of a diff that the message shows.
const DIFF_LINES: usize = 40;

pub(super) fn section(wake: &Wake, state: &ProgressState, changes: &TaskChanges, draft: &mut Draft) {
    if wake.settled.is_empty() {
        return;
    }
    draft.fixed(title(wake.memory, "Since the last wake", "What the tasks brought"));
    for id in &wake.settled {
        match state.tasks.get(id) {
            Some(task) => {
                entry(task, wake.memory, draft);
                checks(id, state, draft);
                changed(changes.get(id).map(Vec::as_slice).unwrap_or_default(), draft);
            }
            None => draft.fixed(format!("### `{id}` is no task of the plan any more\n")),
        }
    }
}

fn entry(task: &Task, memory: LeadMemory, draft: &mut Draft) {
    let id = &task.spec.id;
    draft.fixed(format!("### `{id}` "));
    draft.fixed(outcome(task));
    if one_line(task.spec.title()) != id.as_str() {
        draft.fixed(": ");
        draft.line(task.spec.title(), Share::Plan);
    }
    let origins = task.conclusion.as_ref().map(|conclusion| sources(&conclusion.origins)).unwrap_or_default();
    draft.fixed(if origins.is_empty() { "\n".to_owned() } else { format!(" ({})\n", origins.trim_start_matches("; ")) });
    if let Some(reason) = &task.reason {
        draft.fixed("Reason: ");
        draft.line(&reason.to_string(), Share::News);
        draft.fixed("\n");
    }
    let Some(conclusion) = &task.conclusion else { return };
    let failed = task.status != TaskStatus::Completed;
    if let Some(error) = &conclusion.error {
        draft.fixed("Error:\n");
        draft.quoted(&error.to_string(), None, Share::News);
    }
    if failed {
        orders(task, 0, draft);
    }
    let text = conclusion.text();
    if !text.trim().is_empty() && conclusion.error.as_ref().is_none_or(|error| error != text) {
        draft.fixed("Result:\n");
        let whole = match memory {
            LeadMemory::Kept => Some(format!("`{}` of `{id}`", PlanTool::ReadResult)),
            LeadMemory::Fresh => None,
        };
        draft.quoted(text, whole, Share::Results);
    }
    if !conclusion.references.is_empty() {
        draft.fixed("References: ");
        draft.line(&conclusion.references.join(", "), Share::Results);
        draft.fixed("\n");
    }
}

/// Writes the results of the checks of a task.
fn checks(id: &TaskId, state: &ProgressState, draft: &mut Draft) {
    let checked = state.checked.iter().filter(|known| known.task.as_ref() == Some(id));
    for (at, CheckedCriterion { criterion, holds, evidence, .. }) in checked.enumerate() {
        let title = if at == 0 { "Checks:\n" } else { "" };
        let holds = match holds {
            Some(true) if state.held_before(Some(id), criterion) == Some(true) => "holds, and held already before the work",
            Some(true) => "holds",
            Some(false) => "does not hold",
            None => "was not decided",
        };
        draft.fixed(format!("{title}- {holds}: "));
        draft.line(criterion, Share::Plan);
        let evidence = one_line(&evidence.to_string());
        if !evidence.is_empty() {
            draft.fixed(": ");
            draft.line(&evidence, Share::News);
        }
        draft.fixed("\n");
    }
}

/// Writes the files that a task changed.
fn changed(files: &[ChangedFile], draft: &mut Draft) {
    if files.is_empty() {
        return;
    }
    draft.fixed("Changed files:\n");
    files.iter().take(FILES).for_each(|file| file.write(DIFF_LINES, draft));
    if files.len() > FILES {
        draft.fixed(format!("- and {} more files\n", files.len() - FILES));
    }
}

fn outcome(task: &Task) -> String {
    // A change of the task lets its failures count from the beginning.
    let times = match (task.failures, task.attempts) {
        (2.., _) => format!(" {} times", task.failures),
        (_, 2..) => format!(" in attempt {}", task.attempts),
        _ => String::new(),
    };
    match task.status {
        TaskStatus::Completed => "completed".to_owned(),
        TaskStatus::Failed if task.failed_for_good => format!("failed{times}, and is not tried again"),
        TaskStatus::Failed => format!("failed{times}, and is tried again if you leave it as it is"),
        TaskStatus::Skipped => "was skipped".to_owned(),
        TaskStatus::RolledBack => "failed, and its work was undone".to_owned(),
        TaskStatus::Blocked if task.held => format!("is held back; failed{times}"),
        TaskStatus::Pending | TaskStatus::Ready | TaskStatus::Running | TaskStatus::Blocked => {
            format!("is {} again", task.status.word())
        }
    }
}

/// Writes the description of a task, which the lead needs to change the task.
pub(super) fn orders(task: &Task, depth: usize, draft: &mut Draft) {
    let (spec, indent) = (&task.spec, "  ".repeat(depth));
    if let Some(tool) = &spec.tool {
        draft.fixed(format!("{indent}Call: {tool} "));
        draft.line(&Value::Object(spec.parameters.clone()).to_string(), Share::News);
        draft.fixed("\n");
    } else if !spec.description.is_empty() && spec.description != spec.title() {
        draft.fixed(format!("{indent}Task: "));
        draft.line(&spec.description, Share::Plan);
        draft.fixed("\n");
    }
    for criterion in &spec.completion_criteria {
        draft.fixed(format!("{indent}Done when: "));
        draft.line(&criterion.to_string(), Share::Plan);
        draft.fixed("\n");
    }
}
