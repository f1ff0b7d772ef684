//! Sending, beside the runs: they never wait for it.

mod receiver;
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
use aime_progress_management::{ProgressEvent, RunId, TaskStatus};
use opentelemetry_proto::tonic::{
    collector::{logs::v1::ExportLogsServiceRequest, metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::InstrumentationScope,
    logs::v1::{LogRecord, ResourceLogs, ScopeLogs},
    metrics::v1::{ResourceMetrics, ScopeMetrics},
    resource::v1::Resource,
    trace::v1::{ResourceSpans, ScopeSpans, Span},
};
use prost::Message;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, interval, timeout, timeout_at},
};

use self::receiver::Receiver;
use crate::{
    Measures, Providers, Signal, Spans, TelemetrySettings,
    attributes::{CONVENTIONS, text},
    logs,
};

/// Spans and records that wait to be sent, at most. More are dropped.
const QUEUE_CAPACITY: usize = 4_096;
/// Spans, or records, in one request, at most.
const BATCH: usize = 512;
/// Interval at which metrics are sent.
const METRICS_INTERVAL: Duration = Duration::from_secs(5);
/// Time that a span or record waits for others in the same request.
const BATCH_DELAY: Duration = Duration::from_millis(500);
/// Time that the end of the process waits for unsent data.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Reason why nothing can be sent at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryError(String);

impl std::fmt::Display for TelemetryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no telemetry is sent: {}", self.0)
    }
}

impl std::error::Error for TelemetryError {}

/// Something on its way to a receiver.
#[derive(Debug)]
enum Payload {
    Span(Span),
    Record(LogRecord),
}

/// Sends spans, measures and records of runs. Cheap to keep where nothing happens.
pub struct Telemetry {
    providers: Providers,
    span_content: bool,
    record_content: bool,
    send: Mutex<Option<mpsc::Sender<Payload>>>,
    measures: Arc<Mutex<Measures>>,
    /// Number of spans and records that no receiver has accepted.
    unsent: Arc<AtomicU64>,
    sending: Mutex<Option<JoinHandle<()>>>,
}

/// A run that is watched. Dropping it ends its spans.
pub struct WatchedRun {
    run: RunId,
    providers: Providers,
    record_content: bool,
    spans: Spans,
    send: Option<mpsc::Sender<Payload>>,
    measures: Arc<Mutex<Measures>>,
    unsent: Arc<AtomicU64>,
}

impl Telemetry {
    /// Begins to send; within a tokio runtime. `providers` are those of the models, `version` is aime's own.
    ///
    /// # Errors
    /// [`TelemetryError`] where no request can be made at all: TLS is unavailable, or a header is invalid.
    pub fn begin(settings: TelemetrySettings, providers: impl Into<Providers>, version: &str) -> Result<Self, TelemetryError> {
        let providers = providers.into();
        let own = Resource {
            attributes: settings.resource.iter().map(|(key, value)| text(key, value.as_str())).collect(),
            ..Resource::default()
        };
        let attributes = vec![text("aime.conventions.gen_ai", CONVENTIONS)];
        let scope =
            InstrumentationScope { name: "aime".to_owned(), version: version.to_owned(), attributes, ..InstrumentationScope::default() };
        let receiver = |signal: Option<Signal>| signal.map(Receiver::new).transpose();
        let measures = Arc::new(Mutex::new(Measures::new(providers.clone())));
        let unsent = Arc::new(AtomicU64::new(0));
        let (send, waiting) = mpsc::channel(QUEUE_CAPACITY);
        let sender = Sender {
            traces: receiver(settings.traces)?,
            metrics: receiver(settings.metrics)?,
            logs: receiver(settings.logs)?,
            own,
            scope,
            measures: Arc::clone(&measures),
            measured: Vec::new(),
            unsent: Arc::clone(&unsent),
        };
        let sending = Mutex::new(Some(tokio::spawn(sender.run(waiting))));
        let (span_content, record_content) = (settings.span_content, settings.record_content);
        Ok(Self { providers, span_content, record_content, send: Mutex::new(Some(send)), measures, unsent, sending })
    }

    /// Watches a run.
    #[must_use]
    pub fn watch(&self, run: &RunId) -> WatchedRun {
        let send = self.send.lock().unwrap_or_else(PoisonError::into_inner).clone();
        WatchedRun {
            run: run.clone(),
            providers: self.providers.clone(),
            record_content: self.record_content,
            spans: Spans::new(run, self.providers.clone(), self.span_content),
            send,
            measures: Arc::clone(&self.measures),
            unsent: Arc::clone(&self.unsent),
        }
    }

    /// Sends what is queued, and ends. Waits five seconds at most; returns the number of spans and records that no receiver has accepted
    /// and that no earlier call has returned.
    pub async fn end(&self) -> u64 {
        drop(self.send.lock().unwrap_or_else(PoisonError::into_inner).take());
        let sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut sending) = sending
            && timeout(SHUTDOWN_TIMEOUT, &mut sending).await.is_err()
        {
            sending.abort();
            // Once the task is over, it subtracts nothing from the number any more.
            drop(sending.await);
            tracing::warn!("the receiver of telemetry did not take all of it in time");
        }
        self.unsent.swap(0, Ordering::Relaxed)
    }
}

