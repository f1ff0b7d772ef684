//! HTTP responses that carry no answer of the protocol: a status of failure, or a body that cannot be read.

use std::error::Error;

use rmcp::{ServiceError, transport::streamable_http_client::StreamableHttpError};

use super::listed::one_line;

/// Maximum characters of a server's text that are shown.
const MAX_SHOWN: usize = 400;
/// Beginning of the library's text for a response with a status that it does not report otherwise: 3xx and 4xx except 429.
const STATUS: &str = "HTTP ";

/// Response to a request that carries no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HttpRejection {
    /// Description of the response: `HTTP 429, retry after 30 s`.
    what: String,
    /// True if the server may have done what it was asked.
    may_be_done: bool,
    /// True if the server may not know the session, or the login of the session.
    may_lack_session: bool,
}

impl HttpRejection {
    /// Returns the rejection among the causes of a request's error, if there is one.
    pub(super) fn of(error: &ServiceError) -> Option<Self> {
        let ServiceError::TransportSend(error) = error else { return None };
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
                return Self::of_http(error);
            }
            cause = error.source();
        }
        None
    }

    fn of_http(error: &StreamableHttpError<reqwest::Error>) -> Option<Self> {
        let mut may_lack_session = false;
        let (what, may_be_done) = match error {
            StreamableHttpError::HttpStatus(failure) => {
                let wait = failure.retry_after.as_deref().map(str::trim).filter(|wait| !wait.is_empty());
                // The header holds seconds or a date.
                let unit = if wait.is_some_and(|wait| wait.bytes().all(|c| c.is_ascii_digit())) { " s" } else { "" };
                let wait = wait.map(|wait| format!(", retry after {wait}{unit}")).unwrap_or_default();
                (format!("HTTP {}{wait}", failure.status), failure.status >= 500)
            }
            StreamableHttpError::UnexpectedServerResponse(text) => {
                may_lack_session = lacks_session(text);
                (text.to_string(), !text.starts_with(STATUS))
            }
            StreamableHttpError::ResponseBodyTooLarge { .. } | StreamableHttpError::UnexpectedContentType(_) => (error.to_string(), true),
            _ => return None,
        };
        Some(Self { what: one_line(&what).chars().take(MAX_SHOWN).collect(), may_be_done, may_lack_session })
    }

    /// Returns true if only a new session may help.
    pub(super) fn may_lack_session(&self) -> bool {
        self.may_lack_session
    }

    /// Describes the rejection for a model.
    pub(super) fn describe(&self, server: &str) -> String {
        let Self { what, may_be_done, .. } = self;
        if *may_be_done {
            format!("the MCP server `{server}` failed: {what}. Whether it did what it was asked is not known; check before you repeat it")
        } else {
            format!("the MCP server `{server}` refused the request: {what}. Nothing was done")
        }
    }
}

/// Returns true if a text of the library tells of a lost session. Servers must answer with 404 then, which the library reports as such, but
/// some answer with 400 and a text, or with 401 and no challenge.
fn lacks_session(text: &str) -> bool {
    let Some(status) = text.strip_prefix(STATUS) else { return false };
    let says = |text: &str| ["session", "not initialized"].iter().any(|part| text.to_lowercase().contains(part));
    status.starts_with("401") || status.strip_prefix("400").is_some_and(says)
}

#[cfg(test)]
mod tests {
    use rmcp::transport::DynamicTransportError;

    use super::*;

    fn rejection(error: StreamableHttpError<reqwest::Error>) -> Option<String> {
        let error = DynamicTransportError::from_parts("http", std::any::TypeId::of::<()>(), Box::new(error));
        HttpRejection::of(&ServiceError::TransportSend(error)).map(|rejection| rejection.describe("s"))
    }

    #[test]
    fn a_response_without_an_answer_is_a_rejection() {
        let unknown = ". Whether it did what it was asked is not known; check before you repeat it";
        let large = rejection(StreamableHttpError::ResponseBodyTooLarge { max_size: 5 }).unwrap();
        assert_eq!(large, format!("the MCP server `s` failed: HTTP response body exceeded the maximum size of 5 bytes{unknown}"));
        let long = rejection(StreamableHttpError::UnexpectedServerResponse(format!("HTTP 400: {}", "x\n".repeat(900)).into())).unwrap();
        assert!(long.starts_with("the MCP server `s` refused the request: HTTP 400: x x x") && long.len() < 600, "{long}");
        // These say that the connection is lost.
        for error in [StreamableHttpError::SessionExpired, StreamableHttpError::UnexpectedEndOfStream] {
            assert_eq!(rejection(error), None);
        }
        assert_eq!(HttpRejection::of(&ServiceError::TransportClosed), None);
    }
}
