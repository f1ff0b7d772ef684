//! HTTP client for the streamable HTTP transport.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use http::{HeaderName, HeaderValue};
use rmcp::transport::{common::client_side_sse::ExponentialBackoff, streamable_http_client::StreamableHttpClientTransportConfig};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::tls::secured;

/// Time that a server has to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Maximum number of attempts to resume an interrupted response, and the first and longest delay between them. After that the call fails;
/// the library by itself would retry for ever, with ever longer delays.
const RETRIES: usize = 4;
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Builds a client for one server. Redirects are not followed, because they would send the token to another host.
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
    })
    .map_err(|error| error.to_string())?;
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let header = HeaderName::try_from(name.as_str()).map_err(|_| format!("{name:?} is no name of a header"))?;
        let mut value = HeaderValue::try_from(value.expose_secret()).map_err(|_| format!("the header {name} holds what no header may"))?;
        value.set_sensitive(true);
        custom.insert(header, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom);
    let mut backoff = ExponentialBackoff::default();
    (backoff.max_times, backoff.base_duration, backoff.max_delay) = (Some(RETRIES), FIRST_WAIT, Some(LONGEST_WAIT));
    config.retry_config = Arc::new(backoff);
    if let Some(bearer) = bearer {
        config = config.auth_header(bearer.expose_secret());
    }
    Ok((client, config))
}
