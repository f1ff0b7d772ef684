//! Settings of the client for a model and its server.

use std::time::Duration;

use aime_messages::{Message, message};
use secrecy::SecretString;
use serde_json::Value;

use super::provider::Provider;
use crate::{Effort, ModelLimits, Prices, Protocol, RetrySettings};

/// A model behind a server. Nothing is taken from the environment but proxies, as the system has them.
#[derive(Debug, Clone)]
pub struct OpenAiSettings {
    /// The name under which it is configured and reported.
    pub name: String,
    /// The server's name of the model.
    pub model: String,
    /// Address above `/chat/completions` or `/responses`, usually ending in `/v1`. A full address works too and
    /// selects the protocol. A query, as Azure requires it, is kept.
    pub base_url: String,
    /// Setting or variable that holds the address, for error messages. When absent, the address is the provider's own,
    /// which nobody set.
    pub address_setting: Option<String>,
    /// Provider whose rules the server follows. When absent, the host or the name of the model decides.
    pub provider: Option<Provider>,
    /// The protocol; by address, host and model when absent, and then switched when the server asks for the other one.
    pub protocol: Option<Protocol>,
    /// Amount of thinking for requests that set none; the model's own default when absent.
    pub effort: Option<Effort>,
    /// The key; no `Authorization` header is sent without one.
    pub api_key: Option<SecretString>,
    /// Capacity of the model.
    pub limits: ModelLimits,
    /// Prices of the model. When absent, the reported cost is 0.
    pub prices: Option<Prices>,
    /// True if the model accepts images. If it does not, a sentence names the omitted images. When absent, the client
    /// finds out from the server's answers.
    pub images: Option<bool>,
    /// Further request headers.
    pub headers: Vec<(String, SecretString)>,
    /// Further members of the body of each request. They take precedence over those of the client, except for the model, the messages, the
    /// system text and the tools.
    pub extra_body: Vec<(String, Value)>,
    /// Timeouts of a request.
    pub timeouts: Timeouts,
    /// Number and timing of retries.
    pub retry: RetrySettings,
    /// True to request answers as streams. Turn it off for servers whose streams are unusable. The parts of an answer
    /// then arrive all at once, and a slow answer must be complete within the idle timeout.
    pub streaming: bool,
}

impl OpenAiSettings {
    /// Returns the usual settings for this model at this address, without a key.
    #[must_use]
    pub fn new(model: impl Into<String>, base_url: impl Into<String>) -> Self {
        let model = model.into();
        Self {
            name: model.clone(),
            model,
            base_url: base_url.into(),
            address_setting: Some(BASE_URL.to_owned()),
            provider: None,
            protocol: None,
            effort: None,
            api_key: None,
            limits: ModelLimits::default(),
            prices: None,
            images: None,
            headers: Vec::new(),
            extra_body: Vec::new(),
            timeouts: Timeouts::default(),
            retry: RetrySettings::default(),
            streaming: true,
        }
    }
}

/// Bounds of each attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Time to establish the connection.
    pub connect: Duration,
    /// Time to the first byte of the answer, and between two pieces of it.
    pub idle: Duration,
    /// Time for one whole attempt; no limit when absent.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    /// 10 s to connect, 300 s between bytes (a slow machine may read a long prompt for minutes), an hour in total.
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_secs(300), total: Some(Duration::from_secs(3_600)) }
    }
}

/// Usual name of the setting that holds the address of a server.
const BASE_URL: &str = "base_url";

fn bad_address(setting: Option<&str>, url: &str, reason: &Message) -> Message {
    message!("no-address", key = setting.unwrap_or(BASE_URL), address = format!("{url:?}"), reason)
}

/// Reason why a client cannot be made from its settings.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The address is none.
    #[error("{}", bad_address(.setting.as_deref(), .url, .reason))]
    BaseUrl {
        /// Setting or variable that holds the address.
        setting: Option<String>,
        /// The address.
        url: String,
        /// Fault of the address.
        reason: Message,
    },
    /// The key holds characters that no header can carry.
    #[error("the API key of model {model:?} holds characters that cannot be sent, such as a line break")]
    ApiKey {
        /// The model's configured name.
        model: String,
    },
    /// A header cannot be sent.
    #[error("the header {name:?} of model {model:?} cannot be sent")]
    Header {
        /// The model's configured name.
        model: String,
        /// The header.
        name: String,
    },
    /// No TLS.
    #[error("cannot set up TLS: {reason}")]
    Tls {
        /// Fault of the setting.
        reason: String,
    },
}
