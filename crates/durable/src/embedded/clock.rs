//! Clock of a host.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::UnixMillis;

/// Returns the times that a host stamps facts with.
pub trait Clock: Send + Sync + 'static {
    /// Now, in milliseconds since the Unix epoch.
    fn now(&self) -> UnixMillis;
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UnixMillis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixMillis::try_from(since.as_millis()).unwrap_or(UnixMillis::MAX)
    }
}
