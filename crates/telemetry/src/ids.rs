//! Ids of traces and spans. They are derived from names, so that a run has one trace even if another process
//! continues it, and a repeated export has the same ids.

use std::fmt::Write;

use aime_progress_management::{RunId, Timestamp};

/// Returns the id of a run's trace.
pub(crate) fn trace(run: &RunId) -> Vec<u8> {
    hash(&["trace", run.as_str()], 16)
}

/// Returns the id of a span, from its kind and its name in the run.
pub(crate) fn span(run: &RunId, kind: &str, name: &str) -> Vec<u8> {
    hash(&["span", run.as_str(), kind, name], 8)
}

/// Returns the `traceparent` of W3C Trace Context that makes spans of a server children of the span of a tool call.
#[must_use]
pub fn trace_parent(run: &RunId, call: &str) -> String {
    format!("00-{}-{}-01", hex(&trace(run)), hex(&span(run, "call", call)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _written = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the first bytes of a hash over words. A leading zero still gives a valid id: only all zeros are invalid.
fn hash(words: &[&str], length: usize) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    for word in words {
        hasher.update(&u64::try_from(word.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(word.as_bytes());
    }
    hasher.finalize().as_bytes().iter().copied().take(length).collect()
}

/// Nanoseconds since 1970; 0 before it.
pub(crate) fn nanos(at: Timestamp) -> u64 {
    u64::try_from(at.as_millis()).unwrap_or(0).saturating_mul(1_000_000)
}
