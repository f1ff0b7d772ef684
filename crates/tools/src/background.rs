//! The commands of a run that go on beside its calls.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use aime_sandbox::{BackgroundProcess, ProcessEnd};

use crate::{ToolContext, ToolOutput, protected::Watched};

/// How long a process that has printed nothing new is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
const BREATH: Duration = Duration::from_millis(50);
/// Processes of one run at once.
const MOST: usize = 16;

/// Processes that the calls of a run have left running, each owned by the actor whose call it was. They end with the run. Cheap to clone; the clones
/// share them.
#[derive(Clone, Default)]
pub struct BackgroundProcesses {
    running: Arc<Mutex<Vec<Arc<Running>>>>,
    owner: Arc<str>,
}

/// One of them.
struct Running {
    id: String,
    owner: Arc<str>,
    command: String,
    begun: Instant,
    process: BackgroundProcess,
    /// Keeps an eye on what runs later on its own, until the process has ended and somebody has heard of it.
    watched: Mutex<Option<Watched>>,
}

/// The news of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessNews {
    pub(crate) id: String,
    pub(crate) command: String,
    /// The output since the last look.
    pub(crate) printed: String,
    /// How it ended; nothing while it runs.
    pub(crate) end: Option<ProcessEnd>,
    /// The notes on places whose files run later.
    pub(crate) protected: String,
    /// Hosts that were refused to it.
    pub(crate) refused: Vec<String>,
    pub(crate) seconds: u64,
}

impl BackgroundProcesses {
    /// The same processes, where those that are started belong to `owner`.
    #[must_use]
    pub fn of_owner(&self, owner: &str) -> Self {
        Self { running: Arc::clone(&self.running), owner: owner.into() }
    }

    /// Ends all processes. What they did without consent to files that run later is put back.
    pub async fn end_all(&self, context: &ToolContext) {
        self.end(|_| true, context).await;
    }

    /// Ends the processes of its owner, in the same way.
    pub async fn end_own(&self, context: &ToolContext) {
        self.end(|running| running.owner == self.owner, context).await;
    }

    async fn end(&self, wanted: impl Fn(&Running) -> bool, context: &ToolContext) {
        let (gone, kept): (Vec<Arc<Running>>, Vec<_>) = self.locked().drain(..).partition(|running| wanted(running));
        self.locked().extend(kept);
        for running in gone {
            running.process.stop().await;
            running.told(context).await;
        }
    }

    /// Takes in a started process and names it.
    pub(crate) fn add(&self, command: &str, process: BackgroundProcess, watched: Option<Watched>) -> Result<String, BackgroundProcess> {
        let mut all = self.locked();
        all.retain(|running| running.process.end().is_none() || locked(&running.watched).is_some());
        if all.len() >= MOST {
            return Err(process);
        }
        let id = format!("p{}", process.number());
        let (owner, command, begun) = (Arc::clone(&self.owner), command.to_owned(), Instant::now());
        all.push(Arc::new(Running { id: id.clone(), owner, command, begun, process, watched: Mutex::new(watched) }));
        Ok(id)
    }

    /// The ids and commands of all that were not heard of as ended.
    pub(crate) fn list(&self) -> Vec<(String, String)> {
        self.locked().iter().map(|running| (running.id.clone(), running.command.clone())).collect()
    }

    /// What is new of a process, after a moment where there is nothing; with `stop`, once it was ended. One that has ended is forgotten then.
    pub(crate) async fn news(&self, id: &str, stop: bool, context: &ToolContext) -> Option<ProcessNews> {
        let running = self.locked().iter().find(|running| running.id == id).map(Arc::clone)?;
        let end = match stop {
            true => running.process.stop().await,
            false => {
                running.process.wait_for_news(PATIENCE).await;
                // The rest of what it says in one breath.
                running.process.wait(BREATH).await
            }
        };
        let printed = running.process.take_printed().text();
        let mut protected = String::new();
        if end.is_some() {
            self.locked().retain(|other| other.id != id);
            protected = running.told(context).await;
        }
        Some(ProcessNews {
            id: id.to_owned(),
            command: running.command.clone(),
            printed,
            end,
            protected,
            refused: running.process.refused(),
            seconds: running.begun.elapsed().as_secs(),
        })
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Arc<Running>>> {
        locked(&self.running)
    }
}

impl Running {
    /// Looks, once, at what it did to files that run later.
    async fn told(&self, context: &ToolContext) -> String {
        let watched = locked(&self.watched).take();
        match watched {
            Some(watched) => watched.end(Ok(ToolOutput::default()), context).await.map(|output| output.text).unwrap_or_default(),
            None => String::new(),
        }
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
