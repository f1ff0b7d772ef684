//! Checks that the stored parts of a run agree: its journal, the journals of its actors, its snapshot and its entry in
//! the list of runs.
//!
//! The facts of the journal are the truth. A check finds parts that contradict them, and on demand rebuilds the parts
//! that follow from them.

use std::{
    ffi::OsString,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use aime_actor_factory::ActorMachine;
use aime_durable::{Journal, JournalError, RUN_STREAM, Recorded, RunLock, UnixMillis, run_folder};
use aime_messages::{Describe as _, Message, message};
use aime_progress_management::{ProgressEvent, ProgressState, RunId, SnapshotError, TimedEvent, fold, read_snapshot, write_snapshot};
use aime_work_tree::PrivateFolders;
use serde::Serialize;

use crate::{
    OrchestratorError, RunFact, RunMachine, RunView, run_status,
    runner::private::{PRIVATE, private_workspaces_dir},
    view,
};

/// The `schema` member of a check.
pub(crate) const RUN_CHECK_SCHEMA: &str = "aime.run_check/v1";

/// Result of a check of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunCheck {
    /// Always `aime.run_check/v1`.
    pub schema: &'static str,
    /// The run.
    pub run_id: RunId,
    /// Number of events that its journal yields.
    pub events: usize,
    /// Number of actors that have a journal.
    pub actors: usize,
    /// Faults in the order in which the check found them; empty for an intact run.
    pub findings: Vec<Finding>,
}

/// A fault in the stored parts of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Part of the run that has the fault.
    pub place: RunPart,
    /// Description of the fault.
    pub detail: Message,
    /// Description of the repair; absent if the check cannot repair the fault.
    pub repair: Option<Message>,
    /// True if the check repaired the fault.
    pub repaired: bool,
}

/// Part of a run that a check looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunPart {
    /// The journal of the run.
    Journal,
    /// The journal of one of its actors.
    Actor,
    /// The state that results from the journal.
    State,
    /// `.aime/progress/PLAN.json`, or a snapshot in the journal.
    Snapshot,
    /// The list of runs.
    List,
    /// The file that holds the journals of all runs.
    File,
    /// The recorded changes of files, which make an undo possible.
    Undo,
    /// The folder of the run.
    Folder,
}

impl RunPart {
    /// Returns the place as one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Actor => "actor",
            Self::State => "state",
            Self::Snapshot => "snapshot",
            Self::List => "list",
            Self::File => "file",
            Self::Undo => "undo",
            Self::Folder => "folder",
        }
    }
}

impl RunCheck {
    /// Returns true if no fault was found or all of them were repaired.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.findings.iter().all(|finding| finding.repaired)
    }
}

/// Checks all stored parts of a run. If `repair` is set, also repairs them from its facts: cuts a damaged journal after
/// its last good record, as a resume does; rewrites a snapshot or a list entry that disagrees; and removes the
/// leftovers of a crash. `keep` is the `.aime` of the folder, `now` the timestamp of rewritten parts, `path` the `PATH` on
/// which `git` is found.
///
/// # Errors
///
/// [`OrchestratorError::NoSuchRun`]; [`OrchestratorError::Lock`] while another process executes the run;
/// [`OrchestratorError::Journal`] if the journal cannot be read at all.
pub async fn check_run(
    journal: &Journal,
    keep: &Path,
    run: &RunId,
    repair: bool,
    now: UnixMillis,
    path: OsString,
) -> Result<RunCheck, OrchestratorError> {
    // Checked before the lock is taken: a run that does not exist leaves no lock file, and the lock keeps the checked
    // parts from changing.
    drop(load_begun_run(journal, run)?);
    let _lock = RunLock::take(&run_folder(keep, run.as_str()).join("lock"))?;
    let mut checking = Checking { journal, run, repair, findings: Vec::new() };
    let actors = checking.actors().await?;
    let events = match load_begun_run(journal, run)? {
        Ok(seen) => {
            checking.facts(keep, &seen, now).await?;
            // A suspended run has an output too, and its tasks go on in their folders.
            checking.private_folders(keep, path, seen.is_over && seen.output.is_some()).await;
            seen.events.len()
        }
        Err(beginning) => {
            checking.found(RunPart::Journal, beginning, None);
            0
        }
    };
    checking.file()?;
    checking.undo(keep);
    checking.folder(&run_folder(keep, run.as_str()));
    Ok(RunCheck { schema: RUN_CHECK_SCHEMA, run_id: run.clone(), events, actors, findings: checking.findings })
}

