//! The [`ChatModel`] trait, its limits and its errors.

use std::{fmt, time::Duration};

use aime_messages::{Describe, Message, message};
use futures::{
    StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use serde::{Deserialize, Serialize};

use crate::{ChatRequest, ChatResponse, Prices, Protocol, StreamPart};

/// Capacity of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelLimits {
    /// Tokens of request and answer together.
    pub context_tokens: u32,
    /// Tokens of one answer.
    pub max_output_tokens: u32,
    /// True for a small model, of about four billion parameters or fewer. Small models do better with few tools and
    /// with commands shown to them.
    #[serde(default)]
    pub small: bool,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self { context_tokens: 32_768, max_output_tokens: 4_096, small: false }
    }
}

/// A model that answers chat requests. Dropping a future or stream it returned cancels the request.
pub trait ChatModel: Send + Sync {
    /// Returns the name under which it is configured and reported.
    fn name(&self) -> &str;

    /// Returns the capacity of the model.
    fn limits(&self) -> ModelLimits {
        ModelLimits::default()
    }

    /// Returns the prices of the model if they are known, for estimates before a request is made.
    fn prices(&self) -> Option<Prices> {
        None
    }

    /// Returns the current protocol of its server, if it has one.
    fn protocol(&self) -> Option<Protocol> {
        None
    }

    /// Returns the address of its server, if it has one, without a user name and a password.
    fn address(&self) -> Option<&str> {
        None
    }

    /// Answers in parts. The last part of a stream that ends well is [`StreamPart::Done`]; an error ends the stream.
    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>>;

    /// Answers at once.
    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        Box::pin(async move {
            let mut parts = self.stream(request);
            while let Some(part) = parts.next().await {
                if let StreamPart::Done(response) = part? {
                    return Ok(*response);
                }
            }
            Err(ModelError::Cut { model: self.name().to_owned() })
        })
    }
}

/// Returns the stream of a model that answers all at once: one part, the whole answer.
pub fn in_one_part<'a>(
    answer: impl Future<Output = Result<ChatResponse, ModelError>> + Send + 'a,
) -> BoxStream<'a, Result<StreamPart, ModelError>> {
    stream::once(async { answer.await.map(|response| StreamPart::Done(Box::new(response))) }).boxed()
}

/// Longest wait that a server asks for and that is still worth a retry. A longer one means a used-up quota.
const MAX_RETRY: Duration = Duration::from_secs(300);

