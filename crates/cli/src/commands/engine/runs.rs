//! `aime runs … --engine`: shows runs on an engine. The journal there describes a run just as the journal of a folder does.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::SystemTime,
};

use aime_durable::UnixMillis;
use aime_messages::message;
use aime_orchestrator::{RunStats, RunView};
use aime_progress_management::{ProgressState, RunId, RunStatus};
use aime_runs::report_view;
use aime_temporal::{Address, ListedRun, Runs};
use futures::StreamExt as _;
use serde_json::json;

use super::{Watching, failure_of, find_run, handed_over, runs, watch};
use crate::{
    args::{Global, Output, RunsCommand},
    commands::{
        check_run,
        report::report,
        runs::{diff, events, in_list, print_fork, show as show_run},
        stats,
        undo::{redo_on_engine, undo_on_engine},
    },
    failure::Failure,
    i18n::msg,
    output,
    screen::{moment, rfc3339},
};

/// Number of journals that are requested at once. A worker answers each request, and may have to replay the run for it.
const AT_ONCE: usize = 8;

pub(super) async fn show(
    command: Option<RunsCommand>,
    form: Output,
    on: &Address,
    global: &Global,
    here: &aime_runs::Runs,
) -> Result<u8, Failure> {
    let setup = here.setup();
    let runs = runs(on, global, setup).await?;
    match command.unwrap_or(RunsCommand::List) {
        RunsCommand::List => list(&runs, form).await?,
        RunsCommand::Show { run, at, format } => {
            let run = find_run(&run, &runs).await?;
            let seen = view(&run, &runs).await?;
            let driven = is_driven(&run, &runs).await?;
            show_run((run, seen, driven), at, (form, format))?;
        }
        RunsCommand::Diff { run, from, to } => {
            let run = find_run(&run, &runs).await?;
            let seen = view(&run, &runs).await?;
            diff(&run, &seen, (from, to), form)?;
        }
        RunsCommand::Events { run } => {
            let run = find_run(&run, &runs).await?;
            let seen = view(&run, &runs).await?;
            events(&run, &seen, form)?;
        }
        RunsCommand::Report { run, output_file } => {
            let run = find_run(&run, &runs).await?;
            let seen = view(&run, &runs).await?;
            let driven = is_driven(&run, &runs).await?;
            report(&run, &report_view(&run, &seen, driven, setup), output_file.as_deref(), form, setup)?;
        }
        RunsCommand::Watch { run } => return watch(&runs, &find_run(&run, &runs).await?, (0, Watching::Others), form, global, setup).await,
        RunsCommand::Check { repair: true, .. } => {
            return Err(Failure::usage(message!("engine-hint")).hint(message!("engine-hint-hint")));
        }
        RunsCommand::Check { run, repair: false } => {
            let checked = runs.check(&find_run(&run, &runs).await?).await.map_err(failure_of)?;
            return check_run::print_check(&checked, form);
        }
        RunsCommand::Stats { run } => {
            let only = match run {
                Some(run) => Some(find_run(&run, &runs).await?),
                None => None,
            };
            stats::print_stats(&count(&runs, only.as_ref()).await?, form)?;
        }
        RunsCommand::Delete { run } => {
            let run = find_run(&run, &runs).await?;
            runs.delete(&run).await.map_err(failure_of)?;
            // A later run with this name must not inherit the recorded files.
            if let Err(error) = aime_undo::forget(&setup.data_folder(), run.as_str()).and_then(|()| aime_undo::clean(&setup.data_folder()))
            {
                output::note(&msg!("files-not-removed", error));
            }
            output::note(&msg!("run-deleted", run));
        }
        RunsCommand::Fork { run, at, run_id } => {
            let (run, new) = (find_run(&run, &runs).await?, here.new_name(run_id.as_deref())?);
            let tree = handed_over(&new, global, setup).await?;
            runs.fork(&run, at, &new, tree).await.map_err(failure_of)?;
            print_fork((&run, at), &new, form)?;
        }
        RunsCommand::Undo { args, task } => {
            let run = find_run(&args.run, &runs).await?;
            let seen = view(&run, &runs).await?;
            return undo_on_engine((&run, &seen), &args, task.as_deref(), form, setup).await;
        }
        RunsCommand::Redo { args } => {
            let run = find_run(&args.run, &runs).await?;
            let seen = view(&run, &runs).await?;
            return redo_on_engine((&run, &seen), &args, form, setup).await;
        }
    }
    Ok(0)
}

