//! Applies a patch to a copy of the state: whole or not at all.
//!
//! A patch changes only tasks that have not run. It makes these changes of status itself, each legal by the table:
//!
//! - removed, replaced and merged tasks: pending, ready, blocked or failed → skipped; cancelled ones: running →
//!   skipped;
//! - modified tasks: failed or ready → pending, with the count of failures reset to 0;
//! - blocked ones: pending or ready → blocked and *held*; unblocked ones: blocked or failed → pending.
//!
//! Tasks that depended on a replaced task depend on its replacement, or on all of them if several tasks replace it.
//! Tasks that depended on a removed task inherit its dependencies. References are rewritten if there is a single
//! replacement. Replacements inherit the conditional and rollback edges of the task that they replace, unless it had
//! settled before.
//!
//! A success criterion that was checked and failed stays, unless the patch amends it with evidence. Criteria of a
//! person and of the project stay too: those of a task that is taken out of the plan become success criteria of the
//! plan.

use aime_messages::{Message, message};
use std::collections::HashSet;

use indexmap::IndexMap;

use crate::{
    Criterion, Edge, EdgeType, Faults, Owner, PATCH_SCHEMA, PlanChange, PlanPatch, Problem, ProgressState, StrategicChange, Task,
    TaskChange, TaskId, TaskKind, TaskSpec, TaskStatus, Timestamp, fault::Found,
};

mod criteria;
mod rewire;
mod touch;
mod verify;

use touch::{HINT_RUNNING, HINT_SETTLED};

const HINT_BLOCK_FAILED: &str = "a failed task does not run: leave it, or remove it with remove_task";
const HINT_NOT_RUNNING: &str = "there is nothing to cancel";
const HINT_COMPLETED: &str = "completed work is kept; add a task that depends on it instead";

impl ProgressState {
    /// Checks that a patch can be applied now.
    ///
    /// # Errors
    /// [`Faults`] with all faults and their places.
    pub fn check_patch(&self, patch: &PlanPatch) -> Result<(), Faults> {
        self.patched(patch, self.last_progress_at).map(drop)
    }

    /// Returns the state with the patch applied at the time `at`. Its version is one higher; decisions and evidence are
    /// unchanged.
    ///
    /// # Errors
    ///
    /// [`Faults`] with all faults and their places.
    pub fn patched(&self, patch: &PlanPatch, at: Timestamp) -> Result<Self, Faults> {
        let mut patching = Patching::new(self, at);
        if patch.schema != PATCH_SCHEMA {
            patching.found.add("schema", Problem::WrongSchema { found: patch.schema.clone(), expected: PATCH_SCHEMA });
        }
        if self.version == 0 {
            patching.found.add("changes", Problem::NoPlan);
        }
        for (at, change) in patch.changes.iter().enumerate() {
            patching.change(&format!("changes[{at}]"), change);
        }
        patching.rewire();
        patching.verify();
        patching.found.into_result().map(|()| patching.state)
    }
}

impl PlanPatch {
    /// Returns a patch of these changes.
    #[must_use]
    pub fn new(reasoning: impl Into<String>, changes: impl IntoIterator<Item = PlanChange>) -> Self {
        Self { schema: PATCH_SCHEMA.to_owned(), reasoning: reasoning.into(), changes: changes.into_iter().collect() }
    }

    /// Returns a patch that takes one task out of the plan, for this reason.
    #[must_use]
    pub fn cancelling(task: &TaskId, reason: &str, by: Owner) -> Self {
        Self {
            schema: PATCH_SCHEMA.to_owned(),
            reasoning: reason.to_owned(),
            changes: vec![PlanChange::CancelTask { id: task.clone(), reason: reason.to_owned(), by }],
        }
    }

    /// Returns the running tasks that this patch stops. Their actors must be stopped before the patch is applied.
    pub fn cancelled(&self) -> impl Iterator<Item = &TaskId> {
        self.changes.iter().filter_map(|change| match change {
            PlanChange::CancelTask { id, .. } => Some(id),
            _ => None,
        })
    }
}

struct Patching {
    state: ProgressState,
    at: Timestamp,
    found: Found,
    /// Place in the patch of each touched task's current form.
    places: IndexMap<TaskId, String>,
    /// Edges that the patch adds, by their place.
    edge_places: Vec<(String, Edge)>,
    /// Successors of each task that was taken out; none for a removed task.
    successors: IndexMap<TaskId, Vec<TaskId>>,
    /// Tasks that had settled before this patch replaced them.
    settled_before: HashSet<TaskId>,
    unblocked: Vec<(String, TaskId)>,
}

