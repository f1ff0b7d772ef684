//! What a call may say and ask while it goes on.

use std::{fmt, sync::Arc};

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
