//! Faults of a plan or patch: place, problem and hint.

use std::fmt;

use aime_messages::{Describe, Message, message, nearest};
use aime_progress_management::{Fault, Problem, TaskId};
use serde::{Serialize, Serializer, ser::SerializeStruct as _};

/// A fault in a plan or patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFault {
    /// Place: `tasks[2].tool`, `changes[0]`, or `plan` for the whole.
    pub place: String,
    /// Id of the affected task, if the fault concerns one.
    pub task: Option<String>,
    /// The problem.
    pub problem: PlanProblem,
    /// Hint on how to fix it, if known.
    pub hint: Option<Message>,
}

/// Kind of fault in a proposed plan or patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanProblem {
    /// A violated rule between tasks: a cycle, an unknown dependency, a task that must not be changed.
    #[error("{}", self.describe())]
    Rule(#[from] Problem),
    /// The tool does not exist.
    #[error("{}", self.describe())]
    UnknownTool {
        /// Its name.
        name: String,
    },
    /// A tool task names a tool that only actors can call.
    #[error("{}", self.describe())]
    ToolOfActors {
        /// Its name.
        name: String,
    },
    /// The parameters of a tool do not fit its schema.
    #[error("{}", self.describe())]
    Parameters {
        /// The tool.
        tool: String,
        /// The reason.
        detail: Message,
    },
    /// The profile does not exist.
    #[error("{}", self.describe())]
    UnknownProfile {
        /// Its name.
        name: String,
    },
    /// The model does not exist.
    #[error("{}", self.describe())]
    UnknownModel {
        /// Its name.
        name: String,
    },
    /// The tool bundle does not exist.
    #[error("{}", self.describe())]
    UnknownBundle {
        /// Its name.
        name: String,
    },
    /// The task names a profile, and a bundle of which the profile's actors never get a tool.
    #[error("{}", self.describe())]
    Incapable {
        /// The profile.
        profile: String,
        /// The bundle, or the tool.
        bundle: String,
    },
    /// A task's bundle gives a capability that actors of its profile never have, or that no profile has.
    #[error("{}", self.describe())]
    Lacks {
        /// The task.
        task: TaskId,
        /// The task's profile, if it names one.
        profile: Option<String>,
        /// The bundle.
        bundle: String,
        /// The capability.
        capability: &'static str,
    },
    /// The plan is larger than the mode allows.
    #[error("{}", self.describe())]
    TooLarge(Message),
    /// A document of a person is not valid JSON.
    #[error("{}", self.describe())]
    Syntax {
        /// Line of the error, from 1.
        line: usize,
        /// Column of the error, from 1.
        column: usize,
        /// Expected text, or another reason.
        reason: Message,
    },
    /// Any other fault: the document cannot be parsed, or a custom rule is violated.
    #[error("{}", self.describe())]
    Other(Message),
}

impl Describe for PlanProblem {
    fn describe(&self) -> Message {
        let quoted = |name: &str| format!("{name:?}");
        match self {
            Self::Rule(problem) => problem.describe(),
            Self::UnknownTool { name } => message!("plan-no-tool", tool = quoted(name)),
            Self::ToolOfActors { name } => message!("plan-of-actors", tool = quoted(name)),
            Self::UnknownProfile { name } => message!("plan-no-profile", profile = quoted(name)),
            Self::UnknownModel { name } => message!("plan-no-model", model = quoted(name)),
            Self::UnknownBundle { name } => message!("plan-no-bundle", bundle = quoted(name)),
            Self::Incapable { profile, bundle } => message!("plan-incapable", profile = quoted(profile), bundle = quoted(bundle)),
            Self::Lacks { task, profile: Some(profile), bundle, capability } => {
                message!("plan-lacks", task, profile = quoted(profile), bundle = quoted(bundle), capability = quoted(capability))
            }
            Self::Lacks { task, profile: None, bundle, capability } => {
                message!("plan-lacked-by-all", task, bundle = quoted(bundle), capability = quoted(capability))
            }
            Self::Syntax { line, column, reason } => {
                message!("plan-syntax", line = line.to_string(), column = column.to_string(), reason)
            }
            Self::Parameters { detail: message, .. } | Self::TooLarge(message) | Self::Other(message) => message.clone(),
        }
    }
}

impl From<Message> for PlanProblem {
    fn from(message: Message) -> Self {
        Self::Other(message)
    }
}

impl From<String> for PlanProblem {
    fn from(text: String) -> Self {
        Self::Other(text.into())
    }
}

impl From<&str> for PlanProblem {
    fn from(text: &str) -> Self {
        Self::Other(text.into())
    }
}

impl PlanFault {
    /// Creates a fault without a hint.
    pub fn new(place: impl Into<String>, problem: impl Into<PlanProblem>) -> Self {
        Self { place: place.into(), task: None, problem: problem.into(), hint: None }
    }

    /// Adds a hint to the fault.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Message>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Fault> for PlanFault {
    fn from(fault: Fault) -> Self {
        Self::new(fault.place, fault.problem)
    }
}

/// Serializes as an object of `place`, `task`, `message` and `hint`.
impl Serialize for PlanFault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = 2 + usize::from(self.task.is_some()) + usize::from(self.hint.is_some());
        let mut object = serializer.serialize_struct("PlanFault", members)?;
        object.serialize_field("place", &self.place)?;
        if let Some(task) = &self.task {
            object.serialize_field("task", task)?;
        }
        object.serialize_field("message", &self.problem.to_string())?;
        if let Some(hint) = &self.hint {
            object.serialize_field("hint", hint)?;
        }
        object.end()
    }
}

impl Describe for PlanFault {
    fn describe(&self) -> Message {
        let (place, fault) = (&self.place, self.problem.describe());
        match (&self.task, &self.hint) {
            (None, None) => message!("plan-fault", place, fault),
            (None, Some(hint)) => message!("plan-fault-hint", place, fault, hint),
            (Some(task), None) => message!("plan-fault-task", place, task = format!("{task:?}"), fault),
            (Some(task), Some(hint)) => message!("plan-fault-task-hint", place, task = format!("{task:?}"), fault, hint),
        }
    }
}

impl From<PlanFault> for Message {
    fn from(fault: PlanFault) -> Self {
        fault.describe()
    }
}

impl fmt::Display for PlanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe().fmt(f)
    }
}

/// Returns a hint that names the most similar name in `known`, or all of them if none is close.
pub(crate) fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Message {
    match nearest(name, known.clone()) {
        Some(near) => message!("plan-near", name = format!("{near:?}")),
        None => {
            let all: Vec<&str> = known.into_iter().collect();
            if all.is_empty() { message!("plan-there-are-none") } else { message!("plan-there-are", names = all.join(", ")) }
        }
    }
}
