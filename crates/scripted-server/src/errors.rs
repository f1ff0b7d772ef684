//! Errors of the server itself, in the format of the requested protocol.

use serde_json::{Value, json};

use crate::view::Protocol;

/// Returns the body of an error. Only OpenAI's format has a code.
pub(crate) fn body(protocol: Protocol, status: u16, code: &str, message: &str) -> Value {
    match protocol {
        Protocol::Chat | Protocol::Responses => {
            json!({"error": {"message": message, "type": "invalid_request_error", "code": code}})
        }
        Protocol::Messages => anthropic(anthropic_type(status), message),
        Protocol::Gemini => google(status, message),
    }
}

/// Returns an error in Anthropic's format (<https://platform.claude.com/docs/en/api/errors>).
pub(crate) fn anthropic(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"})
}

fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500..=599 => "api_error",
        _ => "invalid_request_error",
    }
}

/// Returns an error in Google's format (<https://ai.google.dev/gemini-api/docs/troubleshooting>).
pub(crate) fn google(status: u16, message: &str) -> Value {
    let name = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    };
    json!({"error": {"code": status, "message": message, "status": name}})
}
