//! The task graph: dependencies between tasks.
//!
//! A task waits for its `dependencies`, for the sources of its edges, for the steps that its parameters refer to, and
//! for all dependencies of the groups around it. A group settles after its children.

use std::collections::{HashMap, HashSet, VecDeque};

use foldhash::fast::RandomState;
use petgraph::{
    Direction,
    algo::kosaraju_scc,
    graph::{DiGraph, NodeIndex},
};

use crate::{
    Condition, Edge, EdgeType, ProgressState, TaskId, TaskKind, TaskSpec,
    reference::{references_in, references_in_text},
};

/// Kind of a task's requirement on another task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DependencyKind {
    /// The completion of the other task.
    Done,
    /// The result of the other task.
    Result,
    /// The completion of the other task, or another end that the condition asks for, and a condition that holds.
    Condition(Condition),
    /// The failure for good of the other task.
    Failure,
    /// Any end of the other task.
    End,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Requirement {
    pub(crate) from: usize,
    pub(crate) need: DependencyKind,
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) id: TaskId,
    pub(crate) kind: TaskKind,
    /// Effort in seconds.
    pub(crate) effort: u64,
    pub(crate) requires: Vec<Requirement>,
    pub(crate) parent: Option<usize>,
    pub(crate) children: Vec<usize>,
    /// Targets of its rollback edges.
    pub(crate) undone_by: Vec<usize>,
}

/// The graph of one version of a plan. It depends only on the tasks and their edges, so one graph serves until the plan
/// changes.
#[derive(Debug, Clone)]
pub struct TaskGraph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) index: HashMap<TaskId, usize, RandomState>,
    /// An edge from each task to each task that waits for it.
    flow: DiGraph<(), (), usize>,
    /// The nodes in topological order: each after those it waits for.
    pub(crate) order: Vec<usize>,
    /// True if tasks wait for one another in a cycle.
    has_cycle: bool,
}

/// Default effort of an actor task, in seconds.
const ACTOR_EFFORT: u64 = 60;
/// Default effort of a tool task, in seconds.
const TOOL_EFFORT: u64 = 5;

