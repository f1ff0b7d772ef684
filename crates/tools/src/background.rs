//! Background processes of a run: commands that outlive the call that started them.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use aime_sandbox::{BackgroundProcess, ProcessEnd};

use crate::{
    ToolContext, ToolOutput,
    protected::{WatchedCall, end_watch},
};

/// Time to wait for a process that has printed nothing new.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of background processes that run at once in one run, and of ended ones whose end was not reported yet.
const MAX_PROCESSES: usize = 16;
const MAX_ENDED: usize = 48;

/// Processes that calls of the run left running. Each belongs to the actor that started it. They end with the run. Cheap to clone; clones
/// share the processes.
#[derive(Clone, Default)]
pub struct BackgroundProcesses {
    running: Arc<Mutex<Vec<Arc<Running>>>>,
    owner: Arc<str>,
}

/// One background process.
struct Running {
    id: String,
    owner: Arc<str>,
    command: String,
    started_at: Instant,
    process: BackgroundProcess,
    /// Watches the protected places until the process has ended and its end was reported.
    watched: Mutex<Option<WatchedCall>>,
}

/// New output and state of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessUpdate {
    pub(crate) id: String,
    pub(crate) command: String,
    /// Output since the last call of [`BackgroundProcesses::update`].
    pub(crate) printed: String,
    /// End of the process; `None` while it runs.
    pub(crate) end: Option<ProcessEnd>,
    /// Notes on changes to protected places.
    pub(crate) protected: String,
    /// Hosts that the sandbox refused to the process.
    pub(crate) refused: Vec<String>,
    pub(crate) seconds: u64,
}

impl BackgroundProcesses {
    /// Returns a handle to the same processes. Processes started through it belong to `owner`.
    #[must_use]
    pub fn of_owner(&self, owner: &str) -> Self {
        Self { running: Arc::clone(&self.running), owner: owner.into() }
    }

    /// Ends all processes, and reverts their unapproved changes to protected places.
    pub async fn end_all(&self, context: &ToolContext) {
        self.end(|_| true, context).await;
    }

    /// Ends the processes of this handle's owner, and reverts their unapproved changes to protected places.
    pub async fn end_own(&self, context: &ToolContext) {
        self.end(|running| running.owner == self.owner, context).await;
    }

    async fn end(&self, wanted: impl Fn(&Running) -> bool, context: &ToolContext) {
        // In one step, so that other actors never miss their processes in the list.
        let gone: Vec<Arc<Running>> = self.locked().extract_if(.., |running| wanted(running)).collect();
        for running in gone {
            running.process.stop().await;
            running.protection_notes(context).await;
        }
    }

    /// Waits until a process has ended. Returns at once if there is none of this id.
    pub async fn ended(&self, id: &str) {
        let known = self.locked().iter().find(|running| running.id == id).map(Arc::clone);
        if let Some(running) = known {
            while running.process.wait(OUTPUT_TIMEOUT).await.is_none() {}
        }
    }

    /// Returns the number of bytes that a process has printed and no call has read yet; 0 if there is none of this id.
    #[must_use]
    pub fn unread(&self, id: &str) -> u64 {
        self.locked().iter().find(|running| running.id == id).map_or(0, |running| running.process.untaken())
    }

    /// Adds a started process and returns its id. Fails if too many run, or if too many wait for a report of their end.
    pub(crate) fn add(&self, command: &str, process: BackgroundProcess, watched: Option<WatchedCall>) -> Result<String, BackgroundProcess> {
        let mut all = self.locked();
        let has_ended = |running: &Arc<Running>| running.process.end().is_some();
        let mut surplus = (all.iter().filter(|running| has_ended(running)).count() + 1).saturating_sub(MAX_ENDED);
        all.retain(|running| {
            // A watched process is kept, because its changes may have to be reverted.
            let is_dropped = surplus > 0 && has_ended(running) && locked(&running.watched).is_none();
            surplus -= usize::from(is_dropped);
            !is_dropped
        });
        let runs = all.iter().filter(|running| !has_ended(running)).count();
        if runs >= MAX_PROCESSES || all.len() >= MAX_PROCESSES + MAX_ENDED {
            return Err(process);
        }
        let id = format!("p{}", process.number());
        let (owner, command, begun) = (Arc::clone(&self.owner), command.to_owned(), Instant::now());
        all.push(Arc::new(Running { id: id.clone(), owner, command, started_at: begun, process, watched: Mutex::new(watched) }));
        Ok(id)
    }

    /// Returns the ids and commands of all processes whose end was not reported yet.
    pub(crate) fn list(&self) -> Vec<(String, String)> {
        self.locked().iter().map(|running| (running.id.clone(), running.command.clone())).collect()
    }

    /// Returns the new output and state of a process. Waits a moment if there is none. With `stop`, ends the process first. Forgets a process once its end
    /// is reported.
    pub(crate) async fn update(&self, id: &str, stop: bool, context: &ToolContext) -> Option<ProcessUpdate> {
        let running = self.locked().iter().find(|running| running.id == id).map(Arc::clone)?;
        let end = match stop {
            true => running.process.stop().await,
            false => {
                running.process.wait_for_output(OUTPUT_TIMEOUT).await;
                // Collect the output that follows at once, so that it is reported together.
                running.process.wait(POLL_INTERVAL).await
            }
        };
        let printed = running.process.take_printed().text();
        let mut protected = String::new();
        if end.is_some() {
            self.locked().retain(|other| other.id != id);
            protected = running.protection_notes(context).await;
        }
        Some(ProcessUpdate {
            id: id.to_owned(),
            command: running.command.clone(),
            printed,
            end,
            protected,
            refused: running.process.refused(),
            seconds: running.started_at.elapsed().as_secs(),
        })
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Arc<Running>>> {
        locked(&self.running)
    }
}

impl Running {
    /// Checks once for changes that the process made to protected places, and returns the notes on them.
    async fn protection_notes(&self, context: &ToolContext) -> String {
        let watched = locked(&self.watched).take();
        end_watch(watched, Ok(ToolOutput::default()), context).await.map(|output| output.text).unwrap_or_default()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for BackgroundProcesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BackgroundProcesses({})", self.locked().len())
    }
}