impl WatchedRun {
    /// Observes an event of the run. Never blocks.
    pub fn observe(&mut self, event: &PublishedEvent) {
        self.measures.lock().unwrap_or_else(PoisonError::into_inner).observe(event);
        let task = logs::task_of(&event.event);
        // A record of an end belongs to the span that ends, and a record of a start to the span that starts.
        let before = self.spans.place(task);
        let ended = self.spans.observe(event);
        let begins = matches!(&event.event, ProgressEvent::TaskStatusChanged { to: TaskStatus::Running, .. }) || before.1.is_empty();
        let place = if begins { self.spans.place(task) } else { before };
        let record = logs::record(&self.run, event, (&self.providers, self.record_content), place);
        self.enqueue(ended.into_iter().map(Payload::Span).chain(record.map(Payload::Record)));
    }

    fn enqueue(&self, all: impl IntoIterator<Item = Payload>) {
        for payload in all {
            self.unsent.fetch_add(1, Ordering::Relaxed);
            if let Some(send) = &self.send {
                // If the queue is full, the item counts as not accepted.
                drop(send.try_send(payload));
            }
        }
    }
}

impl Drop for WatchedRun {
    fn drop(&mut self) {
        let ended = self.spans.finish();
        self.enqueue(ended.into_iter().map(Payload::Span));
    }
}

/// Background task that sends.
struct Sender {
    traces: Option<Receiver>,
    metrics: Option<Receiver>,
    logs: Option<Receiver>,
    own: Resource,
    scope: InstrumentationScope,
    measures: Arc<Mutex<Measures>>,
    /// The metrics as they were taken last.
    measured: Vec<opentelemetry_proto::tonic::metrics::v1::Metric>,
    unsent: Arc<AtomicU64>,
}

impl Sender {
    async fn run(mut self, mut waiting: mpsc::Receiver<Payload>) {
        let mut tick = interval(METRICS_INTERVAL);
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let open = tokio::select! {
                received = waiting.recv_many(&mut batch, BATCH) => received > 0,
                _ = tick.tick() => {
                    self.send_metrics().await;
                    continue;
                }
            };
            if open {
                gather(&mut waiting, &mut batch).await;
            }
            let (mut spans, mut records) = (Vec::new(), Vec::new());
            for payload in batch.drain(..) {
                match payload {
                    Payload::Span(span) => spans.push(span),
                    Payload::Record(record) => records.push(record),
                }
            }
            self.send_spans(spans).await;
            self.send_records(records).await;
            if !open {
                self.send_metrics().await;
                return;
            }
        }
    }

    async fn send_spans(&mut self, spans: Vec<Span>) {
        let number = spans.len() as u64;
        let Some(receiver) = self.traces.as_mut().filter(|_| number > 0) else { return self.settled(number) };
        let scope_spans = vec![ScopeSpans { scope: Some(self.scope.clone()), spans, ..ScopeSpans::default() }];
        let resource_spans = vec![ResourceSpans { resource: Some(self.own.clone()), scope_spans, ..ResourceSpans::default() }];
        if receiver.post(ExportTraceServiceRequest { resource_spans }.encode_to_vec()).await {
            self.settled(number);
        }
    }

    async fn send_records(&mut self, log_records: Vec<LogRecord>) {
        let number = log_records.len() as u64;
        let Some(receiver) = self.logs.as_mut().filter(|_| number > 0) else { return self.settled(number) };
        let scope_logs = vec![ScopeLogs { scope: Some(self.scope.clone()), log_records, ..ScopeLogs::default() }];
        let resource_logs = vec![ResourceLogs { resource: Some(self.own.clone()), scope_logs, ..ResourceLogs::default() }];
        if receiver.post(ExportLogsServiceRequest { resource_logs }.encode_to_vec()).await {
            self.settled(number);
        }
    }

    /// Subtracts items that were accepted, or that no receiver is configured for.
    fn settled(&self, number: u64) {
        self.unsent.fetch_sub(number, Ordering::Relaxed);
    }

    async fn send_metrics(&mut self) {
        let Some(receiver) = self.metrics.as_mut() else { return };
        let metrics = self.measures.lock().unwrap_or_else(PoisonError::into_inner).metrics();
        if metrics == self.measured {
            return;
        }
        let scope_metrics = vec![ScopeMetrics { scope: Some(self.scope.clone()), metrics: metrics.clone(), ..ScopeMetrics::default() }];
        let resource_metrics = vec![ResourceMetrics { resource: Some(self.own.clone()), scope_metrics, ..ResourceMetrics::default() }];
        if receiver.post(ExportMetricsServiceRequest { resource_metrics }.encode_to_vec()).await {
            self.measured = metrics;
        }
    }
}

/// Waits briefly for further items of the same batch, with a fixed limit even if items keep arriving.
async fn gather(waiting: &mut mpsc::Receiver<Payload>, batch: &mut Vec<Payload>) {
    let until = Instant::now() + BATCH_DELAY;
    while batch.len() < BATCH {
        match timeout_at(until, waiting.recv()).await {
            Ok(Some(payload)) => batch.push(payload),
            _ => break,
        }
    }
}
