//! Reads the runs of the folder (list, one run, events, report) and maintains them (check, fork, delete).

use std::{fs::FileType, io};

use aime_durable::{Clock, Journal, RunLock, RunRecord, SystemClock, run_folder};
use aime_dynamic_planner::PlanningMetrics;
use aime_memory::MemoryStore;
use aime_messages::{Message, message};
use aime_orchestrator::{
    FailureCode, NextStep, OrchestratorError, PublishedEvent, RunCheck, RunFailure, RunOutput, RunResult, RunStats, RunStatusView, RunView,
    check_run, fork, new_run_id, run_status, state_at, stats, view,
};
use aime_progress_management::{ProgressState, RunId, RunStatus, Timestamp};
use serde_json::{Value, json};

use super::Runs;
use crate::{ErrorKind, Hint, RunListing, RunsError, Setup, hint::after_end};

/// Name of the lock in the folder of a run.
const LOCK: &str = "lock";

impl Runs {
    /// Returns all runs, newest first, each with its present status. Returns an empty list if the folder has none.
    pub fn list(&self) -> Result<Vec<RunRecord>, RunsError> {
        let Some(journal) = self.setup.existing_journal()? else { return Ok(Vec::new()) };
        self.list_in(&journal)
    }

    /// Returns the same from an open journal.
    pub fn list_in(&self, journal: &Journal) -> Result<Vec<RunRecord>, RunsError> {
        journal.runs()?.into_iter().map(|run| self.with_present_status(run, journal)).collect()
    }

    /// Corrects the status of a run that has not ended: its record tells only that it has begun.
    fn with_present_status(&self, mut run: RunRecord, journal: &Journal) -> Result<RunRecord, RunsError> {
        let has_begun = |run: &RunRecord| run.status == RunStatus::Planning.word();
        if has_begun(&run) && RunId::new(&run.id).is_ok_and(|id| self.is_driven(&id)) {
            run.status = RunStatus::Executing.to_string();
        } else if has_begun(&run) {
            // The run may have ended after it was read.
            run = journal.run(&run.id)?.unwrap_or(run);
            if has_begun(&run) {
                run.status = RunStatus::Interrupted.to_string();
            }
        }
        Ok(run)
    }

    /// Finds the run that a text refers to: its id, a prefix of its id, or `last`.
    pub fn find(&self, text: &str) -> Result<RunId, RunsError> {
        if text.is_empty() {
            return Err(RunsError::usage(message!("no-run-name")).hint(Hint::NewestRun));
        }
        let unknown = |hint| {
            RunsError::new(ErrorKind::NotFound, message!("no-run", run = format!("{text:?}"), folder = self.setup.folder.display()))
                .hint(hint)
        };
        let runs = self.list()?;
        match matching_runs(text, &runs).as_slice() {
            [one] => RunId::new(*one).map_err(|error| RunsError::usage(&error)),
            [] if runs.is_empty() => Err(unknown(Hint::StartRun)),
            [] => Err(unknown(Hint::ListRuns)),
            many => Err(RunsError::usage(message!("run-unclear", text = format!("{text:?}"), runs = many.join(", ")))
                .hint(message!("run-unclear-hint"))),
        }
    }

    /// Reads a run from its journal. The caller gets a notice of damage and contradictions.
    pub fn view(&self, run: &RunId) -> Result<RunView, RunsError> {
        let seen = view(&self.setup.journal()?, run)?;
        if let Some(damage) = &seen.damage {
            self.setup.note(message!("journal-is-damaged", run = run, damage = damage));
        }
        for contradiction in &seen.inconsistencies {
            self.setup.note(message!("state-contradicts", run = run, what = contradiction));
        }
        Ok(seen)
    }

    /// Combines [`Self::find`] and [`Self::view`].
    pub fn read(&self, text: &str) -> Result<(RunId, RunView), RunsError> {
        let run = self.find(text)?;
        let seen = self.view(&run)?;
        Ok((run, seen))
    }

