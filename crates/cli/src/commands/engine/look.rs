//! `aime runs … --on`: what is known of runs on an engine. A run is told by its journal there as by one in a folder.

use std::time::SystemTime;

use aime_durable::UnixMillis;
use aime_progress::RunId;
use aime_temporal::{Address, Runs};
use serde_json::json;

use super::{Watching, failure_of, not_there, runs, watch};
use crate::{
    args::{Global, Output, RunsCommand},
    commands::{
        report::report,
        runs::{diff, events, show},
    },
    failure::Failure,
    output,
    screen::{moment, rfc3339},
    wiring::Setup,
};

pub(super) async fn look(command: Option<RunsCommand>, form: Output, on: &Address, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    let runs = runs(on, global, setup).await?;
    let named = |run: &str| RunId::new(run).map_err(Failure::usage);
    match command.unwrap_or(RunsCommand::List) {
        RunsCommand::List => list(&runs, form).await?,
        RunsCommand::Show { run, at, format } => {
            let run = named(&run)?;
            let seen = runs.view(&run).await.map_err(|error| failure_of(&error))?;
            show(run, seen, at, (form, format))?;
        }
        RunsCommand::Diff { run, from, to } => {
            let run = named(&run)?;
            let seen = runs.view(&run).await.map_err(|error| failure_of(&error))?;
            diff(&run, &seen, (from, to), form)?;
        }
        RunsCommand::Events { run } => {
            let run = named(&run)?;
            let seen = runs.view(&run).await.map_err(|error| failure_of(&error))?;
            events(&run, &seen, form)?;
        }
        RunsCommand::Report { run, output_file } => {
            let run = named(&run)?;
            let seen = runs.view(&run).await.map_err(|error| failure_of(&error))?;
            // The engine drives whatever has not ended.
            report((&run, &seen, true), output_file.as_deref(), form, setup)?;
        }
        RunsCommand::Watch { run } => return watch(&runs, &named(&run)?, (0, Watching::Others), form, global, setup).await,
        RunsCommand::Fork { .. }
        | RunsCommand::Check { .. }
        | RunsCommand::Stats
        | RunsCommand::Undo { .. }
        | RunsCommand::Redo { .. }
        | RunsCommand::Delete { .. } => return Err(not_there()),
    }
    Ok(0)
}

async fn list(runs: &Runs, form: Output) -> Result<(), Failure> {
    let listed = runs.list().await.map_err(|error| failure_of(&error))?;
    if form == Output::Text && listed.is_empty() {
        output::note("no runs on this engine yet");
    }
    let width = listed.iter().map(|run| run.run.len()).max().unwrap_or(0);
    let documents = listed.iter().map(|run| {
        let time = |time: Option<SystemTime>| time.map(|time| rfc3339(millis(time)));
        json!({"run_id": run.run, "status": run.status, "since": time(run.since), "ended": time(run.ended)})
    });
    match form {
        Output::Text => {
            for run in &listed {
                let since = run.since.map(|since| moment(millis(since))).unwrap_or_default();
                output::result(&format!("{:<width$}  {:<10} {since}", run.run, run.status));
            }
            Ok(())
        }
        Output::Json => output::json(&documents.collect::<Vec<_>>(), true),
        Output::Jsonl => documents.into_iter().try_for_each(|document| output::json(&document, false)),
    }
}

fn millis(time: SystemTime) -> UnixMillis {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    UnixMillis::try_from(since.as_millis()).unwrap_or(UnixMillis::MAX)
}
