//! Errors of operations: kind, message, hint and cause.

use std::{error::Error, fmt, sync::Arc};

use aime_durable::JournalError;
use aime_messages::{Message, message};
use aime_orchestrator::{FailureCode, OrchestratorError, RunFailure};

use crate::config::ConfigFault;

/// Class of a failure, from which a caller derives an exit code, an HTTP status or a tool error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request or the configuration is wrong; the caller can correct it.
    Usage,
    /// The run does not exist.
    NotFound,
    /// The run ended, or could not begin, for a reason that a run result can name.
    Run(FailureCode),
}

impl ErrorKind {
    /// The model is unusable.
    pub(crate) const MODEL: Self = Self::Run(FailureCode::ModelUnavailable);
}

/// Failed operation. `Display` gives the message alone; [`RunsError::with_causes`] adds the causes.
#[derive(Debug, Clone)]
pub struct RunsError {
    /// Class of the failure.
    pub kind: ErrorKind,
    /// Description of the failure.
    pub message: Message,
    /// Next step for the user.
    pub hint: Option<Message>,
    /// Underlying library error, whose text the message repeats.
    original: Option<Arc<dyn Error + Send + Sync>>,
}

impl RunsError {
    /// Creates an error of this kind.
    pub fn new(kind: ErrorKind, message: impl Into<Message>) -> Self {
        Self { kind, message: message.into(), hint: None, original: None }
    }

    /// Creates an error that the caller can correct.
    pub fn usage(message: impl Into<Message>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// Creates an error for an unusable model.
    pub fn model(message: impl Into<Message>) -> Self {
        Self::new(ErrorKind::MODEL, message)
    }

    /// Creates an error for a fault in aime itself.
    pub fn internal(error: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Run(FailureCode::Internal), Message::text(error))
    }

    /// Wraps a library error with all its causes.
    pub fn caused(kind: ErrorKind, error: impl Error + Send + Sync + 'static) -> Self {
        let message = Message::text(&error);
        Self { original: Some(Arc::new(error)), ..Self::new(kind, message) }
    }

    /// Adds a hint on what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Message>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the message and, below it, each cause that it does not repeat.
    pub fn with_causes(&self) -> Message {
        with_causes(self.message.clone(), self.source())
    }
}

/// Returns a message and, below it, each cause that it does not repeat.
#[must_use]
pub fn with_causes(message: Message, mut cause: Option<&(dyn Error + 'static)>) -> Message {
    let (mut all, mut message) = (message.to_string(), message);
    while let Some(error) = cause {
        let text = error.to_string();
        if !all.contains(&text) {
            all = format!("{all}\n{text}");
            message = message!("with-cause", message, cause = Message::text(text));
        }
        cause = error.source();
    }
    message
}

impl fmt::Display for RunsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

impl Error for RunsError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.original.as_deref().and_then(Error::source)
    }
}

impl From<ConfigFault> for RunsError {
    fn from(fault: ConfigFault) -> Self {
        Self { hint: fault.hint.clone(), ..Self::usage(&fault) }
    }
}

impl From<RunFailure> for RunsError {
    fn from(failure: RunFailure) -> Self {
        Self { hint: failure.hint.map(Message::from), ..Self::new(ErrorKind::Run(failure.code), failure.message) }
    }
}

impl From<OrchestratorError> for RunsError {
    fn from(error: OrchestratorError) -> Self {
        let (kind, hint) = match &error {
            OrchestratorError::NoSuchRun { .. } => (ErrorKind::NotFound, Some(message!("no-run-hint"))),
            OrchestratorError::NoSuchVersion { run, .. } => (ErrorKind::Usage, Some(message!("versions", run = run))),
            OrchestratorError::NoPlan { run } => (ErrorKind::Usage, Some(message!("no-plan-hint", run = run))),
            OrchestratorError::NoFollowUp { run, .. } => (ErrorKind::Usage, Some(message!("no-follow-up-hint", run = run))),
            OrchestratorError::CannotCommit { .. } => (ErrorKind::Usage, Some(message!("cannot-commit-hint"))),
            OrchestratorError::SecretName => (ErrorKind::Usage, Some(message!("other-id"))),
            OrchestratorError::Lock(_) => (ErrorKind::Usage, Some(message!("locked-hint"))),
            OrchestratorError::Journal(JournalError::RunExists { .. }) => (ErrorKind::Usage, Some(message!("other-id-or-resume"))),
            OrchestratorError::Journal(JournalError::Beginning { run, .. }) => {
                (ErrorKind::Usage, Some(message!("no-beginning-hint", run = run, run_again = run)))
            }
            OrchestratorError::Journal(JournalError::Encode { .. } | JournalError::Closed { .. })
            | OrchestratorError::Unreplayable { .. } => (ErrorKind::Run(FailureCode::Internal), None),
            OrchestratorError::Journal(JournalError::NotAJournal { .. }) => (ErrorKind::Usage, Some(message!("not-a-journal-hint"))),
            OrchestratorError::Journal(JournalError::Damaged { path, .. }) => {
                (ErrorKind::Usage, Some(message!("damaged-journal-hint", file = path.display())))
            }
            // Causes such as a full disk, missing rights or another version are not faults of aime, and the existing records are safe.
            OrchestratorError::Journal(_) => (ErrorKind::Usage, Some(message!("recorded-hint"))),
        };
        let message = match &error {
            OrchestratorError::NoPlan { run } => Some(message!("no-plan", run = run)),
            _ => None,
        };
        let caused = Self::caused(kind, error);
        Self { hint, message: message.unwrap_or_else(|| caused.message.clone()), ..caused }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the top")]
    struct Top(#[source] std::io::Error);

    #[test]
    fn every_cause_is_said_once() {
        let error = RunsError::caused(ErrorKind::Usage, Top(std::io::Error::other("the ground")));
        assert_eq!(error.with_causes().to_string(), "the top\n  caused by: the ground");
        let error = RunsError::caused(ErrorKind::Usage, Top(std::io::Error::other("top")));
        assert_eq!(error.with_causes().to_string(), "the top", "a cause that the message repeats is left out");
    }
}
