//! Sending, beside the runs: they never wait for it.

#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use aime_orchestrator::PublishedEvent;
use aime_progress::RunId;
use backon::{ExponentialBuilder, Retryable};
use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::InstrumentationScope,
    metrics::v1::{ResourceMetrics, ScopeMetrics},
    resource::v1::Resource,
    trace::v1::{ResourceSpans, ScopeSpans, Span},
};
use prost::Message;
use reqwest::{
    Certificate, Client, ClientBuilder, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{interval, timeout},
};

use crate::{Measures, Signal, Spans, TelemetrySettings, attributes::text};

/// Spans that wait to be sent, at most. More are dropped.
const WAITING: usize = 4_096;
/// Spans in one request, at most.
const BATCH: usize = 512;
/// How often what waits is sent.
const EVERY: Duration = Duration::from_secs(5);
/// How long the end of the process waits for what is left.
const LAST: Duration = Duration::from_secs(5);
/// How often a request is made again that may succeed later.
const RETRIES: usize = 3;

/// Why nothing can be sent at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryError(String);

impl std::fmt::Display for TelemetryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no telemetry is sent: {}", self.0)
    }
}

impl std::error::Error for TelemetryError {}

/// Sends spans and measures of runs. Cheap to keep where nothing happens.
pub struct Telemetry {
    provider: String,
    content: bool,
    send: Mutex<Option<mpsc::Sender<Span>>>,
    measures: Arc<Mutex<Measures>>,
    lost: Arc<AtomicU64>,
    sending: Mutex<Option<JoinHandle<()>>>,
}

/// A run that is watched. Dropping it ends its spans.
pub struct Watched {
    spans: Spans,
    send: Option<mpsc::Sender<Span>>,
    measures: Arc<Mutex<Measures>>,
    lost: Arc<AtomicU64>,
}

impl Telemetry {
    /// Begins to send; within a tokio runtime. `provider` is the word of the conventions for whose models are asked, `version` aime's own.
    ///
    /// # Errors
    /// [`TelemetryError`] where no request can be made at all: no TLS, a header that is none.
    pub fn begin(settings: TelemetrySettings, provider: &str, version: &str) -> Result<Self, TelemetryError> {
        let own = Resource {
            attributes: settings.resource.iter().map(|(key, value)| text(key, value.as_str())).collect(),
            ..Resource::default()
        };
        let scope = InstrumentationScope { name: "aime".to_owned(), version: version.to_owned(), ..InstrumentationScope::default() };
        let receiver = |signal: Option<Signal>| signal.map(Receiver::new).transpose();
        let measures = Arc::new(Mutex::new(Measures::new(provider)));
        let lost = Arc::new(AtomicU64::new(0));
        let (send, waiting) = mpsc::channel(WAITING);
        let sender = Sender {
            traces: receiver(settings.traces)?,
            metrics: receiver(settings.metrics)?,
            own,
            scope,
            measures: Arc::clone(&measures),
            measured: Vec::new(),
            lost: Arc::clone(&lost),
        };
        let sending = Mutex::new(Some(tokio::spawn(sender.run(waiting))));
        Ok(Self { provider: provider.to_owned(), content: settings.content, send: Mutex::new(Some(send)), measures, lost, sending })
    }

    /// Watches a run.
    #[must_use]
    pub fn watch(&self, run: &RunId) -> Watched {
        let send = self.send.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Watched {
            spans: Spans::new(run, &self.provider, self.content),
            send,
            measures: Arc::clone(&self.measures),
            lost: Arc::clone(&self.lost),
        }
    }

    /// Sends what is left, and ends. It waits five seconds at most; gives how many spans were dropped.
    pub async fn end(&self) -> u64 {
        drop(self.send.lock().unwrap_or_else(PoisonError::into_inner).take());
        let sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut sending) = sending
            && timeout(LAST, &mut sending).await.is_err()
        {
            sending.abort();
            tracing::warn!("the receiver of telemetry did not take all of it in time");
        }
        self.lost.load(Ordering::Relaxed)
    }
}

impl Watched {
    /// Takes an event of the run in. It costs a look at the event, and never waits.
    pub fn take(&mut self, event: &PublishedEvent) {
        self.measures.lock().unwrap_or_else(PoisonError::into_inner).take(event);
        let ended = self.spans.take(event);
        self.hand_on(ended);
    }