    /// Returns the outcome of a run, or its present state.
    pub fn result(&self, run: &RunId) -> Result<RunResult, RunsError> {
        // This comes first: whatever is read after the driver is gone is the final state.
        let driven = self.is_driven(run);
        let seen = self.view(run)?;
        Ok(RunResult::new(run.clone(), &seen.state, &outcome(run, &seen, driven)))
    }

    /// Returns the state from which a run can be resumed. A cancelled run cannot.
    pub fn resumable(&self, run: &RunId) -> Result<RunStatusView, RunsError> {
        let seen = run_status(&self.setup.journal()?, run)?;
        if let Some(damage) = &seen.damage {
            self.setup.note(message!("journal-damaged", run = run, damage = damage));
        }
        for unused in &seen.unused {
            self.setup.note(message!("from-beginning", reason = Message::text(unused)));
        }
        if seen.state.status == RunStatus::Cancelled { Err(ended_error(run, &seen.state)) } else { Ok(seen) }
    }

    /// Returns true if a process drives the run, that is, holds its lock.
    pub fn is_driven(&self, run: &RunId) -> bool {
        RunLock::is_held(&run_folder(&self.setup.data_folder(), run.as_str()).join(LOCK))
    }

    /// Returns at most `most` events of a run after `after`, without secrets. They end before a gap, which a later call may find filled.
    pub fn events(&self, run: &RunId, after: u64, most: usize) -> Result<Vec<PublishedEvent>, RunsError> {
        self.events_in(&self.setup.journal()?, run, after, most)
    }

    /// Returns the same from an open journal, for a caller that polls.
    pub fn events_in(&self, journal: &Journal, run: &RunId, after: u64, most: usize) -> Result<Vec<PublishedEvent>, RunsError> {
        let found = journal.events(run.as_str(), after.saturating_add(1), most)?;
        let gapless = found.into_iter().zip(after.saturating_add(1)..).take_while(|(record, seq)| record.seq == *seq);
        let read = gapless.map(|(record, seq)| {
            let mut event = serde_json::from_str(&record.body).map_err(RunsError::internal)?;
            self.setup.redactor().document(&mut event);
            let event = serde_json::from_value(event).map_err(RunsError::internal)?;
            Ok(PublishedEvent { seq, at: Timestamp::from_millis(record.at), event })
        });
        read.collect()
    }

    /// Checks that the stored parts of a run fit together. With `repair` it repairs what can be repaired.
    pub async fn check(&self, run: &RunId, repair: bool) -> Result<RunCheck, RunsError> {
        let path = self.setup.environment.path("PATH").unwrap_or_default().into();
        Ok(check_run(&self.setup.journal()?, &self.setup.data_folder(), run, repair, SystemClock.now(), path).await?)
    }

    /// Returns statistics over all runs of the folder, or of one run.
    pub fn stats(&self, only: Option<&RunId>) -> Result<RunStats, RunsError> {
        let journal = self.setup.existing_journal()?;
        Ok(journal.map(|journal| stats(&journal, only)).transpose()?.unwrap_or_default())
    }

    /// Checks the requested run id, or creates a new one. The id `last` is refused, since it means the newest run, and so is one that
    /// contains a secret, since redaction would change it everywhere.
    pub fn new_name(&self, name: Option<&str>) -> Result<RunId, RunsError> {
        match name {
            Some("last") => Err(RunsError::usage(message!("no-run-last")).hint(Hint::OtherId)),
            Some(name) if self.setup.redactor().finds(name) => Err(OrchestratorError::SecretName.into()),
            Some(name) => RunId::new(name).map_err(|error| RunsError::usage(&error).hint(Hint::OtherId)),
            None => Ok(new_run_id()),
        }
    }

    /// Creates a run that continues from a plan version of another run. Files stay unchanged.
    pub async fn fork(&self, run: &RunId, version: u32, name: Option<&str>) -> Result<RunId, RunsError> {
        let new = self.new_name(name)?;
        fork(&self.setup.journal()?, run, version, &new, SystemClock.now()).await?;
        Ok(new)
    }

