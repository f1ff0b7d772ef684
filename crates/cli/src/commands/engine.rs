//! Runs on an engine: the same commands, and workers.

use aime_messages::message;
use aime_orchestrator::RunRequest;
use aime_runs::{
    Cancelled, RunNews, Runs, Setup,
    engine::{Address, Delivery, EngineRuns, EngineWatch, EngineWorker, FolderConflict},
};
use serde_json::json;
use tokio::sync::mpsc;

use super::{
    check_run,
    models_in_use::{by_flag, print_model},
    outcome::print_outcome,
    report::report,
    run_display::DisplayedRun,
    runs::{diff, events, in_list, print_fork, show},
    settings::bounds,
    stats,
    undo::{of_last_undo, of_run},
    watch::{print_event, print_result},
};
use crate::{
    args::{Command, Global, LazyArgs, Output, ResumeArgs, RunsCommand, WorkerArgs},
    failure::{Failure, code},
    i18n::{msg, print, print_question},
    output,
    screen::{DisplayOptions, Form, Screen, first_line, moment, rfc3339},
    signals::interrupted,
};

/// Runs a command whose run is on an engine.
pub(super) async fn command(command: Command, on: &Address, global: &Global, here: &Runs) -> Result<u8, Failure> {
    let options = global.engine.options(on);
    let runs = EngineRuns::new(&options, here);
    match command {
        Command::Resume(LazyArgs(args)) => return resume(args, global, &runs, here.setup()).await,
        Command::Answer { run, text } => {
            let run = runs.find(&run).await?;
            output::note(&match runs.answer(&run, text.join(" ")).await? {
                Some(question) => format!("answered: {}\n{}", first_line(&print_question(&question.question), 100), msg!("engine-goes-on")),
                None => msg!("engine-told", then = msg!("engine-answered"), run),
            });
        }
        Command::Tell { run, task, text } => {
            let (run, text) = (runs.find(&run).await?, text.join(" "));
            let sent = msg!("sent", text = first_line(&text, 100));
            output::note(&match then(runs.message(&run, task.as_deref(), text).await?, run.as_str()) {
                Some(then) => format!("{sent}\n{then}"),
                None => msg!("engine-told", then = msg!("head-told"), run),
            });
        }
        Command::Pause { run } => {
            let run = runs.find(&run).await?;
            runs.pause(&run).await?;
            output::note(&msg!("run-stops", run));
        }
        Command::Cancel { run, task } => {
            let run = runs.find(&run).await?;
            let (delivery, cancelled) = runs.cancel(&run, task.as_deref()).await?;
            output::note(&match (then(delivery, run.as_str()), cancelled) {
                (None, _) => msg!("engine-told", then = msg!("engine-cancelled"), run),
                (Some(then), Cancelled::Task(task)) => format!("{}\n{then}", msg!("cancel-task", task)),
                (Some(_), Cancelled::Run) => msg!("cancel-done", run),
                (Some(_), Cancelled::Stopping) => msg!("cancel-stopping", run),
            });
        }
        Command::Runs { command, output } => return inspect(command.map(LazyArgs::into_inner), output, &runs, here.setup()).await,
        _ => return Err(Failure::usage(message!("engine-not-yet")).hint(message!("engine-not-yet-hint"))),
    }
    Ok(0)
}

/// Says when a run reads a message; none if no worker can report its state.
fn then(delivery: Delivery, run: &str) -> Option<String> {
    match delivery {
        Delivery::Driven => Some(msg!("run-takes-up")),
        Delivery::Left => Some(msg!("hint-resume", run)),
        Delivery::Unchecked => None,
    }
}

/// Starts a run on the engine and watches it until it ends.
pub(super) async fn carry_out(carry: DisplayedRun, on: &Address, request: RunRequest, global: &Global, here: &Runs) -> Result<u8, Failure> {
    let options = global.engine.options(on);
    let runs = EngineRuns::new(&options, here);
    let watched = runs.start(request, carry.models).await?;
    drive(watched, carry.output, global, here.setup()).await
}

async fn resume(args: ResumeArgs, global: &Global, runs: &EngineRuns<'_>, setup: &Setup) -> Result<u8, Failure> {
    if args.model.is_some() {
        return Err(Failure::usage(message!("engine-model")).hint(message!("engine-model-hint")));
    }
    let run = runs.find(&args.run).await?;
    let watched = runs.resume(&run, |before| bounds(&args.bounds, before)).await?;
    drive(watched, args.output, global, setup).await
}

/// Shows a run that was started or resumed here until it has ended. The first Ctrl-C stops it resumably, the second only ends the watching.
async fn drive(mut watched: EngineWatch<'_>, output: Output, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    // The keys of the whole-screen view act only on runs of this machine, so a run of an engine is shown in lines.
    let sight =
        DisplayOptions { quiet: global.quiet, plain: true, logs: global.verbose > 0, watched: false, alone: false, attended: false };
    let screen = Screen::new(Form::of(output, sight), watched.run());
    let (mut interruptions, mut is_stopping) = (interruptions(), false);
    loop {
        let news = tokio::select! {
            biased;
            Some(()) = interruptions.recv() => None,
            news = watched.next() => Some(news?),
        };
        match news {
            None if std::mem::replace(&mut is_stopping, true) => {
                output::note(&msg!("engine-left", run = watched.run()));
                return Ok(code::INTERRUPTED);
            }
            None => {
                screen.note(&msg!("engine-stopping"));
                watched.stop();
            }
            Some(Some(RunNews::Event(event))) => screen.show(&event)?,
            Some(Some(RunNews::Note(note))) => screen.note(&print(&note)),
            Some(None) => break,
        }
    }
    screen.close();
    setup.end_telemetry().await;
    // The result is printed first, whatever happens to the files here.
    let code = watched.result().map_or(Ok(code::INTERNAL), |result| print_outcome(result, output))?;
    match watched.take_back().await {
        Ok(None) => Ok(code),
        Ok(Some(FolderConflict { paths, repository, commit })) => {
            output::note(&msg!("engine-conflict", paths = paths.join(", "), place = repository.display(), commit));
            Ok(if code == 0 { code::NOT_REACHED } else { code })
        }
        // The failure of the run is more informative than that of the files.
        Err(error) if code != 0 => {
            let failure = Failure::from(error);
            output::failure(&failure.message, failure.hint.as_ref());
            Ok(code)
        }
        Err(error) => Err(error.into()),
    }
}