    fn hand_on(&self, spans: Vec<Span>) {
        for span in spans {
            if self.send.as_ref().is_none_or(|send| send.try_send(span).is_err()) {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let ended = self.spans.finish();
        self.hand_on(ended);
    }
}

/// What sends.
struct Sender {
    traces: Option<Receiver>,
    metrics: Option<Receiver>,
    own: Resource,
    scope: InstrumentationScope,
    measures: Arc<Mutex<Measures>>,
    /// The metrics as they were sent last.
    measured: Vec<opentelemetry_proto::tonic::metrics::v1::Metric>,
    lost: Arc<AtomicU64>,
}

impl Sender {
    async fn run(mut self, mut waiting: mpsc::Receiver<Span>) {
        let mut tick = interval(EVERY);
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let open = tokio::select! {
                received = waiting.recv_many(&mut batch, BATCH) => received > 0,
                _ = tick.tick() => {
                    self.send_metrics().await;
                    continue;
                }
            };
            // What comes together goes together.
            while open && batch.len() < BATCH {
                match timeout(EVERY / 10, waiting.recv()).await {
                    Ok(Some(span)) => batch.push(span),
                    _ => break,
                }
            }
            self.send_spans(std::mem::take(&mut batch)).await;
            if !open {
                self.send_metrics().await;
                return;
            }
        }
    }

    async fn send_spans(&mut self, spans: Vec<Span>) {
        let Some(receiver) = self.traces.as_mut().filter(|_| !spans.is_empty()) else { return };
        let number = spans.len() as u64;
        let scope_spans = vec![ScopeSpans { scope: Some(self.scope.clone()), spans, ..ScopeSpans::default() }];
        let resource_spans = vec![ResourceSpans { resource: Some(self.own.clone()), scope_spans, ..ResourceSpans::default() }];
        if !receiver.post(ExportTraceServiceRequest { resource_spans }.encode_to_vec()).await {
            self.lost.fetch_add(number, Ordering::Relaxed);
        }
    }

    async fn send_metrics(&mut self) {
        let Some(receiver) = self.metrics.as_mut() else { return };
        let metrics = self.measures.lock().unwrap_or_else(PoisonError::into_inner).metrics();
        if metrics == self.measured {
            return;
        }
        self.measured.clone_from(&metrics);
        let scope_metrics = vec![ScopeMetrics { scope: Some(self.scope.clone()), metrics, ..ScopeMetrics::default() }];
        let resource_metrics = vec![ResourceMetrics { resource: Some(self.own.clone()), scope_metrics, ..ResourceMetrics::default() }];
        receiver.post(ExportMetricsServiceRequest { resource_metrics }.encode_to_vec()).await;
    }
}

/// Who receives, and whether it was said that they do not.
struct Receiver {
    client: Client,
    url: String,
    said: bool,
}

impl Receiver {
    fn new(signal: Signal) -> Result<Self, TelemetryError> {
        let Signal { url, headers, timeout } = signal;
        let mut sent = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"))]);
        for (name, value) in headers {
            let wrong = || TelemetryError(format!("the header {name:?} cannot be sent"));
            let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            sent.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value);
        }
        let client = secured(|builder| builder.default_headers(sent.clone()).timeout(timeout)).map_err(TelemetryError)?;
        Ok(Self { client, url, said: false })
    }

    /// Sends a document, again where that may help. Gives whether it was taken.
    async fn post(&mut self, body: Vec<u8>) -> bool {
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
                if !std::mem::replace(&mut self.said, true) {
                    tracing::warn!(url = self.url, why, "telemetry could not be sent; runs go on without");
                }
                false
            }
        }
    }
}

/// A client. On systems without any certificate authorities those of Mozilla's list serve.
fn secured(more: impl Fn(ClientBuilder) -> ClientBuilder) -> Result<Client, String> {
    // Fails only where a provider stands already: then that one serves.
    rustls::crypto::ring::default_provider().install_default().ok();
    let builder = || more(Client::builder().user_agent(concat!("aime/", env!("CARGO_PKG_VERSION"))));
    let own_roots = || {
        let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().filter_map(|root| Certificate::from_der(root).ok());
        builder().tls_certs_only(roots).build()
    };
    builder().build().or_else(|_| own_roots()).map_err(|error| format!("no TLS: {error}"))
}
