//! An index of the due changes in a plan, updated with each event. An update visits only the affected tasks, not the
//! whole plan.

use std::{cell::LazyCell, cmp::Reverse, collections::BTreeSet};

use crate::{
    DependencyState, ProgressEvent, ProgressState, StatusChange, TaskGraph, TaskId, TaskKind, TaskStatus,
    graph::{DependencyKind, Node},
    settle::View,
};

/// Index of the due changes in a plan and of the ready tasks. It gives the same results as [`TaskGraph::next_changes`]
/// and [`TaskGraph::ready_by_priority`] without visiting every task again.
///
/// It belongs to one state and must receive every event that the state has applied.
#[derive(Debug, Clone)]
pub struct ScheduleIndex {
    version: u32,
    graph: TaskGraph,
    /// Position of each task in the order of the graph.
    positions: Vec<usize>,
    /// Tasks whose end or status others depend on by a condition or a rollback.
    watched: Vec<bool>,
    /// Dependency state of each task at the last update.
    counted: Vec<DependencyState>,
    void: Vec<bool>,
    /// Tasks for which a change may be due.
    touched: BTreeSet<usize>,
    ready: BTreeSet<Place>,
    places: Vec<Place>,
    /// True if settled tasks wait for one another in a cycle, which a patch may cause. Then every task is visited each
    /// time.
    has_settled_cycle: bool,
    /// True if paths may have become shorter for tasks that have not started.
    shortened: bool,
}

/// Rank of a ready task: by its phase, the length of its remaining path, and its place in the plan.
type Place = (usize, Reverse<u64>, usize);

impl ScheduleIndex {
    /// Builds the index of any state.
    #[must_use]
    pub fn new(state: &ProgressState) -> Self {
        let graph = state.graph();
        let count = graph.nodes.len();
        let (mut positions, mut watched) = (vec![0; count], vec![false; count]);
        for (position, at) in graph.order.iter().enumerate() {
            set(&mut positions, *at, position);
        }
        let looked_at = |node: &Node| {
            node.requires.clone().into_iter().filter(|required| !matches!(required.need, DependencyKind::Done | DependencyKind::Result))
        };
        for required in graph.nodes.iter().flat_map(looked_at) {
            set(&mut watched, required.from, true);
        }
        let has_settled_cycle = (0..count).any(|at| graph.after(at).any(|next| positions.get(next) <= positions.get(at)));
        let view = View::new(&graph, state);
        let counted = (0..count).map(|at| view.state_of(at)).collect();
        let void = view.into_void();
        let mut schedule_index = Self {
            version: state.version,
            graph,
            positions,
            watched,
            counted,
            void,
            touched: (0..count).collect(),
            ready: BTreeSet::new(),
            places: Vec::new(),
            has_settled_cycle,
            shortened: false,
        };
        schedule_index.place(state);
        schedule_index
    }

    /// Returns the graph of the current plan.
    #[must_use]
    pub const fn graph(&self) -> &TaskGraph {
        &self.graph
    }

    /// Updates the index with an event that `state` has just applied.
    pub fn follow(&mut self, state: &ProgressState, event: &ProgressEvent) {
        if self.version != state.version || self.has_settled_cycle {
            *self = Self::new(state);
            return;
        }
        if let ProgressEvent::TaskStatusChanged { task, .. } | ProgressEvent::TaskConcluded { task, .. } = event
            && let Some(at) = self.graph.index.get(task).copied()
        {
            self.touch(state, at);
        }
    }

    /// Does the same as [`TaskGraph::next_changes`]. A change that is not applied stays due.
    #[must_use]
    pub fn next_changes(&mut self, state: &ProgressState) -> Vec<StatusChange> {
        let view = View::with_void(&self.graph, state, &self.void);
        let mut changes = Vec::new();
        self.touched.retain(|at| {
            let change = view.next_change(*at);
            let due = change.is_some();
            changes.extend(change);
            due
        });
        changes
    }

    /// Returns the first of [`TaskGraph::ready_by_priority`] that may start together, at most `at_most`. Leaves out a
    /// task whose exclusive resources are in `held`, or are needed by a task before it. Calls `held` only if a task
    /// needs exclusive resources.
    #[must_use]
    pub fn ready(&mut self, state: &ProgressState, at_most: usize, held: impl FnOnce() -> BTreeSet<String>) -> Vec<TaskId> {
        if self.shortened {
            self.place(state);
        }
        let mut held = LazyCell::new(held);
        let ready = self.ready.iter().filter_map(|(_, _, at)| self.graph.nodes.get(*at));
        let free = ready.filter(|node| {
            let needs = state.tasks.get(&node.id).map(|task| task.spec.exclusive.as_slice()).unwrap_or_default();
            if needs.iter().any(|name| held.contains(name)) {
                return false;
            }
            for name in needs {
                held.insert(name.clone());
            }
            true
        });
        free.take(at_most).map(|node| node.id.clone()).collect()
    }

