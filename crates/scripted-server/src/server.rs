//! Server of a script.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::errors;
use crate::gate::Gates;
use crate::memory::Memory;
use crate::models;
use crate::provider::Provider;
use crate::render::render;
use crate::reply::Reply;
use crate::rules::{Refusal, RuleContext, refusal};
use crate::script::Script;
use crate::sending::send;
use crate::serving::ServerThread;
use crate::view::{Protocol, View};

/// Time after which a held request is refused.
const HOLD_LIMIT: Duration = Duration::from_secs(30);

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedRequest {
    /// Path, such as `/v1/chat/completions`.
    pub path: String,
    /// Query after `?`, undecoded; empty without one.
    pub query: String,
    /// Body; a JSON string if it was not JSON.
    pub body: Value,
    /// Headers, with lower-case names.
    pub headers: BTreeMap<String, String>,
    /// Index of the rule that answered it; `None` if it was refused.
    pub rule: Option<usize>,
}

impl ReceivedRequest {
    fn view(&self) -> View<'_> {
        let known = View::of_body(&self.body);
        View { protocol: Protocol::of_path(&self.path).unwrap_or(known.protocol), path: &self.path, query: &self.query, ..known }
    }
}

#[derive(Default)]
struct Record {
    received: Vec<ReceivedRequest>,
    used: HashMap<usize, usize>,
    in_flight: usize,
    max_concurrent: usize,
    unmatched: Vec<String>,
    elsewhere: Vec<String>,
    memory: Memory,
}

struct Shared {
    script: Script,
    record: Mutex<Record>,
    gates: Gates,
    arrived: watch::Sender<usize>,
    /// True once the held back ends of answers may be sent.
    released: watch::Sender<bool>,
}

impl Shared {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running server. Dropping it ends it and all its connections.
pub struct ScriptedServer {
    shared: Arc<Shared>,
    serving: ServerThread,
}

impl ScriptedServer {
    /// Starts a server on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// If no port can be opened. Use [`try_start`](Self::try_start) to handle that.
    pub async fn start(script: Script) -> Self {
        Self::start_blocking(script)
    }

    /// Starts a server as [`start`](Self::start) does, for tests without a runtime.
    ///
    /// # Panics
    /// Like [`start`](Self::start).
    #[must_use]
    pub fn start_blocking(script: Script) -> Self {
        match Self::try_start(script, 0) {
            Ok(server) => server,
            #[expect(clippy::panic, reason = "a test cannot go on without its server")]
            Err(error) => panic!("the scripted server cannot start: {error}"),
        }
    }

    /// Starts a server on this port of 127.0.0.1; 0 selects a free one.
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
        let serving = ServerThread::start(routes(Arc::clone(&shared)), port)?;
        Ok(Self { shared, serving })
    }

    /// Returns the base address, `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.serving.address)
    }

    /// Returns the address without a path, `http://127.0.0.1:PORT`, for services with another path than `/v1`.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.serving.address)
    }

    /// Returns the bodies of all requests in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.shared.record().received.iter().map(|received| received.body.clone()).collect()
    }

    /// Returns all requests with their headers in order of arrival.
    #[must_use]
    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.shared.record().received.clone()
    }

    /// Returns the maximum number of simultaneous requests in flight.
    #[must_use]
    pub fn max_concurrent(&self) -> usize {
        self.shared.record().max_concurrent
    }

    /// Returns the requests without a matching rule, one line each.
    #[must_use]
    pub fn unmatched(&self) -> Vec<String> {
        self.shared.record().unmatched.clone()
    }

    /// Returns the requests to paths that the service does not have, such as `POST /api/show`.
    #[must_use]
    pub fn elsewhere(&self) -> Vec<String> {
        self.shared.record().elsewhere.clone()
    }

    /// Releases the held back parts of answers, now and from now on.
    pub fn release(&self) {
        self.shared.released.send_replace(true);
    }

    /// Returns when this many requests have arrived since the start.
    pub async fn wait_for_requests(&self, count: usize) {
        // The sender lives in `self`, so the wait cannot fail.
        let _ = self.shared.arrived.subscribe().wait_for(|arrived| *arrived >= count).await;
    }

    /// Waits as [`wait_for_requests`](Self::wait_for_requests) does, for tests without a runtime. Returns false after `limit`.
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
    Router::new().fallback(answer).layer(DefaultBodyLimit::disable()).with_state(shared)
}

