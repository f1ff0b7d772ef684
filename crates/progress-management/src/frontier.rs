//! What is due in a plan, kept up event by event: a step costs what it touches, and not the whole plan.

use std::{cmp::Reverse, collections::BTreeSet};

use crate::{
    DependencyState, ProgressEvent, ProgressState, StatusChange, TaskGraph, TaskId, TaskKind, TaskStatus,
    graph::{Need, Node},
    settle::View,
};

/// The changes that are due in a plan and the tasks that are ready, as [`TaskGraph::next_changes`] and [`TaskGraph::ready_by_priority`] tell
/// them, without looking at every task again.
///
/// It belongs to one state, and is told of every event that the state has taken in.
#[derive(Debug, Clone)]
pub struct Frontier {
    version: u32,
    graph: TaskGraph,
    /// Where each task stands in the order of the graph.
    positions: Vec<usize>,
    /// The tasks whose end or status others look at closely: by a condition, or to undo them.
    watched: Vec<bool>,
    /// How each task counted for those behind it when it was last looked at.
    counted: Vec<DependencyState>,
    void: Vec<bool>,
    /// The tasks for which something may be due.
    touched: BTreeSet<usize>,
    ready: BTreeSet<Place>,
    places: Vec<Place>,
    /// Whether settled tasks wait for one another in a circle, which a patch may bring about. Then everything is looked at, every time.
    knotted: bool,
    /// Whether paths may have become shorter for tasks that are still to be begun.
    shortened: bool,
}

/// Where a task stands among the ready ones: by its phase, the length of the path behind it, and its place in the plan.
type Place = (usize, Reverse<u64>, usize);

impl Frontier {
    /// All that is due in a state, whatever came before.
    #[must_use]
    pub fn new(state: &ProgressState) -> Self {
        let graph = state.graph();
        let count = graph.nodes.len();
        let (mut positions, mut watched) = (vec![0; count], vec![false; count]);
        for (position, at) in graph.order.iter().enumerate() {
            set(&mut positions, *at, position);
        }
        let looked_at =
            |node: &Node| node.requires.clone().into_iter().filter(|required| !matches!(required.need, Need::Done | Need::Result));
        for required in graph.nodes.iter().flat_map(looked_at) {
            set(&mut watched, required.from, true);
        }
        let knotted = (0..count).any(|at| graph.after(at).any(|next| positions.get(next) <= positions.get(at)));
        let view = View::new(&graph, state);
        let counted = (0..count).map(|at| view.state_of(at)).collect();
        let void = view.into_void();
        let mut frontier = Self {
            version: state.version,
            graph,
            positions,
            watched,
            counted,
            void,
            touched: (0..count).collect(),
            ready: BTreeSet::new(),
            places: Vec::new(),
            knotted,
            shortened: false,
        };
        frontier.place(state);
        frontier
    }

    /// The graph of the plan as it stands.
    #[must_use]
    pub const fn graph(&self) -> &TaskGraph {
        &self.graph
    }

    /// Takes note of an event that `state` has just taken in.
    pub fn follow(&mut self, state: &ProgressState, event: &ProgressEvent) {
        if self.version != state.version || self.knotted {
            *self = Self::new(state);
            return;
        }
        if let ProgressEvent::TaskStatusChanged { task, .. } | ProgressEvent::TaskConcluded { task, .. } = event
            && let Some(at) = self.graph.index.get(task).copied()
        {
            self.touch(state, at);
        }
    }

    /// As [`TaskGraph::next_changes`]. What is not done about them stays due.
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

    /// The first of [`TaskGraph::ready_by_priority`] that may start together, at most so many: a task that needs something for itself that
    /// is `held`, or that one before it needs, is left out.
    #[must_use]
    pub fn ready(&mut self, state: &ProgressState, at_most: usize, mut held: BTreeSet<String>) -> Vec<TaskId> {
        if self.shortened {
            self.place(state);
        }
        let ready = self.ready.iter().filter_map(|(_, _, at)| self.graph.nodes.get(*at));
        let free = ready.filter(|node| {
            let needs = state.tasks.get(&node.id).map(|task| task.spec.exclusive.as_slice()).unwrap_or_default();
            let is_free = needs.iter().all(|name| !held.contains(name));
            if is_free {
                held.extend(needs.iter().cloned());
            }
            is_free
        });
        free.take(at_most).map(|node| node.id.clone()).collect()
    }

    /// Looks at a task again whose status or result is another, and at those for which that means something.
    fn touch(&mut self, state: &ProgressState, changed: usize) {
        let Some(node) = self.graph.nodes.get(changed) else { return };
        let undoes = node.requires.iter().filter(|required| required.need == Need::Failure).map(|required| required.from);
        self.touched.extend(undoes.chain(node.parent));
        self.order(state, changed);
        // In the order of the graph, since what a skipped task counts as hangs on those before it.
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

    /// Puts a task among the ready ones, or takes it out.
    fn order(&mut self, state: &ProgressState, at: usize) {
        let view = View::with_void(&self.graph, state, &self.void);
        let (Some(node), Some(place), Some(status)) = (self.graph.nodes.get(at), self.places.get(at), view.status(at)) else { return };
        if status == TaskStatus::Ready && node.kind != TaskKind::Group {
            self.ready.insert(*place);
        } else {
            self.ready.remove(place);
        }
        // Behind a task that was completed nothing waits to be begun, as a rule. What ends otherwise may leave something.
        let begun = |from: usize| view.status(from).is_some_and(TaskStatus::is_settled);
        self.shortened |=
            status.is_settled() && !(status == TaskStatus::Completed && node.requires.iter().all(|required| begun(required.from)));
    }

    /// Orders all tasks anew.
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