/// Reason why a model gave no answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ModelError {
    /// No connection, or it broke before the answer began.
    Unreachable {
        /// The address that was tried.
        url: String,
        /// Setting or variable that holds the address, if one does.
        setting: Option<String>,
        /// Message of the network layer.
        reason: String,
    },
    /// No answer, or no further part of it, within the time.
    Timeout {
        /// The model.
        model: String,
        /// The time that was allowed.
        after: Duration,
    },
    /// The answer ended before it was whole.
    Cut {
        /// The model.
        model: String,
    },
    /// Too many requests.
    RateLimited {
        /// The model.
        model: String,
        /// The server's words.
        message: String,
        /// Time that the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// No key, a wrong key, or no right to use the model.
    Unauthorized {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The server's words.
        message: String,
    },
    /// The server does not have the model.
    NoSuchModel {
        /// The address.
        url: String,
        /// Name of the requested model.
        model: String,
        /// The server's words.
        message: String,
    },
    /// The request does not fit the context window.
    ContextOverflow {
        /// The model.
        model: String,
        /// The server's words.
        message: String,
    },
    /// The server does not accept the request.
    Refused {
        /// The model.
        model: String,
        /// The HTTP status.
        status: u16,
        /// The server's words.
        message: String,
    },
    /// A fault of the server.
    Server {
        /// The model.
        model: String,
        /// The HTTP status.
        status: u16,
        /// The server's words.
        message: String,
        /// Time that the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// The answer could not be read at all.
    Unreadable {
        /// The model.
        model: String,
        /// Fault that was found.
        reason: String,
    },
    /// A model in the process that could not be loaded.
    Unloadable {
        /// The model.
        model: String,
        /// Fault that was found, and how to fix it.
        reason: String,
    },
    /// The user of the model does not allow the request or its answer.
    Blocked {
        /// The model.
        model: String,
        /// Source of the refusal, such as a hook, and its reason.
        reason: String,
    },
    /// The caller's budget leaves no room for another try.
    OutOfBudget {
        /// The model.
        model: String,
        /// The name of the bound: `tokens`, `money`, `quota`.
        bound: String,
        /// Amount that is used, and amount that was requested.
        detail: Message,
    },
    /// A script has no answer to this request.
    NotRecorded {
        /// The model.
        model: String,
        /// The request in short.
        reason: String,
    },
    /// Each attempt failed in a way that may pass, until the attempts or the time ran out.
    GaveUp {
        /// Number of attempts.
        attempts: u32,
        /// The failure of the last attempt.
        error: Box<ModelError>,
    },
    /// Neither the model nor any of its fallbacks answered.
    AllFailed {
        /// Errors of the models, in the order in which they were tried. Not empty.
        errors: Vec<ModelError>,
    },
}

impl Describe for ModelError {
    fn describe(&self) -> Message {
        match self {
            Self::Unreachable { url, reason, .. } => message!("model-unreachable", url, reason),
            Self::Timeout { model, after } => message!("model-late", model, span = seconds(after)),
            Self::Cut { model } => message!("model-cut", model),
            Self::RateLimited { model, message, .. } => message!("model-limited", model, reason = message),
            Self::Unauthorized { url, status, message } => message!("model-key", url, status = status.to_string(), reason = message),
            Self::NoSuchModel { url, model, message } => message!("model-unknown", url, model, reason = message),
            Self::ContextOverflow { model, message } => message!("model-overflow", model, reason = message),
            Self::Refused { model, status, message } => {
                message!("model-refused", model, status = status.to_string(), reason = message)
            }
            Self::Server { model, status, message, .. } => {
                message!("model-server", model, status = status.to_string(), reason = message)
            }
            Self::Unreadable { model, reason } => message!("model-unreadable", model, reason),
            Self::Unloadable { model, reason } => message!("model-unloadable", model, reason),
            Self::Blocked { model, reason } => message!("model-no-answer", model, reason),
            Self::OutOfBudget { model, detail, .. } => message!("model-no-answer", model, reason = detail),
            Self::NotRecorded { model, reason } => message!("model-not-recorded", model, reason),
            Self::GaveUp { attempts, error } => message!("model-gave-up", error = error.describe(), attempts),
            Self::AllFailed { errors } => {
                let number = |(place, error): (usize, &Self)| message!("model-numbered", number = place + 1, error = error.describe());
                let errors: Vec<Message> = errors.iter().enumerate().map(number).collect();
                message!("model-all-failed", errors = Message::list("; ", &errors))
            }
        }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe().fmt(f)
    }
}

impl std::error::Error for ModelError {}

fn seconds(duration: &Duration) -> String {
    format!("{} s", duration.as_secs_f32())
}

impl ModelError {
    /// Returns the failure itself, without what was tried around it: of several models, that of the last one.
    #[must_use]
    pub fn root(&self) -> &Self {
        match self {
            Self::GaveUp { error, .. } => error.root(),
            Self::AllFailed { errors } => errors.last().map_or(self, Self::root),
            other => other,
        }
    }

    /// Returns true if the same request may succeed a little later. Returns false if the request was already retried
    /// ([`GaveUp`](Self::GaveUp)).
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Timeout { .. }
                | Self::Cut { .. }
                | Self::RateLimited { .. }
                | Self::Server { .. }
                | Self::Unreadable { .. }
        )
    }

    /// Returns the time until a used-up quota is renewed: the server asks for a wait of more than five minutes, which no retry makes. Where
    /// several models failed, it is the shortest such time, whatever the others failed with.
    #[must_use]
    pub fn quota_wait(&self) -> Option<Duration> {
        match self {
            Self::GaveUp { error, .. } => error.quota_wait(),
            Self::AllFailed { errors } => errors.iter().filter_map(Self::quota_wait).min(),
            Self::RateLimited { retry_after: Some(wait), .. } if *wait > MAX_RETRY => Some(*wait),
            _ => None,
        }
    }

    /// Returns the time that the server asks to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Server { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
