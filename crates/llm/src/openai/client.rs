//! A model behind a server as the first of a stack: the wire, throttled, and tried again when it fails.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use async_openai::Client;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::address::{Address, KeyHeader};
use super::custom_transport::Transport;
use super::dialect::{Dialect, ImagesForm, ReasoningForm};
use super::provider::Provider;
use super::settings::{OpenAiSettings, SettingsError};
use super::transport::TransportKind;
use super::wire::{Endpoint, LearnedQuirks, Wire};
use crate::stack::SHORT_WAIT;
use crate::{ModelStack, Protocol, RetrySettings};

impl ModelStack {
    /// Returns a model behind a server: OpenAI, Anthropic, Google, xAI, Azure, DeepSeek, OpenRouter, Mistral, vLLM,
    /// llama.cpp, Ollama, LiteLLM and others, over whichever [`Protocol`] it speaks. This function sends nothing.
    /// Must be used within a tokio runtime.
    ///
    /// It reads answers in all forms that these servers are known to send, and learns which forms of a request the
    /// server refuses. It retries temporary failures according to [`RetrySettings`](crate::RetrySettings). If the
    /// server refuses requests because of its load, the client sends fewer at once, and more again while the server
    /// answers. It requests streams, so that a slow answer differs from a dead server, unless
    /// [`OpenAiSettings::streaming`] is off.
    ///
    /// Certificates are checked against the system's authorities, or against Mozilla's list if the system has none,
    /// as in a minimal container.
    ///
    /// # Errors
    /// The address, the key or a header cannot be used, or TLS cannot be set up.
    pub fn server(settings: OpenAiSettings) -> Result<Self, SettingsError> {
        let address = address(&settings)?;
        let http = http_client(&settings, &address.url)?;
        Self::on_wire(settings, address, http.clone(), TransportKind::Http(http))
    }

    /// Returns a model whose requests go by another transport than HTTP. The address is used for messages and for
    /// facts about its host.
    ///
    /// # Errors
    /// The address, the key or a header cannot be used.
    pub fn with_transport(settings: OpenAiSettings, transport: Arc<dyn Transport>) -> Result<Self, SettingsError> {
        let address = address(&settings)?;
        // Never used, but async-openai requires one.
        provide_crypto();
        let http =
            reqwest::Client::builder().tls_certs_only([]).build().map_err(|error| SettingsError::Tls { reason: error.to_string() })?;
        Self::on_wire(settings, address, http, TransportKind::Custom(transport))
    }

    fn on_wire(settings: OpenAiSettings, address: Address, http: reqwest::Client, way: TransportKind) -> Result<Self, SettingsError> {
        let key = settings.api_key.as_ref().map_or("", |key| key.expose_secret().trim());
        let provider = settings.provider.unwrap_or_else(|| address.provider(&settings.model));
        let protocol = settings.protocol.unwrap_or_else(|| address.protocol_for(&settings.model, settings.provider));
        let headers = headers(&settings, protocol, address.key_headers(protocol, key), key)?;
        let retry = retries_of(settings.retry.clone(), address.host());
        let mut dialect = Dialect::new(provider, protocol, &settings.model, settings.streaming);
        dialect.may_switch = settings.protocol.is_none();
        if protocol == Protocol::Chat && Provider::mixes_reasoning(address.host()) {
            dialect.optional.reasoning_split = true;
            // The details go back in its place.
            dialect.form.reasoning = ReasoningForm::Returned;
        }
        if settings.images == Some(false) {
            dialect.form.images = ImagesForm::InWords;
        }
        let client = |base_url, query| {
            Client::build(http.clone(), Endpoint { base_url, query, headers: headers.clone(), key: SecretString::from(key) })
        };
        let responses = address.azure_responses().map(|target| (client(target.base, target.query), target.deployment));
        let wire = Wire {
            learned: Mutex::new(LearnedQuirks { dialect, refused: HashSet::new() }),
            cache: Mutex::default(),
            shown_url: address.display_url(),
            address_setting: settings.address_setting,
            authority: address.authority(),
            client: client(address.base, address.query),
            responses,
            way,
            provider,
            effort: settings.effort,
            extra_body: settings.extra_body,
            name: settings.name,
            model: settings.model,
            limits: settings.limits,
            prices: settings.prices,
            timeouts: settings.timeouts,
        };
        Ok(Self::of(wire).throttled(settings.retry.max_retry_after).retrying(retry))
    }
}

/// Checks the address of a server, without asking it.
///
/// # Errors
/// [`SettingsError::BaseUrl`] where it is none.
pub fn check_base_url(text: &str) -> Result<(), SettingsError> {
    Address::parse(text).map(drop)
}