/// Answers any request. Only the end of the path matters, because services and gateways have different prefixes.
async fn answer(State(shared): State<Arc<Shared>>, method: Method, uri: Uri, headers: HeaderMap, bytes: Bytes) -> Response {
    let served = |protocol: &Protocol| !shared.script.strict || shared.script.provider.speaks(*protocol);
    match Protocol::of_path(uri.path()).filter(served) {
        Some(protocol) if method == Method::POST => generate(shared, protocol, &uri, &headers, &bytes).await,
        Some(protocol) => {
            refused(protocol, StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", &format!("{method} is not allowed at {uri}"))
        }
        None if method == Method::GET && uri.path().ends_with("/models") => {
            plain(StatusCode::OK, &models::list(&shared.script, uri.path()))
        }
        None => {
            shared.record().elsewhere.push(format!("{method} {}", uri.path()));
            plain(StatusCode::NOT_FOUND, &json!({"error": {"message": format!("no such path: {uri}"), "type": "invalid_request_error"}}))
        }
    }
}

fn plain(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn refused(protocol: Protocol, status: StatusCode, code: &str, message: &str) -> Response {
    plain(status, &errors::body(protocol, status.as_u16(), code, message))
}

/// Counts a request as in flight until it is dropped.
struct InFlight(Arc<Shared>);

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut record = self.0.record();
        record.in_flight = record.in_flight.saturating_sub(1);
    }
}

async fn generate(shared: Arc<Shared>, protocol: Protocol, uri: &Uri, headers: &HeaderMap, bytes: &Bytes) -> Response {
    let body: Value = serde_json::from_slice(bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(bytes)));
    let headers: BTreeMap<String, String> =
        headers.iter().map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())).collect();
    let request = View { protocol, path: uri.path(), query: uri.query().unwrap_or_default(), body: &body };
    let flight = InFlight(Arc::clone(&shared));
    let (number, found) = {
        let mut record = shared.record();
        record.in_flight += 1;
        record.max_concurrent = record.max_concurrent.max(record.in_flight);
        let found = find(&shared.script, &mut record, &request, &headers);
        let (path, query) = (request.path.to_owned(), request.query.to_owned());
        let rule = found.as_ref().ok().map(|(rule, _)| *rule);
        record.received.push(ReceivedRequest { path, query, body: body.clone(), headers, rule });
        (record.received.len(), found)
    };
    shared.arrived.send_replace(number);
    match found {
        Ok((_, reply)) => match hold(&shared, &reply).await {
            Ok(()) => {
                let rendered = {
                    let memory = &mut shared.record().memory;
                    let (rendered, sent) = render(&reply, request, shared.script.provider, request.wants_stream(), number, memory);
                    let checks = shared.script.strict && shared.script.provider != Provider::Generic;
                    memory.keep(if checks { sent } else { sent.prompts_only() });
                    rendered
                };
                send(&reply, rendered, shared.released.subscribe(), flight)
            }
            Err(reason) => refused(protocol, StatusCode::BAD_REQUEST, "held_in_vain", &reason),
        },
        Err(refusal) => plain(StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST), &refusal.body),
    }
}

/// Finds the rule and the reply of a request, unless the provider refuses it or no rule matches.
fn find(script: &Script, record: &mut Record, request: &View<'_>, headers: &BTreeMap<String, String>) -> Result<(usize, Reply), Refusal> {
    let asked = RuleContext { request: *request, headers, memory: &record.memory };
    if let Some(refusal) = script.strict.then(|| refusal(script.provider, &asked)).flatten() {
        return Err(refusal);
    }
    choose(script, &mut record.used, request).ok_or_else(|| {
        let short = request.in_short();
        let message = format!("no rule of the script answers this request: {short}");
        record.unmatched.push(short);
        Refusal { status: 404, body: errors::body(request.protocol, 404, "no_rule", &message) }
    })
}

/// Returns the first rule that matches and has a reply left, and that reply.
fn choose(script: &Script, used: &mut HashMap<usize, usize>, request: &View<'_>) -> Option<(usize, Reply)> {
    script.rules.iter().enumerate().find_map(|(place, rule)| {
        let next = used.get(&place).copied().unwrap_or(0);
        let reply = match rule.replies.get(next) {
            Some(reply) => reply,
            None if rule.once => return None,
            None => rule.replies.last()?,
        };
        if !rule.when.holds(request) {
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
            record.received.iter().any(|one| one.view().texts().iter().any(|content| content.contains(text)))
        };
        let in_vain = |_| format!("held in vain: no request with {text:?} arrived within 30 s");
        // The sender lives in `shared`, so the only possible error is the timeout.
        let _ = tokio::time::timeout(HOLD_LIMIT, arrivals.wait_for(arrived)).await.map_err(in_vain)?;
    }
    if let Some(milliseconds) = reply.delay_ms {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
    Ok(())
}
