//! The graph of a plan.

use std::collections::HashMap;

use aime_progress::{EdgeType, ProgressState, TaskId, TaskKind, TaskStatus};
use serde::Serialize;

use super::build::Titles;

/// A graph to be drawn: what is too large is not.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Graph {
    /// The tasks.
    pub nodes: Vec<Node>,
    /// Who comes before whom.
    pub edges: Vec<Line>,
}

/// A task in a graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    /// Its number among the tasks of the run.
    pub number: usize,
    /// Its title.
    pub title: String,
    /// Who carries it out.
    pub kind: TaskKind,
    /// Where it stands.
    pub status: TaskStatus,
    /// A few words more, such as how long it took.
    pub more: String,
    /// Whether it decided when the run ended, or, in an older version, whether that version brought it.
    pub marked: bool,
}

/// A line of a graph, by the places of its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Line {
    /// What comes first.
    pub from: usize,
    /// What comes after.
    pub to: usize,
    /// What it means.
    pub kind: LineKind,
}

/// What a line means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// The one waits for the other.
    Waits,
    /// It waits, and is skipped where a condition does not hold.
    Conditional,
    /// It runs when the other has failed for good.
    Rollback,
    /// The group settles with its part.
    Part,
}

/// The graph of a plan. A group stands after its parts; what waits for a group waits for it there.
pub(crate) fn graph(state: &ProgressState, titles: &Titles, more: impl Fn(&TaskId) -> String, marked: impl Fn(&TaskId) -> bool) -> Graph {
    let places: HashMap<&TaskId, usize> = state.tasks.keys().enumerate().map(|(at, id)| (id, at)).collect();
    let nodes = state.tasks.iter().map(|(id, task)| Node {
        number: titles.number(id).unwrap_or_default(),
        title: titles.title(id),
        kind: task.spec.kind,
        status: task.status,
        more: more(id),
        marked: marked(id),
    });
    let tasks = state.graph();
    let mut edges = Vec::new();
    for (id, task) in &state.tasks {
        let Some(&to) = places.get(id) else { continue };
        let typed = |from: &TaskId| state.edges.iter().find(|edge| edge.from == *from && edge.to == *id).map(|edge| edge.kind);
        for from in tasks.dependencies(id) {
            let kind = match typed(from) {
                Some(EdgeType::Conditional) => LineKind::Conditional,
                Some(EdgeType::Rollback) => LineKind::Rollback,
                _ => LineKind::Waits,
            };
            let from = places.get(from).copied();
            // What a group waits for, its parts wait for.
            let to = if task.spec.kind == TaskKind::Group { parts(state, &places, id) } else { vec![to] };
            edges.extend(from.into_iter().flat_map(|from| to.iter().map(move |to| Line { from, to: *to, kind })));
        }
        if let Some(&group) = task.spec.parent.as_ref().and_then(|parent| places.get(parent)) {
            edges.push(Line { from: to, to: group, kind: LineKind::Part });
        }
    }
    edges.sort_by_key(|line| (line.from, line.to, line.kind));
    edges.dedup_by_key(|line| (line.from, line.to));
    Graph { nodes: nodes.collect(), edges }
}

fn parts(state: &ProgressState, places: &HashMap<&TaskId, usize>, group: &TaskId) -> Vec<usize> {
    let parts = state.tasks.iter().filter(|(_, task)| task.spec.parent.as_ref() == Some(group));
    parts.filter_map(|(id, _)| places.get(id).copied()).collect()
}
