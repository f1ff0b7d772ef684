//! Redirects the dependents of a task that was taken out to its successors.

use std::collections::HashSet;

use super::{Patching, is_dependency};
use crate::{
    Condition, Edge, EdgeType, Problem, Task, TaskId, TaskStatus,
    reference::{references_in, references_in_text, rename, rename_in},
};

impl Patching {
    /// Rewires dependencies, edges and references of every task that has not run.
    pub(super) fn rewire(&mut self) {
        if self.successors.is_empty() {
            return;
        }
        let ids: Vec<TaskId> =
            self.state.tasks.values().filter(|task| self.may_change(&task.spec.id)).map(|task| task.spec.id.clone()).collect();
        for id in &ids {
            self.note_lost_dependencies(id);
            self.rewire_dependencies(id);
            self.rewire_references(id);
        }
        self.rewire_edges();
    }

    /// Returns true if a task has not run and stays in the plan.
    pub(super) fn may_change(&self, id: &TaskId) -> bool {
        let waits = self.state.tasks.get(id).is_some_and(|task| !task.status.is_settled() && task.status != TaskStatus::Running);
        waits && !self.is_gone(id) && !self.has_begun(id)
    }

    /// Returns the tasks that replace `id` as a dependency of `of`: its successors, or its own dependencies if it was
    /// removed.
    fn substitutes(&self, id: &TaskId, of: &TaskId) -> Vec<TaskId> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut open = vec![id.clone()];
        while let Some(next) = open.pop() {
            if !seen.insert(next.clone()) {
                continue;
            }
            match self.successors.get(&next) {
                None if next != *of && !found.contains(&next) => found.push(next),
                // A task never waits for a task that it replaces itself.
                Some(successors) if successors.contains(of) => {}
                Some(successors) if !successors.is_empty() => open.extend(successors.iter().rev().cloned()),
                Some(_) => open.extend(self.plain_dependencies(&next).into_iter().rev()),
                None => {}
            }
        }
        found
    }

    fn plain_dependencies(&self, id: &TaskId) -> Vec<TaskId> {
        let own = self.state.tasks.get(id).into_iter().flat_map(|task| task.spec.dependencies.iter().cloned());
        let edges = self.state.edges.iter().filter(|edge| edge.to == *id && is_dependency(edge)).map(|edge| edge.from.clone());
        // A task that settled without completion cannot be waited for.
        let live = |id: &TaskId| {
            self.is_gone(id)
                || self.state.tasks.get(id).is_none_or(|task| !matches!(task.status, TaskStatus::Skipped | TaskStatus::RolledBack))
        };
        own.chain(edges).filter(live).collect()
    }

    /// Remembers the dependencies of a task that nothing replaces.
    fn note_lost_dependencies(&mut self, id: &TaskId) {
        let edges = self.state.edges.iter().filter(|edge| edge.to == *id && is_dependency(edge)).map(|edge| &edge.from);
        let Some(task) = self.state.tasks.get(id) else { return };
        let is_lost = |from: &&TaskId| self.successors.get(*from).is_some_and(Vec::is_empty) && !task.lost_dependencies.contains(from);
        let lost: Vec<TaskId> = task.spec.dependencies.iter().chain(edges).filter(is_lost).cloned().collect();
        if let Some(task) = self.state.tasks.get_mut(id) {
            task.lost_dependencies.extend(lost);
        }
    }

    fn rewire_dependencies(&mut self, id: &TaskId) {
        let Some(task) = self.state.tasks.get(id) else { return };
        if !task.spec.dependencies.iter().any(|dependency| self.is_gone(dependency)) {
            return;
        }
        let mut rewired: Vec<TaskId> = Vec::new();
        for dependency in &task.spec.dependencies {
            // A group's dependency on its own tasks is redundant.
            if self.is_inside(dependency, id) {
                continue;
            }
            let substitutes = if self.is_gone(dependency) { self.substitutes(dependency, id) } else { vec![dependency.clone()] };
            for substitute in substitutes {
                if !rewired.contains(&substitute) {
                    rewired.push(substitute);
                }
            }
        }
        if let Some(task) = self.state.tasks.get_mut(id) {
            task.spec_mut().dependencies = rewired;
        }
    }

    fn rewire_references(&mut self, id: &TaskId) {
        let Some(task) = self.state.tasks.get(id) else { return };
        let in_parameters = references_in(&task.spec.parameters);
        let in_description = references_in_text(&task.spec.description);
        let place = self.places.get(id).cloned().unwrap_or_else(|| format!("tasks.{id}"));
        let mut lost: Vec<&TaskId> = in_parameters.iter().chain(&in_description).map(|reference| &reference.task).collect();
        lost.retain(|old| self.is_gone(old));
        lost.sort_unstable();
        lost.dedup();
        for old in lost {
            match self.successor(old) {
                Some(new) if new != *id => {
                    if let Some(task) = self.state.tasks.get_mut(id) {
                        let spec = task.spec_mut();
                        rename_in(&mut spec.parameters, old, &new);
                        spec.description = rename(&spec.description, old, &new);
                    }
                }
                _ => self.found.add(format!("{place}.parameters"), Problem::LostResult { id: id.clone(), of: old.clone() }),
            }
        }
    }

    /// Returns the task that replaces `id`, if there is exactly one.
    fn successor(&self, id: &TaskId) -> Option<TaskId> {
        let mut seen = HashSet::new();
        let mut here = id.clone();
        while let Some(successors) = self.successors.get(&here) {
            let [only] = successors.as_slice() else { return None };
            if !seen.insert(here) {
                return None;
            }
            here = only.clone();
        }
        Some(here)
    }

    fn rewire_edges(&mut self) {
        let mut rewired: Vec<Edge> = Vec::with_capacity(self.state.edges.len());
        for edge in &self.state.edges {
            let edges = if self.is_gone(&edge.to) { self.inherited_edges(edge) } else { vec![edge.clone()] };
            let renamed = edges.into_iter().flat_map(|edge| if self.may_change(&edge.to) { self.rewired_edge(&edge) } else { vec![edge] });
            for edge in renamed {
                if !rewired.contains(&edge) {
                    rewired.push(edge);
                }
            }
        }
        self.state.edges = rewired;
    }

    /// Returns a conditional or rollback edge to a task that was replaced, redirected to each task in its place. A task with an edge of
    /// its own from the same source is left out. A dependency is not inherited, because a new task names its own.
    fn inherited_edges(&self, edge: &Edge) -> Vec<Edge> {
        let removed = self.successors.get(&edge.from).is_some_and(Vec::is_empty);
        let lost = edge.kind == EdgeType::Conditional && (removed || self.cannot_hold(edge));
        if is_dependency(edge) || lost || self.settled_before.contains(&edge.to) {
            return Vec::new();
        }
        let has_own = |to: &TaskId| {
            let mut sources = if self.is_gone(&edge.from) { self.substitutes(&edge.from, to) } else { Vec::new() };
            sources.push(edge.from.clone());
            self.state.edges.iter().any(|own| own.to == *to && sources.contains(&own.from))
        };
        let heirs = self.last_successors(&edge.to).into_iter().filter(|to| *to != edge.from && !has_own(to));
        heirs.map(|to| Edge { to, ..edge.clone() }).collect()
    }

    /// Returns true if the source of a conditional edge has ended without a result, and the condition asks for more than its status. The
    /// edge then blocks its target, and a new task takes the target's place to get around it.
    fn cannot_hold(&self, edge: &Edge) -> bool {
        let ended = |task: &Task| matches!(task.status, TaskStatus::Failed | TaskStatus::Skipped | TaskStatus::RolledBack);
        let asks_status = || {
            let condition = edge.condition.as_deref().and_then(|condition| Condition::parse(condition).ok());
            condition.is_some_and(|condition| condition.asks_status_of(&edge.from))
        };
        !self.is_gone(&edge.from) && self.state.tasks.get(&edge.from).is_some_and(ended) && !asks_status()
    }

    /// Returns the tasks in the place of a task that was taken out, at the end of each chain of replacements.
    fn last_successors(&self, id: &TaskId) -> Vec<TaskId> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut open = vec![id.clone()];
        while let Some(next) = open.pop() {
            match self.successors.get(&next) {
                _ if !seen.insert(next.clone()) => {}
                Some(successors) => open.extend(successors.iter().rev().cloned()),
                None => found.push(next),
            }
        }
        found
    }

    fn rewired_edge(&self, edge: &Edge) -> Vec<Edge> {
        let mut edge = edge.clone();
        if let Some(condition) = &mut edge.condition {
            for old in references_in_text(condition).into_iter().map(|reference| reference.task).filter(|old| *old != edge.from) {
                if let Some(new) = self.successor(&old) {
                    *condition = rename(condition, &old, &new);
                }
            }
        }
        let removed = self.successors.get(&edge.from).is_some_and(Vec::is_empty);
        // A rollback of a removed task stays, so that it is skipped. The checks find a condition over a removed task.
        if !self.is_gone(&edge.from) || (removed && edge.kind != EdgeType::Dependency) {
            return vec![edge];
        }
        self.substitutes(&edge.from, &edge.to)
            .into_iter()
            .map(|from| Edge {
                condition: edge.condition.as_deref().map(|condition| rename(condition, &edge.from, &from)),
                from,
                to: edge.to.clone(),
                kind: edge.kind,
            })
            .collect()
    }
}
