//! Channels from a running call to the run: questions, progress, undo, model requests.

use std::{fmt, sync::Arc};

use aime_llm::{ChatRequest, ChatResponse, ModelError};
use futures::future::BoxFuture;

use crate::ToolError;

/// Asks the person behind a run. Cheap to clone.
#[derive(Clone)]
pub struct AskPerson(Arc<dyn Fn(String) -> BoxFuture<'static, Option<String>> + Send + Sync>);

impl AskPerson {
    /// Creates the channel. `ask` waits for the answer and returns `None` if nobody answers.
    pub fn new(ask: impl Fn(String) -> BoxFuture<'static, Option<String>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Asks a question and waits for the answer.
    pub async fn ask(&self, question: String) -> Option<String> {
        (self.0)(question).await
    }
}

impl fmt::Debug for AskPerson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AskPerson")
    }
}

/// Reports the progress of a call. Cheap to clone.
#[derive(Clone)]
pub struct ProgressReporter(Arc<dyn Fn(String) + Send + Sync>);

impl ProgressReporter {
    /// Creates the channel. `report` must not block.
    pub fn new(report: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Reports one step of progress.
    pub fn report(&self, message: String) {
        (self.0)(message);
    }
}

impl fmt::Debug for ProgressReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressReporter")
    }
}

/// Reverts the file changes of a task of the run. Cheap to clone.
#[derive(Clone)]
pub struct UndoTask(Arc<dyn Fn(String) -> BoxFuture<'static, Result<UndoneTask, ToolError>> + Send + Sync>);

/// Result of undoing a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoneTask {
    /// Files that have their former content again, or are absent again.
    pub restored: Vec<String>,
    /// Files that were not reverted, each with the reason.
    pub unrestored: Vec<(String, String)>,
}

impl UndoTask {
    /// Creates the channel. `undo` takes the id of a task.
    pub fn new(undo: impl Fn(String) -> BoxFuture<'static, Result<UndoneTask, ToolError>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(undo))
    }

    /// Reverts the file changes of a task.
    ///
    /// # Errors
    /// [`ToolError::Failed`] with the reason why nothing was reverted.
    pub async fn undo(&self, task: String) -> Result<UndoneTask, ToolError> {
        (self.0)(task).await
    }
}

impl fmt::Debug for UndoTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UndoTask")
    }
}

/// Sends a request to the model of a role.
type AskRole = dyn Fn(&str, ChatRequest) -> BoxFuture<'static, Result<ChatResponse, ModelError>> + Send + Sync;

/// Sends requests to a model of the run; their cost counts toward the run's budget. Cheap to clone.
#[derive(Clone)]
pub struct AskModel(Arc<AskRole>);

impl AskModel {
    /// Creates the channel. `ask` takes the role and the request.
    pub fn new(ask: impl Fn(&str, ChatRequest) -> BoxFuture<'static, Result<ChatResponse, ModelError>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Sends a request to the model of a role, or to the default model if the role has none.
    ///
    /// # Errors
    /// [`ModelError`] of the request.
    pub async fn ask(&self, role: &str, request: ChatRequest) -> Result<ChatResponse, ModelError> {
        (self.0)(role, request).await
    }
}

impl fmt::Debug for AskModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AskModel")
    }
}
