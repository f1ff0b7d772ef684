//! Limits of a patch: it may change only tasks that have not run.

use std::collections::HashSet;

use super::Patching;
use crate::{EdgeType, Problem, Task, TaskId, TaskStatus, fault::nearest};

pub(super) const HINT_RUNNING: &str = "cancel it with cancel_task, and add a task that replaces it";
pub(super) const HINT_SETTLED: &str = "what is done stays as it is; add a new task instead";
const HINT_ROLLING_BACK: &str = "what it had done is being undone; add a task that replaces it";
const HINT_GROUP_SETTLED: &str = "its group has come to an end; add a new task outside of the group";

impl Patching {
    /// Returns the status of a task that the patch names. Adds a fault for an unknown task.
    pub(super) fn status_of(&mut self, place: &str, id: &TaskId) -> Option<TaskStatus> {
        if let Some(task) = self.state.tasks.get(id) {
            return Some(task.status);
        }
        let problem = Problem::UnknownTask { id: id.clone(), nearest: nearest(id, self.state.tasks.keys()) };
        self.found.add(place, problem);
        None
    }

    pub(super) fn untouchable(&mut self, place: &str, id: &TaskId, status: TaskStatus, hint: &'static str) {
        self.found.add(place, Problem::Untouchable { id: id.clone(), status, hint });
    }

    /// Returns true if the task itself may be changed, because it has not run. Otherwise adds a fault.
    pub(super) fn touchable(&mut self, place: &str, id: &TaskId) -> bool {
        match self.status_of(place, id) {
            Some(status) if status.is_open() && self.has_begun(id) => {
                self.untouchable(place, id, TaskStatus::Running, HINT_RUNNING);
                false
            }
            Some(status @ TaskStatus::Failed) if self.group_of(id).is_some_and(|group| !group.status.is_open()) => {
                self.untouchable(place, id, status, HINT_GROUP_SETTLED);
                false
            }
            Some(status @ TaskStatus::Failed) if self.is_being_undone(id) => {
                self.untouchable(place, id, status, HINT_ROLLING_BACK);
                false
            }
            Some(TaskStatus::Pending | TaskStatus::Ready | TaskStatus::Blocked | TaskStatus::Failed) => true,
            Some(status @ TaskStatus::Running) => {
                self.untouchable(place, id, status, HINT_RUNNING);
                false
            }
            Some(status) => {
                self.untouchable(place, id, status, HINT_SETTLED);
                false
            }
            None => false,
        }
    }

    pub(super) fn group_of(&self, id: &TaskId) -> Option<&Task> {
        self.state.tasks.get(self.state.tasks.get(id)?.spec.parent.as_ref()?)
    }

    /// Returns true if a task in the group has started. The group itself then runs, even if its status does not say so
    /// yet.
    pub(super) fn has_begun(&self, group: &TaskId) -> bool {
        let mut open = vec![group];
        let mut seen = HashSet::new();
        while let Some(next) = open.pop() {
            for child in self.state.tasks.values().filter(|child| child.spec.parent.as_ref() == Some(next)) {
                if matches!(child.status, TaskStatus::Running | TaskStatus::Completed | TaskStatus::Failed | TaskStatus::RolledBack) {
                    return true;
                }
                if seen.insert(&child.spec.id) {
                    open.push(&child.spec.id);
                }
            }
        }
        false
    }

    /// Returns true if a task is in a group, at any depth.
    pub(super) fn is_inside(&self, id: &TaskId, group: &TaskId) -> bool {
        let parent = |id: &&TaskId| self.state.tasks.get(*id).and_then(|task| task.spec.parent.as_ref());
        std::iter::successors(parent(&id), parent).take(self.state.tasks.len()).any(|around| around == group)
    }

    /// Returns true if a rollback of the task has started.
    pub(super) fn is_being_undone(&self, id: &TaskId) -> bool {
        let rollbacks = self.state.edges.iter().filter(|edge| edge.from == *id && edge.kind == EdgeType::Rollback);
        rollbacks
            .filter_map(|edge| self.state.tasks.get(&edge.to))
            .any(|task| matches!(task.status, TaskStatus::Running | TaskStatus::Completed))
    }
}
