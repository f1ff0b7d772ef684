//! A program in the background: its output is kept until the caller takes it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    sync::watch,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    CapturedOutput, ProcessEnd, ProcessError, ProcessRequest,
    capture::HeadTailBuffer,
    run::{Group, check},
    system::SELDOM,
};

/// Bytes per read.
const CHUNK: usize = 8 * 1024;
/// Interval at which a waiting caller checks for output.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A started program with all that it starts, within its limits of time and of resources. Dropping it ends it as [`run`](super::run) ends a
/// cancelled one.
#[derive(Debug)]
pub struct BackgroundProcess {
    number: u32,
    fresh: Arc<Mutex<UnreadOutput>>,
    end: watch::Receiver<Option<ProcessEnd>>,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

/// Output that the caller has not taken yet.
#[derive(Debug)]
struct UnreadOutput {
    keeper: HeadTailBuffer,
    limit: usize,
    refused: Vec<String>,
}

impl BackgroundProcess {
    /// Starts a program. Its two streams are merged in the order in which they arrive. Of the output that the caller has not taken, the
    /// first and the last half of `output_limit` bytes are kept. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`ProcessError`] if it could not be started.
    pub fn start(request: &ProcessRequest) -> Result<Self, ProcessError> {
        check(request)?;
        let mut group = Group::start(request, !request.input.is_empty())?;
        let number = group.number();
        let limit = request.output_limit;
        let fresh = Arc::new(Mutex::new(UnreadOutput { keeper: HeadTailBuffer::new(limit), limit, refused: Vec::new() }));
        let (ended, end) = watch::channel(None);
        let cancel = CancellationToken::new();
        let (kept, stop, input, time_limit) = (Arc::clone(&fresh), cancel.clone(), request.input.clone(), request.time_limit);
        let task = tokio::spawn(async move {
            let (stdin, out, err) = group.pipes();
            let flow = async {
                tokio::join!(super::run::feed(stdin, &input), listen(out, &kept), listen(err, &kept));
            };
            let end = group.watch_every(SELDOM, flow, time_limit, &stop).await;
            locked(&kept).refused = group.refused();
            drop(group);
            // The operating system withholds the end of a child only from a process that has already waited for it.
            let _nobody_asks = ended.send(Some(end.unwrap_or(ProcessEnd::Cancelled)));
        });
        Ok(Self { number, fresh, end, cancel, task })
    }

    /// Returns its process id.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Takes the output since the last call.
    #[must_use]
    pub fn take_printed(&self) -> CapturedOutput {
        let mut fresh = locked(&self.fresh);
        let limit = fresh.limit;
        std::mem::replace(&mut fresh.keeper, HeadTailBuffer::new(limit)).finish()
    }

    /// Returns the number of bytes that it has printed since the last call of [`Self::take_printed`].
    #[must_use]
    pub fn untaken(&self) -> u64 {
        locked(&self.fresh).keeper.total()
    }

    /// Returns the hosts that were refused to it as text, once it has ended.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        locked(&self.fresh).refused.clone()
    }

    /// Returns how it ended; `None` while it runs.
    #[must_use]
    pub fn end(&self) -> Option<ProcessEnd> {
        self.end.borrow().clone()
    }

    /// Waits for new output or for its end, at most for `patience`.
    pub async fn wait_for_output(&self, patience: Duration) {
        let something = async {
            while self.end().is_none() && locked(&self.fresh).keeper.is_empty() {
                sleep(POLL_INTERVAL).await;
            }
        };
        let _late = timeout(patience, something).await;
    }

    /// Waits for its end, at most for `patience`.
    pub async fn wait(&self, patience: Duration) -> Option<ProcessEnd> {
        let mut end = self.end.clone();
        // A process that has ended stays ended, so a timeout does not matter.
        let _late = timeout(patience, end.wait_for(Option::is_some)).await;
        self.end()
    }

    /// Ends it with all that it started.
    pub async fn stop(&self) -> Option<ProcessEnd> {
        self.cancel.cancel();
        let mut end = self.end.clone();
        let _gone = end.wait_for(Option::is_some).await;
        self.end()
    }
}

impl Drop for BackgroundProcess {
    fn drop(&mut self) {
        self.cancel.cancel();
        if tokio::runtime::Handle::try_current().is_err() {
            // No task is left to end it gracefully: dropping the task kills the group.
            self.task.abort();
        }
    }
}

/// Reads a pipe to its end, so that the program never blocks.
async fn listen(pipe: Option<impl AsyncRead + Unpin>, fresh: &Mutex<UnreadOutput>) {
    let Some(mut pipe) = pipe else { return };
    let mut chunk = vec![0; CHUNK];
    while let Ok(count) = pipe.read(&mut chunk).await {
        if count == 0 {
            break;
        }
        locked(fresh).keeper.push(chunk.get(..count).unwrap_or_default());
    }
}

fn locked(fresh: &Mutex<UnreadOutput>) -> MutexGuard<'_, UnreadOutput> {
    fresh.lock().unwrap_or_else(PoisonError::into_inner)
}