    /// Visits a task with a changed status or result, and the tasks that this affects.
    fn touch(&mut self, state: &ProgressState, changed: usize) {
        let Some(node) = self.graph.nodes.get(changed) else { return };
        let undoes = node.requires.iter().filter(|required| required.need == DependencyKind::Failure).map(|required| required.from);
        self.touched.extend(undoes.chain(node.parent));
        self.order(state, changed);
        // In the order of the graph, because the dependency state of a skipped task depends on the tasks before it.
        let mut work = BTreeSet::from([(self.position(changed), changed)]);
        while let Some((_, at)) = work.pop_first() {
            self.touched.insert(at);
            let view = View::with_void(&self.graph, state, &self.void);
            let void = view.is_void(at);
            set(&mut self.void, at, void);
            let counts = View::with_void(&self.graph, state, &self.void).state_of(at);
            let counted = self.counted.get_mut(at).map(|counted| std::mem::replace(counted, counts));
            let closely = at == changed && self.watched.get(at) == Some(&true);
            if counted == Some(counts) && !closely {
                continue;
            }
            let view = View::with_void(&self.graph, state, &self.void);
            for next in self.graph.after(at) {
                self.touched.insert(next);
                if view.status(next) == Some(TaskStatus::Skipped) {
                    work.insert((self.position(next), next));
                }
            }
        }
    }

    fn position(&self, at: usize) -> usize {
        self.positions.get(at).copied().unwrap_or_default()
    }

    /// Adds a task to the ready ones, or removes it.
    fn order(&mut self, state: &ProgressState, at: usize) {
        let view = View::with_void(&self.graph, state, &self.void);
        let (Some(node), Some(place), Some(status)) = (self.graph.nodes.get(at), self.places.get(at), view.status(at)) else { return };
        if status == TaskStatus::Ready && node.kind != TaskKind::Group {
            self.ready.insert(*place);
        } else {
            self.ready.remove(place);
        }
        // A completed task whose dependencies are settled lies on no remaining path of a task that has yet to start. A
        // task that settled otherwise may lie on one.
        let begun = |from: usize| view.status(from).is_some_and(TaskStatus::is_settled);
        self.shortened |=
            status.is_settled() && !(status == TaskStatus::Completed && node.requires.iter().all(|required| begun(required.from)));
    }

    /// Recomputes the order of all tasks.
    fn place(&mut self, state: &ProgressState) {
        let remaining = self.graph.remaining(state);
        self.places = remaining.into_iter().enumerate().map(|(at, length)| (self.graph.phase_of(at, state), Reverse(length), at)).collect();
        self.ready.clear();
        self.shortened = false;
        let view = View::with_void(&self.graph, state, &self.void);
        let ready = |place: &&Place| {
            view.status(place.2) == Some(TaskStatus::Ready)
                && self.graph.nodes.get(place.2).is_some_and(|node| node.kind != TaskKind::Group)
        };
        self.ready = self.places.iter().filter(ready).copied().collect();
    }
}

fn set<T>(all: &mut [T], at: usize, value: T) {
    if let Some(slot) = all.get_mut(at) {
        *slot = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{spec, state_of};

    /// Returns the ready tasks of `a`, and of `b` and `c` with these exclusive resources, and how often `held` was called.
    fn ready(needs: [&[&str]; 2], held: &[&str]) -> (String, usize) {
        let [mut b, mut c] = [spec("b"), spec("c")];
        for (task, needs) in [&mut b, &mut c].into_iter().zip(needs) {
            task.exclusive = needs.iter().map(ToString::to_string).collect();
        }
        let mut state = state_of(vec![spec("a"), b, c], Vec::new());
        state.settle();
        let mut calls = 0;
        let ready = ScheduleIndex::new(&state).ready(&state, usize::MAX, || {
            calls += 1;
            held.iter().map(ToString::to_string).collect()
        });
        (ready.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" "), calls)
    }

    #[test]
    fn held_resources_are_collected_only_if_needed() {
        let cases = [
            ([&[][..], &[]], &["db"][..], ("a b c", 0)),
            ([&["db"], &[]], &["db"], ("a c", 1)),
            ([&["db"], &["db"]], &[], ("a b", 1)),
            ([&["db"], &["port"]], &["disk"], ("a b c", 1)),
        ];
        for (needs, held, expected) in cases {
            let (tasks, calls) = ready(needs, held);
            assert_eq!((tasks.as_str(), calls), expected, "{needs:?} {held:?}");
        }
    }
}
