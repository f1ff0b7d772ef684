//! Name of a state of a folder.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Name of a commit: 40 hexadecimal digits, or 64 in SHA-256 repositories. Other texts are rejected, so that no name is parsed as an
/// option.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Commit(String);

/// Error for a text that is not the name of a commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a commit")]
pub struct NoCommit(String);

impl Commit {
    /// Returns the digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Commit {
    type Error = NoCommit;

    fn try_from(text: String) -> Result<Self, NoCommit> {
        let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if digits && matches!(text.len(), 40 | 64) { Ok(Self(text)) } else { Err(NoCommit(text)) }
    }
}

impl FromStr for Commit {
    type Err = NoCommit;

    fn from_str(text: &str) -> Result<Self, NoCommit> {
        text.to_owned().try_into()
    }
}

impl From<Commit> for String {
    fn from(commit: Commit) -> Self {
        commit.0
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