/// Reads the run from its facts. The inner error describes a damaged first record, without which there is no state.
fn load_begun_run(journal: &Journal, run: &RunId) -> Result<Result<RunView, Message>, OrchestratorError> {
    match view(journal, run) {
        Err(OrchestratorError::Journal(error @ JournalError::Beginning { .. })) => Ok(Err(Message::text(error))),
        seen => seen.map(Ok),
    }
}

/// Checks the parts of a run that an engine keeps beside its journal, of which `seen` is the view: the published events
/// in `published_events`, and the state if the caller knows that the run has made no progress meanwhile. Repairs nothing, because
/// the engine rebuilds these parts from its history.
#[must_use]
pub fn check_published(run: &RunId, seen: &RunView, published_events: &[TimedEvent], state: Option<&ProgressState>) -> RunCheck {
    let wrong = |place: RunPart, detail: Message| Finding { place, detail, repair: None, repaired: false };
    let mut findings: Vec<Finding> = contradictions(seen).into_iter().map(|detail| wrong(RunPart::State, detail)).collect();
    let follow = seen.events.iter().zip(published_events);
    if let Some((published, _)) = follow.clone().find(|(follows, event)| follows.event != event.event || follows.at != event.at) {
        findings.push(wrong(RunPart::Journal, not_following(published.seq)));
    } else if follow.len() < published_events.len() {
        findings
            .push(wrong(RunPart::Journal, message!("find-published", number = published_events.len(), follow = follow.len().to_string())));
    }
    if state.is_some_and(|state| *state != seen.state) {
        findings.push(wrong(RunPart::State, message!("find-published-state")));
    }
    let actors = usize::try_from(seen.actors).unwrap_or(usize::MAX);
    RunCheck { schema: RUN_CHECK_SCHEMA, run_id: run.clone(), events: seen.events.len(), actors, findings }
}

/// Returns the contradictions within a run.
fn contradictions(seen: &RunView) -> Vec<Message> {
    let events: Vec<TimedEvent> =
        seen.events.iter().map(|published| TimedEvent { at: published.at, event: published.event.clone() }).collect();
    let folded = match fold(&events) {
        Ok(state) if state == seen.state => None,
        Ok(_) => Some(message!("find-other-state")),
        Err(error) => Some(message!("find-no-state", error)),
    };
    seen.inconsistencies.iter().map(Message::text).chain(folded).collect()
}

fn not_following(seq: u64) -> Message {
    message!("find-event", seq = seq.to_string())
}

struct Checking<'a> {
    journal: &'a Journal,
    run: &'a RunId,
    repair: bool,
    findings: Vec<Finding>,
}

