//! The HTTP client below streamable HTTP.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use http::{HeaderName, HeaderValue};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::tls::secured;

/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// A client for one server. Redirects are not followed: they would take the token elsewhere.
pub(super) fn client(
    url: &str,
    bearer: Option<&SecretString>,
    headers: &BTreeMap<String, SecretString>,
) -> Result<(reqwest::Client, StreamableHttpClientTransportConfig), String> {
    let parsed = Url::parse(url).map_err(|error| format!("{url:?} is no address: {error}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(format!("{url:?} begins neither with http:// nor with https://"));
    }
    let local = matches!(parsed.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let client = secured(|builder| {
        let builder = builder.connect_timeout(CONNECT).redirect(reqwest::redirect::Policy::none());
        if local { builder.no_proxy() } else { builder }
    })?;
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let header = HeaderName::try_from(name.as_str()).map_err(|_| format!("{name:?} is no name of a header"))?;
        let mut value = HeaderValue::try_from(value.expose_secret()).map_err(|_| format!("the header {name} holds what no header may"))?;
        value.set_sensitive(true);
        custom.insert(header, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom);
    if let Some(bearer) = bearer {
        config = config.auth_header(bearer.expose_secret());
    }
    Ok((client, config))
}
