//! Trace contexts of calls, so that servers continue the trace of a run.

use std::sync::Arc;

use aime_progress_management::RunId;

/// Returns the `traceparent` of a tool call by its id, as W3C Trace Context defines it.
pub type TraceParents = Arc<dyn Fn(&RunId, &str) -> String + Send + Sync>;
