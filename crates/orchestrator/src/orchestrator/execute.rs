//! Execution of a run from its start or its current state until it ends or is suspended.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use aime_durable::{DriveError, EmbeddedHost, FactSender, JournalError, Resume, StreamWriter, drive};
use aime_messages::message;
use aime_progress_management::{LiveStore, ModelCost, ProgressState, RunId};
use aime_tools::BackgroundProcesses;
use tokio::{
    sync::{OnceCell, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{Orchestrator, OrchestratorError};
use crate::{
    Bounds, Budget, HookPoint, RunControl, RunFact, RunInput, RunMachine, RunResult,
    inbox::read_inbox,
    messages::MessageChannel,
    publish::{Entry, PublishingStream},
    questions::Answers,
    runner::{RunRunner, baseline::BaselineChecks, kept_files::KeptFiles, private::PrivateWorkspaces},
    snapshots::SnapshotsDue,
};

/// Least interval between progress files of a run in progress.
const SNAPSHOT_EVERY: Duration = Duration::from_secs(1);

/// Least interval between progress files, as a multiple of the time that writing one takes.
const SNAPSHOT_SHARE: u32 = 20;

impl Orchestrator {
    pub(super) async fn execute(
        &self,
        start: Start,
        writer: StreamWriter,
        resume: Resume<RunMachine>,
        control: RunControl,
    ) -> Result<RunResult, OrchestratorError> {
        let run = start.input.run.clone();
        let (answers, words) = (Arc::new(start.answers), Arc::new(start.words));
        if let Resume::Fresh(_) = &resume
            && let Err(error) = aime_undo::forget(&self.parts.keep, run.as_str())
        {
            tracing::warn!(%error, "what another run of this name has kept of files stays");
        }
        let kept_files = KeptFiles::new(self.parts.recorder(&run, &self.parts.keep), run.clone(), Arc::clone(&self.live));
        let snapshots = start.snapshots;
        let (broken, mut journal_faults) = mpsc::unbounded_channel();
        let mut parts = self.parts.clone();
        let background = BackgroundProcesses::default();
        parts.tool_context.background = Some(background.clone());
        parts.hold_to(&start.input);
        parts.programs.forget(&run);
        let runner = Arc::new(RunRunner {
            has_journal: true,
            audits: OnceCell::new(),
            run: run.clone(),
            private: PrivateWorkspaces::new(&parts, &run),
            tried: BaselineChecks::default(),
            kept_files: kept_files.clone(),
            live: Arc::clone(&self.live),
            input: start.input,
            parts,
            plan_tools: self.plan_tools.clone(),
            budget: Arc::new(Budget::new(&start.bounds, &start.spent, start.tool_calls).with_actors(start.actors)),
            bounds: start.bounds,
            answers: Arc::clone(&answers),
            words: Arc::clone(&words),
            broken,
        });
        let watcher = control.events.clone();
        let sink = PublishingStream {
            run: run.clone(),
            writer,
            published: start.published,
            watcher,
            live: Arc::clone(&self.live),
            answers: Arc::clone(&answers),
            words: Arc::clone(&words),
            snapshots: Arc::clone(&snapshots),
            pending: Default::default(),
            facts: 0,
            entered: start.entered,
        };
        let redactor = self.parts.redactor.clone();
        let host = EmbeddedHost::new(Arc::clone(&runner), sink).with_clock(Arc::clone(&self.parts.clock));
        let mut host = host.with_facts_through(move |fact| fact.without_secrets(&redactor));
        let gate = Arc::new(WriteGate::default());
        let beside = BackgroundTasks {
            tasks: [
                tokio::spawn(pass_on_stop(control.stop.clone(), host.sender())),
                tokio::spawn(read_inbox(
                    self.parts.journal.clone(),
                    run.clone(),
                    (Arc::clone(&answers), Arc::clone(&words)),
                    start.passed_on,
                    host.sender(),
                )),
                tokio::spawn(self.clone().keep_snapshots(run.clone(), Arc::clone(&gate))),
                tokio::spawn({
                    let (journal, run) = (self.parts.journal.clone(), run.clone());
                    async move { snapshots.take_whenever_due(&journal, &run).await }
                }),
            ],
            run: run.clone(),
            live: Arc::clone(&self.live),
            gate,
        };
        let ended = tokio::select! {
            biased;
            ended = drive(&mut host, resume) => ended,
            // The actions of an actor can no longer be journaled. As after a crash, the run must not continue from a
            // state it does not know.
            Some(error) = journal_faults.recv() => Err(DriveError::Host(error)),
        };
        host.close().await;
        background.end_all(&self.parts.tool_context).await;
        drop(beside);
        if ended.is_err() {
            kept_files.finish().await;
        }
        let ended = ended.map_err(|error| match error {
            DriveError::Host(error) => OrchestratorError::Journal(error),
            other => OrchestratorError::Unreplayable { run: run.to_string(), reason: other.to_string() },
        })?;
        let state = ended.machine.state();
        // The two files are written concurrently.
        let listed = self.list(&run, state);
        self.parts.keep_snapshot(state);
        if ended.machine.is_over() {
            runner.end_plan(state).await;
        }
        listed.await?;
        let mut result = RunResult::new(run, state, &ended.output);
        if self.parts.hooks.are_at(HookPoint::Stop) {
            kept_files.around("hook", self.parts.hooks.stopped(&mut result)).await;
        }
        if ended.machine.is_over() {
            result.notes.extend(runner.private.remove().await);
        }
        result.notes.extend(kept_files.finish().await.into_iter().map(|reason| message!("undo-stopped", reason)));
        if ended.machine.is_over() {
            result.notes.extend(runner.deliver(ended.machine.state()).await);
        }
        Ok(result)
    }

    /// Records the status of a suspended run in the list of runs. The write starts at once; the future waits for it.
    pub(super) fn list(&self, run: &RunId, state: &ProgressState) -> impl Future<Output = Result<(), JournalError>> + Send + use<> {
        self.parts.journal.set_status(run.as_str(), self.parts.clock.now(), state.status.word())
    }

    /// Keeps the snapshot of a live run close to its state.
    async fn keep_snapshots(self, run: RunId, gate: Arc<WriteGate>) {
        let mut kept = None;
        loop {
            let begun = Instant::now();
            if let Some(state) = self.live.get(&run).filter(|state| kept != Some(state.last_progress_at)) {
                kept = Some(state.last_progress_at);
                let (here, gate) = (self.clone(), Arc::clone(&gate));
                // A failed snapshot is reported by the function that writes it.
                drop(tokio::task::spawn_blocking(move || gate.write(|| here.parts.keep_snapshot(&state))).await);
            }
            tokio::time::sleep(pause_after(begun.elapsed())).await;
        }
    }
}

/// Returns the pause after a progress file that took this long to write. The file holds the whole run, so of a large run it is written more
/// rarely.
fn pause_after(took: Duration) -> Duration {
    SNAPSHOT_EVERY.max(took * SNAPSHOT_SHARE)
}

/// Initial state for the effects of a run.
pub(super) struct Start {
    pub(super) input: RunInput,
    pub(super) bounds: Bounds,
    pub(super) answers: Answers,
    pub(super) words: MessageChannel,
    /// Tells when the next snapshot of the machine is due.
    pub(super) snapshots: Arc<SnapshotsDue>,
    pub(super) spent: ModelCost,
    pub(super) tool_calls: u64,
    pub(super) actors: u32,
    pub(super) published: u64,
    /// Ids of the messages in the inbox whose facts the run begins with.
    pub(super) passed_on: BTreeSet<i64>,
    /// The pending journal entry of a new run.
    pub(super) entered: Option<Entry>,
}

/// Background tasks of a run. They end with the run, even if its future is dropped.
struct BackgroundTasks {
    tasks: [JoinHandle<()>; 4],
    run: RunId,
    live: Arc<LiveStore>,
    gate: Arc<WriteGate>,
}

impl Drop for BackgroundTasks {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.gate.close();
        drop(self.live.remove(&self.run));
    }
}

/// Lets other threads write a run's snapshot until the run ends. Aborting a task does not stop a write that has started
/// on its own thread: without the gate that write could replace the last snapshot by an older one.
#[derive(Debug, Default)]
struct WriteGate {
    closed: Mutex<bool>,
}

impl WriteGate {
    /// Runs `write` unless the gate is closed.
    fn write(&self, write: impl FnOnce()) {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        if !*closed {
            write();
        }
    }

    /// Closes the gate after the write in progress.
    fn close(&self) {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

pub(super) async fn pass_on_stop(stop: CancellationToken, facts: FactSender<RunMachine>) {
    stop.cancelled().await;
    // Sending fails only if the run has ended, and then it needs no stop.
    let _gone = facts.send(RunFact::StopRequested { reason: message!("stopped-by-person") });
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn progress_files_of_large_runs_are_written_more_rarely() {
        let cases = [(0, 1_000), (50, 1_000), (51, 1_020), (3_000, 60_000)];
        for (took, pause) in cases {
            assert_eq!(pause_after(Duration::from_millis(took)), Duration::from_millis(pause), "{took} ms");
        }
    }

    #[test]
    fn no_snapshot_is_written_after_the_last() {
        let (gate, written) = (Arc::new(WriteGate::default()), Arc::new(Mutex::new(Vec::new())));
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let late = std::thread::spawn({
            let (gate, written) = (Arc::clone(&gate), Arc::clone(&written));
            move || {
                gate.write(|| {
                    begun.send(()).unwrap();
                    may_go_on.recv().unwrap();
                    written.lock().unwrap().push("older");
                });
                gate.write(|| written.lock().unwrap().push("too late"));
            }
        });
        has_begun.recv().unwrap();
        let ends = std::thread::spawn({
            let (gate, written) = (Arc::clone(&gate), Arc::clone(&written));
            move || {
                gate.close();
                written.lock().unwrap().push("last");
            }
        });
        go_on.send(()).unwrap();
        ends.join().unwrap();
        late.join().unwrap();
        let written = written.lock().unwrap();
        assert_eq!(written.last(), Some(&"last"), "{written:?}");
        assert_eq!(written.first(), Some(&"older"), "{written:?}");
    }
}
