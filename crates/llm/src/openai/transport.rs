//! Sends requests for async-openai, in place of its own executor with its own retries: keeps the status, the headers and the
//! cause of every failure, bounds every wait, and makes all bodies look alike.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use aime_messages::innermost;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt, TryStreamExt};
use reqwest::header::HeaderValue;
use tokio::time::Instant;

use super::address::shown_address;
use super::custom_transport::{Transport, TransportResponse};
use super::events::{self, BYTE_ORDER_MARK, DoneWatch, Shape};
use super::fault::{self, Fault, FaultSource};
use super::gzip;
use super::waits::Times;
use crate::ModelError;

/// The longest body of an answer that is read, in bytes: some hundred times what the longest answer of a model takes as a stream of tokens.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// Observations of one attempt besides its answer. async-openai converts failures of a stream to text, so the failure
/// itself is kept here.
#[derive(Debug, Default)]
pub(super) struct Probe(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    fault: Option<Fault>,
    done: DoneWatch,
}

impl Probe {
    fn state(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, fault: Fault) -> OpenAIError {
        let error = fault.error.clone();
        self.state().fault.get_or_insert(fault);
        OpenAIError::Boxed(Box::new(error))
    }

    /// Returns the failure of the attempt, once.
    pub(super) fn take_fault(&self) -> Option<Fault> {
        self.state().fault.take()
    }

    /// Returns true if the answer came to its end: a document that was read, or a stream with `[DONE]`.
    pub(super) fn is_done(&self) -> bool {
        self.state().done.done
    }
}

/// The identity and the bounds of an attempt.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) url: String,
    /// Setting that holds the address, if one does.
    pub(super) setting: Option<String>,
    pub(super) model: String,
    pub(super) key: secrecy::SecretString,
    pub(super) connect: Duration,
    pub(super) idle: Duration,
    /// The allowed time, and when it is over.
    pub(super) total: Option<(Duration, Instant)>,
    pub(super) streams: bool,
    /// A feature of Anthropic's that must be named in a header.
    pub(super) beta: Option<&'static str>,
}

impl Attempt {
    fn fault_source(&self) -> FaultSource<'_> {
        let setting = self.setting.as_deref();
        FaultSource { url: &self.url, setting, model: &self.model, key: secrecy::ExposeSecret::expose_secret(&self.key) }
    }

    /// Waits within the idle time and the total time.
    async fn bounded<T>(&self, what: impl Future<Output = T>) -> Result<T, Fault> {
        let idle = Instant::now() + self.idle;
        let (after, until) = match self.total {
            Some((after, until)) if until < idle => (after, until),
            _ => (self.idle, idle),
        };
        tokio::time::timeout_at(until, what).await.map_err(|_| ModelError::Timeout { model: self.model.clone(), after }.into())
    }

    fn unreachable(&self, error: &reqwest::Error) -> Fault {
        let reason = if error.is_timeout() && error.is_connect() {
            format!("no connection within {} s", self.connect.as_secs_f32())
        } else {
            innermost(error)
        };
        self.without_connection(reason).into()
    }

    fn without_connection(&self, reason: String) -> ModelError {
        ModelError::Unreachable { url: self.url.clone(), setting: self.setting.clone(), reason }
    }

    /// Returns the name of the setting that holds the address.
    fn address_name(&self) -> &str {
        self.setting.as_deref().unwrap_or("the address")
    }

    fn broken(&self, reason: &str) -> Fault {
        tracing::debug!(model = %self.model, reason, "the answer broke off");
        ModelError::Cut { model: self.model.clone() }.into()
    }

    fn unreadable(&self, reason: impl Into<String>) -> Fault {
        ModelError::Unreadable { model: self.model.clone(), reason: reason.into() }.into()
    }

    fn page(&self) -> Fault {
        let (name, url) = (self.address_name(), &self.url);
        let message = format!("the server answered with a web page; {name} {url} seems to be no API (does it lack its /v1?)");
        ModelError::Refused { model: self.model.clone(), status: 200, message }.into()
    }
}

/// Transport of requests to the server.
#[derive(Clone)]
pub(super) enum TransportKind {
    Http(reqwest::Client),
    Custom(Arc<dyn Transport>),
}

impl TransportKind {
    /// Sends the request, within the bounds of the attempt.
    async fn send(&self, attempt: &Attempt, request: reqwest::Request) -> Result<TransportResponse, Fault> {
        let http = match self {
            Self::Http(http) => http,
            Self::Custom(transport) => {
                let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
                let unreachable = |error: std::io::Error| attempt.without_connection(error.to_string());
                return Ok(attempt.bounded(transport.send(body)).await?.map_err(unreachable)?);
            }
        };
        let response = attempt.bounded(http.execute(request)).await?.map_err(|error| attempt.unreachable(&error.without_url()))?;
        let status = response.status().as_u16();
        let headers = response.headers().iter();
        let headers = headers.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))).collect();
        let body =
            response.bytes_stream().map_ok(|piece| piece.to_vec()).map_err(|error| std::io::Error::other(innermost(&error.without_url())));
        Ok(TransportResponse { status, headers, body: body.boxed() })
    }
}

/// The service that carries one attempt.
#[derive(Clone)]
pub(super) struct Sender {
    pub(super) way: TransportKind,
    pub(super) attempt: Arc<Attempt>,
    pub(super) probe: Arc<Probe>,
}

