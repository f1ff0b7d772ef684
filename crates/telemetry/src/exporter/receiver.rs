//! OTLP receiver of one signal.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use reqwest::{
    Certificate, Client, ClientBuilder, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};

use super::TelemetryError;
use crate::Signal;

/// Number of retries of a request that may succeed later.
const RETRIES: usize = 3;

/// Receiver of one signal, and the flag that its failure was reported.
pub(super) struct Receiver {
    client: Client,
    url: String,
    /// Address without secrets, for messages.
    place: String,
    was_reported: bool,
}

impl Receiver {
    pub(super) fn new(signal: Signal) -> Result<Self, TelemetryError> {
        let place = signal.place();
        let Signal { url, headers, timeout } = signal;
        let mut sent = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"))]);
        for (name, value) in headers {
            let wrong = || TelemetryError(format!("the header {name:?} cannot be sent"));
            let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            sent.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value);
        }
        let client = secured(|builder| builder.default_headers(sent.clone()).timeout(timeout)).map_err(TelemetryError)?;
        Ok(Self { client, url, place, was_reported: false })
    }

    /// Sends a document, and retries if that may help. Returns true if the receiver accepted it.
    pub(super) async fn post(&mut self, body: Vec<u8>) -> bool {
        let once = || async {
            let sent =
                self.client.post(&self.url).body(body.clone()).send().await.map_err(|error| (true, error.without_url().to_string()))?;
            let status = sent.status();
            let later =
                [StatusCode::TOO_MANY_REQUESTS, StatusCode::BAD_GATEWAY, StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];
            if status.is_success() { Ok(()) } else { Err((later.contains(&status), format!("it answers {status}"))) }
        };
        let times = ExponentialBuilder::default().with_min_delay(Duration::from_millis(200)).with_max_times(RETRIES).with_jitter();
        match once.retry(times).when(|(again, _)| *again).await {
            Ok(()) => true,
            Err((_, why)) => {
                if !std::mem::replace(&mut self.was_reported, true) {
                    tracing::warn!(url = self.place, why, "telemetry could not be sent; runs go on without");
                }
                false
            }
        }
    }
}

/// Creates an HTTP client. On systems without any certificate authorities it uses Mozilla's list.
fn secured(more: impl Fn(ClientBuilder) -> ClientBuilder) -> Result<Client, String> {
    // Fails only if a provider is installed already; then that one is used.
    rustls::crypto::ring::default_provider().install_default().ok();
    let builder = || more(Client::builder().user_agent(concat!("aime/", env!("CARGO_PKG_VERSION"))));
    let own_roots = || {
        let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().filter_map(|root| Certificate::from_der(root).ok());
        builder().tls_certs_only(roots).build()
    };
    builder().build().or_else(|_| own_roots()).map_err(|error| format!("no TLS: {error}"))
}
