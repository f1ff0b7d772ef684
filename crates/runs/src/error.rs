//! Errors of operations: kind, message, hint and cause.

use std::{error::Error, fmt, sync::Arc};

use aime_durable::JournalError;
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
    pub message: String,
    /// Next step for the user.
    pub hint: Option<String>,
    /// Underlying library error, whose text the message repeats.
    original: Option<Arc<dyn Error + Send + Sync>>,
}

impl RunsError {
    /// Creates an error of this kind.
    pub fn new(kind: ErrorKind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string(), hint: None, original: None }
    }

    /// Creates an error that the caller can correct.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// Creates an error for an unusable model.
    pub fn model(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::MODEL, message)
    }

    /// Creates an error for a fault in aime itself.
    pub fn internal(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Run(FailureCode::Internal), message)
    }

    /// Wraps a library error with all its causes.
    pub fn caused(kind: ErrorKind, error: impl Error + Send + Sync + 'static) -> Self {
        let message = error.to_string();
        Self { original: Some(Arc::new(error)), ..Self::new(kind, message) }
    }

    /// Adds a hint on what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// Returns the message and, below it, each cause that it does not repeat.
    pub fn with_causes(&self) -> String {
        let mut message = self.message.clone();
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !message.contains(&text) {
                message = format!("{message}\n  caused by: {text}");
            }
            cause = error.source();
        }
        message
    }
}

impl fmt::Display for RunsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for RunsError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.original.as_deref().and_then(Error::source)
    }
}

impl From<ConfigFault> for RunsError {
    fn from(fault: ConfigFault) -> Self {
        Self { hint: fault.hint.clone(), ..Self::usage(fault) }
    }
}

impl From<RunFailure> for RunsError {
    fn from(failure: RunFailure) -> Self {
        Self { hint: failure.hint, ..Self::new(ErrorKind::Run(failure.code), failure.message) }
    }
}

impl From<OrchestratorError> for RunsError {
    fn from(error: OrchestratorError) -> Self {
        let (kind, hint) = match &error {
            OrchestratorError::NoSuchRun { .. } => (ErrorKind::NotFound, Some("`aime runs` lists the runs of this folder".to_owned())),
            OrchestratorError::NoSuchVersion { run, .. } => {
                (ErrorKind::Usage, Some(format!("`aime runs show {run}` shows each version and its reason")))
            }
            OrchestratorError::NoPlan { run } => (ErrorKind::Usage, Some(format!("`aime runs show {run}` shows how far it came"))),
            OrchestratorError::NoFollowUp { run, .. } => {
                (ErrorKind::Usage, Some(format!("`aime resume {run}` goes on with a stopped run; otherwise start a new run")))
            }
            OrchestratorError::SecretName => (ErrorKind::Usage, Some("choose another --run-id".to_owned())),
            OrchestratorError::Lock(_) => (ErrorKind::Usage, Some("wait for it, or stop it with Ctrl-C there".to_owned())),
            OrchestratorError::Journal(JournalError::RunExists { .. }) => {
                (ErrorKind::Usage, Some("choose another --run-id, or `aime resume` it".to_owned()))
            }
            OrchestratorError::Journal(JournalError::Beginning { run, .. }) => {
                (ErrorKind::Usage, Some(format!("`aime runs check {run}` lists all damage, and `aime runs delete {run}` deletes the run")))
            }
            OrchestratorError::Journal(JournalError::Encode { .. } | JournalError::Closed { .. })
            | OrchestratorError::Unreplayable { .. } => (ErrorKind::Run(FailureCode::Internal), None),
            OrchestratorError::Journal(JournalError::NotAJournal { .. }) => {
                (ErrorKind::Usage, Some("move the file away: the next run begins a new journal".to_owned()))
            }
            OrchestratorError::Journal(JournalError::Damaged { path, .. }) => (
                ErrorKind::Usage,
                Some(format!(
                    "`sqlite3 {} .recover` prints what is left; without the file the next run begins a new journal",
                    path.display()
                )),
            ),
            // Causes such as a full disk, missing rights or another version are not faults of aime, and the existing records are safe.
            OrchestratorError::Journal(_) => {
                (ErrorKind::Usage, Some("what was recorded before is safe: fix it, then `aime resume` the run".to_owned()))
            }
        };
        Self { hint, ..Self::caused(kind, error) }
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
        assert_eq!(error.with_causes(), "the top\n  caused by: the ground");
        let error = RunsError::caused(ErrorKind::Usage, Top(std::io::Error::other("top")));
        assert_eq!(error.with_causes(), "the top", "a cause that the message repeats is left out");
    }
}
