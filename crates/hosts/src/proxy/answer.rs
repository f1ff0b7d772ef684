//! Answering one request to the proxy.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
};

use http_body_util::{Either, Full};
use hyper::{
    Method, Request, Response, StatusCode, Uri,
    body::{Bytes, Incoming},
    client::conn::http1,
    header::{CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue},
    http::uri::{PathAndQuery, Scheme},
    upgrade::OnUpgrade,
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::{
    Shared,
    dial::{Unreached, dial},
};
use crate::Target;

pub(super) type Body = Either<Incoming, Full<Bytes>>;
/// Ends of an opened tunnel: the client's side, once the answer has been sent, and the server's.
pub(super) type Tunnel = Arc<Mutex<Option<(OnUpgrade, TcpStream)>>>;

/// Headers that are for one connection alone (RFC 9110, 7.6.1), and those for proxies.
const OF_ONE_CONNECTION: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

pub(super) async fn answer(request: Request<Incoming>, shared: Arc<Shared>, tunnel: Tunnel) -> Result<Response<Body>, Infallible> {
    let answered =
        if request.method() == Method::CONNECT { open(request, &shared, &tunnel).await } else { forward(request, &shared).await };
    Ok(answered.unwrap_or_else(|unreached| match unreached {
        Unanswered::Unreached(Unreached::Denied(denied)) => text_response(StatusCode::FORBIDDEN, &shared.refuse(&denied)),
        Unanswered::Unreached(Unreached::Failed(reason)) => text_response(StatusCode::BAD_GATEWAY, &reason),
        Unanswered::Unread(reason) => text_response(StatusCode::BAD_REQUEST, reason),
    }))
}

enum Unanswered {
    Unreached(Unreached),
    /// The request is not one to a proxy.
    Unread(&'static str),
}

/// Connects, and stores both ends so that the connection task finds them after the answer to the client has been
/// sent.
async fn open(request: Request<Incoming>, shared: &Shared, tunnel: &Tunnel) -> Result<Response<Body>, Unanswered> {
    let target = target(request.uri(), None)?;
    let server = dial(shared, &target).await.map_err(Unanswered::Unreached)?;
    let client = hyper::upgrade::on(request);
    *tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some((client, server));
    Ok(Response::new(Either::Right(Full::default())))
}

/// Forwards a plain request. The host is that of its URL, even if its header differs.
async fn forward(mut request: Request<Incoming>, shared: &Shared) -> Result<Response<Body>, Unanswered> {
    if request.uri().scheme() != Some(&Scheme::HTTP) {
        return Err(Unanswered::Unread("this is a proxy: ask it for http://host/path, or for a tunnel with CONNECT host:port"));
    }
    let target = target(request.uri(), Some(80))?;
    let server = dial(shared, &target).await.map_err(Unanswered::Unreached)?;
    let failed = |error: hyper::Error| Unanswered::Unreached(Unreached::Failed(format!("{target} did not answer: {error}")));
    let handshake = http1::Builder::new().max_buf_size(shared.bounds.head_bytes).handshake(TokioIo::new(server));
    let (mut sender, connection) = handshake.await.map_err(failed)?;
    tokio::spawn(shared.end.clone().run_until_cancelled_owned(connection));
    let host = request.uri().authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    *request.uri_mut() = Uri::from(path);
    strip(request.headers_mut());
    if let Some(host) = host {
        request.headers_mut().insert(HOST, host);
    }
    let mut response = sender.send_request(request).await.map_err(failed)?;
    strip(response.headers_mut());
    Ok(response.map(Either::Left))
}

/// Returns the target of a request. User info before the host is refused, because some parsers read it as the host.
fn target(uri: &Uri, usual: Option<u16>) -> Result<Target, Unanswered> {
    let authority = uri.authority().ok_or(Unanswered::Unread("the request names no host"))?;
    if authority.as_str().contains('@') {
        return Err(Unanswered::Unread("an address with a name or a password in it is not asked for"));
    }
    Target::read(authority.as_str(), usual).ok_or(Unanswered::Unread("the request names no host and port that can be read"))
}

/// Removes headers that apply to one connection only, including those that its header `Connection` names.
fn strip(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).into_iter().filter_map(|value| value.to_str().ok());
    let named: Vec<HeaderName> = named.flat_map(|names| names.split(',')).filter_map(|name| name.trim().parse().ok()).collect();
    for name in OF_ONE_CONNECTION {
        headers.remove(name);
    }
    for name in named {
        headers.remove(name);
    }
}

fn text_response(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Either::Right(Full::from(format!("[sandbox] {text}\n"))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
