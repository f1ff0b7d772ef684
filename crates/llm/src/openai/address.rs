//! Address of a server: the target of requests, and the protocol that the address implies.

use std::str::FromStr;

use aime_messages::{Message, message};
use reqwest::Url;

use super::provider::Provider;
use super::settings::SettingsError;
use crate::Protocol;
use crate::protocol::is_compatible;

/// An address as it was configured, taken apart.
#[derive(Debug, Clone)]
pub(super) struct Address {
    /// Everything before the path of a protocol, without a query and without a slash at its end.
    pub(super) base: String,
    /// The parameters that belong to every request, such as Azure's `api-version`.
    pub(super) query: Vec<(String, String)>,
    /// The protocol, where the address was a full one.
    pub(super) protocol: Option<Protocol>,
    /// The base address.
    pub(super) url: Url,
}

/// A header that carries the key of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// A header of this name, with nothing but the key.
    Own(&'static str),
}

/// Target of requests over Responses, if it is not below the base address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResponsesTarget {
    pub(super) base: String,
    pub(super) query: Vec<(String, String)>,
    /// The deployment, which requests name as their model.
    pub(super) deployment: String,
}

impl Address {
    /// Reads an address, also a full one such as `https://host/v1/chat/completions?api-version=1`.
    ///
    /// # Errors
    /// [`SettingsError::BaseUrl`] where it is no address of an HTTP server.
    pub(super) fn parse(text: &str) -> Result<Self, SettingsError> {
        let bad = |reason: Message| SettingsError::BaseUrl { setting: None, url: without_secrets(text), reason };
        let url = Url::parse(text.trim()).map_err(|error| bad(described(error)))?;
        match url.scheme() {
            "http" | "https" if url.has_host() => {}
            "http" | "https" => return Err(bad(message!("no-address-host"))),
            _ => return Err(bad(message!("no-address-scheme"))),
        }
        let query = url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        let mut url = url;
        url.set_query(None);
        url.set_fragment(None);
        let address = url.as_str().trim_end_matches('/');
        let (protocol, base) = match Protocol::of_address(address) {
            Some((protocol, base)) => (Some(protocol), base.to_owned()),
            None => (None, address.to_owned()),
        };
        let url = Url::parse(&base).map_err(|error| bad(described(error)))?;
        Ok(Self { base, query, protocol, url })
    }

    /// Returns the host, in lower case.
    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Returns host and port, which identify a server.
    pub(super) fn authority(&self) -> String {
        match self.url.port() {
            Some(port) => format!("{}:{port}", self.host()),
            None => self.host().to_owned(),
        }
    }

    /// Returns the headers that carry a key. Azure, Anthropic and Google have one of their own, though Vertex AI also takes an
    /// access token; gateways that speak Anthropic's protocol want one or the other.
    pub(super) fn key_headers(&self, protocol: Protocol, key: &str) -> &'static [KeyHeader] {
        let is_token = ["ya29.", "eyJ"].iter().any(|start| key.starts_with(start));
        match protocol {
            Protocol::Messages if self.host().ends_with("anthropic.com") => &[KeyHeader::Own("x-api-key")],
            Protocol::Messages => &[KeyHeader::Own("x-api-key"), KeyHeader::Bearer],
            Protocol::Gemini if is_token && self.host().ends_with("aiplatform.googleapis.com") => &[KeyHeader::Bearer],
            Protocol::Gemini => &[KeyHeader::Own("x-goog-api-key")],
            Protocol::Chat | Protocol::Responses if self.host().ends_with(".azure.com") => &[KeyHeader::Own("api-key")],
            Protocol::Chat | Protocol::Responses => &[KeyHeader::Bearer],
        }
    }

    /// Returns the target of Responses for an address of one deployment on Azure: Azure serves them below `/openai/v1` alone, for all
    /// deployments and without an `api-version`.
    pub(super) fn azure_responses(&self) -> Option<ResponsesTarget> {
        let (root, deployment) = self.base.split_once("/openai/deployments/")?;
        let is_deployment = self.host().ends_with(".azure.com") && !deployment.is_empty() && !deployment.contains('/');
        let query = self.query.iter().filter(|(name, _)| name != "api-version").cloned().collect();
        is_deployment.then(|| ResponsesTarget { base: format!("{root}/openai/v1"), query, deployment: deployment.to_owned() })
    }

    /// Returns the protocol for a model here, where no setting names one.
    pub(super) fn protocol_for(&self, model: &str, provider: Option<Provider>) -> Protocol {
        let path = self.url.path();
        self.protocol.unwrap_or_else(|| match provider {
            Some(Provider::Anthropic) => Protocol::Messages,
            Some(Provider::Gemini) if !is_compatible(path) => Protocol::Gemini,
            _ => Protocol::for_model(self.host(), path, model),
        })
    }

    /// Returns the provider whose rules the server follows.
    pub(super) fn provider(&self, model: &str) -> Provider {
        Provider::of(self.host(), model)
    }

    /// Returns the address for people: without a password and without the query, which may hold a key.
    pub(super) fn display_url(&self) -> String {
        let mut url = self.url.clone();
        // Both fail only for addresses without a host.
        let _ = url.set_password(None);
        let _ = url.set_username("");
        url.as_str().trim_end_matches('/').to_owned()
    }
}

