//! All about one task.

use aime_progress::{CallOutcome, Task, TaskStatus, TodoStatus};
use ratatui_core::text::{Line, Span};

use super::{Eye, tree};
use crate::{
    Screen, clock, first_line, plain,
    screen::{Actor, Call},
    text::{grouped, wrapped},
    theme::Tone,
};

/// Everything that is known of the task that is looked at.
pub(super) fn lines(screen: &Screen, eye: Eye, width: usize) -> Vec<Line<'static>> {
    let Some(task) = screen.chosen() else { return vec![eye.line(Tone::Dim, "there is none yet")] };
    let mut lines = head(task, eye, width);
    let actor = screen.actors.of(&task.spec.id);
    lines.extend(who(task, actor, eye, width));
    let after: Vec<&str> = task.spec.dependencies.iter().map(aime_progress::TaskId::as_str).collect();
    if !after.is_empty() {
        lines.extend(block(eye, Tone::Dim, &format!("after {}", after.join(", ")), width));
    }
    if task.spec.description != task.spec.title() {
        lines.extend(block(eye, Tone::Plain, &task.spec.description, width));
    }
    for criterion in &task.spec.completion_criteria {
        lines.extend(block(eye, Tone::Dim, &format!("- {criterion}"), width));
    }
    if let Some(report) = &task.report {
        lines.extend(block(eye, Tone::Live, &format!("said: {}: {}", report.status, report.message), width));
    }
    for todo in &task.todos {
        let (mark, tone) = match todo.status {
            TodoStatus::Completed => ("x", Tone::Good),
            TodoStatus::InProgress => (">", Tone::Live),
            TodoStatus::Pending => (" ", Tone::Plain),
        };
        let text = first_line(&todo.text, width.saturating_sub(6));
        lines.push(Line::from(vec![Span::raw("  ["), eye.span(tone, mark), Span::raw(format!("] {text}"))]));
    }
    if let Some(conclusion) = &task.conclusion {
        let (tone, text) = conclusion.error.as_ref().map_or((Tone::Good, &conclusion.summary), |error| (Tone::Bad, error));
        lines.extend(block(eye, tone, &format!("came to: {text}"), width));
    }
    lines.extend(actor.into_iter().flat_map(|actor| calls(actor, eye, width)));
    lines
}

fn head(task: &Task, eye: Eye, width: usize) -> Vec<Line<'static>> {
    let mut lines = block(eye, Tone::Strong, &format!("{}: {}", task.spec.id, first_line(task.spec.title(), 400)), width);
    let (mark, tone) = tree::mark(task.status);
    let mut stands = format!("] {}", task.status);
    if task.attempts > 1 {
        stands.push_str(&format!(", attempt {}", task.attempts));
    }
    if let Some(millis) = tree::time_of(task, eye) {
        stands.push_str(&format!(", {}", clock(millis)));
    }
    if task.status == TaskStatus::Failed && task.failed_for_good {
        stands.push_str(", for good");
    }
    lines.push(Line::from(vec![Span::raw("["), eye.span(tone, mark), Span::raw(stands)]));
    if let Some(reason) = &task.reason {
        lines.extend(block(eye, Tone::Warn, reason, width));
    }
    lines
}

fn who(task: &Task, actor: Option<&Actor>, eye: Eye, width: usize) -> Vec<Line<'static>> {
    if let Some(tool) = &task.spec.tool {
        let parameters = serde_json::to_string(&task.spec.parameters).unwrap_or_default();
        return block(eye, Tone::Dim, &format!("tool {tool} {parameters}"), width);
    }
    let Some(actor) = actor.filter(|actor| !actor.profile.is_empty()) else { return Vec::new() };
    let cost = format!("{} requests, {} tokens", actor.requests, grouped(actor.tokens));
    block(eye, Tone::Dim, &format!("actor {} on {}: {cost}", actor.profile, actor.model), width)
}

/// The calls, the latest first.
fn calls(actor: &Actor, eye: Eye, width: usize) -> Vec<Line<'static>> {
    actor.calls.iter().rev().map(|call| call_line(call, eye, width)).collect()
}

fn call_line(call: &Call, eye: Eye, width: usize) -> Line<'static> {
    let (word, tone, millis) = match call.ended {
        None => ("...", Tone::Live, eye.now.millis_since(call.at)),
        Some((CallOutcome::Ok, millis)) => ("ok", Tone::Good, millis),
        Some((CallOutcome::Error, millis)) => ("failed", Tone::Bad, millis),
        Some((CallOutcome::Cancelled, millis)) => ("stopped", Tone::Warn, millis),
        Some((CallOutcome::InDoubt, millis)) => ("in doubt", Tone::Warn, millis),
    };
    let end = format!(" {}", clock(millis));
    let what = first_line(&call.what, width.saturating_sub(12 + end.len()));
    Line::from(vec![eye.span(tone, format!("  {word:<8} ")), Span::raw(what), eye.span(Tone::Dim, end)])
}

fn block(eye: Eye, tone: Tone, text: &str, width: usize) -> Vec<Line<'static>> {
    wrapped(&plain(text), width, "  ").into_iter().map(|line| eye.line(tone, line)).collect()
}