impl Patching {
    fn new(state: &ProgressState, at: Timestamp) -> Self {
        let mut state = state.clone();
        state.version = state.version.saturating_add(1);
        Self {
            state,
            at,
            found: Found::default(),
            places: IndexMap::new(),
            edge_places: Vec::new(),
            successors: IndexMap::new(),
            settled_before: HashSet::new(),
            unblocked: Vec::new(),
        }
    }

    fn change(&mut self, place: &str, change: &PlanChange) {
        match change {
            PlanChange::AddTask { task, replaces } => self.add(place, task, replaces, "replaces"),
            PlanChange::MergeTasks { ids, task } => {
                if ids.iter().collect::<HashSet<_>>().len() < 2 {
                    self.found.add(format!("{place}.ids"), Problem::NothingToMerge);
                }
                let mut task = task.clone();
                if task.dependencies.is_empty() {
                    task.dependencies = self.outer_dependencies(ids);
                }
                self.add(place, &task, ids, "ids");
            }
            PlanChange::ModifyTask { id, change } => self.modify(place, id, change),
            PlanChange::RemoveTask { id, reason } => self.remove(place, id, reason, false),
            PlanChange::CancelTask { id, reason, by } => {
                let criteria = self.state.strategic.success_criteria.clone();
                self.remove(place, id, reason, true);
                // A person may withdraw their own criterion.
                if *by == Owner::Person {
                    self.state.strategic.success_criteria = criteria;
                }
            }
            PlanChange::BlockTask { id, reason } => self.block(place, id, reason),
            PlanChange::UnblockTask { id } => self.unblock(place, id),
            PlanChange::AddEdge { edge } => self.add_edge(place, edge),
            PlanChange::RemoveEdge { from, to } => self.remove_edge(place, from, to),
            PlanChange::SetStrategic { strategic } => self.set_strategic(strategic),
            PlanChange::AmendCriterion { task, number, criterion, evidence, by } => {
                self.amend(place, task.as_ref(), *number, criterion, (evidence, *by));
            }
        }
    }

    fn become_status(&mut self, id: &TaskId, to: TaskStatus, reason: Option<Message>) {
        let Some(task) = self.state.tasks.get_mut(id) else { return };
        if task.status == to || task.become_status(to, self.at).is_ok() {
            task.reason = reason;
        }
    }

    fn add(&mut self, place: &str, spec: &TaskSpec, replaces: &[TaskId], member: &str) {
        if self.state.tasks.contains_key(&spec.id) {
            self.found.add(format!("{place}.task.id"), Problem::DuplicateId { id: spec.id.clone() });
            return;
        }
        let mut spec = spec.clone();
        if spec.parent.is_none() {
            spec.parent = self.common_parent(replaces);
        }
        let mut after = None;
        for (at, id) in replaces.iter().enumerate() {
            let place = format!("{place}.{member}[{at}]");
            if self.retire_for(&place, id, &spec.id) {
                after = after.max(self.state.tasks.get_index_of(id));
            }
        }
        self.check_group(place, &spec);
        let id = spec.id.clone();
        let task = Task::new(spec, self.state.version);
        let at = after.map_or(self.state.tasks.len(), |at| at + 1);
        self.state.tasks.shift_insert(at, id.clone(), task);
        self.places.insert(id, format!("{place}.task"));
    }

    fn check_group(&mut self, place: &str, spec: &TaskSpec) {
        let group = spec.parent.as_ref().and_then(|parent| self.state.tasks.get(parent));
        if let Some(group) = group.filter(|group| group.spec.kind == TaskKind::Group && !group.status.is_open()) {
            let problem = Problem::GroupSettled { id: group.spec.id.clone(), status: group.status };
            self.found.add(format!("{place}.task.parent"), problem);
        }
    }

    /// Returns the group that all of these belong to, if it can still take another task.
    fn common_parent(&self, ids: &[TaskId]) -> Option<TaskId> {
        let mut parents = ids.iter().map(|id| self.state.tasks.get(id).and_then(|task| task.spec.parent.clone()));
        let first = parents.next()??;
        let open = self.state.tasks.get(&first).is_some_and(|group| group.status.is_open());
        (open && parents.all(|parent| parent.as_ref() == Some(&first))).then_some(first)
    }

    /// Returns the dependencies of these tasks on tasks outside the set.
    fn outer_dependencies(&self, ids: &[TaskId]) -> Vec<TaskId> {
        let mut found = Vec::new();
        for dependency in ids.iter().filter_map(|id| self.state.tasks.get(id)).flat_map(|task| &task.spec.dependencies) {
            if !ids.contains(dependency) && !found.contains(dependency) {
                found.push(dependency.clone());
            }
        }
        found
    }

