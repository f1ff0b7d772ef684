//! Changes that follow from the graph alone: tasks become ready, blocked, skipped or settled.

use std::borrow::Cow;

use aime_messages::{Describe as _, Message, message};

use crate::{
    FoldError, ProgressEvent, ProgressState, Task, TaskGraph, TaskId, TaskKind, TaskStatus,
    graph::{DependencyKind, Node},
};

/// State of a task for those that depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DependencyState {
    /// Completed.
    Satisfied,
    /// Failed for good, skipped or rolled back.
    Unsatisfiable,
    /// Undecided. A failure that may be retried is open.
    Open,
    /// Skipped because a condition did not hold or because it was an unneeded rollback. Tasks that depend only on such
    /// tasks are skipped as well; those with other dependencies continue without it.
    Void,
}

/// A change of status that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusChange {
    /// The task.
    pub task: TaskId,
    /// Its new status.
    pub to: TaskStatus,
    /// For a failure: true if the task is not retried.
    pub for_good: bool,
    /// Reason for the change.
    pub reason: Option<Message>,
}

/// Combined state of a task's dependencies.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Readiness {
    Go,
    Wait,
    Block(Message),
    Skip(Message),
}

impl ProgressState {
    /// Returns every change of status that follows from the graph alone, in plan order; at most one for each task.
    /// Apply them and call this again until none is left. See [`TaskGraph::next_changes`], which avoids building the
    /// graph again.
    #[must_use]
    pub fn next_changes(&self) -> Vec<StatusChange> {
        self.graph().next_changes(self)
    }

    /// Returns the changes that are due after a replan was refused or changed nothing. See
    /// [`TaskGraph::closing_changes`].
    #[must_use]
    pub fn closing_changes(&self) -> Vec<StatusChange> {
        self.graph().closing_changes(self)
    }

    /// Returns the combined state of the dependencies of `task`, including those of its groups. A task without
    /// dependencies, or an unknown one, is satisfied.
    #[must_use]
    pub(crate) fn settle_dependencies(&self, task: &TaskId) -> DependencyState {
        self.graph().settle_dependencies(self, task)
    }

    /// Returns the reason why the dependencies of `task` block it, if they do.
    pub(crate) fn blocked_reason_of(&self, task: &TaskId) -> Option<Message> {
        let graph = self.graph();
        let at = graph.index.get(task).copied()?;
        match View::new(&graph, self).verdict(at) {
            Readiness::Block(reason) => Some(reason),
            Readiness::Go | Readiness::Wait | Readiness::Skip(_) => None,
        }
    }

    /// Returns the event of a change of status, with the task's current status and number of attempts.
    ///
    /// # Errors
    ///
    /// [`FoldError`] if the task is unknown or the transition illegal.
    pub fn status_event(&self, change: &StatusChange) -> Result<ProgressEvent, FoldError> {
        let task = self.tasks.get(&change.task).ok_or_else(|| FoldError::UnknownTask { task: change.task.clone() })?;
        task.status.become_checked(change.to).map_err(|illegal| FoldError::IllegalTransition { task: change.task.clone(), illegal })?;
        let attempt = if change.to == TaskStatus::Running { task.attempts.saturating_add(1) } else { task.attempts };
        Ok(ProgressEvent::TaskStatusChanged {
            task: change.task.clone(),
            from: task.status,
            to: change.to,
            attempt,
            for_good: change.for_good,
            reason: change.reason.clone(),
        })
    }
}

impl TaskGraph {
    /// Returns every change of status that follows from the graph alone:
    ///
    /// - pending → ready when all dependencies are satisfied; ready → pending when a patch added an open one;
    /// - pending or ready → blocked when one cannot be satisfied; blocked → pending when that clears, unless it is
    ///   *held*;
    /// - pending, ready or blocked → skipped when a condition does not hold, when all its dependencies were skipped for
    ///   that reason, and for a rollback task whose sources can no longer fail;
    /// - failed → rolled_back when all its rollback tasks are done;
    /// - groups: pending → ready by their dependencies, ready → running when a child has started, running → completed
    ///   when at least one child completed and none is open, → skipped (from anywhere) when all children were.
    ///
    /// A failed child keeps its group open, because it may be retried or replaced. [`TaskGraph::closing_changes`]
    /// settles the group when the run gives that up.
    ///
    /// `state` must be of the plan version that the graph was built from.
    #[must_use]
    pub fn next_changes(&self, state: &ProgressState) -> Vec<StatusChange> {
        let view = View::new(self, state);
        (0..self.nodes.len()).filter_map(|at| view.next_change(at)).collect()
    }

