//! Faults of plans and patches, reported all at once and with their places.

use std::fmt;

use aime_messages::{Describe, Message, message};

use crate::{InvalidCondition, Owner, ReferenceError, TaskId, TaskStatus};

/// A fault and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Place in the document: `tasks[2].dependencies[0]`, `changes[1].task`; `tasks.ID` for a task that the document
    /// does not contain.
    pub place: String,
    /// The fault.
    pub problem: Problem,
}

/// Kind of fault in a plan or a patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The document is of another kind or version.
    #[error("{}", self.describe())]
    WrongSchema {
        /// The `schema` of the document.
        found: String,
        /// The expected `schema`.
        expected: &'static str,
    },
    /// The plan has no tasks.
    #[error("{}", self.describe())]
    NoTasks,
    /// There is no plan to change.
    #[error("{}", self.describe())]
    NoPlan,
    /// Two tasks have one id.
    #[error("{}", self.describe())]
    DuplicateId {
        /// The id.
        id: TaskId,
    },
    /// A task that does not exist is named.
    #[error("{}", self.describe())]
    UnknownTask {
        /// The unknown id.
        id: TaskId,
        /// The most similar known id.
        nearest: Option<TaskId>,
    },
    /// A task depends on itself.
    #[error("{}", self.describe())]
    SelfDependency,
    /// Tasks wait for one another.
    #[error("{}", self.describe())]
    Cycle {
        /// The tasks of the cycle, the first repeated at the end.
        path: Vec<TaskId>,
    },
    /// A parent is not a group.
    #[error("{}", self.describe())]
    ParentIsNoGroup {
        /// The parent.
        id: TaskId,
    },
    /// Groups contain one another.
    #[error("{}", self.describe())]
    ParentCycle {
        /// The groups, the first repeated at the end.
        path: Vec<TaskId>,
    },
    /// A task is added to a settled group.
    #[error("{}", self.describe())]
    GroupSettled {
        /// The group.
        id: TaskId,
        /// The group's status.
        status: TaskStatus,
    },
    /// A group without children.
    #[error("{}", self.describe())]
    EmptyGroup,
    /// A tool task without a tool.
    #[error("{}", self.describe())]
    MissingTool,
    /// An actor task without a description.
    #[error("{}", self.describe())]
    MissingDescription,
    /// A conditional edge without a condition.
    #[error("{}", self.describe())]
    MissingCondition,
    /// A condition that cannot be parsed.
    #[error("{}", self.describe())]
    BadCondition(#[from] InvalidCondition),
    /// A condition without a reference, so it does not depend on any step.
    #[error("{}", self.describe())]
    ConstantCondition {
        /// The condition.
        condition: String,
        /// The source of the edge.
        from: TaskId,
    },
    /// A condition over a status that always or never holds.
    #[error("{}", self.describe())]
    MisusedStatus {
        /// The reference to the status.
        reference: String,
        /// The value that no ended step has as its status; absent if the condition compares the status with nothing.
        value: Option<String>,
    },
    /// A reference that cannot be parsed.
    #[error("{}", self.describe())]
    BadReference(#[from] ReferenceError),
    /// A reference to a group.
    #[error("{}", self.describe())]
    ReferenceToGroup {
        /// The reference.
        reference: String,
        /// The group.
        id: TaskId,
    },
    /// A task cannot be changed in its current status.
    #[error("{}", self.describe())]
    Untouchable {
        /// The task.
        id: TaskId,
        /// The task's status.
        status: TaskStatus,
        /// Suggestion of another change.
        hint: &'static str,
    },
    /// A merge of fewer than two tasks.
    #[error("{}", self.describe())]
    NothingToMerge,
    /// A task would wait for one that can no longer be completed.
    #[error("{}", self.describe())]
    DeadDependency {
        /// The dependency.
        id: TaskId,
        /// The dependency's status.
        status: TaskStatus,
    },
    /// A task needs the result of a task that the patch takes out.
    #[error("{}", self.describe())]
    LostResult {
        /// The task that needs it.
        id: TaskId,
        /// The task that is taken out.
        of: TaskId,
    },
    /// A task depends on a condition over a task that the patch takes out.
    #[error("{}", self.describe())]
    LostCondition {
        /// The dependent task.
        id: TaskId,
        /// The task that is taken out.
        of: TaskId,
    },
    /// A task is released that its dependencies still block.
    #[error("{}", self.describe())]
    StillBlocked {
        /// The task.
        id: TaskId,
        /// The blocking dependencies.
        why: Message,
    },
    /// An amended criterion that does not exist.
    #[error("{}", self.describe())]
    UnknownCriterion {
        /// The number, from 1.
        number: u32,
        /// The number of the last one.
        last: usize,
    },
    /// A criterion that changes only with a person's consent.
    #[error("{}", self.describe())]
    OwnedCriterion {
        /// The owner.
        owner: Owner,
        /// The criterion.
        criterion: String,
    },
    /// A criterion amended without evidence.
    #[error("{}", self.describe())]
    MissingEvidence,
    /// An edge that does not exist.
    #[error("{}", self.describe())]
    UnknownEdge {
        /// Its source.
        from: TaskId,
        /// Its target.
        to: TaskId,
    },
}

impl Describe for Problem {
    fn describe(&self) -> Message {
        let quoted = |id: &TaskId| format!("{:?}", id.as_str());
        match self {
            Self::WrongSchema { found, expected } => {
                message!("rule-schema", found = format!("{found:?}"), expected = format!("{expected:?}"))
            }
            Self::NoTasks => message!("rule-no-tasks"),
            Self::NoPlan => message!("rule-no-plan"),
            Self::DuplicateId { id } => message!("rule-taken", id = quoted(id)),
            Self::UnknownTask { id, nearest: None } => message!("rule-unknown", task = quoted(id)),
            Self::UnknownTask { id, nearest: Some(near) } => message!("rule-unknown-near", task = quoted(id), near = quoted(near)),
            Self::SelfDependency => message!("rule-itself"),
            Self::Cycle { path } => message!("rule-cycle", path = arrows(path)),
            Self::ParentIsNoGroup { id } => message!("rule-parent", id = quoted(id)),
            Self::ParentCycle { path } => message!("rule-parent-cycle", path = arrows(path)),
            Self::GroupSettled { id, status } => message!("rule-group-settled", id = quoted(id), status),
            Self::EmptyGroup => message!("rule-empty-group"),
            Self::MissingTool => message!("rule-no-tool"),
            Self::MissingDescription => message!("rule-no-description"),
            Self::MissingCondition => message!("rule-no-condition"),
            Self::BadCondition(error) => Message::text(error),
            Self::ConstantCondition { condition, from } => message!("rule-constant-condition", condition, step = from),
            Self::MisusedStatus { reference, value: Some(value) } => message!("rule-status-value", reference, value = format!("{value:?}")),
            Self::MisusedStatus { reference, value: None } => message!("rule-status-alone", reference),
            Self::BadReference(error) => error.describe(),
            Self::ReferenceToGroup { reference, id } => message!("rule-reference-to-group", reference, group = quoted(id)),
            Self::Untouchable { id, status, hint } => message!("rule-untouchable", task = quoted(id), status, hint),
            Self::NothingToMerge => message!("rule-merge"),
            Self::DeadDependency { id, status } => message!("rule-dead-dependency", task = quoted(id), status),
            Self::LostResult { id, of } => message!("rule-lost-result", task = quoted(id), other = quoted(of)),
            Self::LostCondition { id, of } => message!("rule-lost-condition", task = quoted(id), other = quoted(of)),
            Self::StillBlocked { id, why } => message!("rule-still-blocked", task = quoted(id), why),
            Self::UnknownCriterion { number, last } => {
                message!("rule-no-criterion", criterion = number.to_string(), last = last.to_string())
            }
            Self::OwnedCriterion { owner, criterion } => {
                message!("rule-owned-criterion", criterion = format!("{criterion:?}"), owner = of_owner(*owner))
            }
            Self::MissingEvidence => message!("rule-no-evidence"),
            Self::UnknownEdge { from, to } => message!("rule-no-edge", from = quoted(from), to = quoted(to)),
        }
    }
}

fn of_owner(owner: Owner) -> Message {
    match owner {
        Owner::Person => message!("owner-a-person"),
        Owner::Project => message!("owner-the-project"),
        Owner::Lead => message!("owner-the-lead"),
        Owner::Actor => message!("owner-the-actor"),
    }
}

pub(crate) fn arrows(path: &[TaskId]) -> String {
    path.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" → ")
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// All faults of a document, in the order of their places. Never empty as an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Faults {
    /// The faults.
    pub faults: Vec<Fault>,
}

impl Faults {
    /// Returns one message for each fault.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        let message = |Fault { place, problem }: &Fault| message!("plan-fault", place, fault = problem.describe());
        self.faults.iter().map(message).collect()
    }

    /// Returns one line of text for each fault.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.faults.iter().map(Fault::to_string).collect()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

/// Collects faults during a check.
#[derive(Debug, Default)]
pub(crate) struct Found(Vec<Fault>);

impl Found {
    pub(crate) fn add(&mut self, place: impl Into<String>, problem: impl Into<Problem>) {
        let fault = Fault { place: place.into(), problem: problem.into() };
        if !self.0.contains(&fault) {
            self.0.push(fault);
        }
    }

    pub(crate) fn into_result(self) -> Result<(), Faults> {
        if self.0.is_empty() { Ok(()) } else { Err(Faults { faults: self.0 }) }
    }
}

/// Returns the known id that is most similar to `wanted`, if one is close.
pub(crate) fn nearest<'a>(wanted: &TaskId, known: impl Iterator<Item = &'a TaskId>) -> Option<TaskId> {
    TaskId::new(aime_messages::nearest(wanted.as_str(), known.map(TaskId::as_str))?).ok()
}
