//! Reads the runs of an engine (list, one run, statistics) and maintains them (check, fork, delete).

use std::{
    cmp::Reverse,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use aime_durable::UnixMillis;
use aime_messages::message;
use aime_orchestrator::{RunCheck, RunStats, RunView};
use aime_progress_management::{ProgressState, RunId, RunStatus};
use aime_temporal::ListedRun;
use futures::StreamExt as _;

use super::EngineRuns;
use crate::{HistoryTimes, RunListing, RunsError, service::matching};

/// Number of journals that are requested at once. A worker answers each request, and may have to replay the run for it.
const AT_ONCE: usize = 8;
/// Number of newest runs whose start times are requested.
const NEWEST: usize = 8;

impl EngineRuns<'_> {
    /// Returns the newest runs.
    pub async fn list(&self) -> Result<Vec<RunListing>, RunsError> {
        let engine = self.engine().await?;
        // A worker reads each journal. After this many consecutive failures the list assumes that there is no worker.
        let silent = AtomicUsize::new(0);
        let rows = futures::stream::iter(engine.list().await?).map(|listed| record(engine, listed, &silent)).buffered(AT_ONCE);
        Ok(rows.collect().await)
    }

    /// Finds the run that a text refers to: its name, a prefix of its name, or `last`. A run that the engine does not list may still exist.
    pub async fn find(&self, text: &str) -> Result<RunId, RunsError> {
        let engine = self.engine().await?;
        // The list contains only the newest runs. An exact name takes precedence over a prefix.
        if text != "last"
            && let Ok(run) = RunId::new(text)
            && engine.has(&run).await.unwrap_or_default()
        {
            return Ok(run);
        }
        let mut listed = engine.list().await.unwrap_or_default();
        if text == "last" {
            add_start_times(engine, &mut listed).await;
        }
        match matching(text, starts(&listed)).as_slice() {
            [one] => RunId::new(*one).map_err(|error| RunsError::usage(&error)),
            [] => RunId::new(text).map_err(|error| RunsError::usage(&error)),
            many => Err(RunsError::usage(message!("run-unclear", text = format!("{text:?}"), runs = many.join(", ")))
                .hint(message!("run-unclear-hint"))),
        }
    }

    /// Reads a run with all its events from its journal. The caller gets a notice of contradictions.
    pub async fn view(&self, run: &RunId) -> Result<RunView, RunsError> {
        let seen = self.engine().await?.view(run).await?;
        for contradiction in &seen.inconsistencies {
            self.setup().note(message!("state-contradicts", run = run, what = contradiction));
        }
        Ok(seen)
    }

    /// Combines [`Self::find`] and [`Self::view`].
    pub async fn read(&self, text: &str) -> Result<(RunId, RunView), RunsError> {
        let run = self.find(text).await?;
        let seen = self.view(&run).await?;
        Ok((run, seen))
    }

    /// Returns true if the engine drives a run. A fork that nobody has resumed is not driven.
    pub async fn is_driven(&self, run: &RunId) -> Result<bool, RunsError> {
        Ok(self.engine().await?.watch(run, usize::MAX).await?.result.is_none())
    }

    /// Checks that a run's journal, its published events and its state are consistent. Nothing is repaired on an engine.
    pub async fn check(&self, run: &RunId, repair: bool) -> Result<RunCheck, RunsError> {
        if repair {
            return Err(RunsError::usage(message!("engine-no-repair")).hint(message!("engine-no-repair-hint")));
        }
        Ok(self.engine().await?.check(run).await?)
    }

    /// Returns statistics over the journals of all listed runs, or of one run.
    pub async fn stats(&self, only: Option<&RunId>) -> Result<RunStats, RunsError> {
        let engine = self.engine().await?;
        let listed = match only {
            Some(run) => vec![run.to_string()],
            None => engine.list().await?.into_iter().map(|ListedRun { run, .. }| run).collect(),
        };
        let seen = futures::stream::iter(listed).map(|run| async move {
            let seen = match RunId::new(&run) {
                Ok(id) => engine.journal(&id).await.map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            (run, seen)
        });
        let mut seen = std::pin::pin!(seen.buffered(AT_ONCE));
        let mut stats = RunStats::default();
        while let Some((run, seen)) = seen.next().await {
            match seen {
                Ok((input, facts)) => stats.count(input, &facts),
                Err(error) => stats.not_counted.push(message!("stats-run", run, reason = error)),
            }
        }
        Ok(stats)
    }

    /// Creates a run that continues from a plan version of another run.
    pub async fn fork(&self, run: &RunId, version: u32, name: Option<&str>) -> Result<RunId, RunsError> {
        let (engine, new) = (self.engine().await?, self.here.new_name(name)?);
        let tree = self.hand_over(&new).await?;
        engine.fork(run, version, &new, tree).await?;
        Ok(new)
    }

    /// Deletes an ended run. The caller gets a notice of what cannot be removed.
    pub async fn delete(&self, run: &RunId) -> Result<(), RunsError> {
        self.engine().await?.delete(run).await?;
        let keep = self.setup().data_folder();
        // A later run with this name must not inherit the recorded files.
        if let Err(error) = aime_undo::forget(&keep, run.as_str()).and_then(|()| aime_undo::clean(&keep)) {
            self.setup().note(message!("files-not-removed", error = error));
        }
        Ok(())
    }
}

async fn record(engine: &aime_temporal::RunsClient, listed: ListedRun, silent: &AtomicUsize) -> RunListing {
    let ListedRun { run, status, since, ended } = listed;
    let (since, ended) = (since.map(millis), ended.map(millis));
    let history = Some(HistoryTimes { since, ended });
    let asked = RunId::new(&run).ok().filter(|_| silent.load(Ordering::Relaxed) < AT_ONCE);
    let found = match asked {
        Some(id) => status_and_state(engine, &id).await,
        None => None,
    };
    let silent_now = if found.is_some() { 0 } else { silent.load(Ordering::Relaxed).saturating_add(1) };
    silent.store(silent_now, Ordering::Relaxed);
    let Some((status, state)) = found else {
        return RunListing { run, status, goal: None, created: since, updated: ended.or(since), history };
    };
    let (created, updated) = (state.started_at.as_millis(), ended.unwrap_or_else(|| state.last_progress_at.as_millis()));
    RunListing { run, status, goal: Some(state.goal), created: Some(created), updated: Some(updated), history }
}

/// Returns the status of a run, in the words of a folder's list, and its state.
async fn status_and_state(engine: &aime_temporal::RunsClient, run: &RunId) -> Option<(String, ProgressState)> {
    let seen = engine.watch(run, usize::MAX).await.ok()?;
    let state = engine.progress(run).await.ok()??;
    let status = match seen.result {
        None => RunStatus::Executing.to_string(),
        Some(result) => result.status.to_string(),
    };
    Some((status, state))
}

fn millis(time: SystemTime) -> UnixMillis {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis::try_from(since.as_millis()).unwrap_or(UnixMillis::MAX)
}

/// Fills in the start times of the newest runs. The engine lists a run with a new history as new.
async fn add_start_times(engine: &aime_temporal::RunsClient, listed: &mut Vec<ListedRun>) {
    listed.sort_by_key(|run| Reverse(run.since));
    listed.truncate(NEWEST);
    for run in listed {
        if let Ok(id) = RunId::new(&run.run)
            && let Ok(Some(state)) = engine.progress(&id).await
        {
            let since = u64::try_from(state.started_at.as_millis()).unwrap_or_default();
            run.since = Some(UNIX_EPOCH + Duration::from_millis(since));
        }
    }
}

/// Returns the ids of listed runs with their start times.
fn starts(listed: &[ListedRun]) -> impl Iterator<Item = (&str, Option<SystemTime>)> + Clone {
    listed.iter().map(|run| (run.run.as_str(), run.since))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_meant_by_its_name_its_beginning_or_as_the_last() {
        let run = |run: &str, since| ListedRun {
            run: run.to_owned(),
            status: "running".to_owned(),
            since: Some(UNIX_EPOCH + Duration::from_secs(since)),
            ended: None,
        };
        let listed = [run("pear", 2), run("peach", 3), run("pea", 1)];
        for (text, expected) in [
            ("last", &["peach"][..]),
            ("pea", &["pea"]),
            ("pear", &["pear"]),
            ("peac", &["peach"]),
            ("pe", &["pear", "peach", "pea"]),
            ("plum", &[]),
        ] {
            assert_eq!(matching(text, starts(&listed)), expected, "{text}");
        }
        assert!(matching("last", starts(&[])).is_empty());
        assert!(matching("", starts(&[run("pear", 2)])).is_empty(), "also where there is only one");
    }
}
