//! The plan as a client shows it.

use agent_client_protocol::v1::schema::{PlanEntry, PlanEntryPriority, PlanEntryStatus};
use aime_progress_management::{ProgressState, Task, TaskKind, TaskStatus, TodoItem, TodoStatus};

/// Returns the entries of a plan: its tasks, or the list of its actor if it has only one task. Groups are left out,
/// because their tasks cover them.
///
/// The protocol has the states pending, in progress and completed. Work that will not be done counts as completed,
/// and its text says so.
pub(super) fn entries(state: &ProgressState) -> Vec<PlanEntry> {
    let tasks: Vec<&Task> = state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group).collect();
    match tasks.as_slice() {
        [one] if !one.todos.is_empty() => one.todos.iter().map(of_todo).collect(),
        tasks => tasks.iter().map(|task| of_task(task)).collect(),
    }
}

fn of_task(task: &Task) -> PlanEntry {
    let (status, note) = match task.status {
        TaskStatus::Pending | TaskStatus::Ready => (PlanEntryStatus::Pending, ""),
        TaskStatus::Blocked => (PlanEntryStatus::Pending, " (blocked)"),
        TaskStatus::Running => (PlanEntryStatus::InProgress, ""),
        TaskStatus::Completed => (PlanEntryStatus::Completed, ""),
        TaskStatus::Failed if task.failed_for_good => (PlanEntryStatus::Completed, " (failed)"),
        TaskStatus::Failed => (PlanEntryStatus::Pending, " (failed, tried again)"),
        TaskStatus::Skipped => (PlanEntryStatus::Completed, " (skipped)"),
        TaskStatus::RolledBack => (PlanEntryStatus::Completed, " (rolled back)"),
    };
    PlanEntry::new(format!("{}{note}", task.spec.title()), PlanEntryPriority::Medium, status)
}

fn of_todo(item: &TodoItem) -> PlanEntry {
    let status = match item.status {
        TodoStatus::Pending => PlanEntryStatus::Pending,
        TodoStatus::InProgress => PlanEntryStatus::InProgress,
        TodoStatus::Completed => PlanEntryStatus::Completed,
    };
    PlanEntry::new(item.text.clone(), PlanEntryPriority::Medium, status)
}
