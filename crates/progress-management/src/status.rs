//! The status machine of a task, and the words for statuses.

use aime_messages::{Describe, Message, message};
use std::fmt;

use crate::{PlanMode, RunStatus, TaskStatus};

/// An illegal change of a task's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a task cannot go from {from} to {to}: from {from} it can become {}", options(*.from))]
pub struct IllegalTransition {
    /// Current status.
    pub from: TaskStatus,
    /// Requested status.
    pub to: TaskStatus,
}

fn options(from: TaskStatus) -> String {
    let words: Vec<&str> = TaskStatus::ALL.into_iter().filter(|to| from.can_become(*to)).map(TaskStatus::word).collect();
    if words.is_empty() { "nothing else".to_owned() } else { words.join(", ") }
}

impl TaskStatus {
    /// All statuses, in the order in which a task reaches them.
    pub const ALL: [Self; 8] =
        [Self::Pending, Self::Ready, Self::Running, Self::Blocked, Self::Completed, Self::Failed, Self::Skipped, Self::RolledBack];

    /// Returns true if a task may change from this status to `to`. The whole table of the status machine:
    ///
    /// | from | to |
    /// |---|---|
    /// | pending | ready, blocked, skipped |
    /// | ready | running, pending, blocked, skipped |
    /// | running | completed, failed, blocked, skipped, pending |
    /// | blocked | pending, failed, skipped |
    /// | failed | pending, rolled_back, skipped |
    /// | completed, skipped, rolled_back | none |
    #[must_use]
    pub const fn can_become(self, to: Self) -> bool {
        match self {
            Self::Pending => matches!(to, Self::Ready | Self::Blocked | Self::Skipped),
            Self::Ready => matches!(to, Self::Running | Self::Pending | Self::Blocked | Self::Skipped),
            Self::Running => matches!(to, Self::Completed | Self::Failed | Self::Blocked | Self::Skipped | Self::Pending),
            Self::Blocked => matches!(to, Self::Pending | Self::Failed | Self::Skipped),
            Self::Failed => matches!(to, Self::Pending | Self::RolledBack | Self::Skipped),
            Self::Completed | Self::Skipped | Self::RolledBack => false,
        }
    }

    /// Checks that a task may change from this status to `to`.
    ///
    /// # Errors
    ///
    /// [`IllegalTransition`] if the table has no such row.
    pub const fn become_checked(self, to: Self) -> Result<(), IllegalTransition> {
        if self.can_become(to) { Ok(()) } else { Err(IllegalTransition { from: self, to }) }
    }

    /// Returns true for a status that never changes: completed, skipped, rolled back.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped | Self::RolledBack)
    }

    /// Returns true for unfinished work: pending, ready, running, blocked. A failed task is neither open nor settled,
    /// because it may be retried or replaced.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Ready | Self::Running | Self::Blocked)
    }

    /// Returns the mark of the status in the checklist of a plan.
    #[must_use]
    pub const fn mark(self) -> char {
        match self {
            Self::Pending | Self::Ready => ' ',
            Self::Running => '>',
            Self::Completed => 'x',
            Self::Failed => '!',
            Self::Blocked => '~',
            Self::Skipped => '-',
            Self::RolledBack => '<',
        }
    }

    /// Returns the status as one snake_case word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Blocked => "blocked",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::RolledBack => "rolled_back",
        }
    }
}

impl Describe for TaskStatus {
    fn describe(&self) -> Message {
        match self {
            Self::Pending => message!("status-pending"),
            Self::Ready => message!("status-ready"),
            Self::Running => message!("status-running"),
            Self::Blocked => message!("status-blocked"),
            Self::Completed => message!("status-completed"),
            Self::Failed => message!("status-failed"),
            Self::Skipped => message!("status-skipped"),
            Self::RolledBack => message!("status-rolled-back"),
        }
    }
}

impl RunStatus {
    /// Returns true if the run has ended: completed, failed or cancelled.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Returns the status as one snake_case word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Executing => "executing",
            Self::Replanning => "replanning",
            Self::WaitingForHuman => "waiting_for_human",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

impl PlanMode {
    /// Returns the mode as one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Simple => "simple",
            Self::Complex => "complex",
            Self::Emergent => "emergent",
        }
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl fmt::Display for PlanMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

#[cfg(test)]
mod tests;
