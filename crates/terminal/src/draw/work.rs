//! Running tasks with their tools and times.

use aime_progress_management::{Task, TaskKind, TaskStatus};
use ratatui_core::text::{Line, Span};

use super::{DrawContext, title, tree::time_of};
use crate::{Phrase, Screen, clock, first_line, text::width as columns, theme::Tone};

/// Draws a title and a line for each running task, at most `most` lines; none if no task runs.
pub(super) fn lines(screen: &Screen, cx: DrawContext, width: usize, most: usize) -> Vec<Line<'static>> {
    let Some(state) = &screen.state else { return Vec::new() };
    let at_work: Vec<&Task> =
        state.tasks.values().filter(|task| task.status == TaskStatus::Running && task.spec.kind != TaskKind::Group).collect();
    let room = most.saturating_sub(1);
    if at_work.is_empty() || room == 0 {
        return Vec::new();
    }
    let hidden = at_work.len().saturating_sub(room);
    let more = if hidden > 0 { screen.phrase(Phrase::More(hidden)) } else { String::new() };
    let mut lines = vec![title(cx, &screen.phrase(Phrase::TitleAtWork), &more, width)];
    lines.extend(at_work.into_iter().take(room).map(|task| row(screen, cx, task, width)));
    lines
}

fn row(screen: &Screen, cx: DrawContext, task: &Task, width: usize) -> Line<'static> {
    let actor = screen.actors.of(&task.spec.id);
    let who = match actor.map(|actor| actor.profile.as_str()).filter(|profile| !profile.is_empty()) {
        Some(profile) => format!("{} ({profile})", task.spec.id),
        None => task.spec.id.to_string(),
    };
    let who = first_line(&who, (width / 2).saturating_sub(2));
    // If a call is under way, its own time is shown.
    let began = actor.and_then(|actor| actor.current()).map(|call| cx.now.millis_since(call.at));
    let time = began.or_else(|| time_of(task, cx)).map(clock).unwrap_or_default();
    let room = width.saturating_sub(columns(&who) + time.len() + 6);
    let doing = first_line(&doing(screen, task), room);
    let gap = width.saturating_sub(columns(&who) + columns(&doing) + time.len() + 4).max(1);
    Line::from(vec![Span::raw(format!("  {who}  ")), cx.span(Tone::Live, doing), cx.span(Tone::Dim, format!("{}{time}", " ".repeat(gap)))])
}

/// Describes the activity of a running task: a question to a person, a call, the actor's last report, or a model request.
pub(super) fn doing(screen: &Screen, task: &Task) -> String {
    if screen.asks(&task.spec.id) {
        return screen.phrase(Phrase::WaitsForYou);
    }
    let call = screen.actors.of(&task.spec.id).and_then(|actor| actor.current()).map(|call| call.description.clone());
    // After a resume the events of earlier calls are missing.
    let known = call.or_else(|| task.activity.clone());
    known.or_else(|| task.report.as_ref().map(|report| report.message.clone())).unwrap_or_else(|| match task.spec.kind {
        TaskKind::Tool => task.spec.tool.clone().unwrap_or_default(),
        _ => screen.phrase(Phrase::Thinking),
    })
}
