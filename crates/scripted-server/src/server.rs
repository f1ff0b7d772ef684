//! The server of a script.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use futures::stream;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::body::render;
use crate::gate::Gates;
use crate::protocol;
use crate::reply::Reply;
use crate::script::{Script, in_short, message_text, messages, wants_stream};
use crate::serving::Serving;

/// How long a held request waits before it is refused.
const HOLD_LIMIT: Duration = Duration::from_secs(30);

/// How long the rest of an answer is held back before the connection is dropped.
const HELD_BACK_LIMIT: Duration = Duration::from_secs(60);

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// The body; a JSON string where it was no JSON.
    pub body: Value,
    /// The headers, with lower-case names.
    pub headers: BTreeMap<String, String>,
    /// The place of the rule that answered it; `None` where it was refused.
    pub rule: Option<usize>,
}

#[derive(Default)]
struct Record {
    received: Vec<Received>,
    used: HashMap<usize, usize>,
    in_flight: usize,
    max_concurrent: usize,
    unmatched: Vec<String>,
}

struct Shared {
    script: Script,
    record: Mutex<Record>,
    gates: Gates,
    arrived: watch::Sender<usize>,
    /// Whether what is held back of answers may go.
    released: watch::Sender<bool>,
}

impl Shared {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running server. It ends, with all its connections, when this is dropped.
pub struct ScriptedServer {
    shared: Arc<Shared>,
    serving: Serving,
}

impl ScriptedServer {
    /// Starts a server on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// No port can be opened. Use [`try_start`](Self::try_start) where that is not the end of a test.
    pub async fn start(script: Script) -> Self {
        Self::start_blocking(script)
    }

    /// The same, for tests without a runtime.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_blocking(script: Script) -> Self {
        match Self::try_start(script, 0) {
            Ok(server) => server,
            #[expect(clippy::panic, reason = "a test cannot go on without its server")]
            Err(error) => panic!("the scripted server cannot start: {error}"),
        }
    }

    /// Starts a server on this port of 127.0.0.1; 0 takes a free one.
    ///
    /// # Errors
    /// The port cannot be opened, or the thread cannot be started.
    pub fn try_start(script: Script, port: u16) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            script,
            record: Mutex::default(),
            gates: Gates::default(),
            arrived: watch::channel(0).0,
            released: watch::channel(false).0,
        });
        let serving = Serving::start(routes(Arc::clone(&shared)), port)?;
        Ok(Self { shared, serving })
    }

    /// The base address, `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.serving.address)
    }

    /// The bodies of all requests, in the order of their arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.shared.record().received.iter().map(|received| received.body.clone()).collect()
    }

    /// All requests with their headers, in the order of their arrival.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.shared.record().received.clone()
    }

    /// The most requests that were in flight at once.
    #[must_use]
    pub fn max_concurrent(&self) -> usize {
        self.shared.record().max_concurrent
    }

    /// The requests that no rule answered, each in one line.
    #[must_use]
    pub fn unmatched(&self) -> Vec<String> {
        self.shared.record().unmatched.clone()
    }

    /// Lets go what is held back of answers, now and from now on.
    pub fn release(&self) {
        self.shared.released.send_replace(true);
    }

    /// Returns when this many requests have arrived since the start.
    pub async fn wait_for_requests(&self, count: usize) {
        // The sender lives in `self`, so the wait cannot fail.
        let _ = self.shared.arrived.subscribe().wait_for(|arrived| *arrived >= count).await;
    }

    /// The same for tests without a runtime: false when the time runs out before.
    #[must_use]
    pub fn wait_for_requests_blocking(&self, count: usize, limit: Duration) -> bool {
        let start = std::time::Instant::now();
        while *self.shared.arrived.borrow() < count {
            if start.elapsed() > limit {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/models", get(models))
        .fallback(no_such_path)
        .layer(DefaultBodyLimit::disable())
        .with_state(shared)
}

async fn models(State(shared): State<Arc<Shared>>) -> Response {
    let list: Vec<Value> = shared.script.models.iter().map(|name| json!({"id": name, "object": "model", "owned_by": "script"})).collect();
    plain(StatusCode::OK, json!({"object": "list", "data": list}))
}

async fn no_such_path(uri: axum::http::Uri) -> Response {
    plain(StatusCode::NOT_FOUND, json!({"error": {"message": format!("no such path: {uri}"), "type": "invalid_request_error"}}))
}

fn plain(status: StatusCode, body: Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn refused(status: StatusCode, code: &str, message: String) -> Response {
    plain(status, json!({"error": {"message": message, "type": "invalid_request_error", "code": code}}))
}

/// Counts a request as in flight until it is dropped.
struct InFlight(Arc<Shared>);

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut record = self.0.record();
        record.in_flight = record.in_flight.saturating_sub(1);
    }
}

async fn chat(State(shared): State<Arc<Shared>>, headers: HeaderMap, bytes: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)));
    let headers =
        headers.iter().map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())).collect();
    let flight = InFlight(Arc::clone(&shared));
    let (number, found) = {
        let mut record = shared.record();
        record.in_flight += 1;
        record.max_concurrent = record.max_concurrent.max(record.in_flight);
        let fault = shared.script.strict.then(|| protocol::fault(&body)).flatten();
        let found = match fault {
            Some(fault) => Err((StatusCode::BAD_REQUEST, "bad_messages", fault)),
            None => choose(&shared.script, &mut record.used, &body).ok_or_else(|| {
                let short = in_short(&body);
                record.unmatched.push(short.clone());
                (StatusCode::NOT_FOUND, "no_rule", format!("no rule of the script answers this request: {short}"))
            }),
        };
        record.received.push(Received { body: body.clone(), headers, rule: found.as_ref().ok().map(|(rule, _)| *rule) });
        (record.received.len(), found)
    };
    shared.arrived.send_replace(number);
    match found {
        Ok((_, reply)) => match hold(&shared, &reply).await {
            Ok(()) => send(&reply, &body, number, flight),
            Err(reason) => refused(StatusCode::BAD_REQUEST, "held_in_vain", reason),
        },
        Err((status, code, message)) => refused(status, code, message),
    }
}

