//! Graph of the plan from top to bottom: a task is below those that it waits for.

use std::collections::{BTreeSet, HashMap, HashSet};

use aime_progress_management::{EdgeType, ProgressState, Task, TaskId, TaskKind};
use ratatui_core::text::{Line, Span};
use renderdag::{Ancestor, GraphRowRenderer, Renderer};

use super::{DrawContext, tree::mark};
use crate::{Phrase, Screen, first_line, theme::Tone};

/// Largest number of tasks that are drawn. With more, nobody could follow the lines.
const MAX_TASKS: usize = 200;

/// Draws the graph: one line per task, with connecting lines between.
pub(super) fn lines(screen: &Screen, cx: DrawContext, width: usize) -> Vec<Line<'static>> {
    let Some(state) = screen.state.as_ref().filter(|state| !state.tasks.is_empty()) else {
        return vec![cx.line(Tone::Dim, screen.phrase(Phrase::NoPlanToDraw))];
    };
    let edges = edges(state);
    let order = order(state, &edges);
    let all = order.len();
    let mut renderer = GraphRowRenderer::new().output().with_min_row_height(2).build_box_drawing().with_square_glyphs();
    let mut lines = Vec::new();
    for task in order.into_iter().take(MAX_TASKS) {
        let id = &task.spec.id;
        let below = edges.get(id).into_iter().flatten();
        let below = below.map(|(to, waits)| if *waits { Ancestor::Parent(*to) } else { Ancestor::Ancestor(*to) }).collect();
        // The mark is a placeholder, which is replaced by the coloured text of the task.
        let row = renderer.next_row(id, below, "*".to_owned(), String::new());
        lines.extend(row.trim_end_matches('\n').split('\n').map(|line| painted(line, task, cx, width)));
    }
    if all > MAX_TASKS {
        lines.push(cx.line(Tone::Dim, screen.phrase(Phrase::AndMore(all - MAX_TASKS))));
    }
    lines
}

/// Colours a line of the graph. The line with the task's own mark also gets its text.
fn painted(line: &str, task: &Task, cx: DrawContext, width: usize) -> Line<'static> {
    let Some((before, after)) = line.split_once('*') else { return cx.line(Tone::Dim, first_line_whole(line, width)) };
    let (sign, tone) = mark(task.status);
    let sign = if sign == " " { "o" } else { sign };
    let used = before.chars().count() + after.chars().count() + 1;
    let id = task.spec.id.as_str();
    let title = task.spec.title();
    let words = if title == id { format!(" {id}") } else { format!(" {id}: {title}") };
    let words = format!(" {}", first_line(&words, width.saturating_sub(used + 1)));
    Line::from(vec![cx.span(Tone::Dim, before.to_owned()), cx.span(tone, sign), cx.span(Tone::Dim, after.to_owned()), Span::raw(words)])
}

fn first_line_whole(line: &str, width: usize) -> String {
    line.chars().take(width).collect()
}

/// Successors of each task. The flag is true if the successor always waits, and false for conditional and rollback edges.
type Edges<'a> = HashMap<&'a TaskId, Vec<(&'a TaskId, bool)>>;

/// Returns the tasks in topological order. Of several candidates the first one in the plan comes first.
fn order<'a>(state: &'a ProgressState, edges: &Edges<'a>) -> Vec<&'a Task> {
    let places: HashMap<&TaskId, usize> = state.tasks.keys().zip(0..).collect();
    let tasks: Vec<&Task> = state.tasks.values().collect();
    let mut waits = vec![0_usize; tasks.len()];
    let place = |id: &TaskId| places.get(id).copied().unwrap_or(usize::MAX);
    for (to, _) in edges.values().flatten() {
        waits.get_mut(place(to)).into_iter().for_each(|waits| *waits += 1);
    }
    let mut left: BTreeSet<usize> = (0..tasks.len()).collect();
    let mut ready: BTreeSet<usize> = left.iter().copied().filter(|place| waits.get(*place) == Some(&0)).collect();
    let mut order = Vec::with_capacity(tasks.len());
    // In a cycle the first task of the plan comes first.
    while let Some(next) = ready.pop_first().or_else(|| left.first().copied()) {
        left.remove(&next);
        let Some(task) = tasks.get(next) else { continue };
        for (to, _) in edges.get(&task.spec.id).into_iter().flatten() {
            let to = place(to);
            if let Some(waits) = waits.get_mut(to) {
                *waits = waits.saturating_sub(1);
                if *waits == 0 && left.contains(&to) {
                    ready.insert(to);
                }
            }
        }
        order.push(*task);
    }
    order
}

/// Returns the edges of a plan. A group comes after its members, and members wait for everything that their group waits for.
fn edges(state: &ProgressState) -> Edges<'_> {
    let graph = state.graph();
    let key = |id: &TaskId| state.tasks.get_key_value(id).map(|(id, _)| id);
    let (mut edges, mut known) = (Edges::new(), HashSet::new());
    let mut put = |from: &TaskId, to: &TaskId, waits: bool| {
        if let (Some(from), Some(to)) = (key(from), key(to))
            && from != to
            && known.insert((from, to))
        {
            edges.entry(from).or_default().push((to, waits));
        }
    };
    let mut kinds: HashMap<(&TaskId, &TaskId), EdgeType> = HashMap::new();
    for edge in &state.edges {
        kinds.entry((&edge.from, &edge.to)).or_insert(edge.kind);
    }
    let mut parts: HashMap<&TaskId, Vec<&TaskId>> = HashMap::new();
    for (id, task) in &state.tasks {
        task.spec.parent.iter().for_each(|group| parts.entry(group).or_default().push(id));
    }
    for (id, task) in &state.tasks {
        for from in graph.dependencies(id) {
            let waits = !matches!(kinds.get(&(from, id)), Some(EdgeType::Conditional | EdgeType::Rollback));
            if task.spec.kind == TaskKind::Group {
                parts.get(id).into_iter().flatten().for_each(|part| put(from, part, waits));
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

#[cfg(test)]
mod tests {
    use aime_progress_management::{PlanId, Timestamp};
    use serde_json::json;

    use super::*;
    use crate::testing::event;

    #[test]
    fn tasks_stand_after_what_they_wait_for_and_else_as_the_plan_names_them() {
        let task = |id: &str, after: &[&str]| json!({"id": id, "kind": "actor", "description": "x", "dependencies": after});
        let part = |id: &str| json!({"id": id, "kind": "actor", "description": "x", "parent": "group"});
        let group = json!({"id": "group", "kind": "group", "dependencies": ["first"]});
        let tasks =
            json!([task("last", &["group", "second"]), group, part("b"), part("a"), task("second", &["first"]), task("first", &[])]);
        let mut state = ProgressState::new(PlanId::new("p").unwrap(), "g".to_owned(), Timestamp::from_millis(0));
        let made = event(json!({"type": "plan_created", "plan": {"goal": "g", "tasks": tasks}}));
        state.apply(Timestamp::from_millis(1), &made).unwrap();
        let order: Vec<&str> = order(&state, &edges(&state)).into_iter().map(|task| task.spec.id.as_str()).collect();
        assert_eq!(order, ["first", "b", "a", "group", "second", "last"]);
    }
}
