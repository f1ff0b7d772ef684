//! One reply of a scripted model.

use std::time::Duration;

use serde_json::Value;

use crate::{ChatRequest, ChatResponse, FinishReason, ModelError, StreamPart, ToolCall, Usage};

use super::when::turns;

/// One reply. The default is an empty text, with 100 tokens in and 20 out.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    text: String,
    reasoning: String,
    calls: Vec<(String, String)>,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    cost_usd: f64,
    error: Option<Failure>,
    delay: Option<Duration>,
    hang: bool,
}

#[derive(Debug, Clone)]
enum Failure {
    Status(u16, String),
    Error(ModelError),
}

impl Reply {
    /// Returns an answer of plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Returns an answer whose text is the JSON of `value`.
    #[must_use]
    pub fn json(value: Value) -> Self {
        Self::text(value.to_string())
    }

    /// Returns an answer that calls tools. Arguments that are a string are given as they are, and may be broken;
    /// other values as their JSON.
    #[must_use]
    pub fn tool_calls<N: Into<String>>(calls: impl IntoIterator<Item = (N, Value)>) -> Self {
        let written = |arguments| match arguments {
            Value::String(text) => text,
            value => value.to_string(),
        };
        Self { calls: calls.into_iter().map(|(name, arguments)| (name.into(), written(arguments))).collect(), ..Self::default() }
    }

    /// Returns an answer that calls one tool.
    #[must_use]
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::tool_calls([(name.into(), arguments)])
    }

    /// Returns a failure of the server with an HTTP status: 401 and 403 are a refused key, 429 a rate limit, 500 and
    /// above a fault of the server, anything else a refused request.
    #[must_use]
    pub fn status(status: u16, message: impl Into<String>) -> Self {
        Self { error: Some(Failure::Status(status, message.into())), ..Self::default() }
    }

    /// Returns a failure.
    #[must_use]
    pub fn error(error: ModelError) -> Self {
        Self { error: Some(Failure::Error(error)), ..Self::default() }
    }

    /// Never answers.
    #[must_use]
    pub fn hang() -> Self {
        Self { hang: true, ..Self::default() }
    }

    /// Adds a text beside the tool calls.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// Adds reasoning, separate from the text.
    #[must_use]
    pub fn with_reasoning(mut self, text: impl Into<String>) -> Self {
        self.reasoning = text.into();
        self
    }

    /// Sets the finish reason.
    #[must_use]
    pub fn finish(mut self, reason: FinishReason) -> Self {
        self.finish = Some(reason);
        self
    }

    /// Sets the reported token counts.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some(Usage::new(input, output));
        self
    }

    /// Sets the cost in US dollars.
    #[must_use]
    pub fn cost_usd(mut self, cost: f64) -> Self {
        self.cost_usd = cost;
        self
    }

    /// Delays the reply by this time, by tokio's clock.
    #[must_use]
    pub fn delay(mut self, time: Duration) -> Self {
        self.delay = Some(time);
        self
    }

    /// Returns the parts of the answer.
    pub(super) async fn parts(self, model: &str, request: &ChatRequest) -> Result<Vec<StreamPart>, ModelError> {
        if let Some(delay) = self.delay {
            tokio::time::sleep(delay).await;
        }
        if self.hang {
            std::future::pending::<()>().await;
        }
        match self.error {
            Some(Failure::Error(error)) => return Err(error),
            Some(Failure::Status(status, message)) => return Err(failure(model, status, message)),
            None => {}
        }
        let turn = turns(request);
        let calls: Vec<ToolCall> = self
            .calls
            .into_iter()
            .enumerate()
            .map(|(index, (name, arguments))| ToolCall { id: format!("call_{turn}_{index}"), name, arguments })
            .collect();
        let usual = if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
        let response = ChatResponse {
            content: self.text,
            reasoning: self.reasoning,
            tool_calls: calls,
            native: None,
            citations: Vec::new(),
            finish: self.finish.unwrap_or(usual),
            usage: self.usage.unwrap_or(Usage::new(100, 20)),
            usage_estimated: false,
            model: model.to_owned(),
            effort: request.effort,
            cost_usd: self.cost_usd,
        };
        Ok(parts(response))
    }
}

/// Returns an answer as it would have arrived.
fn parts(response: ChatResponse) -> Vec<StreamPart> {
    let mut parts = Vec::new();
    if !response.reasoning.is_empty() {
        parts.push(StreamPart::Reasoning(response.reasoning.clone()));
    }
    if !response.content.is_empty() {
        parts.push(StreamPart::Text(response.content.clone()));
    }
    parts.extend(response.tool_calls.iter().map(|call| StreamPart::ToolCallBegun { name: call.name.clone() }));
    parts.push(StreamPart::Done(Box::new(response)));
    parts
}

fn failure(model: &str, status: u16, message: String) -> ModelError {
    let model = model.to_owned();
    match status {
        401 | 403 => ModelError::Unauthorized { url: "scripted".to_owned(), status, message },
        429 => ModelError::RateLimited { model, message, retry_after: None },
        500.. => ModelError::Server { model, status, message, retry_after: None },
        _ => ModelError::Refused { model, status, message },
    }
}
