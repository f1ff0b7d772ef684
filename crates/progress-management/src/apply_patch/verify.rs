//! Rules that the patched plan must keep.

use super::Patching;
use crate::{
    DependencyState, EdgeType, Problem, TaskId, TaskStatus,
    check::{PlacedEdge, PlacedTask, TaskPlace, check_rules, place_of},
    fault::Found,
    reference::references_in_text,
};

impl Patching {
    /// Checks the patched plan: the remaining tasks keep every rule of a plan, there is no cycle, and no task waits for
    /// one that was taken out.
    pub(super) fn verify(&mut self) {
        let mut found = std::mem::take(&mut self.found);
        let place = |id: &TaskId| self.places.get(id).cloned().unwrap_or_else(|| format!("tasks.{id}"));
        let tasks: Vec<PlacedTask<'_>> = self
            .state
            .tasks
            .values()
            .map(|task| PlacedTask { place: TaskPlace::Path(place(&task.spec.id)), spec: &task.spec, checked: !task.status.is_settled() })
            .collect();
        let edges: Vec<PlacedEdge<'_>> = self
            .state
            .edges
            .iter()
            .map(|edge| {
                let placed = self.edge_places.iter().find(|(_, placed)| placed == edge);
                PlacedEdge { place: placed.map_or_else(|| format!("edges.{}→{}", edge.from, edge.to), |(place, _)| place.clone()), edge }
            })
            .collect();
        check_rules(&tasks, &edges, &mut found);
        let graph = self.state.graph();
        let settled = |id: &TaskId| self.state.tasks.get(id).is_none_or(|task| task.status.is_settled());
        for path in graph.cycles_without(settled) {
            found.add(self.cycle_place(&tasks, &path), Problem::Cycle { path });
        }
        self.dead_dependencies(&mut found);
        self.lost_conditions(&mut found);
        self.still_blocked(&mut found);
        self.found = found;
    }

    /// Returns the place where the patch touched a cycle.
    fn cycle_place(&self, tasks: &[PlacedTask<'_>], path: &[TaskId]) -> String {
        match path.iter().find_map(|id| self.places.get(id)) {
            Some(place) if place.ends_with(".edge") => place.clone(),
            Some(place) => format!("{place}.dependencies"),
            None => place_of(tasks, path),
        }
    }

    /// Reports touched tasks that wait for tasks which will never be completed.
    fn dead_dependencies(&self, found: &mut Found) {
        for (id, place) in &self.places {
            let Some(task) = self.state.tasks.get(id).filter(|task| task.status.is_open()) else { continue };
            for (at, dependency) in task.spec.dependencies.iter().enumerate() {
                let status = self.state.tasks.get(dependency).map(|task| task.status);
                if let Some(status @ (TaskStatus::Skipped | TaskStatus::RolledBack)) = status
                    && !self.has_special_edge(dependency, id)
                    && !self.is_inside(dependency, id)
                {
                    found.add(format!("{place}.dependencies[{at}]"), Problem::DeadDependency { id: dependency.clone(), status });
                }
            }
        }
    }

    fn has_special_edge(&self, from: &TaskId, to: &TaskId) -> bool {
        self.state.edges.iter().any(|edge| edge.from == *from && edge.to == *to && edge.kind != EdgeType::Dependency)
    }

    /// Reports conditions over tasks that were taken out, and over tasks that several others replace.
    fn lost_conditions(&self, found: &mut Found) {
        for edge in self.state.edges.iter().filter(|edge| edge.kind == EdgeType::Conditional) {
            let open = self.state.tasks.get(&edge.to).is_some_and(|task| task.status.is_open());
            let removed = open && self.successors.get(&edge.from).is_some_and(Vec::is_empty);
            let mut lost: Vec<TaskId> = removed.then(|| edge.from.clone()).into_iter().collect();
            if self.may_change(&edge.to) {
                let others = edge.condition.iter().flat_map(|condition| references_in_text(condition)).map(|reference| reference.task);
                lost.extend(others.filter(|of| *of != edge.from && self.is_gone(of)));
            }
            for of in lost {
                found.add(format!("tasks.{}", edge.to), Problem::LostCondition { id: edge.to.clone(), of });
            }
        }
    }

    fn still_blocked(&self, found: &mut Found) {
        for (place, id) in &self.unblocked {
            if self.state.settle_dependencies(id) == DependencyState::Unsatisfiable {
                let why = self.state.blocked_reason_of(id).unwrap_or_default();
                found.add(place.as_str(), Problem::StillBlocked { id: id.clone(), why });
            }
        }
    }
}