    /// Takes a task out in favour of another. For a task that is already skipped or rolled back, only its dependents
    /// are handed over.
    fn retire_for(&mut self, place: &str, id: &TaskId, successor: &TaskId) -> bool {
        let Some(status) = self.status_of(place, id) else { return false };
        match status {
            TaskStatus::Completed => {
                self.untouchable(place, id, status, HINT_COMPLETED);
                return false;
            }
            TaskStatus::Skipped | TaskStatus::RolledBack => {
                if !self.is_gone(id) {
                    self.settled_before.insert(id.clone());
                }
            }
            _ => {
                if !self.retire(place, id, &message!("task-replaced", tasks = format!("{:?}", successor.as_str())), false) {
                    return false;
                }
            }
        }
        let successors = self.successors.entry(id.clone()).or_default();
        if !successors.contains(successor) {
            successors.push(successor.clone());
        }
        if let Some(task) = self.state.tasks.get_mut(id).filter(|task| task.status == TaskStatus::Skipped) {
            let names: Vec<String> = self.successors.get(id).into_iter().flatten().map(|id| format!("{:?}", id.as_str())).collect();
            task.reason = Some(message!("task-replaced", tasks = names.join(", ")));
        }
        true
    }

    fn remove(&mut self, place: &str, id: &TaskId, reason: &str, cancel: bool) {
        let place = format!("{place}.id");
        let Some(status) = self.status_of(&place, id) else { return };
        if status.is_settled() {
            let hint = if cancel { HINT_NOT_RUNNING } else { HINT_SETTLED };
            return self.untouchable(&place, id, status, hint);
        }
        let reason = reason.trim();
        let reason = match (cancel && status == TaskStatus::Running, reason.is_empty()) {
            (true, true) => message!("task-cancelled"),
            (true, false) => message!("task-cancelled-why", reason),
            (false, true) => message!("task-removed"),
            (false, false) => message!("task-removed-why", reason),
        };
        if self.retire(&place, id, &reason, cancel) {
            self.successors.entry(id.clone()).or_default();
        }
    }

    /// Skips a task, and with a group all unsettled tasks in it. Returns false and adds a fault if a running task in it
    /// may not be stopped.
    fn retire(&mut self, place: &str, id: &TaskId, reason: &Message, cancel: bool) -> bool {
        let mut going = vec![id.clone()];
        let mut at = 0;
        while let Some(next) = going.get(at).cloned() {
            let children = self.state.tasks.values().filter(|task| task.spec.parent.as_ref() == Some(&next) && !task.status.is_settled());
            let children: Vec<TaskId> = children.map(|task| task.spec.id.clone()).filter(|child| !going.contains(child)).collect();
            going.extend(children);
            at += 1;
        }
        let runs = |id: &&TaskId| {
            self.state.tasks.get(*id).is_some_and(|task| task.status == TaskStatus::Running && task.spec.kind != TaskKind::Group)
        };
        if !cancel && let Some(running) = going.iter().find(runs).cloned() {
            self.untouchable(place, &running, TaskStatus::Running, HINT_RUNNING);
            return false;
        }
        for task in &going {
            self.keep_criteria_of(task);
            self.become_status(task, TaskStatus::Skipped, Some(reason.clone()));
            if task != id {
                self.successors.entry(task.clone()).or_default();
            }
        }
        true
    }

    fn modify(&mut self, place: &str, id: &TaskId, change: &TaskChange) {
        if !self.touchable(&format!("{place}.id"), id) {
            return;
        }
        if let Some(task) = self.state.tasks.get_mut(id) {
            change.apply_to(task.spec_mut());
        }
        self.places.entry(id.clone()).or_insert_with(|| format!("{place}.change"));
        self.start_over(id);
    }

    /// Resets a task: a failed one starts again with no failures, a ready one becomes pending.
    fn start_over(&mut self, id: &TaskId) {
        let Some(task) = self.state.tasks.get_mut(id) else { return };
        task.failures = 0;
        if matches!(task.status, TaskStatus::Failed | TaskStatus::Ready) {
            self.become_status(id, TaskStatus::Pending, None);
        }
    }

    fn block(&mut self, place: &str, id: &TaskId, reason: &str) {
        let place = format!("{place}.id");
        if self.state.tasks.get(id).is_some_and(|task| task.status == TaskStatus::Failed) {
            return self.untouchable(&place, id, TaskStatus::Failed, HINT_BLOCK_FAILED);
        }
        if !self.touchable(&place, id) {
            return;
        }
        let reason = if reason.trim().is_empty() { message!("task-held") } else { Message::text(reason.trim()) };
        self.become_status(id, TaskStatus::Blocked, Some(reason));
        if let Some(task) = self.state.tasks.get_mut(id) {
            task.held = true;
        }
    }