/// Reads the address of a server. An error names its setting.
fn address(settings: &OpenAiSettings) -> Result<Address, SettingsError> {
    Address::parse(&settings.base_url).map_err(|error| match error {
        SettingsError::BaseUrl { url, reason, .. } => SettingsError::BaseUrl { setting: settings.address_setting.clone(), url, reason },
        other => other,
    })
}

/// Returns the headers of every request; one that the settings name wins.
pub(super) fn headers(
    settings: &OpenAiSettings,
    protocol: Protocol,
    with_key: &[KeyHeader],
    key: &str,
) -> Result<HeaderMap, SettingsError> {
    let mut headers = HeaderMap::new();
    if protocol == Protocol::Messages {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    if !key.is_empty() {
        let bad = |_| SettingsError::ApiKey { model: settings.name.clone() };
        for header in with_key {
            let (name, value) = match header {
                KeyHeader::Own(name) => (HeaderName::from_static(name), key.to_owned()),
                KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {key}")),
            };
            let mut value = HeaderValue::try_from(value).map_err(bad)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
    for (name, value) in &settings.headers {
        let bad = || SettingsError::Header { model: settings.name.clone(), name: name.clone() };
        let header = HeaderName::try_from(name.as_str()).map_err(|_| bad())?;
        let mut value = HeaderValue::try_from(value.expose_secret()).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

/// Returns the retries of a server. One on this machine is not started, or tells at once what is wrong: no long wait helps.
fn retries_of(settings: RetrySettings, host: &str) -> RetrySettings {
    let max_wait = if is_loopback(host) { settings.max_wait.min(SHORT_WAIT) } else { settings.max_wait };
    RetrySettings { max_wait, ..settings }
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

pub(super) fn http_client(settings: &OpenAiSettings, url: &Url) -> Result<reqwest::Client, SettingsError> {
    provide_crypto();
    let builder = || {
        let builder = reqwest::Client::builder()
            .connect_timeout(settings.timeouts.connect)
            .user_agent(concat!("aime/", env!("CARGO_PKG_VERSION")))
            // A redirected POST would arrive as a GET, or elsewhere with the whole conversation.
            .redirect(reqwest::redirect::Policy::none());
        if url.host_str().is_some_and(is_loopback) { builder.no_proxy() } else { builder }
    };
    if url.scheme() == "http" {
        // No TLS, and redirects are not followed: reading the system's certificates would be for nothing.
        return builder().tls_certs_only([]).build().map_err(|error| SettingsError::Tls { reason: error.to_string() });
    }
    builder().build().or_else(|_| with_own_roots(builder())).map_err(|error| SettingsError::Tls { reason: error.to_string() })
}

/// Installs the TLS provider. This fails only if one is installed already; then that one is used.
fn provide_crypto() {
    rustls::crypto::ring::default_provider().install_default().ok();
}

/// Adds the built-in roots, for systems without any certificate authorities.
fn with_own_roots(builder: reqwest::ClientBuilder) -> reqwest::Result<reqwest::Client> {
    let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().filter_map(|root| reqwest::Certificate::from_der(root).ok());
    builder.tls_certs_only(roots).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build_stack(base_url: &str, key: Option<&str>) -> Result<ModelStack, SettingsError> {
        let mut settings = OpenAiSettings::new("m", base_url);
        settings.api_key = key.map(SecretString::from);
        ModelStack::server(settings)
    }

    #[test]
    fn a_server_on_this_machine_is_not_waited_for() {
        for (host, seconds) in [("localhost", 2), ("127.0.0.1", 2), ("[::1]", 2), ("localhost.example", 60), ("api.example", 60)] {
            assert_eq!(retries_of(RetrySettings::default(), host).max_wait.as_secs(), seconds, "{host}");
        }
    }

    #[test]
    fn keys_are_trimmed_and_never_shown() {
        assert!(build_stack("http://host", Some("sk-1\n")).is_ok());
        let error = build_stack("http://host", Some("sk-1\nsk-2")).err().unwrap();
        assert!(!error.to_string().contains("sk-"), "{error}");
        let mut settings = OpenAiSettings::new("m", "http://host");
        settings.api_key = Some(SecretString::from("sk-1"));
        settings.headers = vec![("x-key".to_owned(), SecretString::from("sk-2"))];
        assert!(!format!("{settings:?}").contains("sk-"));
        settings.headers = vec![("x key".to_owned(), SecretString::from("sk-2"))];
        assert!(matches!(ModelStack::server(settings), Err(SettingsError::Header { .. })));
    }

    #[test]
    fn a_system_without_authorities_is_served() {
        rustls::crypto::ring::default_provider().install_default().ok();
        assert!(with_own_roots(reqwest::Client::builder()).is_ok());
    }
}
