//! What is to be undone.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Author;

/// What is to be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Scope {
    /// All that the run changed.
    Run {},
    /// What these tasks changed.
    Tasks {
        /// Their ids.
        tasks: BTreeSet<String>,
    },
    /// What an undo put back.
    Undo {
        /// Its number.
        number: u64,
    },
}

impl Scope {
    /// One task.
    #[must_use]
    pub fn task(id: &str) -> Self {
        Self::Tasks { tasks: BTreeSet::from([id.to_owned()]) }
    }

    /// Whether it holds what this author does.
    pub(crate) fn holds(&self, author: &Author) -> bool {
        match self {
            Self::Run {} => true,
            Self::Tasks { tasks } => author.task.as_ref().is_some_and(|task| tasks.contains(task)),
            Self::Undo { .. } => false,
        }
    }
}
