//! Runs that an engine carries out, and workers.

use aime_messages::message;
use aime_orchestrator::{RunRequest, RunResult};
use aime_progress_management::RunId;
use aime_runs::{
    RunUpdate, Runs, Setup,
    engine::{Address, EngineRuns, EngineWatch, EngineWorker, FolderConflict},
};

use super::{
    models_in_use::{by_flag, print_model},
    outcome::{print_failure_as_result, print_outcome},
    run_display::DisplayedRun,
    settings::bounds,
    watch::{print_event, print_result},
};
use crate::{
    args::{Global, Output, ResumeArgs, WorkerArgs},
    failure::{Failure, code},
    i18n::{msg, print},
    output,
    screen::{DisplayOptions, Form, Screen},
    signals::{interrupted, interruptions},
};

/// Starts a run on the engine and watches it until it ends.
pub(super) async fn carry_out(carry: DisplayedRun, on: &Address, request: RunRequest, global: &Global, here: &Runs) -> Result<u8, Failure> {
    let options = global.engine.options(on);
    let runs = EngineRuns::new(&options, here);
    let DisplayedRun { run, output, models, .. } = carry;
    let unbegun = |failed| RunResult::unbegun(run, failed);
    let watched = runs.start(request, models).await.map_err(|error| print_failure_as_result(error.into(), output, unbegun))?;
    drive(watched, output, global, here.setup()).await
}

/// Resumes a run on the engine and watches it until it ends.
pub(super) async fn resume(args: ResumeArgs, on: &Address, global: &Global, here: &Runs) -> Result<u8, Failure> {
    if args.model.is_some() {
        return Err(Failure::usage(message!("engine-model")).hint(message!("engine-model-hint")));
    }
    let options = global.engine.options(on);
    let runs = EngineRuns::new(&options, here);
    let run = runs.find(&args.run).await?;
    // No model is named: the workers have their own.
    output::release_notes();
    let resumed = runs.resume(&run, |before| bounds(&args.bounds, before)).await;
    let watched = resumed.map_err(|error| print_unknown_state(error.into(), &run, args.output))?;
    drive(watched, args.output, global, here.setup()).await
}

/// Shows a run that was started or resumed here until it has ended. The first Ctrl-C stops it resumably, the second only ends the watching.
async fn drive(mut watched: EngineWatch<'_>, output: Output, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    // The keys of the full-screen view act only on runs of this machine, so a run of an engine is shown in lines.
    let display_options =
        DisplayOptions { quiet: global.quiet, plain: true, logs: global.verbose > 0, watched: false, alone: false, attended: false };
    let screen = Screen::new(Form::of(output, display_options), watched.run());
    let (mut interruptions, mut is_stopping) = (interruptions(), false);
    loop {
        let update = tokio::select! {
            biased;
            Some(_) = interruptions.recv() => None,
            update = watched.next() => {
                let update = update.map_err(|error| {
                    // Later output would appear after the result.
                    screen.close();
                    print_unknown_state(error.into(), watched.run(), output)
                });
                Some(update?)
            }
        };
        match update {
            None if std::mem::replace(&mut is_stopping, true) => {
                screen.close();
                output::note(&msg!("engine-left", run = watched.run()));
                let left = Failure::new(code::INTERRUPTED, message!("engine-left", run = watched.run()));
                print_unknown_state(left, watched.run(), output);
                return Ok(code::INTERRUPTED);
            }
            None => {
                screen.note(&msg!("engine-stopping"));
                watched.stop();
            }
            Some(Some(RunUpdate::Event(event))) => screen.show(&event)?,
            Some(Some(RunUpdate::Note(note))) => screen.note(&print(&note)),
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

/// Prints the documented result of a run whose state only the engine knows, unless the result is text. Returns the failure.
fn print_unknown_state(failure: Failure, run: &RunId, output: Output) -> Failure {
    print_failure_as_result(failure, output, |failed| RunResult::unbegun(run.clone(), failed))
}

/// Prints the events of any run until it has ended or was suspended.
pub(super) async fn watch(run: &str, form: Output, runs: &EngineRuns<'_>) -> Result<u8, Failure> {
    let mut watched = runs.watch(&runs.find(run).await?);
    let mut interruptions = interruptions();
    loop {
        tokio::select! {
            biased;
            Some(_) = interruptions.recv() => return Ok(0),
            update = watched.next() => match update? {
                Some(RunUpdate::Event(event)) => print_event(&event, watched.run(), form)?,
                Some(RunUpdate::Note(note)) => output::note(&print(&note)),
                None => break,
            },
        }
    }
    watched.result().map_or(Ok(()), |result| print_result(result, form))?;
    Ok(0)
}

/// Serves an engine until Ctrl-C or TERM.
pub(super) async fn worker(args: WorkerArgs, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    let Some(on) = &global.engine.engine else {
        return Err(Failure::usage(message!("engine-not-named")).hint(message!("engine-not-named-hint")));
    };
    let options = global.engine.options(on);
    let worker = EngineWorker::new(&options, &args.serve, args.model.as_deref().map(by_flag), setup)?;
    if let Some(choice) = worker.model() {
        print_model(Some(choice), setup);
    }
    worker.run(interrupted()).await?;
    Ok(0)
}