    /// Deletes a run and all its data. The caller gets a notice of what cannot be removed. If this is cut off, the run is still listed, and
    /// can be deleted again.
    pub async fn delete(&self, run: &RunId) -> Result<(), RunsError> {
        let setup = self.setup();
        let kept = run_folder(&setup.data_folder(), run.as_str());
        let lock = RunLock::take(&kept.join(LOCK));
        let lock = lock.map_err(|error| RunsError::caused(ErrorKind::Usage, error).hint(message!("stop-first")))?;
        let journal = setup.journal()?;
        if journal.run(run.as_str())?.is_some() {
            remove_run_data(run, &journal, setup);
        }
        journal.delete_run(run.as_str()).await?;
        note_not_removed(run, setup, std::fs::remove_file(kept.join(LOCK)));
        drop(lock);
        // It holds only what the notices have named, or files of a new run of this name.
        drop(std::fs::remove_dir(&kept));
        Ok(())
    }
}

/// Deletes what belongs to a run outside of the journal, except its lock.
fn remove_run_data(run: &RunId, journal: &Journal, setup: &Setup) {
    if let Err(error) = forget_memory(run, setup) {
        setup.note(message!("memory-not-forgotten", run = run, error = error));
    }
    setup.kept_plans().forget_run(run);
    if let Ok(seen) = view(journal, run) {
        let progress = setup.data_folder().join("progress").join(format!("{}.json", seen.state.plan_id));
        note_not_removed(run, setup, std::fs::remove_file(progress));
    }
    for entry in std::fs::read_dir(run_folder(&setup.data_folder(), run.as_str())).into_iter().flatten().flatten() {
        let path = entry.path();
        let remove = |kind: FileType| if kind.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        if entry.file_name() != LOCK {
            note_not_removed(run, setup, entry.file_type().and_then(remove));
        }
    }
    if let Err(error) = aime_undo::clean(&setup.data_folder()) {
        setup.note(message!("files-not-removed", error = error));
    }
}

fn note_not_removed(run: &RunId, setup: &Setup, removed: io::Result<()>) {
    if let Err(error) = removed
        && error.kind() != io::ErrorKind::NotFound
    {
        setup.note(message!("not-removed", run = run, error = error));
    }
}

impl Setup {
    /// Returns the memory of the folder if it exists. This never creates one.
    pub fn existing_memory(&self) -> Result<Option<MemoryStore>, RunsError> {
        let file = self.memory_file();
        // If the existence is unknown, opening the file reports the error.
        if let Ok(false) = file.try_exists() {
            return Ok(None);
        }
        MemoryStore::open(file, self.memory_bounds()).map(Some).map_err(|error| RunsError::caused(ErrorKind::Usage, error))
    }
}

/// Deletes the memories learnt from a run.
fn forget_memory(run: &RunId, setup: &Setup) -> Result<(), RunsError> {
    let Some(memory) = setup.existing_memory()? else { return Ok(()) };
    memory.forget(run.as_str()).map(|_| ()).map_err(|error| RunsError::caused(ErrorKind::Usage, error))
}

/// Returns the runs that a text may refer to: the run with this id, else those whose ids begin with it; the newest for `last`. An empty
/// text matches none.
pub fn matching_runs<'a>(text: &str, runs: &'a [RunRecord]) -> Vec<&'a str> {
    matching(text, runs.iter().map(|run| (run.id.as_str(), run.created_at)))
}

/// Does the same for ids with their start times.
pub(crate) fn matching<'a>(text: &str, runs: impl Iterator<Item = (&'a str, impl Ord)> + Clone) -> Vec<&'a str> {
    match text {
        "" => Vec::new(),
        "last" => runs.max_by(|(_, one), (_, other)| one.cmp(other)).map(|(id, _)| id).into_iter().collect(),
        _ => match runs.clone().find(|(id, _)| *id == text) {
            Some((id, _)) => vec![id],
            None => runs.map(|(id, _)| id).filter(|id| id.starts_with(text)).collect(),
        },
    }
}

/// Formats a time as RFC 3339, UTC, with milliseconds.
pub fn rfc3339(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis).map(|time| format!("{time:.3}")).unwrap_or_default()
}

