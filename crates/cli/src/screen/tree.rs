//! Plan as a checklist.

use std::sync::Arc;

use aime_progress_management::{Plan, ProgressState, Task, TaskId, TaskSpec, TaskStatus};
use aime_terminal::tree_order;

use super::{first_line, fit, span};
use crate::{
    i18n::{msg, print},
    output::{CYAN, DIM, GREEN, RED, YELLOW, count},
};

const WIDTH: usize = 100;

/// Describes the tasks of a plan that has not run, children under their parents.
pub(crate) fn describe_plan(plan: &Plan) -> String {
    let specs: Vec<&TaskSpec> = plan.tasks.iter().map(Arc::as_ref).collect();
    let lines = tree_order(&specs).into_iter().map(|(depth, spec)| {
        let after: Vec<&str> = spec.dependencies.iter().map(TaskId::as_str).collect();
        let after = if after.is_empty() { String::new() } else { format!(" {DIM}{}{DIM:#}", msg!("tree-after", tasks = after.join(", "))) };
        let tool = spec.tool.as_ref().map(|tool| format!(" {DIM}[{tool}]{DIM:#}")).unwrap_or_default();
        format!("  {}[ ] {}{tool} {}{after}", "  ".repeat(depth), spec.id, first_line(spec.title(), WIDTH))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Describes the tasks of a run with their states and results, for a screen of `width` columns.
pub(crate) fn describe_tasks(state: &ProgressState, width: usize) -> String {
    let lines = tasks(state).into_iter().map(|(depth, task)| {
        // The actor wrote the summary itself, so it is not translated.
        let detail = match &task.conclusion {
            Some(conclusion) => Some(conclusion.error.as_ref().map_or_else(|| conclusion.summary.clone(), print)),
            None => task.reason.as_ref().map(print),
        };
        let detail = detail.map(|text| format!(" {DIM}{}{DIM:#}", first_line(&text, WIDTH))).unwrap_or_default();
        let attempts = if task.attempts > 1 { format!(" {}", msg!("attempt", number = task.attempts)) } else { String::new() };
        let most = if detail.is_empty() { WIDTH } else { (width / 2).clamp(10, WIDTH) };
        format!("  {}{} {} {}{attempts}{detail}", "  ".repeat(depth), mark(task.status), task.spec.id, first_line(task.spec.title(), most))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the live checklist: the activity of each task, and its elapsed time.
pub(super) fn checklist(state: &ProgressState, now: i64, width: usize, most: usize) -> Vec<String> {
    let rows = tasks(state);
    let hidden = rows.len().saturating_sub(most);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    if hidden > 0 {
        // Active and failed tasks come first; the rest is only counted.
        order.sort_by_key(|index| rows.get(*index).map_or(9, |(_, task)| interest(task.status)));
        order.truncate(most);
        order.sort_unstable();
    }
    let mut lines: Vec<String> =
        order.into_iter().filter_map(|index| rows.get(index)).map(|(depth, task)| row(*depth, task, now, width)).collect();
    if hidden > 0 {
        lines.push(format!("  {DIM}{}{DIM:#}", msg!("tree-more", number = hidden)));
    }
    lines
}

/// Formats the progress, once there is a plan: `plan v2 · 3 of 5 tasks done`.
pub(super) fn progress(state: &ProgressState) -> Option<String> {
    if state.version == 0 {
        return None;
    }
    let done = state.tasks.values().filter(|task| task.status == TaskStatus::Completed).count();
    Some(msg!("tree-progress", version = state.version, done, tasks = count(state.tasks.len(), "task")))
}

fn row(depth: usize, task: &Task, now: i64, width: usize) -> String {
    // Even a deep plan on a narrow terminal needs room for its text.
    let indent = "  ".repeat(depth.min(width / 10));
    let begun = task.started_at.map_or(now, aime_progress_management::Timestamp::as_millis);
    let (until, doing) = match task.status {
        TaskStatus::Running => {
            let doing = task.activity.clone().or_else(|| task.report.as_ref().map(|report| report.message.clone()));
            (Some(now), doing)
        }
        TaskStatus::Completed | TaskStatus::Failed => (task.finished_at.map(aime_progress_management::Timestamp::as_millis), None),
        _ => (None, task.reason.as_ref().map(print)),
    };
    // The activity needs room beside the title.
    let most = if doing.is_some() { width / 2 } else { width.saturating_sub(20) };
    let title = first_line(task.spec.title(), most.saturating_sub(indent.len()).clamp(10, 70));
    let time = until.filter(|_| task.attempts > 0).map(|until| format!(" {DIM}{}{DIM:#}", span(u64::try_from(until - begun).unwrap_or(0))));
    let row = format!("  {indent}{} {title}{}", mark(task.status), time.unwrap_or_default());
    let room = width.saturating_sub(console::measure_text_width(&row) + 2);
    let doing = doing.filter(|_| room > 8).map(|doing| format!(" {CYAN}{}{CYAN:#}", first_line(&doing, room)));
    fit(&format!("{row}{}", doing.unwrap_or_default()), width)
}

const fn interest(status: TaskStatus) -> u8 {
    match status {
        TaskStatus::Running => 0,
        TaskStatus::Failed | TaskStatus::Blocked => 1,
        TaskStatus::Ready => 2,
        TaskStatus::Pending => 3,
        _ => 4,
    }
}

fn mark(status: TaskStatus) -> String {
    match status {
        TaskStatus::Pending | TaskStatus::Ready => "[ ]".to_owned(),
        TaskStatus::Running => format!("{CYAN}[>]{CYAN:#}"),
        TaskStatus::Completed => format!("{GREEN}[x]{GREEN:#}"),
        TaskStatus::Failed => format!("{RED}[!]{RED:#}"),
        TaskStatus::Blocked => format!("{YELLOW}[?]{YELLOW:#}"),
        TaskStatus::Skipped => format!("{DIM}[-]{DIM:#}"),
        TaskStatus::RolledBack => format!("{DIM}[<]{DIM:#}"),
    }
}

fn tasks(state: &ProgressState) -> Vec<(usize, &Task)> {
    let specs: Vec<&TaskSpec> = state.tasks.values().map(|task| &*task.spec).collect();
    tree_order(&specs).into_iter().filter_map(|(depth, spec)| Some((depth, state.tasks.get(&spec.id)?))).collect()
}
