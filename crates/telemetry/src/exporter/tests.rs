use std::sync::atomic::AtomicUsize;

use aime_progress_management::Timestamp;
use axum::{Router, body::Bytes, extract::State, http::HeaderMap as Headers, routing::post};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::*;

/// A request, and the key that came with it.
type Keyed = (Option<String>, ExportTraceServiceRequest);

/// Requests that a receiver got.
#[derive(Clone, Default)]
struct Got {
    traces: Arc<Mutex<Vec<Keyed>>>,
    metrics: Arc<Mutex<Vec<ExportMetricsServiceRequest>>>,
    logs: Arc<Mutex<Vec<ExportLogsServiceRequest>>>,
    refusals: Arc<AtomicUsize>,
}

/// Starts a receiver that refuses the first requests. Returns its address and the requests that it got.
async fn receiver(refusals: usize) -> (String, Got) {
    let got = Got { refusals: Arc::new(AtomicUsize::new(refusals)), ..Got::default() };
    let traces = async |State(got): State<Got>, headers: Headers, body: Bytes| {
        let refuse = got.refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if refuse {
            return StatusCode::SERVICE_UNAVAILABLE;
        }
        let key = headers.get("x-key").map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(headers["content-type"], "application/x-protobuf");
        got.traces.lock().unwrap().push((key, ExportTraceServiceRequest::decode(body).unwrap()));
        StatusCode::OK
    };
    let metrics = async |State(got): State<Got>, body: Bytes| {
        got.metrics.lock().unwrap().push(ExportMetricsServiceRequest::decode(body).unwrap());
    };
    let logs = async |State(got): State<Got>, body: Bytes| {
        got.logs.lock().unwrap().push(ExportLogsServiceRequest::decode(body).unwrap());
    };
    let router = Router::new().route("/v1/traces", post(traces)).route("/v1/metrics", post(metrics)).route("/v1/logs", post(logs));
    let router = router.with_state(got.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, got)
}

fn begin(url: &str) -> Telemetry {
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", url), ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=k"), ("OTEL_SERVICE_NAME", "test")];
    let read = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    Telemetry::begin(TelemetrySettings::read(read).0.unwrap(), "openai", "1.2.3").unwrap()
}

fn events() -> Vec<PublishedEvent> {
    let all = [
        json!({"type": "run_started", "plan_id": "run", "goal": "g"}),
        json!({"type": "model_called", "purpose": "route", "model": "m", "spent": {"requests": 1, "input_tokens": 7, "output_tokens": 2}, "duration_ms": 10}),
    ];
    let event = |(seq, event): (u64, Value)| PublishedEvent {
        seq,
        at: Timestamp::from_millis(1_000 * i64::try_from(seq).unwrap()),
        event: serde_json::from_value(event).unwrap(),
    };
    (1..).zip(all).map(event).collect()
}

// Requirement: 8.27
#[tokio::test]
async fn a_receiver_gets_what_a_run_was() {
    // A temporary refusal leads to a retry.
    let (url, got) = receiver(2).await;
    let telemetry = begin(&url);
    let mut watched = telemetry.watch(&RunId::new("run").unwrap());
    events().iter().for_each(|event| watched.observe(event));
    drop(watched);
    assert_eq!(telemetry.end().await, 0);
    let traces = got.traces.lock().unwrap();
    assert!(traces.iter().all(|(key, _)| key.as_deref() == Some("k")));
    let of_all = traces.iter().flat_map(|(_, request)| &request.resource_spans);
    let mut names = Vec::new();
    for spans in of_all {
        let service = spans.resource.as_ref().unwrap().attributes.iter().find(|attribute| attribute.key == "service.name").cloned();
        assert_eq!(service, Some(text("service.name", "test")));
        let scope = spans.scope_spans[0].scope.as_ref().unwrap();
        assert_eq!((scope.name.as_str(), scope.version.as_str()), ("aime", "1.2.3"));
        assert_eq!(scope.attributes, [text("aime.conventions.gen_ai", "0.1.0")]);
        names.extend(spans.scope_spans[0].spans.iter().map(|span| span.name.clone()));
    }
    assert_eq!(names, ["chat m", "invoke_workflow aime"]);
    let logs = got.logs.lock().unwrap();
    let records: Vec<&LogRecord> =
        logs.iter().flat_map(|request| &request.resource_logs).flat_map(|logs| &logs.scope_logs[0].log_records).collect();
    let events: Vec<&str> = records.iter().map(|record| record.event_name.as_str()).collect();
    assert_eq!(events, ["aime.run.started", "gen_ai.client.inference.operation.details"]);
    let root = traces.iter().flat_map(|(_, request)| &request.resource_spans).flat_map(|spans| &spans.scope_spans[0].spans).last().unwrap();
    assert!(
        records.iter().all(|record| (&record.trace_id, &record.span_id) == (&root.trace_id, &root.span_id)),
        "each stands at its place"
    );
    let metrics = got.metrics.lock().unwrap();
    let last = &metrics.last().unwrap().resource_metrics[0].scope_metrics[0].metrics;
    assert!(
        last.iter().any(
            |metric| metric.name == "gen_ai.client.inference.operation.input_tokens" && matches!(metric.data, Some(Data::Histogram(_)))
        )
    );
}

