//! The rules of a plan, checked all at once.

use std::{
    collections::{HashMap, HashSet},
    fmt::{self, Display},
    sync::Arc,
};

use foldhash::fast::RandomState;
use serde_json::Value;

use crate::{
    Condition, Edge, EdgeType, Faults, PLAN_SCHEMA, Plan, Problem, ProgressState, ReferenceError, TaskGraph, TaskId, TaskKind, TaskSpec,
    TaskStatus,
    fault::{Found, nearest},
    reference::{Piece, ReferencePart, scan},
};

/// Place of a task in the checked document. It becomes a text only if a fault is found there.
pub(crate) enum TaskPlace {
    /// The task's number in the list of tasks.
    At(usize),
    /// A path of the document.
    Path(String),
}

impl Display for TaskPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(at) => write!(f, "tasks[{at}]"),
            Self::Path(path) => f.write_str(path),
        }
    }
}

/// A task and its place.
pub(crate) struct PlacedTask<'a> {
    pub(crate) place: TaskPlace,
    pub(crate) spec: &'a TaskSpec,
    /// True if its own rules are checked; otherwise it only counts as a known task.
    pub(crate) checked: bool,
}

/// An edge and its place.
pub(crate) struct PlacedEdge<'a> {
    pub(crate) place: String,
    pub(crate) edge: &'a Edge,
}

impl Plan {
    /// Checks every rule between tasks: unique ids, known dependencies, none on itself, no cycle, parents that are
    /// groups, required tools and descriptions, edges with known ends and valid conditions, references to known tasks.
    /// The planner checks that tools and profiles exist.
    ///
    /// # Errors
    ///
    /// [`Faults`] with all faults and their places.
    pub fn check(&self) -> Result<(), Faults> {
        let mut found = Found::default();
        if self.schema != PLAN_SCHEMA {
            found.add("schema", Problem::WrongSchema { found: self.schema.clone(), expected: PLAN_SCHEMA });
        }
        if self.tasks.is_empty() {
            found.add("tasks", Problem::NoTasks);
        }
        let mut seen = HashSet::new();
        for (at, spec) in self.tasks.iter().enumerate() {
            if !seen.insert(&spec.id) {
                found.add(format!("tasks[{at}].id"), Problem::DuplicateId { id: spec.id.clone() });
            }
        }
        let tasks: Vec<PlacedTask<'_>> =
            self.tasks.iter().enumerate().map(|(at, spec)| PlacedTask { place: TaskPlace::At(at), spec, checked: true }).collect();
        let edges: Vec<PlacedEdge<'_>> =
            self.edges.iter().enumerate().map(|(at, edge)| PlacedEdge { place: format!("edges[{at}]"), edge }).collect();
        check_rules(&tasks, &edges, &mut found);
        let graph = TaskGraph::new(self.tasks.iter().map(Arc::as_ref), &self.edges);
        for path in graph.cycles() {
            found.add(place_of(&tasks, &path), Problem::Cycle { path });
        }
        found.into_result()
    }
}

impl ProgressState {
    /// Returns the current plan with the changes of earlier patches, without tasks that were taken out and the edges to
    /// them.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let stands = |id: &TaskId| self.tasks.get(id).is_some_and(|task| task.status != TaskStatus::Skipped);
        let mut tasks: Vec<_> = self.tasks.values().filter(|task| stands(&task.spec.id)).map(|task| Arc::clone(&task.spec)).collect();
        for task in tasks.iter_mut().filter(|task| !task.dependencies.iter().all(stands)) {
            Arc::make_mut(task).dependencies.retain(stands);
        }
        let edges = self.edges.iter().filter(|edge| stands(&edge.from) && stands(&edge.to)).cloned().collect();
        Plan { schema: PLAN_SCHEMA.to_owned(), goal: self.goal.clone(), strategic: self.strategic.clone(), tasks, edges }
    }
}

