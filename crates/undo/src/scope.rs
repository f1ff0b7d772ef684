//! Scope of an undo.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Author;

/// Scope of an undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Scope {
    /// All changes of the run.
    Run {},
    /// Changes of these tasks.
    Tasks {
        /// Ids of the tasks.
        tasks: BTreeSet<String>,
    },
    /// Changes of an earlier undo.
    Undo {
        /// Number of the undo.
        number: u64,
    },
    /// The last changes that one author made alone and that must not persist, such as those of a check.
    Effects {
        /// The author.
        author: Author,
    },
}

impl Scope {
    /// Returns the scope of one task.
    #[must_use]
    pub fn task(id: &str) -> Self {
        Self::Tasks { tasks: BTreeSet::from([id.to_owned()]) }
    }

    /// Returns true if the scope includes changes of this author.
    pub(crate) fn contains(&self, author: &Author) -> bool {
        match self {
            Self::Run {} => true,
            Self::Tasks { tasks } => author.task.as_ref().is_some_and(|task| tasks.contains(task)),
            Self::Undo { .. } => false,
            Self::Effects { author: of } => author == of,
        }
    }
}