// Requirement: 8.27
#[tokio::test]
async fn content_is_in_spans_or_in_records_alone() {
    for (word, expected) in [("SPAN_ONLY", (true, false)), ("EVENT_ONLY", (false, true))] {
        let (url, got) = receiver(0).await;
        let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()), ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", word)];
        let read = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let telemetry = Telemetry::begin(TelemetrySettings::read(read).0.unwrap(), "openai", "1.2.3").unwrap();
        let mut watched = telemetry.watch(&RunId::new("run").unwrap());
        events().iter().for_each(|event| watched.observe(event));
        drop(watched);
        assert_eq!(telemetry.end().await, 0);
        let in_spans = format!("{:?}", got.traces.lock().unwrap()).contains("gen_ai.input.messages");
        let in_records = format!("{:?}", got.logs.lock().unwrap()).contains("body: Some");
        assert_eq!((in_spans, in_records), expected, "{word}");
    }
}

#[tokio::test]
async fn a_receiver_that_is_not_there_holds_nothing_up() {
    // Nothing listens there: the port was free a moment ago, and the system gives it to no other socket meanwhile.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let telemetry = begin(&format!("http://{}", listener.local_addr().unwrap()));
    drop(listener);
    let mut watched = telemetry.watch(&RunId::new("run").unwrap());
    events().iter().for_each(|event| watched.observe(event));
    drop(watched);
    assert_eq!(telemetry.end().await, 4, "two spans and two records are counted as lost");
    assert_eq!(telemetry.end().await, 0, "they are counted once");
}

// Requirement: 8.27
#[tokio::test]
async fn a_receiver_that_hangs_is_left_at_the_end() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let telemetry = begin(&format!("http://{}", listener.local_addr().unwrap()));
    let mut watched = telemetry.watch(&RunId::new("run").unwrap());
    events().iter().for_each(|event| watched.observe(event));
    drop(watched);
    let lost = timeout(Duration::from_secs(60), telemetry.end()).await.expect("it ends");
    assert_eq!(lost, 4, "what nobody has taken is counted, also where it was given up");
    drop(listener);
}

#[tokio::test]
async fn what_no_receiver_wants_is_not_missed() {
    let (url, got) = receiver(0).await;
    let read = |name: &str| (name == "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT").then(|| format!("{url}/v1/logs"));
    let telemetry = Telemetry::begin(TelemetrySettings::read(read).0.unwrap(), "openai", "1.2.3").unwrap();
    let mut watched = telemetry.watch(&RunId::new("run").unwrap());
    events().iter().for_each(|event| watched.observe(event));
    drop(watched);
    assert_eq!(telemetry.end().await, 0);
    assert!(got.traces.lock().unwrap().is_empty() && !got.logs.lock().unwrap().is_empty());
}

#[tokio::test]
async fn metrics_that_were_refused_are_sent_again() {
    let asked = Arc::new(AtomicUsize::new(0));
    let asked_there = Arc::clone(&asked);
    // A permanent refusal leads to no retry.
    let metrics = move || {
        let first = asked_there.fetch_add(1, Ordering::SeqCst) == 0;
        std::future::ready(if first { StatusCode::BAD_REQUEST } else { StatusCode::OK })
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let signal = Signal { url: format!("http://{}/", listener.local_addr().unwrap()), headers: vec![], timeout: Duration::from_secs(60) };
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/", post(metrics))).await });
    let mut measures = Measures::new("openai");
    events().iter().for_each(|event| measures.observe(event));
    let mut sender = Sender {
        traces: None,
        metrics: Some(Receiver::new(signal).unwrap()),
        logs: None,
        own: Resource::default(),
        scope: InstrumentationScope::default(),
        measures: Arc::new(Mutex::new(measures)),
        measured: Vec::new(),
        unsent: Arc::default(),
    };
    for requests in [1, 2, 2] {
        sender.send_metrics().await;
        assert_eq!(asked.load(Ordering::SeqCst), requests, "what was taken is not sent twice");
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_steadily_is_sent_all_the_same() {
    let (send, mut waiting) = mpsc::channel(QUEUE_CAPACITY);
    tokio::spawn(async move {
        while send.send(Payload::Span(Span::default())).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    let mut batch = Vec::new();
    gather(&mut waiting, &mut batch).await;
    assert_eq!(batch.len(), 3, "those of half a second");
}
