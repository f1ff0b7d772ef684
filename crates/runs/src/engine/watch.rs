//! Watches a run on an engine as it happens.

use std::{collections::VecDeque, time::Duration};

use aime_messages::{Describe as _, message};
use aime_orchestrator::{PublishedEvent, RunFact, RunResult};
use aime_progress_management::{RunId, Timestamp};
use aime_temporal::{EngineError, WatchReply, WorkspaceSnapshot};

use super::{EngineRuns, FolderConflict, POLL_INTERVAL};
use crate::{Consents, RunUpdate, RunsError, WatchedRun, remember};

/// Number of consecutive failed polls (engine away, or no worker to answer) after which a client gives up. The run continues meanwhile.
const MAX_FAILED_POLLS: usize = 200;

/// Run that is watched.
pub struct EngineWatch<'a> {
    runs: &'a EngineRuns<'a>,
    run: RunId,
    /// True if the person who watches the run started it: permanent consents, telemetry and its changes to files belong here.
    is_own: bool,
    consents: Option<Consents>,
    telemetry: Option<WatchedRun>,
    updates: VecDeque<RunUpdate>,
    /// Number of events read so far.
    seen: usize,
    /// Number of consecutive failed polls.
    away: usize,
    /// Time until the next poll.
    pause: Duration,
    stop: Stop,
    ended: Option<(RunResult, Option<WorkspaceSnapshot>)>,
}

/// Request to stop the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    None,
    Wanted,
    Sent,
}

impl EngineRuns<'_> {
    /// Returns the watch of any run, from its first event.
    pub fn watch(&self, run: &RunId) -> EngineWatch<'_> {
        EngineWatch::new(self, run.clone(), 0)
    }
}

impl<'a> EngineWatch<'a> {
    fn new(runs: &'a EngineRuns<'a>, run: RunId, seen: usize) -> Self {
        Self {
            runs,
            run,
            is_own: false,
            consents: None,
            telemetry: None,
            updates: VecDeque::new(),
            seen,
            away: 0,
            pause: Duration::ZERO,
            stop: Stop::None,
            ended: None,
        }
    }

    /// Returns the watch of a run that this process started or resumed, from an event.
    pub(super) fn own(runs: &'a EngineRuns<'a>, run: RunId, seen: usize) -> Self {
        let setup = runs.setup();
        Self { is_own: true, consents: setup.consents(), telemetry: setup.watch(&run), ..Self::new(runs, run, seen) }
    }

    /// Returns the id of the run.
    pub const fn run(&self) -> &RunId {
        &self.run
    }

    /// Stops the run resumably. [`Self::next`] sends the request.
    pub fn stop(&mut self) {
        if self.stop == Stop::None {
            (self.stop, self.pause) = (Stop::Wanted, Duration::ZERO);
        }
    }

    /// Returns the next event or note; none once the run has ended or was suspended. It may be cancelled.
    pub async fn next(&mut self) -> Result<Option<RunUpdate>, RunsError> {
        loop {
            if let Some(update) = self.updates.pop_front() {
                return Ok(Some(update));
            }
            if self.ended.is_some() {
                return Ok(None);
            }
            tokio::time::sleep(self.pause).await;
            let reply = self.poll().await;
            self.pause = POLL_INTERVAL;
            match reply {
                Ok(reply) => self.observe(reply),
                Err(error @ EngineError::NoSuchRun { .. }) => return Err(error.into()),
                Err(error) => {
                    self.away += 1;
                    match self.away {
                        1 => self.updates.push_back(RunUpdate::Note(message!("engine-silent", error = error.describe()))),
                        away if away > MAX_FAILED_POLLS => return Err(error.into()),
                        _ => {}
                    }
                }
            }
        }
    }

    async fn poll(&mut self) -> Result<WatchReply, EngineError> {
        let engine = self.runs.engine().await.map_err(|error| EngineError::Client(error.message))?;
        if self.stop == Stop::Wanted {
            engine.send_facts(&self.run, vec![RunFact::StopRequested { reason: message!("stopped-by-person") }]).await?;
            self.stop = Stop::Sent;
        }
        engine.watch(&self.run, self.seen).await
    }

    fn observe(&mut self, reply: WatchReply) {
        let WatchReply { events, all, result, tree, .. } = reply;
        self.away = 0;
        for event in events {
            self.seen += 1;
            let event = PublishedEvent { seq: self.seen as u64, at: Timestamp::from_millis(event.at), event: event.what };
            if let Some(telemetry) = &mut self.telemetry {
                telemetry.observe(&event);
            }
            let lost = if self.is_own { remember(&event, self.consents.as_ref()) } else { None };
            self.updates.push_back(RunUpdate::Event(Box::new(event)));
            self.updates.extend(lost.map(RunUpdate::Note));
        }
        if self.seen < all {
            self.pause = Duration::ZERO;
        } else {
            self.ended = result.map(|result| (result, tree));
        }
    }

    /// Returns the result of the run; none before [`Self::next`] has returned none.
    pub fn result(&self) -> Option<&RunResult> {
        self.ended.as_ref().map(|(result, _)| result)
    }

    /// Brings the changes of an own run into this folder, if it started here. Returns the conflict with changes here, if there is one.
    pub async fn take_back(&self) -> Result<Option<FolderConflict>, RunsError> {
        match &self.ended {
            Some((_, Some(tree))) if self.is_own => self.runs.take_back(&self.run, tree).await,
            _ => Ok(None),
        }
    }
}
