//! Sends a rendered reply: whole, in pieces, delayed, cut off, or never to its end.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures::stream;
use tokio::sync::watch;

use crate::render::RenderedBody;
use crate::reply::Reply;

/// Time after which the connection of a held back answer is dropped.
const HELD_BACK_LIMIT: Duration = Duration::from_secs(60);

/// Remaining step of sending a body.
enum Rest {
    Piece(Vec<u8>),
    Delay(Duration),
    Hold(watch::Receiver<bool>),
    Break,
    Hang,
}

/// Sends a reply. `released` becomes true when the held back end may be sent; `flight` is dropped before the last piece.
pub(crate) fn send<F: Send + 'static>(reply: &Reply, rendered: RenderedBody, released: watch::Receiver<bool>, flight: F) -> Response {
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
        rest.insert(rest.len().saturating_sub(pieces), Rest::Hold(released));
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
            // The client may react to the last piece at once, so the request stops counting as in flight here.
            flight = None;
        }
        match next {
            Rest::Piece(piece) => {
                // Lets the piece be sent on its own.
                tokio::task::yield_now().await;
                Some((Ok(Bytes::from(piece)), (rest, flight)))
            }
            Rest::Break => {
                // The preceding bytes must be sent first, because dropping the connection discards them.
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
