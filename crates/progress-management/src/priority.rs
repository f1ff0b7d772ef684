//! Which ready task goes first.

use crate::{ProgressState, TaskGraph, TaskId, TaskKind, TaskStatus};

impl ProgressState {
    /// The ready actor and tool tasks, the one with the longest remaining path first. See [`TaskGraph::ready_by_priority`].
    #[must_use]
    pub fn ready_by_priority(&self) -> Vec<TaskId> {
        self.graph().ready_by_priority(self)
    }
}

impl TaskGraph {
    /// The ready actor and tool tasks, the one with the longest remaining path first; equals in plan order.
    ///
    /// A path is as long as the efforts on it, in seconds: `effort_seconds`, or 60 for an actor task and 5 for a tool task.
    /// What is settled costs nothing. Source: list scheduling by critical path.
    #[must_use]
    pub fn ready_by_priority(&self, state: &ProgressState) -> Vec<TaskId> {
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
        let mut ready: Vec<(u64, &TaskId)> = self
            .nodes
            .iter()
            .zip(remaining)
            .filter(|(node, _)| node.kind != TaskKind::Group)
            .filter(|(node, _)| state.tasks.get(&node.id).is_some_and(|task| task.status == TaskStatus::Ready))
            .map(|(node, length)| (length, &node.id))
            .collect();
        ready.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        ready.into_iter().map(|(_, id)| id.clone()).collect()
    }
}