impl TaskGraph {
    /// Builds the graph of these tasks and edges, in plan order. Leaves out references to unknown tasks, which a check
    /// of the plan reports.
    #[must_use]
    pub fn new<'a>(specs: impl IntoIterator<Item = &'a TaskSpec>, edges: &[Edge]) -> Self {
        let specs: Vec<&TaskSpec> = specs.into_iter().collect();
        let mut index = HashMap::with_capacity_and_hasher(specs.len(), RandomState::default());
        for (at, spec) in specs.iter().enumerate() {
            index.entry(spec.id.clone()).or_insert(at);
        }
        let mut incoming: HashMap<&TaskId, Vec<&Edge>, RandomState> = HashMap::default();
        edges.iter().for_each(|edge| incoming.entry(&edge.to).or_default().push(edge));
        let mut nodes: Vec<Node> = specs
            .iter()
            .map(|spec| Node {
                id: spec.id.clone(),
                kind: spec.kind,
                effort: effort(spec),
                requires: requirements(spec, incoming.get(&spec.id).map_or(&[], Vec::as_slice), &index),
                parent: spec.parent.as_ref().and_then(|parent| index.get(parent).copied()),
                children: Vec::new(),
                undone_by: Vec::new(),
            })
            .collect();
        drop_own_children(&mut nodes);
        link(&mut nodes);
        let flow = flow(&nodes);
        let knots = kosaraju_scc(&flow);
        let has_cycle = knots.iter().any(|knot| knot.len() > 1);
        let order = knots.into_iter().rev().flatten().map(NodeIndex::index).collect();
        Self { nodes, index, flow, order, has_cycle }
    }

    /// Returns the tasks that `task` waits for by its own dependencies, edges and references, in the order of their
    /// mention.
    #[must_use]
    pub fn dependencies(&self, task: &TaskId) -> Vec<&TaskId> {
        let node = self.index.get(task).and_then(|at| self.nodes.get(*at));
        node.into_iter().flat_map(|node| &node.requires).filter_map(|required| self.nodes.get(required.from)).map(|node| &node.id).collect()
    }

    /// Returns the tasks that `task` waits for, directly or through others; not the task itself.
    #[must_use]
    pub fn before(&self, task: &TaskId) -> HashSet<&TaskId> {
        self.reached(task, Direction::Incoming)
    }

    /// Returns the tasks and groups that may be in progress at the same time as `task`, because neither waits for the other, in plan order.
    #[must_use]
    pub fn beside(&self, task: &TaskId) -> Vec<&TaskId> {
        let (before, after) = (self.before(task), self.reached(task, Direction::Outgoing));
        self.nodes.iter().map(|node| &node.id).filter(|id| *id != task && !before.contains(id) && !after.contains(id)).collect()
    }

    fn reached(&self, task: &TaskId, direction: Direction) -> HashSet<&TaskId> {
        let mut found = HashSet::new();
        let mut open: Vec<usize> = self.index.get(task).copied().into_iter().collect();
        while let Some(at) = open.pop() {
            for next in self.flow.neighbors_directed(NodeIndex::new(at), direction).map(NodeIndex::index) {
                if let Some(node) = self.nodes.get(next).filter(|node| node.id != *task)
                    && found.insert(&node.id)
                {
                    open.push(next);
                }
            }
        }
        found
    }

    /// Returns one shortest cycle of every strongly connected component, with its first task repeated at the end. A
    /// task that waits only for itself is not among them; a check of the plan reports it.
    #[must_use]
    pub fn cycles(&self) -> Vec<Vec<TaskId>> {
        self.cycles_without(|_| false)
    }

    /// Does the same as [`TaskGraph::cycles`], ignoring settled tasks.
    pub(crate) fn cycles_without(&self, settled: impl Fn(&TaskId) -> bool) -> Vec<Vec<TaskId>> {
        if !self.has_cycle {
            return Vec::new();
        }
        let out: Vec<bool> = self.nodes.iter().map(|node| settled(&node.id)).collect();
        let left_out = |at: NodeIndex<usize>| out.get(at.index()).copied().unwrap_or(true);
        let live = self.flow.filter_map(
            |_, ()| Some(()),
            |edge, ()| {
                let (from, to) = self.flow.edge_endpoints(edge)?;
                (from != to && !left_out(from) && !left_out(to)).then_some(())
            },
        );
        let mut knots: Vec<Vec<usize>> = kosaraju_scc(&live)
            .into_iter()
            .filter(|knot| knot.len() > 1)
            .map(|knot| knot.into_iter().map(NodeIndex::index).collect())
            .collect();
        knots.iter_mut().for_each(|knot| knot.sort_unstable());
        knots.sort_unstable();
        knots.iter().map(|knot| shortest_cycle(&live, knot)).map(|cycle| self.ids(&cycle)).collect()
    }

    fn ids(&self, nodes: &[usize]) -> Vec<TaskId> {
        nodes.iter().filter_map(|at| self.nodes.get(*at)).map(|node| node.id.clone()).collect()
    }

    /// Returns the nodes that wait for this one.
    pub(crate) fn after(&self, at: usize) -> impl Iterator<Item = usize> {
        self.flow.neighbors(NodeIndex::new(at)).map(NodeIndex::index)
    }

    /// Returns the groups around a node, from the inside out.
    pub(crate) fn ancestors(&self, at: usize) -> impl Iterator<Item = usize> {
        let parent = |at: &usize| self.nodes.get(*at)?.parent;
        // Limited, because in a damaged state groups may contain one another.
        std::iter::successors(parent(&at), parent).take(self.nodes.len())
    }
}

impl ProgressState {
    /// Returns the graph of the current plan. It changes only with [`ProgressState::version`].
    #[must_use]
    pub fn graph(&self) -> TaskGraph {
        TaskGraph::new(self.tasks.values().map(|task| &*task.spec), &self.edges)
    }
}

fn effort(spec: &TaskSpec) -> u64 {
    match (spec.kind, spec.effort_seconds) {
        (TaskKind::Group, _) => 0,
        (_, Some(seconds)) => u64::from(seconds),
        (TaskKind::Actor, None) => ACTOR_EFFORT,
        (TaskKind::Tool, None) => TOOL_EFFORT,
    }
}

