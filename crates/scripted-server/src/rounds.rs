//! Server of rounds for benchmarks. It does as little as possible with a request, because its time is part of the measurement.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use axum::routing::post;
use memchr::memmem;
use serde_json::json;

use crate::memory::Memory;
use crate::provider::Provider;
use crate::render::{RenderedBody, render};
use crate::reply::Reply;
use crate::serving::ServerThread;
use crate::view::View;

/// A server of think-act rounds: each conversation gets a call of the tool `look` in each round, and then an end, which is a call of
/// `terminate` if that tool is offered, and a text otherwise.
///
/// The address names the number of rounds: `URL/rounds/ROUNDS/v1`. Requests to `URL/warm/ROUNDS/v1` get the same answers and are not
/// recorded. The server does not check requests, and only counts their answers, so its time hardly grows with the conversation.
pub struct RoundsServer {
    shared: Arc<Shared>,
    serving: ServerThread,
}

struct Shared {
    pause: Duration,
    kept: Mutex<Vec<Bytes>>,
}

impl RoundsServer {
    /// Starts a server on a free port of 127.0.0.1 that waits for `pause` before each answer.
    ///
    /// # Errors
    /// No port can be opened, or the thread cannot be started.
    pub fn try_start(pause: Duration) -> io::Result<Self> {
        let shared = Arc::new(Shared { pause, kept: Mutex::default() });
        let routes = Router::new()
            .route("/rounds/{rounds}/v1/chat/completions", post(keep))
            .route("/warm/{rounds}/v1/chat/completions", post(answer))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        Ok(Self { serving: ServerThread::start(routes, 0)?, shared })
    }

    /// Returns the base address of its conversations, `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.serving.address)
    }

    /// Returns the bodies of all requests recorded since the last call of this function, in order of arrival.
    #[must_use]
    pub fn take(&self) -> Vec<Bytes> {
        std::mem::take(&mut *self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn keep(State(shared): State<Arc<Shared>>, rounds: Path<usize>, body: Bytes) -> Response {
    shared.kept.lock().unwrap_or_else(PoisonError::into_inner).push(body.clone());
    answer(State(shared), rounds, body).await
}

async fn answer(State(shared): State<Arc<Shared>>, Path(rounds): Path<usize>, body: Bytes) -> Response {
    let RenderedBody { content_type, pieces } = rendered(&body, rounds);
    if !shared.pause.is_zero() {
        tokio::time::sleep(shared.pause).await;
    }
    let mut response = Response::new(Body::from(pieces.concat()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Renders the answer to a request. In a JSON string each quote has a backslash before it, so a quoted match can only be a key or a value.
fn rendered(request: &[u8], rounds: usize) -> RenderedBody {
    let has = |text: &str| memmem::find(request, text.as_bytes()).is_some();
    let given = memmem::find_iter(request, br#""assistant""#).count();
    let end = "All pages were looked at.";
    let mut reply = if given < rounds {
        Reply::call("look", json!({ "page": given }))
    } else if has(r#""terminate""#) {
        Reply::call("terminate", json!({"status": "success", "message": end}))
    } else {
        Reply::text(end)
    };
    for call in &mut reply.tool_calls {
        call.id = Some(format!("call_{given}"));
    }
    let stream = has(r#""stream":true"#) || has(r#""stream": true"#);
    let request = json!({"model": "scripted", "stream_options": {"include_usage": true}});
    render(&reply, View::of_body(&request), Provider::Generic, stream, given, &Memory::default()).0
}