impl tower::Service<HttpRequestFactory> for Sender {
    type Response = reqwest::Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<reqwest::Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let sender = self.clone();
        Box::pin(async move {
            let mut request = factory.build().await?;
            if let Some(beta) = sender.attempt.beta {
                request.headers_mut().append("anthropic-beta", HeaderValue::from_static(beta));
            }
            sender.send(request).await.map_err(|fault| sender.probe.fail(fault))
        })
    }
}

type Pieces = BoxStream<'static, Result<Vec<u8>, Fault>>;

impl Sender {
    async fn send(&self, request: reqwest::Request) -> Result<reqwest::Response, Fault> {
        let attempt = &self.attempt;
        let answer = self.way.send(attempt, request).await?;
        let answer = TransportResponse { body: gzip::unpacked(answer.body), ..answer };
        if !(200..300).contains(&answer.status) {
            return Err(self.refused(answer).await);
        }
        let mut pieces = pieces(Arc::clone(attempt), answer);
        let mut head = Vec::new();
        let shape = loop {
            match events::shape(&head) {
                Shape::Undecided => match pieces.next().await {
                    Some(piece) => head.extend(piece?),
                    None if head.trim_ascii().is_empty() => return Err(attempt.unreadable("the body is empty")),
                    None => break Shape::Unknown,
                },
                shape => break shape,
            }
        };
        if head.starts_with(BYTE_ORDER_MARK) {
            head.drain(..BYTE_ORDER_MARK.len());
        }
        let body = match (shape, attempt.streams) {
            (Shape::Page, _) => return Err(attempt.page()),
            (Shape::Events, true) => self.watched(head, pieces),
            (Shape::Events, false) => {
                let body = collect(head, pieces).await?;
                self.probe.state().done.see(&body);
                let values = events::values(&String::from_utf8_lossy(&body)).ok_or_else(|| attempt.unreadable("an event is no JSON"))?;
                reqwest::Body::from(format!("[{}]", values.join(",")))
            }
            (Shape::Document, streams) => {
                let body = collect(head, pieces).await?;
                if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(&body) {
                    return Err(attempt.unreadable(format!("the body is no JSON: {error}")));
                }
                self.probe.state().done.done = true;
                reqwest::Body::from(if streams { events::as_event(&body) } else { body })
            }
            (Shape::Undecided | Shape::Unknown, _) => {
                let body = collect(head, pieces).await?;
                let words: String = String::from_utf8_lossy(&body).trim().chars().take(200).collect();
                return Err(attempt.unreadable(format!("the body is neither JSON nor a stream: {words:?}")));
            }
        };
        // Only the parts that async-openai reads are passed on: the status and the body.
        Ok(http::Response::new(body).into())
    }

    async fn refused(&self, answer: TransportResponse) -> Fault {
        let status = answer.status;
        let times = Times::of(|name| answer.header(name));
        if let (300..=399, Some(target)) = (status, answer.header("location")) {
            let (name, target) = (self.attempt.address_name(), shown_address(&target));
            let message = format!("the server redirects to {target}; set {name} to where the API is");
            return ModelError::Refused { model: self.attempt.model.clone(), status, message }.into();
        }
        // A body that breaks off does not hide the status.
        let mut body = Vec::new();
        let mut pieces = pieces(Arc::clone(&self.attempt), answer);
        while let Some(Ok(piece)) = pieces.next().await {
            body.extend(piece);
            if body.len() > 64 * 1024 {
                break;
            }
        }
        fault::from_http(self.attempt.fault_source(), status, times, &body)
    }

    /// Returns the bytes of a stream; its end and its failure are noted.
    fn watched(&self, head: Vec<u8>, pieces: Pieces) -> reqwest::Body {
        let probe = Arc::clone(&self.probe);
        let pieces = stream::once(async { Ok(head) }).chain(pieces).map(move |piece| match piece {
            Ok(piece) => {
                probe.state().done.see(&piece);
                Ok(piece)
            }
            Err(fault) => Err(probe.fail(fault)),
        });
        reqwest::Body::wrap_stream(pieces)
    }
}

/// Returns the pieces of a body, each within its time, and together no more than a body may have.
fn pieces(attempt: Arc<Attempt>, answer: TransportResponse) -> Pieces {
    stream::unfold(Some((attempt, answer.body, 0_usize)), |state| async {
        let (attempt, mut body, read) = state?;
        match next(&attempt, &mut body, read).await {
            Ok(Some(piece)) => {
                let read = read.saturating_add(piece.len());
                Some((Ok(piece), Some((attempt, body, read))))
            }
            Ok(None) => None,
            Err(fault) => Some((Err(fault), None)),
        }
    })
    .fuse()
    .boxed()
}

async fn next(
    attempt: &Attempt,
    body: &mut (impl Stream<Item = std::io::Result<Vec<u8>>> + Unpin),
    read: usize,
) -> Result<Option<Vec<u8>>, Fault> {
    let piece = attempt.bounded(body.next()).await?.transpose().map_err(|error| attempt.broken(&error.to_string()))?;
    match piece {
        Some(piece) if read.saturating_add(piece.len()) > MAX_BODY => {
            Err(attempt.unreadable(format!("it is longer than the {} MiB that are read", MAX_BODY >> 20)))
        }
        piece => Ok(piece),
    }
}

async fn collect(mut body: Vec<u8>, mut pieces: Pieces) -> Result<Vec<u8>, Fault> {
    while let Some(piece) = pieces.next().await {
        body.extend(piece?);
    }
    Ok(body)
}
