//! Priority of ready tasks.

use crate::{ProgressState, TaskGraph, TaskId, TaskKind, TaskStatus};

impl ProgressState {
    /// Returns the ready actor and tool tasks in order of priority. See [`TaskGraph::ready_by_priority`].
    #[must_use]
    pub fn ready_by_priority(&self) -> Vec<TaskId> {
        self.graph().ready_by_priority(self)
    }
}

impl TaskGraph {
    /// Returns the ready actor and tool tasks: those of an earlier phase first, then those with the longest remaining
    /// path; equal ones in plan order. A phase is no barrier: ready tasks of a later phase take the remaining slots.
    ///
    /// The length of a path is the sum of its efforts in seconds: `effort_seconds`, or 60 for an actor task and 5 for a
    /// tool task. Settled tasks count 0. Source: list scheduling by critical path.
    #[must_use]
    pub fn ready_by_priority(&self, state: &ProgressState) -> Vec<TaskId> {
        let remaining = self.remaining(state);
        let mut ready: Vec<(usize, u64, &TaskId)> = self
            .nodes
            .iter()
            .enumerate()
            .zip(remaining)
            .filter(|((_, node), _)| node.kind != TaskKind::Group)
            .filter(|((_, node), _)| state.tasks.get(&node.id).is_some_and(|task| task.status == TaskStatus::Ready))
            .map(|((at, node), length)| (self.phase_of(at, state), length, &node.id))
            .collect();
        ready.sort_by_key(|(phase, length, _)| (*phase, std::cmp::Reverse(*length)));
        ready.into_iter().map(|(_, _, id)| id.clone()).collect()
    }

    /// Returns for each task the length of the longest path to the end, including its own effort, in seconds. Settled
    /// tasks count 0.
    pub(crate) fn remaining(&self, state: &ProgressState) -> Vec<u64> {
        let mut remaining = vec![0_u64; self.nodes.len()];
        for at in self.order.iter().rev().copied() {
            let Some(node) = self.nodes.get(at) else { continue };
            let own = match state.tasks.get(&node.id) {
                Some(task) if !task.status.is_settled() => node.effort,
                _ => 0,
            };
            let longest = self.after(at).filter_map(|next| remaining.get(next)).max().copied().unwrap_or(0);
            if let Some(slot) = remaining.get_mut(at) {
                *slot = own.saturating_add(longest);
            }
        }
        remaining
    }

    /// Returns the position of a task's phase, its own or that of the nearest group around it; 0 if there is none.
    pub(crate) fn phase_of(&self, at: usize, state: &ProgressState) -> usize {
        if state.strategic.phases.is_empty() {
            return 0;
        }
        let position = |name: &str| state.strategic.phases.iter().position(|phase| phase.name.trim().eq_ignore_ascii_case(name.trim()));
        std::iter::once(at)
            .chain(self.ancestors(at))
            .filter_map(|at| state.tasks.get(&self.nodes.get(at)?.id))
            .find_map(|task| {
                let named = task.spec.phase.as_deref().and_then(position);
                named.or_else(|| (task.spec.kind == TaskKind::Group).then(|| position(task.spec.title())).flatten())
            })
            .unwrap_or(0)
    }
}