    /// See [`ProgressState::settle_dependencies`].
    pub(crate) fn settle_dependencies(&self, state: &ProgressState, task: &TaskId) -> DependencyState {
        let Some(at) = self.index.get(task).copied() else { return DependencyState::Satisfied };
        match View::new(self, state).verdict(at) {
            Readiness::Go => DependencyState::Satisfied,
            Readiness::Wait => DependencyState::Open,
            Readiness::Block(_) => DependencyState::Unsatisfiable,
            Readiness::Skip(_) => DependencyState::Void,
        }
    }

    /// Returns the changes that are due after a replan was refused or changed nothing. Tasks blocked by their
    /// dependencies are skipped. Held tasks are skipped too if no other task runs or could run. A group whose children
    /// have all ended is completed if at least one of them completed, else failed for good. Apply these together with
    /// [`TaskGraph::next_changes`] until both are empty.
    #[must_use]
    pub fn closing_changes(&self, state: &ProgressState) -> Vec<StatusChange> {
        let can_move = |task: &Task| task.spec.kind != TaskKind::Group && matches!(task.status, TaskStatus::Running | TaskStatus::Ready);
        let idle = !state.tasks.values().any(can_move);
        let view = View::new(self, state);
        self.nodes
            .iter()
            .filter_map(|node| {
                let task = state.tasks.get(&node.id)?;
                if task.status == TaskStatus::Blocked && (!task.held || idle) {
                    let reason = task.reason.clone().unwrap_or_else(|| message!("task-blocked"));
                    return Some(change(node, TaskStatus::Skipped, message!("given-up", reason)));
                }
                view.group_change(node, task, true)
            })
            .collect()
    }
}

fn change(node: &Node, to: TaskStatus, reason: Message) -> StatusChange {
    StatusChange { task: node.id.clone(), to, for_good: to == TaskStatus::Failed, reason: Some(reason) }
}

fn plain_change(node: &Node, to: TaskStatus) -> StatusChange {
    StatusChange { task: node.id.clone(), to, for_good: false, reason: None }
}

/// A graph with the statuses of one state.
pub(crate) struct View<'a> {
    graph: &'a TaskGraph,
    state: &'a ProgressState,
    /// Flags of the tasks that count as [`DependencyState::Void`].
    void: Cow<'a, [bool]>,
}

impl<'a> View<'a> {
    pub(crate) fn new(graph: &'a TaskGraph, state: &'a ProgressState) -> Self {
        let mut view = Self { graph, state, void: Cow::Owned(vec![false; graph.nodes.len()]) };
        if state.tasks.values().any(|task| task.status == TaskStatus::Skipped) {
            for at in &graph.order {
                let void = view.is_void(*at);
                if let Some(slot) = view.void.to_mut().get_mut(*at) {
                    *slot = void;
                }
            }
        }
        view
    }

    /// Creates a view with known void flags.
    pub(crate) fn with_void(graph: &'a TaskGraph, state: &'a ProgressState, void: &'a [bool]) -> Self {
        Self { graph, state, void: Cow::Borrowed(void) }
    }

    /// Returns the void flags, for reuse.
    pub(crate) fn into_void(self) -> Vec<bool> {
        self.void.into_owned()
    }

    pub(crate) fn is_void(&self, at: usize) -> bool {
        let Some(node) = self.graph.nodes.get(at) else { return false };
        if self.status(at) != Some(TaskStatus::Skipped) {
            return false;
        }
        let hollow = !node.children.is_empty() && node.children.iter().all(|child| self.void.get(*child) == Some(&true));
        hollow || matches!(self.verdict(at), Readiness::Skip(_))
    }