/// Prints the events of any run until it has ended or was left.
async fn watch(mut watched: EngineWatch<'_>, form: Output) -> Result<u8, Failure> {
    let mut interruptions = interruptions();
    loop {
        tokio::select! {
            biased;
            Some(()) = interruptions.recv() => return Ok(0),
            news = watched.next() => match news? {
                Some(RunNews::Event(event)) => print_event(&event, watched.run(), form)?,
                Some(RunNews::Note(note)) => output::note(&print(&note)),
                None => break,
            },
        }
    }
    watched.result().map_or(Ok(()), |result| print_result(result, form))?;
    Ok(0)
}

/// Reports each Ctrl-C and TERM from now on, so that none is missed during other work.
fn interruptions() -> mpsc::UnboundedReceiver<()> {
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            interrupted().await;
            if tell.send(()).is_err() {
                return;
            }
        }
    });
    told
}

/// `aime runs … --engine`: shows runs on an engine.
async fn inspect(command: Option<RunsCommand>, form: Output, runs: &EngineRuns<'_>, setup: &Setup) -> Result<u8, Failure> {
    match command.unwrap_or(RunsCommand::List) {
        RunsCommand::List => list(runs, form).await?,
        RunsCommand::Show { run, at, format } => {
            let (run, seen) = runs.read(&run).await?;
            let driven = runs.is_driven(&run).await?;
            show((run, seen, driven), at, (form, format))?;
        }
        RunsCommand::Diff { run, from, to } => {
            let (run, seen) = runs.read(&run).await?;
            diff(&run, &seen, (from, to), form)?;
        }
        RunsCommand::Events { run } => {
            let (run, seen) = runs.read(&run).await?;
            events(&run, &seen, form)?;
        }
        RunsCommand::Report { run, output_file } => {
            let (run, seen) = runs.read(&run).await?;
            report(&run, &runs.report(&run, &seen).await?, output_file.as_deref(), form, setup)?;
        }
        RunsCommand::Watch { run } => return watch(runs.watch(&runs.find(&run).await?), form).await,
        RunsCommand::Check { repair: true, .. } => {
            return Err(Failure::usage(message!("engine-hint")).hint(message!("engine-hint-hint")));
        }
        RunsCommand::Check { run, repair: false } => {
            return check_run::print_check(&runs.check(&runs.find(&run).await?).await?, form);
        }
        RunsCommand::Stats { run } => {
            let only = match run {
                Some(run) => Some(runs.find(&run).await?),
                None => None,
            };
            stats::print_stats(&runs.stats(only.as_ref()).await?, form)?;
        }
        RunsCommand::Delete { run } => {
            let run = runs.find(&run).await?;
            runs.delete(&run).await?;
            output::note(&msg!("run-deleted", run));
        }
        RunsCommand::Fork { run, at, run_id } => {
            let run = runs.find(&run).await?;
            let new = runs.fork(&run, at, run_id.as_deref()).await?;
            print_fork((&run, at), &new, form)?;
        }
        RunsCommand::Undo { args, task } => {
            let (run, seen) = runs.read(&args.run).await?;
            runs.check_undo(&run, &seen, task.as_deref())?;
            return of_run((&run, &seen), &args, task.as_deref(), form, setup).await;
        }
        RunsCommand::Redo { args } => {
            let (run, seen) = runs.read(&args.run).await?;
            runs.check_undo(&run, &seen, None)?;
            return of_last_undo(&run, &args, form, setup).await;
        }
    }
    Ok(0)
}

async fn list(runs: &EngineRuns<'_>, form: Output) -> Result<(), Failure> {
    let rows = runs.list().await?;
    if form == Output::Text && rows.is_empty() {
        output::note(&msg!("engine-none"));
    }
    let documents = rows.iter().map(|row| {
        json!({
            "run_id": row.run, "status": row.status, "goal": row.goal, "created": row.created.map(rfc3339),
            "updated": row.updated.map(rfc3339), "since": row.since.map(rfc3339), "ended": row.ended.map(rfc3339),
        })
    });
    match form {
        Output::Text => {
            let width = rows.iter().map(|row| row.run.len()).max().unwrap_or(0);
            for row in &rows {
                let created = row.created.map(moment).unwrap_or_default();
                output::result(&in_list((&row.run, width), &row.status, &created, row.goal.as_deref().unwrap_or_default()));
            }
            Ok(())
        }
        Output::Json => output::json(&documents.collect::<Vec<_>>(), true),
        Output::Jsonl => documents.into_iter().try_for_each(|document| output::json(&document, false)),
    }
}

/// Serves an engine until Ctrl-C or TERM.
pub(super) async fn worker(args: WorkerArgs, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    let options = global.engine.options(&args.temporal);
    let worker = EngineWorker::new(&options, &args.serve, args.model.as_deref().map(by_flag), setup)?;
    if let Some(choice) = worker.model() {
        print_model(Some(choice), setup);
    }
    worker.run(interrupted()).await?;
    Ok(0)
}
