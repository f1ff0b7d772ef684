//! Details of one task.

use aime_progress_management::{CallOutcome, Task, TaskStatus, TodoStatus};
use ratatui_core::text::{Line, Span};

use super::{DrawContext, tree};
use crate::{
    Phrase, Screen, clock, first_line, plain,
    screen::{Actor, Call},
    text::{grouped, width as columns, wrapped},
    theme::Tone,
};

/// Draws the details of the selected task.
pub(super) fn lines(screen: &Screen, cx: DrawContext, width: usize) -> Vec<Line<'static>> {
    let Some(task) = screen.selected_task() else { return vec![cx.line(Tone::Dim, screen.phrase(Phrase::NoneYet))] };
    let mut lines = head(screen, task, cx, width);
    let actor = screen.actors.of(&task.spec.id);
    lines.extend(actor_lines(screen, task, actor, cx, width));
    let after: Vec<&str> = task.spec.dependencies.iter().map(aime_progress_management::TaskId::as_str).collect();
    if !after.is_empty() {
        lines.extend(block(cx, Tone::Dim, &screen.phrase(Phrase::After(&after.join(", "))), width));
    }
    if task.spec.description != task.spec.title() {
        lines.extend(block(cx, Tone::Plain, &task.spec.description, width));
    }
    for criterion in &task.spec.completion_criteria {
        lines.extend(block(cx, Tone::Dim, &format!("- {criterion}"), width));
    }
    if let Some(report) = &task.report {
        lines.extend(block(cx, Tone::Live, &screen.phrase(Phrase::Report { status: &report.status, message: &report.message }), width));
    }
    for todo in &task.todos {
        let (mark, tone) = match todo.status {
            TodoStatus::Completed => ("x", Tone::Good),
            TodoStatus::InProgress => (">", Tone::Live),
            TodoStatus::Pending => (" ", Tone::Plain),
        };
        let text = first_line(&todo.text, width.saturating_sub(6));
        lines.push(Line::from(vec![Span::raw("  ["), cx.span(tone, mark), Span::raw(format!("] {text}"))]));
    }
    if let Some(conclusion) = &task.conclusion {
        let error = conclusion.error.as_ref().map(|error| (Tone::Bad, screen.phrase(Phrase::Reason(error))));
        let (tone, text) = error.unwrap_or_else(|| (Tone::Good, conclusion.summary.clone()));
        lines.extend(block(cx, tone, &screen.phrase(Phrase::CameTo(&text)), width));
    }
    lines.extend(actor.into_iter().flat_map(|actor| calls(screen, actor, cx, width)));
    lines
}

fn head(screen: &Screen, task: &Task, cx: DrawContext, width: usize) -> Vec<Line<'static>> {
    let mut lines = block(cx, Tone::Strong, &format!("{}: {}", task.spec.id, first_line(task.spec.title(), 400)), width);
    let (mark, tone) = tree::mark(task.status);
    let mut status = vec![screen.phrase(Phrase::Status(task.status))];
    if task.attempts > 1 {
        status.push(screen.phrase(Phrase::AttemptNumber(task.attempts)));
    }
    status.extend(tree::time_of(task, cx).map(clock));
    if task.status == TaskStatus::Failed && task.failed_for_good {
        status.push(screen.phrase(Phrase::ForGood));
    }
    let status = format!("] {}", status.join(&screen.phrase(Phrase::Comma)));
    lines.push(Line::from(vec![Span::raw("["), cx.span(tone, mark), Span::raw(status)]));
    if let Some(reason) = &task.reason {
        lines.extend(block(cx, Tone::Warn, &screen.phrase(Phrase::Reason(reason)), width));
    }
    lines
}

fn actor_lines(screen: &Screen, task: &Task, actor: Option<&Actor>, cx: DrawContext, width: usize) -> Vec<Line<'static>> {
    if let Some(tool) = &task.spec.tool {
        let parameters = serde_json::to_string(&task.spec.parameters).unwrap_or_default();
        return block(cx, Tone::Dim, &screen.phrase(Phrase::Tool { tool, parameters: &parameters }), width);
    }
    let Some(actor) = actor.filter(|actor| !actor.profile.is_empty()) else { return Vec::new() };
    let tokens = grouped(actor.tokens);
    let phrase = Phrase::Actor { profile: &actor.profile, model: &actor.model, requests: actor.requests, tokens: &tokens };
    block(cx, Tone::Dim, &screen.phrase(phrase), width)
}

/// Draws the calls, the latest first.
fn calls(screen: &Screen, actor: &Actor, cx: DrawContext, width: usize) -> Vec<Line<'static>> {
    actor.calls.iter().rev().map(|call| call_line(screen, call, cx, width)).collect()
}

fn call_line(screen: &Screen, call: &Call, cx: DrawContext, width: usize) -> Line<'static> {
    let (tone, millis) = match call.ended {
        None => (Tone::Live, cx.now.millis_since(call.at)),
        Some((CallOutcome::Ok, millis)) => (Tone::Good, millis),
        Some((CallOutcome::Error, millis)) => (Tone::Bad, millis),
        Some((CallOutcome::Cancelled | CallOutcome::InDoubt, millis)) => (Tone::Warn, millis),
    };
    let word = screen.phrase(Phrase::Call(call.ended.map(|(outcome, _)| outcome)));
    let room = 8_usize.saturating_sub(columns(&word));
    let end = format!(" {}", clock(millis));
    let what = first_line(&call.description, width.saturating_sub(12 + end.len()));
    Line::from(vec![cx.span(tone, format!("  {word}{:room$} ", "")), Span::raw(what), cx.span(Tone::Dim, end)])
}

fn block(cx: DrawContext, tone: Tone, text: &str, width: usize) -> Vec<Line<'static>> {
    wrapped(&plain(text), width, "  ").into_iter().map(|line| cx.line(tone, line)).collect()
}