impl Checking<'_> {
    fn found(&mut self, place: RunPart, detail: Message, repair: Option<Message>) {
        let repaired = self.repair && repair.is_some();
        self.findings.push(Finding { place, detail, repair, repaired });
    }

    /// Checks the facts and the parts that follow from them.
    async fn facts(&mut self, keep: &Path, seen: &RunView, now: UnixMillis) -> Result<(), OrchestratorError> {
        if let Some(damage) = &seen.damage
            && run_status(self.journal, self.run)?.damage.is_none()
        {
            // The state of a damaged journal ends earlier than the run, so comparing with it would report false faults,
            // and cutting would lose records.
            let detail = message!("find-later-snapshot", damage);
            self.found(RunPart::Journal, detail, None);
            return Ok(());
        }
        self.journal(seen).await?;
        self.state(seen);
        self.snapshot(keep, seen);
        self.kept_snapshots().await?;
        self.list(seen, now).await
    }

    async fn journal(&mut self, seen: &RunView) -> Result<(), OrchestratorError> {
        if let Some(damage) = &seen.damage {
            let repair = message!("find-cut-journal", number = seen.events.len());
            self.found(RunPart::Journal, Message::text(damage), Some(repair));
            if self.repair
                && let Some(loaded) = self.journal.load::<RunMachine>(self.run.as_str(), RUN_STREAM)?
            {
                self.journal.stream(self.run.as_str(), RUN_STREAM).after(&loaded).repair::<RunMachine>().await?;
            }
            return Ok(());
        }
        let kept = self.journal.events(self.run.as_str(), 1, seen.events.len().saturating_add(1))?;
        let differs = kept.iter().zip(&seen.events).find(|(kept, follows)| {
            serde_json::from_str::<ProgressEvent>(&kept.body).ok().as_ref() != Some(&follows.event) || kept.at != follows.at.as_millis()
        });
        if let Some((kept, _)) = differs {
            self.found(RunPart::Journal, not_following(kept.seq), None);
        }
        Ok(())
    }

    async fn actors(&mut self) -> Result<usize, OrchestratorError> {
        let mut streams = self.journal.streams(self.run.as_str())?;
        streams.retain(|stream| stream != RUN_STREAM);
        for stream in &streams {
            match self.journal.load::<ActorMachine>(self.run.as_str(), stream) {
                Ok(Some(loaded)) => {
                    let Some(damage) = &loaded.damage else { continue };
                    let repair = message!("find-cut-actor");
                    self.found(RunPart::Actor, Message::text(format_args!("{stream}: {damage}")), Some(repair));
                    if self.repair {
                        self.journal.stream(self.run.as_str(), stream).after(&loaded).repair::<ActorMachine>().await?;
                    }
                }
                Ok(None) => {}
                Err(error) => self.found(RunPart::Actor, Message::text(format_args!("{stream}: {error}")), None),
            }
        }
        Ok(streams.len())
    }

    fn state(&mut self, seen: &RunView) {
        for contradiction in contradictions(seen) {
            self.found(RunPart::State, contradiction, None);
        }
    }

    /// Checks the snapshots in the journal.
    async fn kept_snapshots(&mut self) -> Result<(), OrchestratorError> {
        let wrong = self.journal.check_snapshots::<RunMachine>(self.run.as_str(), RUN_STREAM)?;
        if wrong.is_empty() {
            return Ok(());
        }
        for (snapshot, why) in &wrong {
            let repair = message!("find-drop-snapshot");
            self.found(RunPart::Snapshot, message!("find-snapshot", seq = snapshot.seq.to_string(), why), Some(repair));
        }
        if self.repair {
            let seqs = wrong.iter().map(|(snapshot, _)| snapshot.seq).collect();
            self.journal.drop_snapshots(self.run.as_str(), RUN_STREAM, seqs).await?;
        }
        Ok(())
    }

    fn file(&mut self) -> Result<(), OrchestratorError> {
        for fault in self.journal.faults_of_file()? {
            self.found(RunPart::File, message!("find-recover", fault), None);
        }
        Ok(())
    }

    fn undo(&mut self, keep: &Path) {
        let faults = match aime_undo::check(keep, self.run.as_str()) {
            Ok(faults) => faults,
            Err(error) => return self.found(RunPart::Undo, error.describe(), None),
        };
        if let Some(log) = faults.log {
            self.found(RunPart::Undo, message!("find-no-undo", why = log), None);
        }
        if faults.cut {
            let detail = message!("find-undo-line");
            match if self.repair { aime_undo::repair(keep, self.run.as_str()) } else { Ok(()) } {
                Ok(()) => self.found(RunPart::Undo, detail, Some(message!("find-remove-line"))),
                Err(error) => self.found(RunPart::Undo, message!("find-and", fault = detail, error), None),
            }
        }
        for content in faults.contents {
            self.found(RunPart::Undo, message!("find-no-way-back", what = content), None);
        }
    }

    /// Finds a merge that was cut off, and private folders of the tasks of an ended run, whose end removes them.
    async fn private_folders(&mut self, keep: &Path, path: OsString, has_ended: bool) {
        let place = private_workspaces_dir(keep, self.run);
        let folder = keep.parent().filter(|_| self.repair);
        if PrivateFolders::has_interrupted_merge(&place).await {
            let detail = message!("find-merge");
            let finished = match folder {
                Some(folder) => PrivateFolders::open(folder, &place, path.clone()).await.map(drop),
                None => Ok(()),
            };
            match finished {
                Ok(()) => self.found(RunPart::Folder, detail, Some(message!("find-finish"))),
                Err(error) => self.found(RunPart::Folder, message!("find-and", fault = detail, error), None),
            }
        }
        if !has_ended {
            return;
        }
        let left = match PrivateFolders::leftovers(&place).await {
            Ok(left) if left.is_empty() => return,
            Ok(left) => left,
            Err(error) => return self.found(RunPart::Folder, message!("find-private-unreadable", error), None),
        };
        let detail = message!("find-private", number = left.len());
        let removed = match folder {
            Some(folder) => match PrivateFolders::open(folder, &place, path).await {
                Ok(folders) => folders.remove().await.map(drop),
                Err(error) => Err(error),
            },
            None => Ok(()),
        };
        match removed {
            Ok(()) => self.found(RunPart::Folder, detail, Some(message!("find-remove-private"))),
            Err(error) => self.found(RunPart::Folder, message!("find-and", fault = detail, error), None),
        }
    }

    /// Finds temporary files of a process that died while it wrote. The lock on the run rules out a live writer.
    fn folder(&mut self, folder: &Path) {
        let half_written = half_written(folder);
        if half_written.is_empty() {
            return;
        }
        let detail = message!("find-half-written", number = half_written.len());
        let removed = if self.repair { half_written.iter().try_for_each(std::fs::remove_file) } else { Ok(()) };
        match removed {
            Ok(()) => self.found(RunPart::Folder, detail, Some(message!("find-remove"))),
            Err(error) => self.found(RunPart::Folder, message!("find-not-removed", fault = detail, error), None),
        }
    }

    fn snapshot(&mut self, keep: &Path, seen: &RunView) {
        let path = keep.join("progress").join(format!("{}.json", seen.state.plan_id));
        let detail = match read_snapshot(&path) {
            Ok(state) if state == seen.state => return,
            Ok(_) => message!("find-differs"),
            Err(SnapshotError::Read { source, .. }) if source.kind() == ErrorKind::NotFound && self.is_fresh_fork() => return,
            Err(SnapshotError::Read { source, .. }) => message!("find-unreadable", error = source),
            Err(SnapshotError::Damaged { why, .. }) => message!("find-damaged", why),
            Err(other) => Message::text(other),
        };
        let written = if self.repair { write_snapshot(&path, &seen.state) } else { Ok(()) };
        match written {
            Ok(()) => self.found(RunPart::Snapshot, detail, Some(message!("find-rewrite"))),
            Err(error) => self.found(RunPart::Snapshot, message!("find-and", fault = detail, error), None),
        }
    }

    /// Returns true if nobody has executed the run since it was forked. A run writes its snapshot only while it is
    /// executed.
    fn is_fresh_fork(&self) -> bool {
        let loaded = self.journal.load::<RunMachine>(self.run.as_str(), RUN_STREAM).ok().flatten();
        loaded.is_some_and(|loaded| matches!(loaded.facts.last(), Some(Recorded { fact: RunFact::Forked {}, .. })))
    }

    async fn list(&mut self, seen: &RunView, now: UnixMillis) -> Result<(), OrchestratorError> {
        let Some(status) = seen.listed_status() else { return Ok(()) };
        let entry = self.journal.runs()?.into_iter().find(|entry| entry.id == self.run.as_str());
        let Some(entry) = entry.filter(|entry| entry.status != status) else { return Ok(()) };
        let detail = message!("find-list", status = entry.status, journal = status);
        self.found(RunPart::List, detail, Some(message!("find-list-as", status)));
        if self.repair {
            self.journal.set_status(self.run.as_str(), now, &status).await?;
        }
        Ok(())
    }
}

/// Returns the temporary files in a folder and its subfolders.
fn half_written(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.file_type() {
            // Private folders contain files of the working folder.
            Ok(kind) if kind.is_dir() && entry.file_name() == PRIVATE => Vec::new(),
            Ok(kind) if kind.is_dir() => half_written(&entry.path()),
            Ok(kind) if kind.is_file() && entry.file_name().to_string_lossy().starts_with(".tmp") => vec![entry.path()],
            _ => Vec::new(),
        })
        .collect()
}

impl RunView {
    /// Returns the status in the list of runs, or `None` while the end of the run is unknown.
    fn listed_status(&self) -> Option<String> {
        let output = self.output.as_ref()?;
        Some(output.status.to_string())
    }
}
