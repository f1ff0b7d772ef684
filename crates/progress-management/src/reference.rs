//! References between steps: `@{steps.ID.result.path[0].x}` and `@{steps.ID.status}` in tool parameters.
//!
//! `@@{` stands for a literal `@{`. Text such as `@{foo}` that does not begin with `steps.` is no reference and stays
//! unchanged. Inserted text is never expanded again, so a result cannot inject a reference.

use std::fmt;

use aime_messages::{Describe, Message, message};
use serde_json::{Map, Value};

use crate::{ProgressState, TaskId, TaskStatus};

mod expand;
mod scan;

pub use expand::{expand, expand_text};
pub(crate) use scan::{Piece, parse_path, rename, rename_in, scan};

/// One step into a JSON value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathSegment {
    /// `.name` or `["name"]`: a member of an object.
    Key(String),
    /// `[0]`: an element of an array.
    Index(usize),
}

/// Part of a step that a reference points to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ReferencePart {
    /// The result, or the value at a path in it.
    Result(Vec<PathSegment>),
    /// The status, as a word.
    Status,
}

/// A reference to a step.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The step.
    pub task: TaskId,
    /// The part of the step.
    pub part: ReferencePart,
}

/// Reason why a reference cannot be parsed or resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// The text begins like a reference and is none.
    #[error("{}", self.describe())]
    Malformed {
        /// The malformed text.
        text: String,
    },
    /// There is no such step.
    #[error("{}", self.describe())]
    UnknownStep {
        /// The reference.
        reference: String,
        /// The step it names.
        task: TaskId,
    },
    /// The step has no result.
    #[error("{}", self.describe())]
    NoResult {
        /// The reference.
        reference: String,
        /// The step.
        task: TaskId,
        /// The step's status.
        status: TaskStatus,
    },
    /// The path does not exist in the result.
    #[error("{}", self.describe())]
    MissingPath {
        /// The reference.
        reference: String,
        /// The path up to the part that is missing.
        path: String,
        /// The value that was found instead: the keys of the object, the length of the array, the type.
        found: String,
    },
}

impl Describe for ReferenceError {
    fn describe(&self) -> Message {
        match self {
            Self::Malformed { text } => message!("rule-reference", text),
            Self::UnknownStep { reference, task } => message!("rule-no-step", reference, step = format!("{:?}", task.as_str())),
            Self::NoResult { reference, task, status } => {
                message!("rule-no-result", reference, step = format!("{:?}", task.as_str()), status)
            }
            Self::MissingPath { reference, path, found } => message!("rule-no-path", reference, path, found),
        }
    }
}

impl fmt::Display for PathSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Key(key) if !key.is_empty() && key.chars().all(scan::is_plain_key) => write!(f, ".{key}"),
            Self::Key(key) => write!(f, "[{key:?}]"),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{{steps.{}.", self.task)?;
        match &self.part {
            ReferencePart::Status => f.write_str("status")?,
            ReferencePart::Result(path) => {
                f.write_str("result")?;
                path.iter().try_for_each(|segment| write!(f, "{segment}"))?;
            }
        }
        f.write_str("}")
    }
}

impl Reference {
    /// Resolves the reference to JSON: a status to a string, a result to its structured value, or to its text if it has
    /// none. A path is resolved in the structured value, or in the text parsed as JSON.
    ///
    /// # Errors
    ///
    /// [`ReferenceError`] if the step is unknown, has no result, or has nothing at the path.
    pub fn value(&self, state: &ProgressState) -> Result<Value, ReferenceError> {
        let task = state
            .tasks
            .get(&self.task)
            .ok_or_else(|| ReferenceError::UnknownStep { reference: self.to_string(), task: self.task.clone() })?;
        let ReferencePart::Result(path) = &self.part else { return Ok(Value::from(task.status.word())) };
        let conclusion = task.conclusion.as_ref().ok_or_else(|| ReferenceError::NoResult {
            reference: self.to_string(),
            task: self.task.clone(),
            status: task.status,
        })?;
        let text = || Value::from(conclusion.text());
        if path.is_empty() {
            return Ok(if conclusion.result.is_null() { text() } else { conclusion.result.clone() });
        }
        let parsed;
        let root = if conclusion.result.is_null() {
            parsed = serde_json::from_str(conclusion.text().trim()).unwrap_or_else(|_| text());
            &parsed
        } else {
            &conclusion.result
        };
        self.follow(root, path)
    }

    /// Resolves the reference to text: the step's whole text, or the value at the path, a string unchanged and any
    /// other value as JSON.
    ///
    /// # Errors
    ///
    /// The errors of [`Reference::value`].
    pub fn text(&self, state: &ProgressState) -> Result<String, ReferenceError> {
        if let ReferencePart::Result(path) = &self.part
            && path.is_empty()
            && let Some(conclusion) = state.tasks.get(&self.task).and_then(|task| task.conclusion.as_ref())
        {
            return Ok(conclusion.text().to_owned());
        }
        self.value(state).map(|value| plain_text(&value))
    }

    fn follow(&self, root: &Value, path: &[PathSegment]) -> Result<Value, ReferenceError> {
        let mut here = root;
        let mut walked = String::new();
        for segment in path {
            walked.push_str(&segment.to_string());
            let next = match segment {
                PathSegment::Key(key) => here.get(key).or_else(|| here.as_array()?.get(key.parse::<usize>().ok()?)),
                PathSegment::Index(index) => here.get(index),
            };
            here = next.ok_or_else(|| ReferenceError::MissingPath {
                reference: self.to_string(),
                path: walked.trim_start_matches('.').to_owned(),
                found: describe(here),
            })?;
        }
        Ok(here.clone())
    }
}

/// Formats a JSON value as text: a string without quotes, anything else as JSON.
pub(crate) fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn describe(value: &Value) -> String {
    const SHOWN: usize = 20;
    match value {
        Value::Object(members) if members.is_empty() => "there is an empty object".to_owned(),
        Value::Object(members) => {
            let keys: Vec<&str> = members.keys().take(SHOWN).map(String::as_str).collect();
            let more = if members.len() > SHOWN { format!(" and {} more", members.len() - SHOWN) } else { String::new() };
            format!("the keys are: {}{more}", keys.join(", "))
        }
        Value::Array(items) => format!("there is a list of {}", items.len()),
        Value::String(_) => "there is text".to_owned(),
        Value::Number(_) => "there is a number".to_owned(),
        Value::Bool(_) => "there is true or false".to_owned(),
        Value::Null => "there is null".to_owned(),
    }
}

/// Returns every well-formed reference in the parameters, in order, each once. Leaves out malformed ones, which a check
/// of the plan reports.
#[must_use]
pub fn references_in(parameters: &Map<String, Value>) -> Vec<Reference> {
    let mut found = Vec::new();
    parameters.values().for_each(|value| collect(value, &mut found));
    found
}

/// Returns every well-formed reference in a text, in order, each once.
#[must_use]
pub(crate) fn references_in_text(text: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    collect_text(text, &mut found);
    found
}

fn collect(value: &Value, found: &mut Vec<Reference>) {
    match value {
        Value::String(text) => collect_text(text, found),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => members.values().for_each(|member| collect(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn collect_text(text: &str, found: &mut Vec<Reference>) {
    for piece in scan(text) {
        if let Piece::Reference(reference) = piece
            && !found.contains(&reference)
        {
            found.push(reference);
        }
    }
}

#[cfg(test)]
mod tests;