    fn task(&self, at: usize) -> Option<&'a Task> {
        let id = &self.graph.nodes.get(at)?.id;
        // The tasks of a state are in the order of its plan.
        let here = self.state.tasks.get_index(at).filter(|(known, _)| *known == id).map(|(_, task)| task);
        here.or_else(|| self.state.tasks.get(id))
    }

    pub(crate) fn status(&self, at: usize) -> Option<TaskStatus> {
        self.task(at).map(|task| task.status)
    }

    fn name(&self, at: usize) -> &str {
        self.graph.nodes.get(at).map_or("?", |node| node.id.as_str())
    }

    pub(crate) fn state_of(&self, at: usize) -> DependencyState {
        let Some(task) = self.task(at) else { return DependencyState::Unsatisfiable };
        match task.status {
            TaskStatus::Completed => DependencyState::Satisfied,
            TaskStatus::Skipped if self.void.get(at) == Some(&true) => DependencyState::Void,
            TaskStatus::Skipped | TaskStatus::RolledBack => DependencyState::Unsatisfiable,
            TaskStatus::Failed if task.failed_for_good => DependencyState::Unsatisfiable,
            TaskStatus::Failed | TaskStatus::Pending | TaskStatus::Ready | TaskStatus::Running | TaskStatus::Blocked => {
                DependencyState::Open
            }
        }
    }

    /// Returns the verdict of a task: the worst of its own dependencies and those of the groups around it.
    fn verdict(&self, at: usize) -> Readiness {
        let mut worst = Readiness::Go;
        for node in std::iter::once(at).chain(self.graph.ancestors(at)) {
            match (self.own_verdict(node), &worst) {
                (skip @ Readiness::Skip(_), _) => return skip,
                (block @ Readiness::Block(_), Readiness::Go | Readiness::Wait) => worst = block,
                (Readiness::Wait, Readiness::Go) => worst = Readiness::Wait,
                _ => {}
            }
        }
        worst
    }

    fn own_verdict(&self, at: usize) -> Readiness {
        let Some(node) = self.graph.nodes.get(at) else { return Readiness::Wait };
        if let Some(verdict) = self.rollback_verdict(node) {
            return verdict;
        }
        // A condition has its final answer only when every step that it reads has ended.
        if node
            .requires
            .iter()
            .any(|required| required.need == DependencyKind::End && self.state_of(required.from) == DependencyState::Open)
        {
            return Readiness::Wait;
        }
        let (mut open, mut met) = (false, false);
        let (mut blocked, mut void) = (Vec::new(), None);
        for required in &node.requires {
            let from = required.from;
            match (&required.need, self.state_of(from)) {
                (DependencyKind::Failure, _) => met = true,
                (_, DependencyState::Open) => open = true,
                (DependencyKind::End, _) => {}
                (DependencyKind::Condition(condition), state) => {
                    let decided = state == DependencyState::Satisfied
                        || self.graph.nodes.get(from).is_some_and(|node| condition.asks_status_of(&node.id));
                    if decided && !condition.holds(self.state) {
                        return Readiness::Skip(message!("task-condition", condition));
                    } else if decided {
                        met = true;
                    } else if state == DependencyState::Void {
                        void = Some(from);
                    } else {
                        blocked.push(from);
                    }
                }
                (DependencyKind::Done | DependencyKind::Result, DependencyState::Satisfied) => met = true,
                (DependencyKind::Result, DependencyState::Void) => {
                    return Readiness::Skip(message!("task-needs", task = self.name(from)));
                }
                (DependencyKind::Done, DependencyState::Void) => void = Some(from),
                (DependencyKind::Done | DependencyKind::Result, DependencyState::Unsatisfiable) => blocked.push(from),
            }
        }
        match void {
            _ if !blocked.is_empty() => Readiness::Block(self.blocked_reason(&blocked)),
            _ if open => Readiness::Wait,
            Some(from) if !met => Readiness::Skip(message!("task-depends", task = self.name(from))),
            _ => Readiness::Go,
        }
    }

    /// Returns the verdict of a rollback task: it waits until a source has failed for good, and is skipped when none
    /// can fail any more.
    fn rollback_verdict(&self, node: &Node) -> Option<Readiness> {
        let sources: Vec<usize> =
            node.requires.iter().filter(|required| required.need == DependencyKind::Failure).map(|required| required.from).collect();
        let first = sources.first()?;
        let failed = |at: usize| self.task(at).is_some_and(|task| task.status == TaskStatus::Failed && task.failed_for_good);
        if sources.iter().any(|at| failed(*at)) {
            return None;
        }
        let over = |at: usize| self.status(at).is_none_or(TaskStatus::is_settled);
        Some(if sources.iter().all(|at| over(*at)) {
            Readiness::Skip(message!("task-no-undo", task = self.name(*first)))
        } else {
            Readiness::Wait
        })
    }

    fn blocked_reason(&self, by: &[usize]) -> Message {
        let parts: Vec<Message> = by
            .iter()
            .map(|at| match self.task(*at) {
                Some(task) => message!("task-has-status", task = self.name(*at), status = task.status.describe()),
                None => message!("task-missing", task = self.name(*at)),
            })
            .collect();
        message!("task-waits", reason = Message::list("; ", &parts))
    }

    /// Returns the change that is due at a position.
    pub(crate) fn next_change(&self, at: usize) -> Option<StatusChange> {
        let (node, task) = (self.graph.nodes.get(at)?, self.task(at)?);
        if let Some(change) = self.group_change(node, task, false) {
            return Some(change);
        }
        match (task.status, task.status.is_open().then(|| self.verdict(at))?) {
            (TaskStatus::Pending | TaskStatus::Ready, Readiness::Skip(reason)) => Some(change(node, TaskStatus::Skipped, reason)),
            (TaskStatus::Blocked, Readiness::Skip(reason)) if !task.held => Some(change(node, TaskStatus::Skipped, reason)),
            (TaskStatus::Pending | TaskStatus::Ready, Readiness::Block(reason)) => Some(change(node, TaskStatus::Blocked, reason)),
            (TaskStatus::Pending, Readiness::Go) => Some(plain_change(node, TaskStatus::Ready)),
            (TaskStatus::Ready, Readiness::Wait) => Some(change(node, TaskStatus::Pending, message!("task-new-dependency"))),
            (TaskStatus::Blocked, Readiness::Go | Readiness::Wait) if !task.held => {
                Some(change(node, TaskStatus::Pending, message!("task-unblocked")))
            }
            _ => None,
        }
    }

    /// Returns the change that follows from children and rollbacks. If `closing` is set, a child that failed for good
    /// is no longer waited for.
    fn group_change(&self, node: &Node, task: &Task, closing: bool) -> Option<StatusChange> {
        if task.status == TaskStatus::Failed {
            return (task.failed_for_good && self.is_undone(node)).then(|| change(node, TaskStatus::RolledBack, message!("task-undone")));
        }
        if node.kind != TaskKind::Group || task.status.is_settled() || node.children.is_empty() {
            return None;
        }
        let children: Vec<&Task> = node.children.iter().filter_map(|child| self.task(*child)).collect();
        let every = |status: TaskStatus| children.iter().all(|child| child.status == status);
        if every(TaskStatus::Skipped) {
            return Some(change(node, TaskStatus::Skipped, message!("group-skipped")));
        }
        match task.status {
            TaskStatus::Ready => {
                let begun = |child: &&Task| !matches!(child.status, TaskStatus::Pending | TaskStatus::Ready | TaskStatus::Blocked);
                children.iter().any(begun).then(|| plain_change(node, TaskStatus::Running))
            }
            TaskStatus::Running => {
                let over =
                    |child: &&Task| child.status.is_settled() || (closing && child.status == TaskStatus::Failed && child.failed_for_good);
                if !children.iter().all(over) {
                    None
                } else if children.iter().any(|child| child.status == TaskStatus::Completed) {
                    Some(plain_change(node, TaskStatus::Completed))
                } else {
                    Some(change(node, TaskStatus::Failed, message!("group-failed")))
                }
            }
            _ => None,
        }
    }

    fn is_undone(&self, node: &Node) -> bool {
        let done = |at: &usize| self.status(*at) == Some(TaskStatus::Completed);
        let passed = |at: &usize| matches!(self.status(*at), Some(TaskStatus::Completed | TaskStatus::Skipped));
        node.undone_by.iter().all(passed) && node.undone_by.iter().any(done)
    }
}

#[cfg(test)]
mod tests;
