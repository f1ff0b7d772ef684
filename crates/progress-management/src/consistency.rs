//! Consistency check: invariants of every state that the fold can reach.

use std::collections::HashSet;

use crate::{
    DependencyState, EdgeType, Fault, Problem, ProgressState, Task, TaskGraph, TaskId, TaskKind, TaskStatus,
    check::{PlacedEdge, PlacedTask, TaskPlace, check_rules},
    fault::Found,
};

/// Something in a state that cannot have come from its events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Inconsistency {
    /// A rule of plans is broken.
    #[error("{0}")]
    Rule(Fault),
    /// A task is stored under an id other than its own.
    #[error("the task {:?} is stored under the id {:?}", .id.as_str(), .key.as_str())]
    Misplaced {
        /// The key.
        key: TaskId,
        /// The task's own id.
        id: TaskId,
    },
    /// The members of a task contradict its status.
    #[error("the task {:?} is {status}, but {what}", .id.as_str())]
    Task {
        /// The task.
        id: TaskId,
        /// Its status.
        status: TaskStatus,
        /// The contradiction.
        what: String,
    },
    /// The number of decisions does not match the version.
    #[error("the plan has version {version}, and there are {decisions} decisions")]
    Version {
        /// The plan's version.
        version: u32,
        /// Number of decisions.
        decisions: usize,
    },
    /// A reference to something that does not exist.
    #[error("{what} names {id:?}, which does not exist")]
    Dangling {
        /// The object that contains the reference.
        what: String,
        /// The id.
        id: String,
    },
    /// Two objects have the same id.
    #[error("there are two {what} with the id {id:?}")]
    Twice {
        /// Kind of the objects.
        what: &'static str,
        /// The id.
        id: String,
    },
}

impl ProgressState {
    /// Returns every contradiction in this state: none for a state that the fold made. Use it for states read from
    /// files.
    #[must_use]
    pub fn inconsistencies(&self) -> Vec<Inconsistency> {
        let mut found = Vec::new();
        let graph = self.graph();
        self.rules(&graph, &mut found);
        for (key, task) in &self.tasks {
            if *key != task.spec.id {
                found.push(Inconsistency::Misplaced { key: key.clone(), id: task.spec.id.clone() });
            }
            self.task(&graph, task, &mut found);
        }
        let expected = if self.version == 0 { 0 } else { self.decisions.len().saturating_add(1) };
        let in_order = self.decisions.iter().zip(2_u32..).all(|(decision, version)| decision.version == version);
        if usize::try_from(self.version) != Ok(expected) || !in_order {
            found.push(Inconsistency::Version { version: self.version, decisions: self.decisions.len() });
        }
        self.names(&mut found);
        found
    }

    fn rules(&self, graph: &TaskGraph, found: &mut Vec<Inconsistency>) {
        let tasks: Vec<PlacedTask<'_>> = self
            .tasks
            .values()
            .map(|task| PlacedTask {
                place: TaskPlace::Path(format!("tasks.{}", task.spec.id)),
                spec: &task.spec,
                checked: !task.status.is_settled(),
            })
            .collect();
        let edges: Vec<PlacedEdge<'_>> =
            self.edges.iter().enumerate().map(|(at, edge)| PlacedEdge { place: format!("edges[{at}]"), edge }).collect();
        let mut faults = Found::default();
        check_rules(&tasks, &edges, &mut faults);
        let settled = |id: &TaskId| self.tasks.get(id).is_none_or(|task| task.status.is_settled());
        for path in graph.cycles_without(settled) {
            faults.add("tasks", Problem::Cycle { path });
        }
        if let Err(faults) = faults.into_result() {
            found.extend(faults.faults.into_iter().map(Inconsistency::Rule));
        }
    }

    fn task(&self, graph: &TaskGraph, task: &Task, found: &mut Vec<Inconsistency>) {
        let mut say = |what: &str| {
            found.push(Inconsistency::Task { id: task.spec.id.clone(), status: task.status, what: what.to_owned() });
        };
        let group = task.spec.kind == TaskKind::Group;
        match task.status {
            TaskStatus::Running if task.started_at.is_none() => say("has no time of its start"),
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Skipped | TaskStatus::RolledBack if task.finished_at.is_none() => {
                say("has no time of its end");
            }
            _ => {}
        }
        if matches!(task.status, TaskStatus::Running | TaskStatus::Completed) && task.attempts == 0 {
            say("was never started");
        }
        if task.failed_for_good && task.status != TaskStatus::Failed {
            say("is marked as failed for good");
        }
        if task.held && task.status != TaskStatus::Blocked {
            say("is marked as held back");
        }
        if task.version == 0 || task.version > self.version {
            say("comes from a version that the plan has not had");
        }
        if group && task.status == TaskStatus::Completed {
            let children = || self.tasks.values().filter(|child| child.spec.parent.as_ref() == Some(&task.spec.id));
            if children().any(|child| child.status.is_open()) {
                say("has open tasks");
            }
            if !children().any(|child| child.status == TaskStatus::Completed) {
                say("has no completed task");
            }
        }
        if !group
            && task.status == TaskStatus::Running
            && !self.is_rollback(task)
            && graph.settle_dependencies(self, &task.spec.id) == DependencyState::Open
        {
            say("a dependency is still open");
        }
    }

    /// Returns true if a task, or a group around it, is a rollback. A rollback continues even if its source is retried.
    fn is_rollback(&self, task: &Task) -> bool {
        let parent = |id: &&TaskId| self.tasks.get(*id).and_then(|task| task.spec.parent.as_ref());
        let mut around = std::iter::successors(Some(&task.spec.id), parent).take(self.tasks.len());
        around.any(|id| self.edges.iter().any(|edge| edge.to == *id && edge.kind == EdgeType::Rollback))
    }

    fn names(&self, found: &mut Vec<Inconsistency>) {
        let mut seen = HashSet::new();
        for evidence in &self.evidence {
            if !seen.insert(&evidence.id) {
                found.push(Inconsistency::Twice { what: "pieces of evidence", id: evidence.id.to_string() });
            }
            if let Some(task) = evidence.task.as_ref().filter(|task| !self.tasks.contains_key(*task)) {
                found.push(Inconsistency::Dangling { what: format!("the evidence {:?}", evidence.id.as_str()), id: task.to_string() });
            }
        }
        for decision in &self.decisions {
            for id in decision.evidence.iter().filter(|id| !seen.contains(id)) {
                found.push(Inconsistency::Dangling { what: format!("the decision for version {}", decision.version), id: id.to_string() });
            }
        }
        let mut seen = HashSet::new();
        for question in &self.questions {
            if !seen.insert(&question.id) {
                found.push(Inconsistency::Twice { what: "questions", id: question.id.to_string() });
            }
            if let Some(task) = question.task.as_ref().filter(|task| !self.tasks.contains_key(*task)) {
                found.push(Inconsistency::Dangling { what: format!("the question {:?}", question.id.as_str()), id: task.to_string() });
            }
        }
    }
}

#[cfg(test)]
mod tests;
