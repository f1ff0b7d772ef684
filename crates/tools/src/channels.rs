//! What a call may say and ask while it goes on.

use std::{fmt, sync::Arc};

use aime_llm::{ChatRequest, ChatResponse, ModelError};
use futures::future::BoxFuture;

/// Asks the person behind a run. Cheap to clone.
#[derive(Clone)]
pub struct AskPerson(Arc<dyn Fn(String) -> BoxFuture<'static, Option<String>> + Send + Sync>);

impl AskPerson {
    /// Asks with `ask`, which waits for the answer; none means that nobody answers.
    pub fn new(ask: impl Fn(String) -> BoxFuture<'static, Option<String>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Asks and waits.
    pub async fn ask(&self, question: String) -> Option<String> {
        (self.0)(question).await
    }
}

impl fmt::Debug for AskPerson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AskPerson")
    }
}

/// Tells how far a call has come. Cheap to clone.
#[derive(Clone)]
pub struct TellProgress(Arc<dyn Fn(String) + Send + Sync>);

impl TellProgress {
    /// Tells with `tell`, which must not block.
    pub fn new(tell: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// Tells it.
    pub fn tell(&self, news: String) {
        (self.0)(news);
    }
}

impl fmt::Debug for TellProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TellProgress")
    }
}

/// Takes back what a task of the run did to files. Cheap to clone.
#[derive(Clone)]
pub struct UndoTask(Arc<dyn Fn(String) -> BoxFuture<'static, Result<TaskUndone, String>> + Send + Sync>);

/// What came of taking back what a task did to files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskUndone {
    /// The files that are as they were, or gone as they were.
    pub restored: Vec<String>,
    /// The files that were left as they are, each with its reason.
    pub left: Vec<(String, String)>,
}

impl UndoTask {
    /// Takes the id of a task back with `undo`.
    pub fn new(undo: impl Fn(String) -> BoxFuture<'static, Result<TaskUndone, String>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(undo))
    }

    /// Takes it back.
    ///
    /// # Errors
    /// Why nothing was done, in words.
    pub async fn undo(&self, task: String) -> Result<TaskUndone, String> {
        (self.0)(task).await
    }
}

impl fmt::Debug for UndoTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UndoTask")
    }
}

/// Asks the model of a role.
type AskRole = dyn Fn(&str, ChatRequest) -> BoxFuture<'static, Result<ChatResponse, ModelError>> + Send + Sync;

/// Asks a model of the run. What it is asked counts for the run. Cheap to clone.
#[derive(Clone)]
pub struct AskModel(Arc<AskRole>);

impl AskModel {
    /// Asks the model of a role with `ask`.
    pub fn new(ask: impl Fn(&str, ChatRequest) -> BoxFuture<'static, Result<ChatResponse, ModelError>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Asks the model of a role, or the default one.
    ///
    /// # Errors
    /// [`ModelError`].
    pub async fn ask(&self, role: &str, request: ChatRequest) -> Result<ChatResponse, ModelError> {
        (self.0)(role, request).await
    }
}

impl fmt::Debug for AskModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AskModel")
    }
}