/// Computes statistics over the journals of all listed runs, or of one run.
async fn count(runs: &Runs, only: Option<&RunId>) -> Result<RunStats, Failure> {
    let listed = match only {
        Some(run) => vec![run.to_string()],
        None => runs.list().await.map_err(failure_of)?.into_iter().map(|ListedRun { run, .. }| run).collect(),
    };
    let seen = futures::stream::iter(listed).map(|run| async move {
        let seen = match RunId::new(&run) {
            Ok(id) => runs.journal(&id).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        (run, seen)
    });
    let mut seen = std::pin::pin!(seen.buffered(AT_ONCE));
    let mut stats = RunStats::default();
    while let Some((run, seen)) = seen.next().await {
        match seen {
            Ok((input, facts)) => stats.count(input, &facts),
            Err(error) => stats.left_out.push(format!("run {run}: {error}")),
        }
    }
    Ok(stats)
}

/// Reads a run with all its events from its journal.
async fn view(run: &RunId, runs: &Runs) -> Result<RunView, Failure> {
    let seen = runs.view(run).await.map_err(failure_of)?;
    for contradiction in &seen.inconsistencies {
        output::note(&msg!("state-contradicts", run, what = contradiction));
    }
    Ok(seen)
}

/// Row of the list of runs: complete as in a folder, or, without a worker to answer, with the engine's data only.
struct Row {
    run: String,
    status: String,
    goal: Option<String>,
    created: Option<UnixMillis>,
    updated: Option<UnixMillis>,
    /// Start and end of its history, according to the engine.
    since: Option<UnixMillis>,
    ended: Option<UnixMillis>,
}

async fn list(runs: &Runs, form: Output) -> Result<(), Failure> {
    let listed = runs.list().await.map_err(failure_of)?;
    if form == Output::Text && listed.is_empty() {
        output::note(&msg!("engine-none"));
    }
    // A worker reads each journal. After this many consecutive failures the list assumes that there is no worker.
    let silent = AtomicUsize::new(0);
    let rows = futures::stream::iter(listed).map(|listed| row(runs, listed, &silent)).buffered(AT_ONCE);
    let rows: Vec<Row> = rows.collect().await;
    let documents = rows.iter().map(|Row { run, status, goal, created, updated, since, ended }| {
        json!({
            "run_id": run, "status": status, "goal": goal, "created": created.map(rfc3339), "updated": updated.map(rfc3339),
            "since": since.map(rfc3339), "ended": ended.map(rfc3339),
        })
    });
    match form {
        Output::Text => {
            let width = rows.iter().map(|row| row.run.len()).max().unwrap_or(0);
            for Row { run, status, goal, created, .. } in &rows {
                let created = created.map(moment).unwrap_or_default();
                output::result(&in_list((run, width), status, &created, goal.as_deref().unwrap_or_default()));
            }
            Ok(())
        }
        Output::Json => output::json(&documents.collect::<Vec<_>>(), true),
        Output::Jsonl => documents.into_iter().try_for_each(|document| output::json(&document, false)),
    }
}

async fn row(runs: &Runs, listed: ListedRun, silent: &AtomicUsize) -> Row {
    let ListedRun { run, status, since, ended } = listed;
    let (since, ended) = (since.map(millis), ended.map(millis));
    let asked = RunId::new(&run).ok().filter(|_| silent.load(Ordering::Relaxed) < AT_ONCE);
    let told = match asked {
        Some(id) => status_and_state(runs, &id).await,
        None => None,
    };
    let silent_now = if told.is_some() { 0 } else { silent.load(Ordering::Relaxed).saturating_add(1) };
    silent.store(silent_now, Ordering::Relaxed);
    let Some((status, state)) = told else {
        return Row { run, status, goal: None, created: since, updated: ended.or(since), since, ended };
    };
    let (created, updated) = (state.started_at.as_millis(), ended.unwrap_or_else(|| state.last_progress_at.as_millis()));
    Row { run, status, goal: Some(state.goal), created: Some(created), updated: Some(updated), since, ended }
}

/// Returns true if the engine drives a run. A fork that nobody has resumed is not driven.
async fn is_driven(run: &RunId, runs: &Runs) -> Result<bool, Failure> {
    Ok(runs.watch(run, usize::MAX).await.map_err(failure_of)?.result.is_none())
}

/// Returns the status of a left run, in the words of a folder's list, and its state.
async fn status_and_state(runs: &Runs, run: &RunId) -> Option<(String, ProgressState)> {
    let seen = runs.watch(run, usize::MAX).await.ok()?;
    let state = runs.progress(run).await.ok()??;
    let status = match seen.result {
        None => RunStatus::Executing.to_string(),
        Some(result) => result.status.to_string(),
    };
    Some((status, state))
}

fn millis(time: SystemTime) -> UnixMillis {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    UnixMillis::try_from(since.as_millis()).unwrap_or(UnixMillis::MAX)
}
