//! What is typed while a run goes on is told to it, as `aime tell` does.

use std::sync::Arc;

use aime_durable::{Clock, Journal, SystemClock};
use aime_orchestrator::InboxMessage;
use aime_progress::RunId;
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    failure::Failure,
    keyboard::{Keyboard, Typed},
    output::{BOLD, plain},
    screen::{Live, Screen},
    wiring::Setup,
};

/// Somebody listens while this lives.
pub(super) struct Listening {
    keyboard: Arc<Keyboard>,
    telling: JoinHandle<()>,
}

/// Shows what is typed, and hands it on line by line.
struct Lines {
    live: Arc<Live>,
    lines: mpsc::UnboundedSender<String>,
}

impl Typed for Lines {
    fn typing(&self, text: &str) {
        self.live.typing(text);
    }

    fn typed(&self, line: String) {
        // A run that has ended hears nothing.
        drop(self.lines.send(line));
    }
}

impl Listening {
    /// Begins to listen, where there is a view that shows what is typed.
    pub(super) fn begin(run: &RunId, screen: &Arc<Screen>, setup: &Setup) -> Result<Option<Self>, Failure> {
        let Some(live) = screen.live() else { return Ok(None) };
        let (lines, mut typed) = mpsc::unbounded_channel();
        let Some(keyboard) = Keyboard::listen(Arc::new(Lines { live: Arc::clone(live), lines })) else { return Ok(None) };
        live.typing("");
        let (journal, run, screen) = (setup.journal()?, run.clone(), Arc::clone(screen));
        let telling = tokio::spawn(async move {
            while let Some(line) = typed.recv().await {
                match put(&journal, &run, line.clone()).await {
                    Ok(()) => screen.say(&format!("{BOLD}told{BOLD:#}    {}", plain(&line))),
                    Err(error) => screen.say(&format!("not told: {error}")),
                }
            }
        });
        Ok(Some(Self { keyboard: Arc::new(keyboard), telling }))
    }

    /// What lends the terminal to who asks a question.
    pub(super) fn keyboard(&self) -> Arc<Keyboard> {
        Arc::clone(&self.keyboard)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.keyboard.close();
        self.telling.abort();
    }
}

async fn put(journal: &Journal, run: &RunId, text: String) -> Result<(), String> {
    let body = serde_json::to_string(&InboxMessage::Say { task: None, text }).map_err(|error| error.to_string())?;
    journal.inbox_put(run.as_str(), SystemClock.now(), &body).await.map(drop).map_err(|error| error.to_string())
}
