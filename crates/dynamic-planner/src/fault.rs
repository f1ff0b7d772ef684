//! Faults of a plan or patch: place, problem and hint.

use std::fmt;

use aime_progress_management::{Fault, Problem};
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
    pub hint: Option<String>,
}

/// Kind of fault in a proposed plan or patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanProblem {
    /// A violated rule between tasks: a cycle, an unknown dependency, a task that must not be changed.
    #[error(transparent)]
    Rule(#[from] Problem),
    /// The tool does not exist.
    #[error("there is no tool {name:?}")]
    UnknownTool {
        /// Its name.
        name: String,
    },
    /// A tool task names a tool that only actors can call.
    #[error("{name:?} can only be called by an actor in the middle of its work")]
    ToolOfActors {
        /// Its name.
        name: String,
    },
    /// The parameters of a tool do not fit its schema.
    #[error("{detail}")]
    Parameters {
        /// The tool.
        tool: String,
        /// The reason.
        detail: String,
    },
    /// The profile does not exist.
    #[error("there is no profile {name:?}")]
    UnknownProfile {
        /// Its name.
        name: String,
    },
    /// The model does not exist.
    #[error("there is no model {name:?}")]
    UnknownModel {
        /// Its name.
        name: String,
    },
    /// The tool bundle does not exist.
    #[error("there is no tool bundle {name:?}")]
    UnknownBundle {
        /// Its name.
        name: String,
    },
    /// The task names a profile, and a bundle of which the profile's actors never get a tool.
    #[error("actors of the profile {profile:?} never get a tool of {bundle:?}")]
    Incapable {
        /// The profile.
        profile: String,
        /// The bundle, or the tool.
        bundle: String,
    },
    /// The plan is larger than the mode allows.
    #[error("{0}")]
    TooLarge(String),
    /// A document of a person is not valid JSON.
    #[error("line {line}, column {column}: {reason}")]
    Syntax {
        /// Line of the error, from 1.
        line: usize,
        /// Column of the error, from 1.
        column: usize,
        /// The error in the parser's words.
        reason: String,
    },
    /// Any other fault: the document cannot be parsed, or a custom rule is violated.
    #[error("{0}")]
    Other(String),
}

impl From<String> for PlanProblem {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

impl From<&str> for PlanProblem {
    fn from(text: &str) -> Self {
        Self::Other(text.to_owned())
    }
}

impl PlanFault {
    /// Creates a fault without a hint.
    pub fn new(place: impl Into<String>, problem: impl Into<PlanProblem>) -> Self {
        Self { place: place.into(), task: None, problem: problem.into(), hint: None }
    }

    /// Adds a hint to the fault.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
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

impl fmt::Display for PlanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)?;
        if let Some(task) = &self.task {
            write!(f, " (task {task:?})")?;
        }
        write!(f, ": {}", self.problem)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// Returns the most similar name in `known`, if one is close to `name`.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&name, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// Returns a hint that names the most similar name in `known`, or all of them if none is close.
pub(crate) fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => {
            let all: Vec<&str> = known.into_iter().collect();
            if all.is_empty() { "there are none".to_owned() } else { format!("there are: {}", all.join(", ")) }
        }
    }
}
