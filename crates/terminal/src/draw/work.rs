//! Who is at work, with which tool, for how long.

use aime_progress::{Task, TaskKind, TaskStatus};
use ratatui_core::text::{Line, Span};

use super::{Eye, title, tree::time_of};
use crate::{Phrase, Screen, clock, first_line, text::width as columns, theme::Tone};

/// A title and a line for each of them, at most `most` lines; none where nobody is at work.
pub(super) fn lines(screen: &Screen, eye: Eye, width: usize, most: usize) -> Vec<Line<'static>> {
    let Some(state) = &screen.state else { return Vec::new() };
    let at_work: Vec<&Task> =
        state.tasks.values().filter(|task| task.status == TaskStatus::Running && task.spec.kind != TaskKind::Group).collect();
    let room = most.saturating_sub(1);
    if at_work.is_empty() || room == 0 {
        return Vec::new();
    }
    let hidden = at_work.len().saturating_sub(room);
    let more = if hidden > 0 { screen.says(Phrase::More(hidden)) } else { String::new() };
    let mut lines = vec![title(eye, &screen.says(Phrase::TitleAtWork), &more, width)];
    lines.extend(at_work.into_iter().take(room).map(|task| row(screen, eye, task, width)));
    lines
}

fn row(screen: &Screen, eye: Eye, task: &Task, width: usize) -> Line<'static> {
    let actor = screen.actors.of(&task.spec.id);
    let who = match actor.map(|actor| actor.profile.as_str()).filter(|profile| !profile.is_empty()) {
        Some(profile) => format!("{} ({profile})", task.spec.id),
        None => task.spec.id.to_string(),
    };
    let who = first_line(&who, (width / 2).saturating_sub(2));
    // A call has a time of its own.
    let began = actor.and_then(|actor| actor.current()).map(|call| eye.now.millis_since(call.at));
    let time = began.or_else(|| time_of(task, eye)).map(clock).unwrap_or_default();
    let room = width.saturating_sub(columns(&who) + time.len() + 6);
    let doing = first_line(&doing(screen, task), room);
    let gap = width.saturating_sub(columns(&who) + columns(&doing) + time.len() + 4).max(1);
    Line::from(vec![
        Span::raw(format!("  {who}  ")),
        eye.span(Tone::Live, doing),
        eye.span(Tone::Dim, format!("{}{time}", " ".repeat(gap))),
    ])
}

/// What a running task does: that it waits for a person, its call, what its actor said last, or that its model is asked.
pub(super) fn doing(screen: &Screen, task: &Task) -> String {
    if screen.asks(&task.spec.id) {
        return screen.says(Phrase::WaitsForYou);
    }
    let call = screen.actors.of(&task.spec.id).and_then(|actor| actor.current()).map(|call| call.what.clone());
    // Of a run that was taken up where it stood the calls were not told.
    let known = call.or_else(|| task.activity.clone());
    known.or_else(|| task.report.as_ref().map(|report| report.message.clone())).unwrap_or_else(|| match task.spec.kind {
        TaskKind::Tool => task.spec.tool.clone().unwrap_or_default(),
        _ => screen.says(Phrase::Thinking),
    })
}
