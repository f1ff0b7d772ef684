//! The plan in the form for the lead: running tasks, waiting tasks and their dependencies.

use aime_progress_management::{EdgeType, ProgressState, Task, TaskId, TaskKind, TaskStatus};

use super::{LeadMemory, message::title, settled};
use crate::draft::{Draft, Share, one_line};

/// Writes the plan as a checklist, with the descriptions of those open tasks that `is_described` selects.
pub(super) fn section(state: &ProgressState, memory: LeadMemory, is_described: impl Fn(&Task) -> bool, draft: &mut Draft) {
    if state.tasks.is_empty() {
        return;
    }
    draft.fixed(title(memory, &format!("Plan, version {}", state.version), "The plan now"));
    for (task, depth) in in_order(state) {
        draft.fixed(format!("{}- [{}] `{}`{}", "  ".repeat(depth), task.status.mark(), task.spec.id, means(task)));
        if one_line(task.spec.title()) != task.spec.id.as_str() {
            draft.fixed(": ");
            draft.line(task.spec.title(), Share::Plan);
        }
        write_status(state, task, draft);
        draft.fixed("\n");
        if !task.status.is_settled() && is_described(task) {
            settled::orders(task, depth + 1, draft);
        }
    }
}

/// Returns the tasks in the order of the plan, each after its group, with its depth.
pub(super) fn in_order(state: &ProgressState) -> Vec<(&Task, usize)> {
    let mut ordered = Vec::with_capacity(state.tasks.len());
    let is_top = |task: &&Task| task.spec.parent.as_ref().is_none_or(|parent| !state.tasks.contains_key(parent));
    let mut open: Vec<(&Task, usize)> = state.tasks.values().rev().filter(is_top).map(|task| (task, 0)).collect();
    while let Some((task, depth)) = open.pop() {
        ordered.push((task, depth));
        if task.spec.kind == TaskKind::Group {
            let inside = state.tasks.values().rev().filter(|child| child.spec.parent.as_ref() == Some(&task.spec.id));
            open.extend(inside.map(|child| (child, depth + 1)));
        }
    }
    ordered
}

/// Returns the executor of the task, if it is not the usual actor.
fn means(task: &Task) -> String {
    match (task.spec.kind, &task.spec.tool, &task.spec.profile) {
        (TaskKind::Group, ..) => " (group)".to_owned(),
        (TaskKind::Tool, Some(tool), _) => format!(" (tool {tool})"),
        (TaskKind::Actor, _, Some(profile)) => format!(" (profile {profile})"),
        _ => String::new(),
    }
}

fn write_status(state: &ProgressState, task: &Task, draft: &mut Draft) {
    match task.status {
        TaskStatus::Running => {
            let done = task.todos.iter().filter(|todo| todo.status == aime_progress_management::TodoStatus::Completed).count();
            if !task.todos.is_empty() {
                draft.fixed(format!(" — {done} of {} TODOs done", task.todos.len()));
            }
            if let Some(report) = &task.report {
                draft.fixed(" — reports: ");
                draft.line(&format!("{}: {}", report.status, report.message), Share::Plan);
            }
            if let Some(activity) = &task.activity {
                draft.fixed(" — now: ");
                draft.line(activity, Share::Plan);
            }
        }
        TaskStatus::Pending | TaskStatus::Blocked => {
            let waits = waits_for(state, &task.spec.id);
            if task.held {
                draft.fixed(" — held back");
            } else if task.status == TaskStatus::Blocked {
                draft.fixed(" — blocked");
            }
            if !waits.is_empty() {
                draft.fixed(format!(" — waits for {}", waits.join(", ")));
            }
            if let Some(reason) = &task.reason {
                draft.fixed(": ");
                draft.line(&reason.to_string(), Share::Plan);
            }
        }
        TaskStatus::Ready => draft.fixed(" — ready"),
        TaskStatus::Failed => draft.fixed(if task.failed_for_good { " — failed" } else { " — failed, waits for your answer" }),
        TaskStatus::Completed | TaskStatus::Skipped | TaskStatus::RolledBack => {}
    }
}

/// Returns the dependencies of a task, each with its status. A task that blocks another may be settled too.
pub(super) fn waits_for(state: &ProgressState, id: &TaskId) -> Vec<String> {
    let Some(task) = state.tasks.get(id) else { return Vec::new() };
    let status = |id: &TaskId| state.tasks.get(id).map(|task| task.status);
    let counts = |from: &TaskId| match status(from) {
        Some(TaskStatus::Skipped | TaskStatus::RolledBack) => task.status == TaskStatus::Blocked,
        Some(status) => status != TaskStatus::Completed,
        None => false,
    };
    let named = |from: &TaskId| format!("`{from}` ({})", status(from).map_or("unknown", TaskStatus::word));
    let edges: Vec<_> = state.edges.iter().filter(|edge| edge.to == *id && counts(&edge.from)).collect();
    let plain = task.spec.dependencies.iter().filter(|from| counts(from) && !edges.iter().any(|edge| edge.from == **from));
    let mut waits: Vec<String> = plain.map(named).collect();
    waits.extend(edges.into_iter().map(|edge| match (edge.kind, edge.condition.as_deref()) {
        (EdgeType::Rollback, _) => format!("a failure of {}", named(&edge.from)),
        (EdgeType::Conditional, Some(condition)) => format!("{} and `{}`", named(&edge.from), one_line(condition)),
        (EdgeType::Dependency | EdgeType::Conditional, _) => named(&edge.from),
    }));
    waits
}
