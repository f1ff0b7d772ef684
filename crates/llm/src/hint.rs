//! Advice for users about failures of models.

use std::fmt;

use aime_messages::{Describe, Message, message};

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
    Server {
        /// The address.
        url: String,
        /// Setting or variable that holds the address; absent for the provider's own address.
        setting: Option<String>,
    },
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

impl Describe for ModelHint {
    fn describe(&self) -> Message {
        match self {
            Self::NotTls(url) => message!("model-hint-plain", url),
            Self::Certificate(url) => message!("model-hint-tls", url),
            Self::HostName(url) => message!("model-hint-dns", url),
            Self::Server { url, setting: Some(setting) } => message!("model-hint-server", url, setting),
            Self::Server { url, setting: None } => message!("model-hint-network", url),
            Self::Slow => message!("model-hint-timeout"),
            Self::TooMany => message!("model-hint-limited"),
            Self::Balance => message!("model-hint-balance"),
            Self::Forbidden => message!("model-hint-forbidden"),
            Self::Key(url) => message!("model-hint-key", url),
            Self::NoSuchModel(url) => message!("model-hint-unknown", url = url.trim_end_matches('/')),
            Self::ContextWindow => message!("model-hint-overflow"),
            Self::Later => message!("model-hint-later"),
        }
    }
}

impl fmt::Display for ModelHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe().fmt(f)
    }
}

impl ModelError {
    /// Returns advice on how to fix the failure, if there is any.
    #[must_use]
    pub fn hint(&self) -> Option<ModelHint> {
        Some(match self.root() {
            Self::Unreachable { url, setting, reason } => {
                let (url, reason) = (url.clone(), reason.to_lowercase());
                // Message of rustls if the first answer is not TLS.
                if reason.contains("invalidcontenttype") {
                    ModelHint::NotTls(url)
                } else if reason.contains("certificate") || reason.contains("tls") {
                    ModelHint::Certificate(url)
                } else if reason.contains("dns") || reason.contains("lookup") || reason.contains("resolve") {
                    ModelHint::HostName(url)
                } else {
                    ModelHint::Server { url, setting: setting.clone() }
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
