//! Failure of a command: message, causes, hint, exit code.

use std::{error::Error, fmt::Display};

use aime_messages::Message;
use aime_runs::{ErrorKind, RunsError};

/// Exit codes; see `docs/src/reference/exit-codes.md`.
pub(crate) mod code {
    /// The goal was not reached.
    pub(crate) const NOT_REACHED: u8 = 1;
    /// Wrong use: arguments, configuration, an invalid plan.
    pub(crate) const USAGE: u8 = 2;
    /// The model could not be used.
    pub(crate) const MODEL: u8 = 3;
    /// A fault in aime itself.
    pub(crate) const INTERNAL: u8 = 6;
    /// The command was interrupted and can be resumed.
    pub(crate) const INTERRUPTED: u8 = 130;
}

/// A command that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Exit code.
    pub(crate) code: u8,
    /// Description of the failure.
    pub(crate) message: Message,
    /// Hint on how to correct it.
    pub(crate) hint: Option<Message>,
}

impl Failure {
    pub(crate) fn new(code: u8, message: impl Into<Message>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    pub(crate) fn usage(message: impl Into<Message>) -> Self {
        Self::new(code::USAGE, message)
    }

    pub(crate) fn internal(error: impl Display) -> Self {
        Self::new(code::INTERNAL, Message::text(error))
    }

    /// Creates a failure from an error with all its causes.
    pub(crate) fn caused(code: u8, error: &dyn Error) -> Self {
        Self::new(code, aime_runs::with_causes(Message::text(error), error.source()))
    }

    pub(crate) fn hint(mut self, hint: impl Into<Message>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<RunsError> for Failure {
    fn from(error: RunsError) -> Self {
        let code = match error.kind {
            ErrorKind::Usage | ErrorKind::NotFound => code::USAGE,
            ErrorKind::Run(code) => code.exit_code(),
        };
        Self { code, message: error.with_causes(), hint: error.hint.as_ref().map(crate::hints::hint) }
    }
}

#[cfg(test)]
mod tests {
    use aime_orchestrator::FailureCode;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the top")]
    struct Top(#[source] std::io::Error);

    #[test]
    fn each_cause_is_printed_once() {
        let failure = Failure::caused(code::USAGE, &Top(std::io::Error::other("the ground")));
        assert_eq!(failure.message.to_string(), "the top\n  caused by: the ground");
        let failure = Failure::caused(code::USAGE, &Top(std::io::Error::other("top")));
        assert_eq!(failure.message.to_string(), "the top", "a cause that the message repeats is left out");
    }

    // Requirement: 20.1
    #[test]
    fn exit_codes_are_those_of_the_book() {
        let book = include_str!("../../../docs/src/reference/exit-codes.md");
        let codes = [
            (code::NOT_REACHED, FailureCode::GoalNotReached.exit_code()),
            (code::MODEL, FailureCode::ModelUnavailable.exit_code()),
            (code::INTERNAL, FailureCode::Internal.exit_code()),
            (code::USAGE, 2),
            (4, FailureCode::BoundReached.exit_code()),
            (5, FailureCode::WaitingForHuman.exit_code()),
            (130, FailureCode::Interrupted.exit_code()),
        ];
        for (here, of_runs) in codes {
            assert_eq!(here, of_runs);
            assert!(book.lines().any(|line| line.starts_with(&format!("| {here} |"))), "{here}");
        }
    }
}
