//! Plan as a tree, each task with its status.

use aime_progress_management::{Task, TaskKind, TaskStatus};
use ratatui_core::{
    style::Modifier,
    text::{Line, Span},
};

use super::{DrawContext, title, work};
use crate::{Phrase, Screen, clock, first_line, text::width as columns, theme::Tone};

/// Width of a time at the end of a row, with the gap before it, in columns.
const TIME: usize = 8;

/// Returns the mark of a status, which is readable without colours.
pub(super) const fn mark(status: TaskStatus) -> (&'static str, Tone) {
    match status {
        TaskStatus::Pending | TaskStatus::Ready => (" ", Tone::Plain),
        TaskStatus::Running => (">", Tone::Live),
        TaskStatus::Completed => ("x", Tone::Good),
        TaskStatus::Failed => ("!", Tone::Bad),
        TaskStatus::Blocked => ("?", Tone::Warn),
        TaskStatus::Skipped => ("-", Tone::Dim),
        TaskStatus::RolledBack => ("<", Tone::Dim),
    }
}

/// Draws the title and as many rows as fit below it, around the selected one.
pub(super) fn lines(screen: &Screen, cx: DrawContext, width: usize, height: usize) -> Vec<Line<'static>> {
    let rows = screen.rows();
    let room = height.saturating_sub(1);
    let focus = screen.focus(&rows).unwrap_or(0);
    let from = focus.saturating_sub(room / 2).min(rows.len().saturating_sub(room));
    let below = rows.len().saturating_sub(from + room);
    let more = match (from, below) {
        (0, 0) => String::new(),
        (above, below) => screen.phrase(Phrase::Around { above, below }),
    };
    let mut lines = vec![title(cx, &screen.phrase(Phrase::TitlePlan), &more, width)];
    if rows.is_empty() {
        lines.push(cx.line(Tone::Dim, format!("  {}", screen.phrase(Phrase::NoneYet))));
    }
    let shown = rows.iter().enumerate().skip(from).take(room);
    lines.extend(shown.map(|(at, (depth, task))| row(screen, cx, (*depth, task), at == focus, width)));
    lines.truncate(height);
    lines
}

fn row(screen: &Screen, cx: DrawContext, (depth, task): (usize, &Task), looked_at: bool, width: usize) -> Line<'static> {
    // Even a deep plan on a narrow terminal needs room for its text.
    let indent = "  ".repeat(depth.min(width / 10));
    let (mark, tone) = mark(task.status);
    let pointer = if looked_at { ">" } else { " " };
    let lead = format!("{pointer} {indent}[{mark}] ");
    let time = time_of(task, cx).map(clock).unwrap_or_default();
    let room = width.saturating_sub(columns(&lead) + if time.is_empty() { 0 } else { TIME });
    let (detail, detail_tone) = task_detail(screen, task);
    // The activity needs room beside the title.
    let most = if detail.is_empty() { room } else { (room / 2).max(12).min(room) };
    let name = first_line(task.spec.title(), most);
    let attempts = if task.attempts > 1 { format!(" {}", screen.phrase(Phrase::Attempt(task.attempts))) } else { String::new() };
    let left = room.saturating_sub(columns(&name) + columns(&attempts) + 2);
    let detail = if left >= 8 { first_line(&detail, left) } else { String::new() };
    let mut style = cx.theme.style(if task.status.is_settled() && task.status != TaskStatus::Completed { Tone::Dim } else { Tone::Plain });
    if looked_at && screen.selected.is_some() {
        style = style.add_modifier(Modifier::REVERSED);
    }
    let mut spans = vec![
        Span::raw(format!("{pointer} {indent}[")),
        cx.span(tone, mark),
        Span::raw("] "),
        Span::styled(name, style),
        cx.span(Tone::Dim, attempts),
    ];
    if !detail.is_empty() {
        spans.extend([Span::raw("  "), cx.span(detail_tone, detail)]);
    }
    if !time.is_empty() {
        let used: usize = spans.iter().map(Span::width).sum();
        let gap = width.saturating_sub(used + time.len()).max(1);
        spans.push(cx.span(Tone::Dim, format!("{}{time}", " ".repeat(gap))));
    }
    Line::from(spans)
}

/// Describes the activity of a task, its result, or the reason for its status.
fn task_detail(screen: &Screen, task: &Task) -> (String, Tone) {
    let why = || task.reason.as_ref().map(|reason| screen.phrase(Phrase::Reason(reason)));
    // The actor wrote the summary itself, so it is not translated.
    let concluded = || {
        let conclusion = task.conclusion.as_ref()?;
        Some(conclusion.error.as_ref().map_or_else(|| conclusion.summary.clone(), |error| screen.phrase(Phrase::Reason(error))))
    };
    match task.status {
        TaskStatus::Running if task.spec.kind == TaskKind::Group => (String::new(), Tone::Dim),
        TaskStatus::Running => (work::doing(screen, task), Tone::Live),
        TaskStatus::Completed => (concluded().unwrap_or_default(), Tone::Dim),
        TaskStatus::Failed => (why().or_else(concluded).unwrap_or_default(), Tone::Bad),
        TaskStatus::Pending | TaskStatus::Ready => (why().unwrap_or_else(|| waits_for(screen, task)), Tone::Dim),
        _ => (why().unwrap_or_default(), Tone::Dim),
    }
}

fn waits_for(screen: &Screen, task: &Task) -> String {
    let after: Vec<&str> = task.spec.dependencies.iter().map(aime_progress_management::TaskId::as_str).collect();
    if after.is_empty() { String::new() } else { screen.phrase(Phrase::After(&after.join(", "))) }
}

/// Returns the time that a task has taken, in milliseconds; none if it has not started.
pub(super) fn time_of(task: &Task, cx: DrawContext) -> Option<u64> {
    let began = task.started_at.filter(|_| task.attempts > 0 || task.spec.kind == TaskKind::Group)?;
    match task.status {
        TaskStatus::Running => Some(cx.now.millis_since(began)),
        TaskStatus::Completed | TaskStatus::Failed => Some(task.finished_at?.millis_since(began)),
        _ => None,
    }
}