/// Returns the documents of runs in a list.
pub fn list_document(runs: Vec<RunRecord>) -> Vec<Value> {
    runs.into_iter().map(|run| RunListing::from(run).document()).collect()
}

/// Returns `aime.stats/v1`. A rate (0 to 1) or mean is null if there is no data for it.
pub fn stats_document(stats: &RunStats) -> Value {
    let RunStats { runs, metrics, time, not_counted } = stats;
    let PlanningMetrics { asked, made, reused, executed, succeeded, .. } = metrics;
    json!({
        "schema": "aime.stats/v1",
        "runs": runs,
        "planning": {
            "asked": asked, "made": made, "success_rate": metrics.planning_success_rate(),
            "mean_ms": metrics.mean_planning_ms(), "reused": reused,
        },
        "execution": {"ended": executed, "succeeded": succeeded, "success_rate": metrics.execution_success_rate()},
        "time": time,
        "not_counted": not_counted,
    })
}

/// Returns the state of a run when its plan reached a version.
pub fn state_of_version(run: &RunId, seen: &RunView, version: u32) -> Result<ProgressState, RunsError> {
    state_at(seen, version).ok_or_else(|| OrchestratorError::no_version(run, version, seen.state.version).into())
}

/// Returns the outcome of a run, or its present status. A run that is neither over nor suspended, and that no process drives, was cut off.
pub fn outcome(run: &RunId, seen: &RunView, driven: bool) -> RunOutput {
    match &seen.output {
        Some(output) => output.clone(),
        None if driven || seen.is_over => RunOutput { status: seen.state.status, error: None },
        None => {
            let next = NextStep::Resume { run: run.clone() };
            let error = RunFailure::new(FailureCode::Interrupted, message!("run-cut-off"), Some(next));
            RunOutput { status: RunStatus::Interrupted, error: Some(error) }
        }
    }
}

/// Returns the error for a message to an ended run.
pub fn ended_error(run: &RunId, state: &ProgressState) -> RunsError {
    let (status, version) = (state.status, state.version);
    let ended = if status == RunStatus::Cancelled { message!("run-cancelled", run) } else { message!("run-ended", run) };
    RunsError::usage(ended).hint(after_end(run, version))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use aime_durable::NewRun;
    use futures::FutureExt as _;

    use super::*;
    use crate::Environment;

    /// Returns a folder with the run `r`, which has its files if `has_files` is set.
    async fn runs(folder: &Path, has_files: bool) -> Runs {
        let runs = Runs::new(Setup::builder(Environment::default()).open(Some(folder)).unwrap());
        let entry = NewRun { id: "r", at: 0, machine_version: 1, title: "", status: "planning" };
        runs.setup.journal().unwrap().create_run(entry).await.unwrap();
        if has_files {
            let kept = run_folder(&runs.setup.data_folder(), "r");
            fs::create_dir_all(kept.join("undo")).unwrap();
            fs::write(kept.join("undo/log.jsonl"), "").unwrap();
            fs::write(kept.join("report.html"), "").unwrap();
        }
        runs
    }

    fn files(runs: &Runs) -> Vec<String> {
        let entries = fs::read_dir(run_folder(&runs.setup.data_folder(), "r")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    #[tokio::test]
    async fn delete_removes_the_files_before_the_entry() {
        let (folder, run) = (tempfile::tempdir().unwrap(), RunId::new("r").unwrap());
        let runs = runs(folder.path(), true).await;
        // The first wait is that for the journal.
        assert!(runs.delete(&run).now_or_never().is_none());
        assert_eq!(files(&runs), [LOCK], "what is left when the process dies now");
    }

    #[tokio::test]
    async fn delete_can_be_repeated() {
        for has_files in [true, false] {
            let (folder, run) = (tempfile::tempdir().unwrap(), RunId::new("r").unwrap());
            let runs = runs(folder.path(), has_files).await;
            runs.delete(&run).await.unwrap();
            assert!(runs.list().unwrap().is_empty() && !run_folder(&runs.setup.data_folder(), "r").exists(), "{has_files}");
        }
    }
}