    fn unblock(&mut self, place: &str, id: &TaskId) {
        let place = format!("{place}.id");
        if !self.touchable(&place, id) {
            return;
        }
        self.start_over(id);
        if self.state.tasks.get(id).is_some_and(|task| task.status == TaskStatus::Blocked) {
            self.become_status(id, TaskStatus::Pending, None);
        }
        self.unblocked.push((place, id.clone()));
    }

    fn add_edge(&mut self, place: &str, edge: &Edge) {
        let place = format!("{place}.edge");
        // The target may be added later in the same patch; the final checks find an unknown one.
        if self.state.tasks.contains_key(&edge.to) && !self.touchable(&format!("{place}.to"), &edge.to) {
            return;
        }
        if !self.state.edges.contains(edge) {
            self.state.edges.push(edge.clone());
        }
        self.places.entry(edge.to.clone()).or_insert_with(|| place.clone());
        self.edge_places.push((place, edge.clone()));
    }

    fn remove_edge(&mut self, place: &str, from: &TaskId, to: &TaskId) {
        let known = [("from", from), ("to", to)].map(|(end, id)| self.status_of(&format!("{place}.{end}"), id).is_some());
        if known.contains(&false) || !self.touchable(&format!("{place}.to"), to) {
            return;
        }
        let edges = self.state.edges.len();
        self.state.edges.retain(|edge| !(edge.from == *from && edge.to == *to));
        let mut removed = self.state.edges.len() < edges;
        if let Some(task) = self.state.tasks.get_mut(to).filter(|task| task.spec.dependencies.contains(from)) {
            task.spec_mut().dependencies.retain(|id| id != from);
            removed = true;
        }
        if !removed {
            self.found.add(place, Problem::UnknownEdge { from: from.clone(), to: to.clone() });
        }
    }

    fn set_strategic(&mut self, change: &StrategicChange) {
        let StrategicChange { approach, phases, risks, success_criteria, confidence } = change;
        let strategic = &mut self.state.strategic;
        set(&mut strategic.approach, approach.as_ref());
        set(&mut strategic.phases, phases.as_ref());
        set(&mut strategic.risks, risks.as_ref());
        strategic.confidence = confidence.or(strategic.confidence);
        if let Some(new) = success_criteria {
            let new = criteria::replace(&strategic.success_criteria, new);
            strategic.success_criteria = criteria::with_kept(new, self.state.unmet_criteria.clone());
        }
    }

    fn is_gone(&self, id: &TaskId) -> bool {
        self.successors.contains_key(id)
    }
}

impl PlanChange {
    /// Returns a change that adds a task.
    #[must_use]
    pub fn add_task(task: TaskSpec) -> Self {
        Self::AddTask { task: Box::new(task), replaces: Vec::new() }
    }

    /// Returns a change that replaces a success criterion of the plan.
    #[must_use]
    pub fn amend(number: u32, criterion: Criterion, evidence: &str) -> Self {
        Self::AmendCriterion { task: None, number, criterion, evidence: evidence.to_owned(), by: Owner::Lead }
    }
}

impl TaskChange {
    /// Overwrites the members of a task that this change sets. Only a tool task has a tool and parameters.
    pub fn apply_to(&self, spec: &mut TaskSpec) {
        set(&mut spec.name, self.name.as_ref());
        set(&mut spec.description, self.description.as_ref());
        if let Some(new) = &self.completion_criteria {
            spec.completion_criteria = criteria::replace(&spec.completion_criteria, new);
        }
        set(&mut spec.bundles, self.bundles.as_ref());
        set(&mut spec.denied_tools, self.denied_tools.as_ref());
        set(&mut spec.skills, self.skills.as_ref());
        set(&mut spec.exclusive, self.exclusive.as_ref());
        set(&mut spec.dependencies, self.dependencies.as_ref());
        if spec.kind == TaskKind::Tool {
            set(&mut spec.parameters, self.parameters.as_ref());
            if self.tool.is_some() {
                spec.tool.clone_from(&self.tool);
            }
        }
        if self.profile.is_some() {
            spec.profile.clone_from(&self.profile);
        }
        if self.model.is_some() {
            spec.model.clone_from(&self.model);
        }
        spec.effort = self.effort.or(spec.effort);
        if self.effort_seconds.is_some() {
            spec.effort_seconds = self.effort_seconds;
        }
    }
}

/// Overwrites a value if there is a new one.
fn set<T: Clone>(place: &mut T, new: Option<&T>) {
    if let Some(new) = new {
        place.clone_from(new);
    }
}

/// Returns true if an edge makes its target wait for the completion of its source.
const fn is_dependency(edge: &Edge) -> bool {
    matches!(edge.kind, EdgeType::Dependency)
}

#[cfg(test)]
mod tests;
