//! Errors of operations: kind, message, hint and cause.

use std::{error::Error, fmt, sync::Arc};

use aime_durable::{JournalError, LockError};
use aime_messages::{Describe, Message, message};
use aime_orchestrator::{FailureCode, OrchestratorError, RunFailure};
use aime_sandbox::ProcessError;

use crate::{Hint, config::ConfigFault};

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
    pub hint: Option<Hint>,
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
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
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
            let cause = error.downcast_ref().map_or_else(|| Message::text(text), ProcessError::describe);
            message = message!("with-cause", message, cause);
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
        let hint = failure.next.map(Hint::from).or(failure.hint.map(Hint::from));
        Self { hint, ..Self::new(ErrorKind::Run(failure.code), failure.message) }
    }
}

impl From<OrchestratorError> for RunsError {
    fn from(error: OrchestratorError) -> Self {
        let internal = ErrorKind::Run(FailureCode::Internal);
        let (kind, hint) = match &error {
            OrchestratorError::NoSuchRun { .. } => (ErrorKind::NotFound, Some(Hint::ListRuns)),
            OrchestratorError::NoSuchVersion { run, .. } | OrchestratorError::NoPlan { run } => {
                (ErrorKind::Usage, Some(Hint::ShowRun(run.clone())))
            }
            OrchestratorError::NoFollowUp { run, .. } => (ErrorKind::Usage, Some(Hint::ResumeOrStart(run.clone()))),
            OrchestratorError::CannotCommit { .. } => (ErrorKind::Usage, Some(Hint::MakeRepository)),
            OrchestratorError::CannotIsolate { has_begun: false, .. } => (ErrorKind::Usage, Some(message!("cannot-isolate-hint").into())),
            OrchestratorError::CannotIsolate { has_begun: true, .. } => {
                (ErrorKind::Usage, Some(message!("cannot-isolate-begun-hint").into()))
            }
            OrchestratorError::NoTemporaryFolder(_) => (ErrorKind::Usage, Some(message!("no-temporary-folder-hint").into())),
            OrchestratorError::SecretName => (ErrorKind::Usage, Some(Hint::OtherId)),
            OrchestratorError::Lock(_) => (ErrorKind::Usage, Some(Hint::AwaitOrPause)),
            OrchestratorError::Unreplayable { .. } => (internal, None),
            OrchestratorError::Journal(error) => match error {
                JournalError::RunExists { .. } => (ErrorKind::Usage, Some(Hint::OtherIdOrResume)),
                JournalError::Beginning { run, .. } => (ErrorKind::Usage, Some(Hint::CheckOrDelete(run.to_string()))),
                JournalError::Encode { .. } | JournalError::Closed { .. } => (internal, None),
                JournalError::NotAJournal { .. } => (ErrorKind::Usage, Some(message!("not-a-journal-hint").into())),
                JournalError::Damaged { path, .. } => {
                    (ErrorKind::Usage, Some(message!("damaged-journal-hint", file = path.display()).into()))
                }
                // Causes such as a full disk, missing rights or another version are not faults of aime, and the existing records are safe.
                _ => (ErrorKind::Usage, Some(Hint::FixThenResume)),
            },
        };
        Self { hint, message: described(&error), ..Self::caused(kind, error) }
    }
}

impl From<JournalError> for RunsError {
    fn from(error: JournalError) -> Self {
        OrchestratorError::from(error).into()
    }
}

/// Returns the message of an error.
fn described(error: &OrchestratorError) -> Message {
    match error {
        OrchestratorError::NoSuchRun { run } => message!("no-such-run", run),
        OrchestratorError::NoPlan { run } => message!("no-plan", run),
        OrchestratorError::NoSuchVersion { run, version, latest } => message!("no-version", run, version, latest),
        OrchestratorError::NoFollowUp { run, why } => message!("no-follow-up", run, reason = why),
        OrchestratorError::SecretName => message!("run-secret"),
        OrchestratorError::CannotCommit { why } => message!("cannot-commit", reason = why),
        OrchestratorError::CannotIsolate { why, .. } => message!("cannot-isolate", reason = why),
        OrchestratorError::NoTemporaryFolder(_) => message!("no-temporary-folder"),
        OrchestratorError::Unreplayable { run, reason } => message!("unreplayable", run, reason = Message::text(reason)),
        OrchestratorError::Lock(LockError::Locked { path, pid: Some(pid) }) => message!("lock-held", file = path.display(), process = pid),
        OrchestratorError::Lock(LockError::Locked { path, pid: None }) => message!("lock-held-unknown", file = path.display()),
        OrchestratorError::Lock(LockError::Io { path, .. }) => message!("lock-unusable", file = path.display()),
        OrchestratorError::Journal(error) => journal(error),
    }
}

fn journal(error: &JournalError) -> Message {
    match error {
        JournalError::Folder { path, .. } => message!("journal-folder", folder = path.display()),
        JournalError::Open { path, .. } => message!("journal-unopened", file = path.display()),
        JournalError::NotAJournal { path } => message!("not-a-journal", file = path.display()),
        JournalError::Newer { path, found, known } => message!("journal-newer", file = path.display(), found, known),
        JournalError::Damaged { path, .. } => message!("damaged-journal", file = path.display()),
        JournalError::Full { path } => message!("journal-full", file = path.display()),
        JournalError::ReadOnly { path } => message!("journal-read-only", file = path.display()),
        JournalError::Busy { path } => message!("journal-busy", file = path.display()),
        JournalError::Fenced { run, .. } => message!("journal-fenced", run),
        JournalError::NoRun { run } => message!("no-such-run", run),
        JournalError::RunExists { run } => message!("run-taken", run),
        JournalError::Beginning { run, detail, .. } => message!("no-beginning", run, reason = Message::text(detail)),
        JournalError::OtherVersion { run, found, known, .. } => message!("journal-other-version", run, found, known),
        JournalError::Unreadable { run, seq, .. } => message!("journal-unreadable", run, record = seq),
        JournalError::Diverged { run, detail, .. } => message!("journal-diverged", run, reason = Message::text(detail)),
        JournalError::Encode { run, .. } => message!("journal-encode", run),
        JournalError::Closed { path } => message!("journal-closed", file = path.display()),
        // `JournalError` may grow; its own text serves until its message is here.
        other => Message::text(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the top")]
    struct Top(#[source] std::io::Error);

    #[test]
    fn each_cause_is_printed_once() {
        let error = RunsError::caused(ErrorKind::Usage, Top(std::io::Error::other("the ground")));
        assert_eq!(error.with_causes().to_string(), "the top\n  caused by: the ground");
        let error = RunsError::caused(ErrorKind::Usage, Top(std::io::Error::other("top")));
        assert_eq!(error.with_causes().to_string(), "the top", "a cause that the message repeats is left out");
    }
}
