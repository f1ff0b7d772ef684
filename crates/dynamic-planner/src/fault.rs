//! A fault of a plan or patch: where it is, what it is, and how it is mended.

use std::fmt;

use aime_progress::{Fault, Problem};
use serde::{Serialize, Serializer, ser::SerializeStruct as _};

/// Something in a plan or patch that cannot stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFault {
    /// Where it is: `tasks[2].tool`, `changes[0]`, or `plan` for the whole.
    pub place: String,
    /// The id of the task it lies on, where it lies on one.
    pub task: Option<String>,
    /// What is wrong.
    pub problem: PlanProblem,
    /// How it can be mended, where that is known.
    pub hint: Option<String>,
}

/// A fault in a proposed plan or patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanProblem {
    /// A rule between tasks is broken: a cycle, an unknown dependency, a task that may not be touched.
    #[error(transparent)]
    Rule(#[from] Problem),
    /// There is no such tool.
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
    /// There is no such profile.
    #[error("there is no profile {name:?}")]
    UnknownProfile {
        /// Its name.
        name: String,
    },
    /// There is no such model.
    #[error("there is no model {name:?}")]
    UnknownModel {
        /// Its name.
        name: String,
    },
    /// There is no such tool bundle.
    #[error("there is no tool bundle {name:?}")]
    UnknownBundle {
        /// Its name.
        name: String,
    },
    /// A task names a profile, and a bundle of which the profile's actors never get a tool.
    #[error("actors of the profile {profile:?} never get a tool of {bundle:?}")]
    Incapable {
        /// The profile.
        profile: String,
        /// The bundle, or the tool.
        bundle: String,
    },
    /// It is larger than the mode allows.
    #[error("{0}")]
    TooLarge(String),
    /// Anything else: the document cannot be read, or a rule of one's own is broken.
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
    /// A fault without a hint.
    pub fn new(place: impl Into<String>, problem: impl Into<PlanProblem>) -> Self {
        Self { place: place.into(), task: None, problem: problem.into(), hint: None }
    }

    /// The same fault with a hint.
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

/// As an object of `place`, `task`, `message` and `hint`.
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

/// The name of `known` that `name` is most like, if any is like it.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&name, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// A hint that names the nearest of `known`, or all of them where none is near.
pub(crate) fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => {
            let all: Vec<&str> = known.into_iter().collect();
            if all.is_empty() { "there are none".to_owned() } else { format!("there are: {}", all.join(", ")) }
        }
    }
}
