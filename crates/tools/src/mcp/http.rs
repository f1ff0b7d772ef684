//! HTTP client for the streamable HTTP transport.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use futures::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::{
        auth::AuthClient,
        common::client_side_sse::ExponentialBackoff,
        streamable_http_client::{
            SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
        },
    },
};
use secrecy::{ExposeSecret, SecretString};
use sse_stream::Sse;
use url::Url;

use crate::tls::secured;

/// Time that a server has to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Maximum number of attempts to resume an interrupted response, and the first and longest delay between them. After that the call fails;
/// the library by itself would retry for ever, with ever longer delays.
const RETRIES: usize = 4;
const FIRST_WAIT: Duration = Duration::from_millis(500);
const MAX_WAIT: Duration = Duration::from_secs(2);

/// HTTP client of a connection. One type for both kinds, because the library compiles its transport for each type of client.
#[derive(Clone)]
pub(super) enum Client {
    Plain(reqwest::Client),
    LoggedIn(AuthClient<reqwest::Client>),
}

type Answer<T> = Result<T, StreamableHttpError<reqwest::Error>>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl StreamableHttpClient for Client {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Answer<StreamableHttpPostResponse> {
        match self {
            Self::Plain(client) => client.post_message(uri, message, session, token, headers).await,
            Self::LoggedIn(client) => client.post_message(uri, message, session, token, headers).await,
        }
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        bytes: usize,
    ) -> Answer<StreamableHttpPostResponse> {
        match self {
            Self::Plain(client) => client.post_message_with_max_sse_event_size(uri, message, session, token, headers, bytes).await,
            Self::LoggedIn(client) => client.post_message_with_max_sse_event_size(uri, message, session, token, headers, bytes).await,
        }
    }

    async fn delete_session(&self, uri: Arc<str>, session: Arc<str>, token: Option<String>, headers: Headers) -> Answer<()> {
        match self {
            Self::Plain(client) => client.delete_session(uri, session, token, headers).await,
            Self::LoggedIn(client) => client.delete_session(uri, session, token, headers).await,
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Answer<BoxStream<'static, Result<Sse, SseError>>> {
        match self {
            Self::Plain(client) => client.get_stream(uri, session, last_event, token, headers).await,
            Self::LoggedIn(client) => client.get_stream(uri, session, last_event, token, headers).await,
        }
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
        bytes: usize,
    ) -> Answer<BoxStream<'static, Result<Sse, SseError>>> {
        match self {
            Self::Plain(client) => client.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, bytes).await,
            Self::LoggedIn(client) => client.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, bytes).await,
        }
    }
}

/// Builds a client for one server. Redirects are not followed, because they would send the token to another host.
pub(super) fn client(
    url: &str,
    bearer: Option<&SecretString>,
    headers: &BTreeMap<String, SecretString>,
) -> Result<(reqwest::Client, StreamableHttpClientTransportConfig), String> {
    let parsed = Url::parse(url).map_err(|error| format!("{url:?} is not a valid address: {error}"))?;
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
        let header = HeaderName::try_from(name.as_str()).map_err(|_| format!("{name:?} is not a valid header name"))?;
        let mut value = HeaderValue::try_from(value.expose_secret()).map_err(|_| format!("the header {name} holds what no header may"))?;
        value.set_sensitive(true);
        custom.insert(header, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom);
    let mut backoff = ExponentialBackoff::default();
    (backoff.max_times, backoff.base_duration, backoff.max_delay) = (Some(RETRIES), FIRST_WAIT, Some(MAX_WAIT));
    config.retry_config = Arc::new(backoff);
    if let Some(bearer) = bearer {
        config = config.auth_header(bearer.expose_secret());
    }
    Ok((client, config))
}
