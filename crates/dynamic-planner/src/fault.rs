//! A fault of a plan or patch: where it is, what it is, and how it is mended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something in a plan or patch that cannot stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFault {
    /// Where it is: `tasks[2].tool`, `changes[0]`, or `plan` for the whole.
    pub place: String,
    /// The id of the task it lies on, where it lies on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What is wrong.
    pub message: String,
    /// How it can be mended, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl PlanFault {
    /// A fault without a hint.
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), task: None, message: message.into(), hint: None }
    }

    /// The same fault with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for PlanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)?;
        if let Some(task) = &self.task {
            write!(f, " (task {task:?})")?;
        }
        write!(f, ": {}", self.message)?;
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