/// Returns the place of the dependencies of the first task in a cycle.
pub(crate) fn place_of(tasks: &[PlacedTask<'_>], path: &[TaskId]) -> String {
    let of = |id: &TaskId| tasks.iter().find(|task| task.spec.id == *id && task.checked);
    path.iter().find_map(of).map_or_else(|| "tasks".to_owned(), |task| format!("{}.dependencies", task.place))
}

/// Checks every rule except unique ids and cycles of dependencies.
pub(crate) fn check_rules(tasks: &[PlacedTask<'_>], edges: &[PlacedEdge<'_>], found: &mut Found) {
    let mut known: HashMap<&TaskId, &TaskSpec, RandomState> = HashMap::with_capacity_and_hasher(tasks.len(), RandomState::default());
    for task in tasks {
        known.entry(&task.spec.id).or_insert(task.spec);
    }
    let rules = Rules { parents: tasks.iter().filter_map(|task| task.spec.parent.as_ref()).collect(), tasks, known };
    for task in tasks.iter().filter(|task| task.checked) {
        rules.check_task(task, found);
    }
    for edge in edges {
        rules.check_edge(edge, found);
    }
    rules.check_parent_cycles(found);
}

struct Rules<'a> {
    tasks: &'a [PlacedTask<'a>],
    known: HashMap<&'a TaskId, &'a TaskSpec, RandomState>,
    parents: HashSet<&'a TaskId, RandomState>,
}

