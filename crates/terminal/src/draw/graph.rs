//! What waits for what, as a picture from top to bottom: a task stands below those it waits for.

use std::collections::HashMap;

use aime_progress::{EdgeType, ProgressState, Task, TaskId, TaskKind};
use ratatui_core::text::{Line, Span};
use renderdag::{Ancestor, GraphRowRenderer, Renderer};

use super::{Eye, tree::mark};
use crate::{Phrase, Screen, first_line, theme::Tone};

/// The most tasks that are drawn; of more nobody could follow the lines.
const MOST: usize = 200;

/// The picture, a task a line and lines between.
pub(super) fn lines(screen: &Screen, eye: Eye, width: usize) -> Vec<Line<'static>> {
    let tasks = screen.state.as_ref().map(|state| (state, order(state))).filter(|(_, order)| !order.is_empty());
    let Some((state, order)) = tasks else { return vec![eye.line(Tone::Dim, screen.says(Phrase::NoPlanToDraw))] };
    let all = order.len();
    let edges = edges(state);
    let mut renderer = GraphRowRenderer::new().output().with_min_row_height(2).build_box_drawing().with_square_glyphs();
    let mut lines = Vec::new();
    for task in order.into_iter().take(MOST) {
        let id = &task.spec.id;
        let below = edges.get(id).into_iter().flatten();
        let below = below.map(|(to, waits)| if *waits { Ancestor::Parent(*to) } else { Ancestor::Ancestor(*to) }).collect();
        // The place of the words in the picture; they are put in with their colours.
        let row = renderer.next_row(id, below, "*".to_owned(), String::new());
        lines.extend(row.trim_end_matches('\n').split('\n').map(|line| painted(line, task, eye, width)));
    }
    if all > MOST {
        lines.push(eye.line(Tone::Dim, screen.says(Phrase::AndMore(all - MOST))));
    }
    lines
}

/// A line of the picture. The one with the task's own mark also has its words.
fn painted(line: &str, task: &Task, eye: Eye, width: usize) -> Line<'static> {
    let Some((before, after)) = line.split_once('*') else { return eye.line(Tone::Dim, first_line_whole(line, width)) };
    let (sign, tone) = mark(task.status);
    let sign = if sign == " " { "o" } else { sign };
    let used = before.chars().count() + after.chars().count() + 1;
    let id = task.spec.id.as_str();
    let title = task.spec.title();
    let words = if title == id { format!(" {id}") } else { format!(" {id}: {title}") };
    let words = format!(" {}", first_line(&words, width.saturating_sub(used + 1)));
    Line::from(vec![eye.span(Tone::Dim, before.to_owned()), eye.span(tone, sign), eye.span(Tone::Dim, after.to_owned()), Span::raw(words)])
}

fn first_line_whole(line: &str, width: usize) -> String {
    line.chars().take(width).collect()
}

/// The tasks, each after those it waits for; of several that could come next the one that the plan names first.
fn order(state: &ProgressState) -> Vec<&Task> {
    let edges = edges(state);
    let mut waits: HashMap<&TaskId, usize> = HashMap::new();
    edges.values().flatten().for_each(|(to, _)| *waits.entry(*to).or_default() += 1);
    let mut left: Vec<&Task> = state.tasks.values().collect();
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        // Where tasks wait for one another the first in the plan comes first.
        let next = left.iter().position(|task| waits.get(&task.spec.id).is_none_or(|waits| *waits == 0)).unwrap_or(0);
        let task = left.remove(next);
        for (to, _) in edges.get(&task.spec.id).into_iter().flatten() {
            if let Some(waits) = waits.get_mut(*to) {
                *waits = waits.saturating_sub(1);
            }
        }
        order.push(task);
    }
    order
}

/// What can only go on after each task, and whether it waits for it always. A group stands after its parts; what a group waits for its parts
/// wait for.
fn edges(state: &ProgressState) -> HashMap<&TaskId, Vec<(&TaskId, bool)>> {
    let graph = state.graph();
    let key = |id: &TaskId| state.tasks.get_key_value(id).map(|(id, _)| id);
    let mut edges: HashMap<&TaskId, Vec<(&TaskId, bool)>> = HashMap::new();
    let mut put = |from: &TaskId, to: &TaskId, waits: bool| {
        if let (Some(from), Some(to)) = (key(from), key(to)) {
            let known = edges.entry(from).or_default();
            if from != to && !known.iter().any(|(other, _)| *other == to) {
                known.push((to, waits));
            }
        }
    };
    for (id, task) in &state.tasks {
        for from in graph.dependencies(id) {
            let typed = state.edges.iter().find(|edge| edge.from == *from && edge.to == *id).map(|edge| edge.kind);
            let waits = !matches!(typed, Some(EdgeType::Conditional | EdgeType::Rollback));
            if task.spec.kind == TaskKind::Group {
                let parts = state.tasks.values().filter(|part| part.spec.parent.as_ref() == Some(id));
                parts.for_each(|part| put(from, &part.spec.id, waits));
            } else {
                put(from, id, waits);
            }
        }
        if let Some(group) = &task.spec.parent {
            put(id, group, true);
        }
    }
    edges
}
