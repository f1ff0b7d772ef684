//! A model scripted as data, in the process: for tests and examples.
//!
//! Rules say which requests get which replies, in the words of the scripted server that does the same over HTTP. Every request is kept.

mod reply;
mod when;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{StreamExt, stream, stream::BoxStream};

use crate::{ChatModel, ChatRequest, Model, ModelError, ModelLimits, ModelStack, Prices, Redactor, StreamPart};

pub use self::{reply::Reply, when::When};

use self::when::in_short;

/// A model that answers from a script. Clones share the script and what was asked.
///
/// ```
/// use aime_llm::{ChatModel, ChatRequest, scripted::{Reply, ScriptedModel, When}};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let model = ScriptedModel::new("m").on(When::any(), [Reply::text("first"), Reply::text("and then always")]);
/// assert_eq!(model.complete(ChatRequest::default()).await.unwrap().content, "first");
/// assert_eq!(model.complete(ChatRequest::default()).await.unwrap().content, "and then always");
/// assert_eq!(model.requests().len(), 2);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    name: String,
    limits: ModelLimits,
    prices: Option<Prices>,
    script: Arc<Mutex<Script>>,
}

#[derive(Debug, Default)]
struct Script {
    rules: Vec<Rule>,
    requests: Vec<ChatRequest>,
}

#[derive(Debug)]
struct Rule {
    when: When,
    replies: Vec<Reply>,
    used: usize,
    once: bool,
}

impl ScriptedModel {
    /// Returns a model without rules: every request fails with [`ModelError::NotRecorded`].
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), limits: ModelLimits::default(), prices: None, script: Arc::default() }
    }

    /// Adds a rule whose replies are used in turn, the last one again and again. The first rule that fits a request wins.
    #[must_use]
    pub fn on(self, when: When, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.lock().rules.push(Rule { when, replies: replies.into_iter().collect(), used: 0, once: false });
        self
    }

    /// Adds a rule that no longer fits when each of its replies was used once.
    #[must_use]
    pub fn once(self, when: When, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.lock().rules.push(Rule { when, replies: replies.into_iter().collect(), used: 0, once: true });
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: ModelLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the prices. [`Reply::cost_usd`] still determines the cost of a reply.
    #[must_use]
    pub const fn with_prices(mut self, prices: Prices) -> Self {
        self.prices = Some(prices);
        self
    }

    /// Builds the model with its layers, and with a redactor that has no known values.
    #[must_use]
    pub fn built(&self) -> Model {
        ModelStack::of(self.clone()).build(&Redactor::default())
    }

    /// Returns every request so far, in the order of asking.
    #[must_use]
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.lock().requests.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reply(&self, request: &ChatRequest) -> Result<Reply, ModelError> {
        let mut script = self.lock();
        script.requests.push(request.clone());
        for rule in &mut script.rules {
            let spent = rule.once && rule.used >= rule.replies.len();
            if spent || !rule.when.fits(request) {
                continue;
            }
            let reply = rule.replies.get(rule.used).or_else(|| rule.replies.last());
            if let Some(reply) = reply {
                rule.used += 1;
                return Ok(reply.clone());
            }
        }
        Err(ModelError::NotRecorded { model: self.name.clone(), reason: in_short(request) })
    }
}

impl ChatModel for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn limits(&self) -> ModelLimits {
        self.limits
    }

    fn prices(&self) -> Option<Prices> {
        self.prices
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        let reply = self.reply(&request);
        let parts = async move {
            match reply {
                Ok(reply) => match reply.parts(&self.name, &request).await {
                    Ok(parts) => parts.into_iter().map(Ok).collect(),
                    Err(error) => vec![Err(error)],
                },
                Err(error) => vec![Err(error)],
            }
        };
        stream::once(parts).flat_map(stream::iter).boxed()
    }
}
