//! Faults of plans and patches, reported all at once and with their places.

use std::fmt;

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
    #[error("the schema is {found:?}; this is read as {expected:?}")]
    WrongSchema {
        /// The `schema` of the document.
        found: String,
        /// The expected `schema`.
        expected: &'static str,
    },
    /// The plan has no tasks.
    #[error("a plan has at least one task")]
    NoTasks,
    /// There is a plan already.
    #[error("the run has a plan already; change it by a patch")]
    PlanExists,
    /// There is no plan to change.
    #[error("the run has no plan yet")]
    NoPlan,
    /// Two tasks have one id.
    #[error("the id {:?} is taken; choose another", .id.as_str())]
    DuplicateId {
        /// The id.
        id: TaskId,
    },
    /// A task that does not exist is named.
    #[error("unknown task {:?}{}", .id.as_str(), suggestion(.nearest.as_ref()))]
    UnknownTask {
        /// The unknown id.
        id: TaskId,
        /// The most similar known id.
        nearest: Option<TaskId>,
    },
    /// A task depends on itself.
    #[error("the task depends on itself")]
    SelfDependency,
    /// Tasks wait for one another.
    #[error("a cycle: {}; take one of these dependencies away", arrows(.path))]
    Cycle {
        /// The tasks of the cycle, the first repeated at the end.
        path: Vec<TaskId>,
    },
    /// A parent is not a group.
    #[error("the parent {:?} is not a group; give it kind \"group\" or leave parent out", .id.as_str())]
    ParentIsNoGroup {
        /// The parent.
        id: TaskId,
    },
    /// Groups contain one another.
    #[error("groups hold one another: {}", arrows(.path))]
    ParentCycle {
        /// The groups, the first repeated at the end.
        path: Vec<TaskId>,
    },
    /// A task is added to a settled group.
    #[error("the group {:?} is {status} already; leave parent out", .id.as_str())]
    GroupSettled {
        /// The group.
        id: TaskId,
        /// The group's status.
        status: TaskStatus,
    },
    /// A group without children.
    #[error("the group has no tasks; name it as parent of some, or give it kind \"actor\" and a description")]
    EmptyGroup,
    /// A tool task without a tool.
    #[error("a tool task names its tool")]
    MissingTool,
    /// An actor task without a description.
    #[error("an actor task has a description of what is to be done")]
    MissingDescription,
    /// A conditional edge without a condition.
    #[error("a conditional edge has a condition, for example @{{steps.ID.result.count}} > 0")]
    MissingCondition,
    /// A condition that cannot be parsed.
    #[error(transparent)]
    BadCondition(#[from] InvalidCondition),
    /// A reference that cannot be parsed.
    #[error(transparent)]
    BadReference(#[from] ReferenceError),
    /// A reference to a group.
    #[error("`{reference}`: {:?} is a group and has no result; refer to one of its tasks", .id.as_str())]
    ReferenceToGroup {
        /// The reference.
        reference: String,
        /// The group.
        id: TaskId,
    },
    /// A task cannot be changed in its current status.
    #[error("the task {:?} is {status}; {hint}", .id.as_str())]
    Untouchable {
        /// The task.
        id: TaskId,
        /// The task's status.
        status: TaskStatus,
        /// Suggestion of another change.
        hint: &'static str,
    },
    /// A merge of fewer than two tasks.
    #[error("merging takes at least two tasks")]
    NothingToMerge,
    /// A task would wait for one that can no longer be completed.
    #[error("the dependency {:?} is {status} and will not be completed; depend on what takes its place, or leave it out", .id.as_str())]
    DeadDependency {
        /// The dependency.
        id: TaskId,
        /// The dependency's status.
        status: TaskStatus,
    },
    /// A task needs the result of a task that the patch takes out.
    #[error("the task {:?} needs the result of {:?}, which this patch takes away; change its parameters or remove it too", .id.as_str(), .of.as_str())]
    LostResult {
        /// The task that needs it.
        id: TaskId,
        /// The task that is taken out.
        of: TaskId,
    },
    /// A task depends on a condition over a task that the patch takes out.
    #[error("the task {:?} hangs on a condition over {:?}, which this patch takes away; remove that edge or the task too", .id.as_str(), .of.as_str())]
    LostCondition {
        /// The dependent task.
        id: TaskId,
        /// The task that is taken out.
        of: TaskId,
    },
    /// A task is released that its dependencies still block.
    #[error("the task {:?} would be blocked again: {why}", .id.as_str())]
    StillBlocked {
        /// The task.
        id: TaskId,
        /// The blocking dependencies.
        why: String,
    },
    /// An amended criterion that does not exist.
    #[error("there is no criterion {number}; there are {last}")]
    UnknownCriterion {
        /// The number, from 1.
        number: u32,
        /// The number of the last one.
        last: usize,
    },
    /// A criterion that changes only with a person's consent.
    #[error("the criterion {criterion:?} belongs to {}; it changes only with a person's consent", of_owner(*.owner))]
    OwnedCriterion {
        /// The owner.
        owner: Owner,
        /// The criterion.
        criterion: String,
    },
    /// A criterion amended without evidence.
    #[error("a criterion is amended only with evidence that shows that it is wrong")]
    MissingEvidence,
    /// An edge that does not exist.
    #[error("there is no edge from {:?} to {:?}", .from.as_str(), .to.as_str())]
    UnknownEdge {
        /// Its source.
        from: TaskId,
        /// Its target.
        to: TaskId,
    },
}

const fn of_owner(owner: Owner) -> &'static str {
    match owner {
        Owner::Person => "a person",
        Owner::Project => "the project",
        Owner::Lead => "the lead",
        Owner::Actor => "the actor",
    }
}

fn suggestion(nearest: Option<&TaskId>) -> String {
    nearest.map(|id| format!("; did you mean {:?}?", id.as_str())).unwrap_or_default()
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
    known
        .map(|id| (strsim::normalized_damerau_levenshtein(wanted.as_str(), id.as_str()), id))
        .filter(|(likeness, _)| *likeness >= 0.6)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, id)| id.clone())
}
