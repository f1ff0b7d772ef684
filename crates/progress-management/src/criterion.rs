//! Criteria: the conditions for a task or a goal to count as done, and the owner of each.

mod document;
mod expectation;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use expectation::{CommandResult, Expectation, InvalidExpectation, JsonPath, Pattern};

/// A condition for success, and its owner.
///
/// In documents it is a text, or an object: `{"command", "expect"?}`, `{"file", "exists" | "contains" | "matches" |
/// "unchanged"}` or `{"text"}`, each with `owner` unless the lead owns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Criterion {
    /// The check.
    pub check: Check,
    /// The owner.
    pub owner: Owner,
}

/// Kind of check of a criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// Compares the result of a command.
    Command(CommandCheck),
    /// Checks a fact about a file.
    File(FileCheck),
    /// A sentence, which a model or a person has to judge.
    Text(String),
}

/// Owner of a criterion: the one who decides on changes to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// A person, by a plan file or an edit in a review.
    Person,
    /// The project, by `[checks]` in `aime.toml`.
    Project,
    /// The planner: the lead, or the planner of a run without one.
    #[default]
    Lead,
    /// The actor that did the work.
    Actor,
}

/// A command that checks a condition, with the expected result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandCheck {
    /// Command for a shell.
    pub command: String,
    /// Expected result: `exit 0`, which is the default, `output contains TEXT`, `output matches REGEX` or `json PATH equals VALUE`.
    #[serde(default, skip_serializing_if = "Expectation::is_default")]
    pub expect: Expectation,
}

/// A file and a fact about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCheck {
    /// Path relative to the working folder.
    pub path: String,
    /// The fact to check.
    pub fact: FileFact,
}

/// A checkable fact about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileFact {
    /// The path exists.
    Exists,
    /// The path does not exist.
    Absent,
    /// The file contains this text.
    Contains(String),
    /// The file matches a regular expression.
    Matches(Pattern),
    /// The file is unchanged since the start of the run.
    Unchanged,
}

impl Criterion {
    /// Returns a criterion of the lead in words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { check: Check::Text(text.into()), owner: Owner::Lead }
    }

    /// Returns a criterion of the lead with a command that must end with exit code 0.
    #[must_use]
    pub fn command(command: impl Into<String>) -> Self {
        Self { check: Check::Command(CommandCheck::new(command)), owner: Owner::Lead }
    }

    /// Returns the criterion with another owner.
    #[must_use]
    pub fn owned_by(self, owner: Owner) -> Self {
        Self { owner, ..self }
    }
}

impl CommandCheck {
    /// Returns a check with a command that must end with exit code 0.
    #[must_use]
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), expect: Expectation::default() }
    }
}

impl Owner {
    /// Returns true if a criterion of this owner changes only with a person's consent.
    #[must_use]
    pub const fn needs_consent(self) -> bool {
        matches!(self, Self::Person | Self::Project)
    }

    /// Returns true for the owner that a document implies if it names none.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the word for the owner in documents.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Project => "project",
            Self::Lead => "lead",
            Self::Actor => "actor",
        }
    }
}

impl From<&str> for Criterion {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.check.fmt(f)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(check) => check.fmt(f),
            Self::File(check) => check.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for CommandCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` gives {}", self.command, self.expect)
    }
}

impl fmt::Display for FileCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.fact {
            FileFact::Exists => write!(f, "{path} exists"),
            FileFact::Absent => write!(f, "{path} does not exist"),
            FileFact::Contains(text) => write!(f, "{path} contains {text:?}"),
            FileFact::Matches(pattern) => write!(f, "{path} matches /{pattern}/"),
            FileFact::Unchanged => write!(f, "{path} is unchanged"),
        }
    }
}

#[cfg(test)]
mod tests;
