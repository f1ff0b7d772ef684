//! Life cycle of one server: started on first use, restarted after it has ended with increasing delays, and finally given up.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Mutex as AsyncMutex,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    McpAbilities, McpError, McpPlace, McpServerSettings,
    connection::{Connection, chain},
};

/// Number of consecutive failures after which a server is given up.
const MAX_FAILURES: u32 = 5;
/// Longest delay before a restart.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Returns the delay before the next start after this many consecutive failures; `None` to give up.
fn wait_after(failures: u32, first: Duration) -> Option<Duration> {
    match failures {
        0 => Some(Duration::ZERO),
        MAX_FAILURES.. => None,
        _ => Some(first.saturating_mul(1 << (failures - 1)).min(MAX_WAIT)),
    }
}

/// A server. It starts on first use.
pub(super) struct Server {
    pub(super) settings: McpServerSettings,
    place: McpPlace,
    life: AsyncMutex<Life>,
    offer: Mutex<Option<Arc<McpAbilities>>>,
}

#[derive(Default)]
struct Life {
    connection: Option<Arc<Connection>>,
    failures: u32,
    last_failure: Option<(Instant, String)>,
}

impl Server {
    pub(super) fn new(settings: McpServerSettings, place: McpPlace, known: Option<McpAbilities>) -> Self {
        let known = known.map(|known| {
            // Stored offers pass the same checks as those of a running server.
            let mut offer = McpAbilities { tools: Vec::new(), ..known.clone() };
            offer.take(known.tools, &settings);
            Arc::new(offer)
        });
        Self { settings, place, life: AsyncMutex::default(), offer: Mutex::new(known) }
    }

    /// Returns its offer, if known.
    pub(super) fn offer(&self) -> Option<Arc<McpAbilities>> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn store_offer(&self, offer: McpAbilities) {
        *self.offer.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(offer));
    }

    /// Returns the open connection, or opens one. Also updates the server's offer.
    pub(super) async fn connection(&self, cancel: &CancellationToken) -> Result<Arc<Connection>, McpError> {
        let ready = cancel.run_until_cancelled(self.ready());
        ready.await.unwrap_or_else(|| Err(McpError::Cancelled { server: self.settings.name.clone() }))
    }

    async fn ready(&self) -> Result<Arc<Connection>, McpError> {
        let mut life = self.life.lock().await;
        if let Some(connection) = &life.connection {
            if !connection.is_over() {
                if connection.handler().take_changed() {
                    match connection.ask_offer(&self.settings).await {
                        Ok(offer) => self.store_offer(offer),
                        Err(error) => tracing::warn!(%error, "the tools of an MCP server have changed and are not known"),
                    }
                }
                return Ok(Arc::clone(connection));
            }
            let stderr = connection.stderr();
            life.connection = None;
            life.fail(if stderr.is_empty() { "it ended".to_owned() } else { format!("it ended; it said:\n{stderr}") });
        }
        let Some(wait) = wait_after(life.failures, self.settings.first_wait) else {
            let reason = life.last_failure.as_ref().map(|(_, reason)| reason.clone()).unwrap_or_default();
            return Err(McpError::GivenUp { server: self.settings.name.clone(), failures: life.failures, reason });
        };
        if let Some((at, _)) = &life.last_failure {
            sleep_until(*at + wait).await;
        }
        match Connection::open(&self.settings, &self.place).await {
            Ok(connection) => {
                tracing::info!(server = self.settings.name, software = connection.offer.software, "an MCP server is ready");
                self.store_offer(connection.offer.clone());
                let connection = Arc::new(connection);
                life.connection = Some(Arc::clone(&connection));
                Ok(connection)
            }
            Err(error) => {
                life.fail(chain(&error));
                Err(error)
            }
        }
    }

    /// Resets the failure count after a successful call.
    pub(super) async fn is_sound(&self) {
        let mut life = self.life.lock().await;
        life.failures = 0;
        life.last_failure = None;
    }

    /// Drops an unusable connection: the next call opens another.
    pub(super) async fn is_gone(&self, gone: &Arc<Connection>) {
        let mut life = self.life.lock().await;
        if life.connection.as_ref().is_some_and(|connection| Arc::ptr_eq(connection, gone)) {
            life.connection = None;
            life.fail(format!("it ended in the middle of a call{}", stderr_note(gone)));
        }
    }

    /// Drops a connection in an unknown state: the next call opens another, and calls that hold this one continue.
    pub(super) async fn is_doubtful(&self, doubtful: &Arc<Connection>) {
        let mut life = self.life.lock().await;
        if life.connection.as_ref().is_some_and(|connection| Arc::ptr_eq(connection, doubtful)) {
            life.connection = None;
        }
    }

    /// Ends the server if it runs.
    pub(super) async fn end(&self) {
        let connection = self.life.lock().await.connection.take();
        // A call that still holds the connection drops it at its end, which kills the process.
        if let Some(connection) = connection.and_then(Arc::into_inner) {
            connection.close().await;
        }
    }
}

impl Life {
    fn fail(&mut self, reason: String) {
        self.failures += 1;
        self.last_failure = Some((Instant::now(), reason));
    }
}

fn stderr_note(connection: &Connection) -> String {
    let stderr = connection.stderr();
    if stderr.is_empty() { stderr } else { format!("; it said:\n{stderr}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_end() {
        let waits: Vec<_> =
            (0..=MAX_FAILURES).map(|failures| wait_after(failures, Duration::from_millis(500)).map(|wait| wait.as_millis())).collect();
        assert_eq!(waits, [Some(0), Some(500), Some(1_000), Some(2_000), Some(4_000), None]);
    }
}