/// Returns an address for people: without a user, a password, a query and the path of a protocol.
#[must_use]
pub fn shown_address(text: &str) -> String {
    Address::parse(text).map_or_else(|_| without_secrets(text), |address| address.display_url())
}

/// Error of the parser of addresses.
type UrlError = <Url as FromStr>::Err;

/// Describes the fault of a text that is no address.
fn described(error: UrlError) -> Message {
    match error {
        UrlError::RelativeUrlWithoutBase => message!("no-address-scheme"),
        UrlError::EmptyHost => message!("no-address-host"),
        UrlError::InvalidPort => message!("no-address-port"),
        other => Message::text(other),
    }
}

/// Returns what is left of a text that is no address when user, password and query are cut off.
fn without_secrets(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        (None, Some((_, rest))) => rest.to_owned(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let azure = "https://x.openai.azure.com/openai/deployments/d";
        let cases: &[(&str, &str, &str, Option<Protocol>)] = &[
            ("http://host/v1", "http://host/v1", "", None),
            ("http://host/v1/", "http://host/v1", "", None),
            ("http://host", "http://host", "", None),
            (" https://host:8443/v1/chat/completions ", "https://host:8443/v1", "", Some(Protocol::Chat)),
            ("https://host/v1/responses/", "https://host/v1", "", Some(Protocol::Responses)),
            ("https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21", azure, "api-version=2024-10-21", None),
            (
                "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
                azure,
                "api-version=2024-10-21",
                Some(Protocol::Chat),
            ),
        ];
        for (text, base, query, protocol) in cases {
            let address = Address::parse(text).unwrap();
            let pairs: Vec<String> = address.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
            assert_eq!((address.base.as_str(), pairs.join("&").as_str(), address.protocol), (*base, *query, *protocol), "{text}");
        }
    }

    #[test]
    fn azure_has_one_place_for_responses() {
        let host = "https://x.openai.azure.com";
        let cases = [
            (format!("{host}/openai/deployments/d?api-version=2024-10-21&team=a"), Some(("d", "team=a"))),
            (format!("{host}/openai/deployments/d/responses?api-version=2024-10-21"), Some(("d", ""))),
            (format!("{host}/openai/v1"), None),
            (format!("{host}/openai/deployments/d/more"), None),
            ("https://gateway.example/openai/deployments/d?api-version=2024-10-21".to_owned(), None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|(deployment, query)| (format!("{host}/openai/v1"), deployment.to_owned(), query.to_owned()));
            let found = Address::parse(&text).unwrap().azure_responses().map(|target| {
                let pairs: Vec<String> = target.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
                (target.base, target.deployment, pairs.join("&"))
            });
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn vertex_takes_keys_and_access_tokens() {
        let own = KeyHeader::Own("x-goog-api-key");
        let vertex = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/l";
        let cases = [
            ("https://generativelanguage.googleapis.com/v1beta", "ya29.a0", Protocol::Gemini, own),
            (vertex, "ya29.a0", Protocol::Gemini, KeyHeader::Bearer),
            (vertex, "eyJhbGciOi", Protocol::Gemini, KeyHeader::Bearer),
            (vertex, "AIzaSy", Protocol::Gemini, own),
            (
                "https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/openapi",
                "ya29.a0",
                Protocol::Chat,
                KeyHeader::Bearer,
            ),
        ];
        for (text, key, protocol, header) in cases {
            let address = Address::parse(text).unwrap();
            let chosen = address.protocol_for("gemini-3-pro", Some(Provider::Gemini));
            assert_eq!((chosen, address.key_headers(chosen, key)), (protocol, [header].as_slice()), "{text}");
        }
    }

    #[test]
    fn no_secret_of_an_address_is_shown() {
        assert_eq!(Address::parse("https://user:secret@host/v1?key=secret").unwrap().display_url(), "https://host/v1");
        for text in ["", "host/v1", "host:8080/v1", "ftp://host", "http://", "unix:///run/x"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
        assert_eq!(shown_address("https://user:secret@host:8443/v1/chat/completions?key=secret"), "https://host:8443/v1");
        for text in ["ftp://user:secret@host", "ftp://host/v1?key=secret", "user:secret@host", "host/v1?key=secret"] {
            assert!(!Address::parse(text).unwrap_err().to_string().contains("secret"), "{text}");
            assert!(!shown_address(text).contains("secret"), "{text}");
        }
    }
}