/// The first rule that fits and has a reply left, and that reply.
fn choose(script: &Script, used: &mut HashMap<usize, usize>, request: &Value) -> Option<(usize, Reply)> {
    script.rules.iter().enumerate().find_map(|(place, rule)| {
        let next = used.get(&place).copied().unwrap_or(0);
        let reply = match rule.replies.get(next) {
            Some(reply) => reply,
            None if rule.once => return None,
            None => rule.replies.last()?,
        };
        if !rule.when.fits(request) {
            return None;
        }
        used.insert(place, next.saturating_add(1));
        Some((place, reply.clone()))
    })
}

async fn hold(shared: &Shared, reply: &Reply) -> Result<(), String> {
    if reply.hang {
        std::future::pending::<()>().await;
    }
    if let Some(size) = reply.after_waiting {
        let in_vain = || format!("held in vain: {} of {size} requests were waiting after 30 s", shared.gates.waiting(size));
        tokio::time::timeout(HOLD_LIMIT, shared.gates.pass(size)).await.map_err(|_| in_vain())?;
    }
    if let Some(text) = &reply.after_request {
        let mut arrivals = shared.arrived.subscribe();
        let arrived = |_: &usize| {
            let record = shared.record();
            record.received.iter().any(|one| messages(&one.body).iter().any(|message| message_text(message).contains(text)))
        };
        let in_vain = |_| format!("held in vain: no request with {text:?} arrived within 30 s");
        // The sender lives in `shared`, so only the time can run out.
        let _ = tokio::time::timeout(HOLD_LIMIT, arrivals.wait_for(arrived)).await.map_err(in_vain)?;
    }
    if let Some(milliseconds) = reply.delay_ms {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
    Ok(())
}

/// What is still to be sent of a body.
enum Rest {
    Piece(Vec<u8>),
    Delay(Duration),
    Hold(watch::Receiver<bool>),
    Break,
    Hang,
}

fn send(reply: &Reply, request: &Value, number: usize, flight: InFlight) -> Response {
    let rendered = render(reply, request, wants_stream(request), number);
    let length: usize = rendered.pieces.iter().map(Vec::len).sum();
    let (limit, end) = match (reply.cut_after, reply.hang_after, reply.end_after) {
        (Some(bytes), _, _) => (bytes, Some(Rest::Break)),
        (_, Some(bytes), _) => (bytes, Some(Rest::Hang)),
        (_, _, Some(bytes)) => (bytes, None),
        _ => (usize::MAX, None),
    };
    let early = limit < length;
    let mut left = limit;
    let mut rest: VecDeque<Rest> = VecDeque::new();
    for mut piece in rendered.pieces {
        piece.truncate(left);
        left = left.saturating_sub(piece.len());
        if !piece.is_empty() {
            rest.push_back(Rest::Piece(piece));
        }
    }
    if let Some(pieces) = reply.held_back {
        rest.insert(rest.len().saturating_sub(pieces), Rest::Hold(flight.0.released.subscribe()));
    }
    if let Some(milliseconds) = reply.piece_delay_ms {
        let delay = || Rest::Delay(Duration::from_millis(milliseconds));
        rest = rest.into_iter().flat_map(|piece| [delay(), piece]).collect();
    }
    rest.extend(end);
    let body = Body::from_stream(stream::unfold((rest, Some(flight)), |(mut rest, mut flight)| async move {
        let next = loop {
            match rest.pop_front()? {
                Rest::Delay(time) => tokio::time::sleep(time).await,
                Rest::Hold(mut released) => {
                    if tokio::time::timeout(HELD_BACK_LIMIT, released.wait_for(|released| *released)).await.is_err() {
                        break Rest::Break;
                    }
                }
                next => break next,
            }
        };
        if rest.is_empty() {
            // The client may act on the last piece at once: from here on the request is no longer in flight.
            flight = None;
        }
        match next {
            Rest::Piece(piece) => {
                // Lets the piece go out on its own.
                tokio::task::yield_now().await;
                Some((Ok(Bytes::from(piece)), (rest, flight)))
            }
            Rest::Break => {
                // The bytes before must be on their way, else the connection is dropped with them.
                tokio::time::sleep(Duration::from_millis(20)).await;
                Some((Err(io::Error::other("cut by the script")), (rest, flight)))
            }
            Rest::Hang | Rest::Delay(_) | Rest::Hold(_) => std::future::pending().await,
        }
    }));
    let mut response = Response::new(body);
    *response.status_mut() = reply.status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(rendered.content_type));
    if rendered.content_type != "text/event-stream" && !(early && reply.end_after.is_some()) {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    for (name, value) in &reply.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name.as_str()), HeaderValue::try_from(value.as_str())) {
            headers.insert(name, value);
        }
    }
    response
}