impl Rules<'_> {
    fn unknown(&self, id: &TaskId) -> Option<Problem> {
        let nearest = || nearest(id, self.tasks.iter().map(|task| &task.spec.id));
        (!self.known.contains_key(id)).then(|| Problem::UnknownTask { id: id.clone(), nearest: nearest() })
    }

    fn check_task(&self, task: &PlacedTask<'_>, found: &mut Found) {
        let PlacedTask { place, spec, .. } = task;
        for (at, id) in spec.dependencies.iter().enumerate() {
            let place = || format!("{place}.dependencies[{at}]");
            if *id == spec.id {
                found.add(place(), Problem::SelfDependency);
            } else if let Some(problem) = self.unknown(id) {
                found.add(place(), problem);
            }
        }
        if let Some(parent) = &spec.parent {
            match self.known.get(parent) {
                Some(group) if group.kind == TaskKind::Group => {}
                Some(_) => found.add(format!("{place}.parent"), Problem::ParentIsNoGroup { id: parent.clone() }),
                None => self.unknown(parent).into_iter().for_each(|problem| found.add(format!("{place}.parent"), problem)),
            }
        }
        match spec.kind {
            TaskKind::Tool if spec.tool.as_deref().is_none_or(|tool| tool.trim().is_empty()) => {
                found.add(format!("{place}.tool"), Problem::MissingTool);
            }
            TaskKind::Actor if spec.description.trim().is_empty() => {
                found.add(format!("{place}.description"), Problem::MissingDescription);
            }
            TaskKind::Group if !self.parents.contains(&spec.id) => found.add(place.to_string(), Problem::EmptyGroup),
            _ => {}
        }
        for (name, value) in &spec.parameters {
            self.check_references(&format_args!("{place}.parameters.{name}"), value, spec, found);
        }
    }

    /// The place is a text only where a fault is found.
    fn check_references(&self, place: &dyn Display, value: &Value, spec: &TaskSpec, found: &mut Found) {
        match value {
            Value::String(text) => self.check_text(place, text, spec, found),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.check_references(&format_args!("{place}[{at}]"), item, spec, found);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    self.check_references(&format_args!("{place}.{name}"), member, spec, found);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn check_text(&self, place: &dyn Display, text: &str, spec: &TaskSpec, found: &mut Found) {
        for piece in scan(text) {
            match piece {
                Piece::Malformed(text) => found.add(place.to_string(), ReferenceError::Malformed { text: text.to_owned() }),
                Piece::Reference(reference) if reference.task == spec.id => found.add(place.to_string(), Problem::SelfDependency),
                Piece::Reference(reference) => match self.known.get(&reference.task) {
                    Some(group) if group.kind == TaskKind::Group => {
                        found.add(
                            place.to_string(),
                            Problem::ReferenceToGroup { reference: reference.to_string(), id: reference.task.clone() },
                        );
                    }
                    Some(_) => {}
                    None => self.unknown(&reference.task).into_iter().for_each(|problem| found.add(place.to_string(), problem)),
                },
                Piece::Text(_) | Piece::Escape => {}
            }
        }
    }

    fn check_edge(&self, placed: &PlacedEdge<'_>, found: &mut Found) {
        let PlacedEdge { place, edge } = placed;
        for (end, id) in [("from", &edge.from), ("to", &edge.to)] {
            self.unknown(id).into_iter().for_each(|problem| found.add(format!("{place}.{end}"), problem));
        }
        if edge.from == edge.to {
            found.add(place.as_str(), Problem::SelfDependency);
        }
        if edge.kind == EdgeType::Dependency {
            return;
        }
        if self.is_inside(&edge.from, &edge.to) {
            let path = vec![edge.from.clone(), edge.to.clone(), edge.from.clone()];
            found.add(place.as_str(), Problem::Cycle { path });
        }
        if edge.kind == EdgeType::Rollback {
            return;
        }
        let place = format!("{place}.condition");
        match edge.condition.as_deref().map(Condition::parse) {
            None => found.add(place, Problem::MissingCondition),
            Some(Err(error)) => found.add(place, error),
            Some(Ok(condition)) => self.check_condition(&place, edge, &condition, found),
        }
    }

    fn check_condition(&self, place: &str, edge: &Edge, condition: &Condition, found: &mut Found) {
        let references = condition.references();
        if references.is_empty() && !condition.is_always_true() {
            found.add(place, Problem::ConstantCondition { condition: condition.to_string(), from: edge.from.clone() });
        }
        for reference in references {
            if reference.task == edge.to {
                found.add(place, Problem::SelfDependency);
            }
            self.unknown(&reference.task).into_iter().for_each(|problem| found.add(place, problem));
            if reference.task != edge.from && self.is_inside(&reference.task, &edge.to) {
                let path = vec![reference.task.clone(), edge.to.clone(), reference.task.clone()];
                found.add(place, Problem::Cycle { path });
            }
            let is_group = self.known.get(&reference.task).is_some_and(|spec| spec.kind == TaskKind::Group);
            if is_group && reference.part != ReferencePart::Status {
                let problem = Problem::ReferenceToGroup { reference: reference.to_string(), id: reference.task.clone() };
                found.add(place, problem);
            }
        }
        for (reference, value) in condition.misused_statuses() {
            found.add(place, Problem::MisusedStatus { reference: reference.to_string(), value });
        }
    }

    /// Returns true if a task is in a group, at any depth.
    fn is_inside(&self, id: &TaskId, group: &TaskId) -> bool {
        let parent = |id: &&TaskId| self.known.get(*id).and_then(|spec| spec.parent.as_ref());
        std::iter::successors(parent(&id), parent).take(self.tasks.len()).any(|around| around == group)
    }

    fn check_parent_cycles(&self, found: &mut Found) {
        let mut reported: HashSet<&TaskId> = HashSet::new();
        for task in self.tasks.iter().filter(|task| task.checked && task.spec.parent.is_some()) {
            let parent = |id: &&TaskId| self.known.get(*id).and_then(|spec| spec.parent.as_ref());
            let mut path = vec![task.spec.id.clone()];
            for around in std::iter::successors(parent(&&task.spec.id), parent).take(self.tasks.len()) {
                path.push(around.clone());
                if *around == task.spec.id {
                    break;
                }
            }
            if path.len() > 1 && path.last() == path.first() && !path.iter().any(|id| reported.contains(id)) {
                reported.extend(path.iter().filter_map(|id| self.known.get_key_value(id)).map(|(id, _)| *id));
                found.add(format!("{}.parent", task.place), Problem::ParentCycle { path });
            }
        }
    }
}

#[cfg(test)]
mod tests;