/// Returns the requirements of a task. An edge with its own kind replaces a plain dependency on the same task.
fn requirements(spec: &TaskSpec, incoming: &[&Edge], index: &HashMap<TaskId, usize, RandomState>) -> Vec<Requirement> {
    let mut found: Vec<Requirement> = Vec::new();
    let mut special = HashSet::new();
    for edge in incoming {
        let Some(from) = index.get(&edge.from).copied() else { continue };
        match edge.kind {
            EdgeType::Dependency => {}
            EdgeType::Rollback => {
                special.insert(from);
                found.push(Requirement { from, need: DependencyKind::Failure });
            }
            EdgeType::Conditional => {
                // The check of the plan refuses an invalid condition. If one is here anyway, it becomes a plain
                // dependency.
                let Some(condition) = edge.condition.as_deref().and_then(|text| Condition::parse(text).ok()) else { continue };
                special.insert(from);
                let others = condition.references().into_iter().filter_map(|reference| index.get(&reference.task).copied());
                let others: Vec<usize> = others.filter(|other| *other != from).collect();
                found.push(Requirement { from, need: DependencyKind::Condition(condition) });
                found.extend(others.into_iter().map(|from| Requirement { from, need: DependencyKind::End }));
            }
        }
    }
    let plain = incoming.iter().filter(|edge| edge.kind != EdgeType::Rollback).map(|edge| &edge.from);
    for from in spec.dependencies.iter().chain(plain).filter_map(|id| index.get(id).copied()) {
        if !special.contains(&from) && !found.iter().any(|known| known.from == from && known.need == DependencyKind::Done) {
            found.push(Requirement { from, need: DependencyKind::Done });
        }
    }
    let references = references_in(&spec.parameters).into_iter().chain(references_in_text(&spec.description));
    for from in references.filter_map(|reference| index.get(&reference.task).copied()) {
        if special.contains(&from) || index.get(&spec.id) == Some(&from) {
            continue;
        }
        match found.iter_mut().find(|known| known.from == from && matches!(known.need, DependencyKind::Done | DependencyKind::Result)) {
            Some(known) => known.need = DependencyKind::Result,
            None => found.push(Requirement { from, need: DependencyKind::Result }),
        }
    }
    found
}

/// Removes a group's dependencies on its own children, because it settles after them anyway.
fn drop_own_children(nodes: &mut [Node]) {
    let parents: Vec<Option<usize>> = nodes.iter().map(|node| node.parent).collect();
    let parent = |at: &usize| parents.get(*at).copied().flatten();
    for (at, node) in nodes.iter_mut().enumerate().filter(|(_, node)| node.kind == TaskKind::Group) {
        node.requires.retain(|required| {
            let inside = std::iter::successors(parent(&required.from), parent).take(parents.len()).any(|around| around == at);
            !(inside && matches!(required.need, DependencyKind::Done | DependencyKind::Result))
        });
    }
}

/// Fills in the children of groups and the rollbacks of tasks. A plan names these links only at the other end.
fn link(nodes: &mut [Node]) {
    let children: Vec<(usize, usize)> = nodes.iter().enumerate().filter_map(|(at, node)| Some((node.parent?, at))).collect();
    let undone: Vec<(usize, usize)> = nodes
        .iter()
        .enumerate()
        .flat_map(|(at, node)| {
            node.requires.iter().filter(|required| required.need == DependencyKind::Failure).map(move |required| (required.from, at))
        })
        .collect();
    for (parent, child) in children {
        if let Some(node) = nodes.get_mut(parent) {
            node.children.push(child);
        }
    }
    for (source, target) in undone {
        if let Some(node) = nodes.get_mut(source) {
            node.undone_by.push(target);
        }
    }
}

fn flow(nodes: &[Node]) -> DiGraph<(), (), usize> {
    let mut flow = DiGraph::with_capacity(nodes.len(), nodes.len());
    for _ in nodes {
        flow.add_node(());
    }
    for (at, node) in nodes.iter().enumerate() {
        let here = NodeIndex::new(at);
        if let Some(parent) = node.parent {
            flow.update_edge(here, NodeIndex::new(parent), ());
        }
        let parent = |at: &usize| nodes.get(*at).and_then(|node| node.parent);
        for around in std::iter::successors(Some(at), parent).take(nodes.len()) {
            for required in nodes.get(around).into_iter().flat_map(|node| &node.requires) {
                flow.update_edge(NodeIndex::new(required.from), here, ());
            }
        }
    }
    flow
}

/// Returns a shortest cycle through the first task of a strongly connected component.
fn shortest_cycle(flow: &DiGraph<(), (), usize>, knot: &[usize]) -> Vec<usize> {
    let Some(start) = knot.first().copied() else { return Vec::new() };
    let inside: HashSet<usize> = knot.iter().copied().collect();
    let mut came_from: HashMap<usize, usize> = HashMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        let mut next: Vec<usize> = flow.neighbors(NodeIndex::new(at)).map(NodeIndex::index).filter(|to| inside.contains(to)).collect();
        next.sort_unstable();
        for to in next {
            if to == start {
                let mut cycle = vec![start];
                cycle.extend(std::iter::successors(Some(at), |at| came_from.get(at).copied()).filter(|at| *at != start));
                cycle.push(start);
                cycle.reverse();
                return cycle;
            }
            if let std::collections::hash_map::Entry::Vacant(vacant) = came_from.entry(to) {
                vacant.insert(at);
                queue.push_back(to);
            }
        }
    }
    knot.to_vec()
}

#[cfg(test)]
mod tests;
