//! Transport of a request to its server: HTTP, or another transport of the program.

use std::io;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt};

/// Carries requests in place of HTTP: for a transport of one's own, and for answers that were kept.
///
/// Everything above it stays the same: forms of answers, bounds of time and size, retries.
pub trait Transport: Send + Sync {
    /// Sends a request, as JSON, to the server and returns its answer, or the reason why no answer came.
    ///
    /// Dropping the future, or the body of the answer, ends the request.
    fn send(&self, request: &[u8]) -> BoxFuture<'_, io::Result<TransportResponse>>;
}

/// The answer of a server, its body piece by piece.
pub struct TransportResponse {
    /// The HTTP status.
    pub status: u16,
    /// The headers; of several with one name, the first counts.
    pub headers: Vec<(String, String)>,
    /// The body. An `Err` means that the connection broke.
    pub body: BoxStream<'static, io::Result<Vec<u8>>>,
}

impl TransportResponse {
    /// Returns an answer with status 200 in these pieces.
    pub fn of(pieces: impl IntoIterator<Item = Vec<u8>, IntoIter: Send + 'static>) -> Self {
        Self { status: 200, headers: Vec::new(), body: futures::stream::iter(pieces.into_iter().map(Ok)).boxed() }
    }

    /// Returns the value of a header; the case of its name does not matter.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
    }
}
