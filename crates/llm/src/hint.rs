//! Advice for users about failures of models.

use std::fmt;

use crate::ModelError;

/// Advice on how to fix the failure of a model. `Display` gives one line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelHint {
    /// The server at this address does not speak TLS.
    NotTls(String),
    /// The server at this address has no certificate that this machine knows.
    Certificate(String),
    /// The host name in this address is unknown.
    HostName(String),
    /// No model server listens at this address.
    Server(String),
    /// The model is slower than its idle timeout.
    Slow,
    /// Too many requests were sent.
    TooMany,
    /// The account has no credit left.
    Balance,
    /// The account may not use the model.
    Forbidden,
    /// The key for this address is wrong or missing.
    Key(String),
    /// The server at this address has no such model.
    NoSuchModel(String),
    /// The request does not fit the context window.
    ContextWindow,
    /// The server failed.
    Later,
}

impl fmt::Display for ModelHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTls(url) => write!(f, "what answers at {url} does not speak TLS: write http:// in place of https://"),
            Self::Certificate(url) => {
                write!(f, "check that {url} really speaks TLS and that its certificate authority is known to this machine")
            }
            Self::HostName(url) => write!(f, "check the host name in {url} and the network"),
            Self::Server(url) => write!(f, "check that the model server runs and that base_url is right ({url})"),
            Self::Slow => f.write_str("raise the model's idle timeout if it is slow, or use a faster model"),
            Self::TooMany => f.write_str("wait a while, lower the number of parallel tasks, or name a fallback model"),
            Self::Balance => f.write_str("check the balance and the limits of the account"),
            Self::Forbidden => f.write_str("check that the account of the key may use the model, or name another model"),
            Self::Key(url) => write!(f, "set the key for {url} in the environment variable that the model's api_key_env names"),
            Self::NoSuchModel(url) => write!(f, "name one of the models that {}/models lists", url.trim_end_matches('/')),
            Self::ContextWindow => {
                f.write_str("use a model with a larger context window, or set its context_tokens to what the server holds")
            }
            Self::Later => f.write_str("try again later, or name a fallback model"),
        }
    }
}

impl ModelError {
    /// Returns advice on how to fix the failure, if there is any.
    #[must_use]
    pub fn hint(&self) -> Option<ModelHint> {
        Some(match self.root() {
            Self::Unreachable { url, reason } => {
                let (url, reason) = (url.clone(), reason.to_lowercase());
                // Message of rustls if the first answer is not TLS.
                if reason.contains("invalidcontenttype") {
                    ModelHint::NotTls(url)
                } else if reason.contains("certificate") || reason.contains("tls") {
                    ModelHint::Certificate(url)
                } else if reason.contains("dns") || reason.contains("lookup") || reason.contains("resolve") {
                    ModelHint::HostName(url)
                } else {
                    ModelHint::Server(url)
                }
            }
            Self::Timeout { .. } => ModelHint::Slow,
            Self::RateLimited { .. } => ModelHint::TooMany,
            Self::Unauthorized { status: 402 | 429, .. } => ModelHint::Balance,
            Self::Unauthorized { status: 403, .. } => ModelHint::Forbidden,
            Self::Unauthorized { url, .. } => ModelHint::Key(url.clone()),
            Self::NoSuchModel { url, .. } => ModelHint::NoSuchModel(url.clone()),
            Self::ContextOverflow { .. } => ModelHint::ContextWindow,
            Self::Server { .. } => ModelHint::Later,
            Self::Refused { .. }
            | Self::Cut { .. }
            | Self::Unreadable { .. }
            | Self::Unloadable { .. }
            | Self::Blocked { .. }
            | Self::OutOfBudget { .. }
            | Self::NotRecorded { .. }
            | Self::GaveUp { .. }
            | Self::AllFailed { .. } => return None,
        })
    }
}
