//! Graph of a plan.

use std::collections::HashMap;

use aime_progress_management::{EdgeType, ProgressState, TaskId, TaskKind, TaskStatus};
use serde::Serialize;

use super::build::Titles;

/// Graph for the picture. A graph that is too large is not drawn.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Graph {
    /// The tasks.
    pub nodes: Vec<Node>,
    /// Dependencies between the tasks.
    pub edges: Vec<Line>,
}

/// Task in a graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    /// Its number among the tasks of the run.
    pub number: usize,
    /// Its title.
    pub title: String,
    /// Executor of the task.
    pub kind: TaskKind,
    /// Status of the task.
    pub status: TaskStatus,
    /// Short remark, such as the duration.
    pub more: String,
    /// True if it is on the critical path or, in the graph of an older version, if that version added it.
    pub marked: bool,
}

/// Edge of a graph, by the indices of its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Predecessor.
    pub from: usize,
    /// Successor.
    pub to: usize,
    /// Meaning of the edge.
    pub kind: LineKind,
}

/// Meaning of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// The successor waits for the predecessor.
    Waits,
    /// The successor waits, and is skipped if a condition does not hold.
    Conditional,
    /// The successor runs if the predecessor has failed for good.
    Rollback,
    /// The group settles with its member.
    Part,
}

/// Builds the graph of a plan. A group comes after its members, and successors of the group wait for it there.
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
            // The members of a group wait for everything that the group waits for.
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
