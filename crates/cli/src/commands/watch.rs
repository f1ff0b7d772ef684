//! `aime runs watch`: shows a run as it happens, whichever process drives it.

use std::{future::pending, sync::Arc};

use aime_orchestrator::{PublishedEvent, RunResult};
use aime_progress_management::RunId;
use aime_runs::{RunWatch, Runs, WatchUpdate};
use aime_terminal::ProcessRole;
use tokio::sync::Notify;

use super::{
    action_listener::{ActionListener, action_channel},
    outcome::summary,
    run_display::display_options,
};
use crate::{
    args::{Global, Output},
    failure::Failure,
    hints::with_commands,
    output,
    screen::{Form, FullScreen, Screen, limits_of, line_of, rfc3339},
    signals::interrupted,
};

/// Shows a run: on the full screen until the person leaves it, otherwise line by line until no process drives it.
pub(super) async fn watch(run: &str, form: Output, global: &Global, runs: &Runs) -> Result<u8, Failure> {
    let setup = runs.setup();
    let run = runs.find(run)?;
    let stops = Arc::new(Notify::new());
    let mut watch = runs.watch(&run)?;
    if Form::of(form, display_options(global, setup, output::can_type())) == Form::FullScreen {
        let (on_action, actions) = action_channel();
        let screen = aime_terminal::Screen::new(run.clone(), ProcessRole::Watcher, limits_of(&watch.bounds()?));
        if let Ok(Some(full)) = FullScreen::open(screen, on_action) {
            let screen = Arc::new(Screen::FullScreen(full));
            let listener = ActionListener::new(&run, &screen, setup, None, Some(runs), &stops)?;
            let acting = async {
                listener.handle_actions(actions).await;
                // Events go on without the view.
                pending::<Result<(), Failure>>().await
            };
            let ended = tokio::select! {
                ended = follow(&mut watch, &screen) => ended,
                ended = acting => ended,
                () = stops.notified() => Ok(()),
                () = interrupted() => Ok(()),
            };
            screen.close();
            return ended.map(|()| 0);
        }
    }
    tokio::select! {
        ended = print(&mut watch, &run, form) => ended?,
        () = interrupted() => return Ok(0),
    }
    print_result(&runs.result(&run)?, form)?;
    Ok(0)
}

/// Prints an event for a watcher.
pub(super) fn print_event(event: &PublishedEvent, run: &RunId, form: Output) -> Result<(), Failure> {
    match form {
        Output::Text => line_of(event).iter().for_each(|line| output::result(line)),
        Output::Json => {}
        Output::Jsonl => output::json(&event.document(run, &rfc3339(event.at.as_millis())), false)?,
    }
    Ok(())
}

/// Prints the result of a run, or its state, for a watcher.
pub(super) fn print_result(result: &RunResult, form: Output) -> Result<(), Failure> {
    match form {
        Output::Text => output::note(&summary(result)),
        Output::Json => output::json(&with_commands(result), true)?,
        Output::Jsonl => output::json(&with_commands(result), false)?,
    }
    Ok(())
}

/// Shows events without end, since a suspended run may be resumed.
async fn follow(watch: &mut RunWatch<'_>, screen: &Screen) -> Result<(), Failure> {
    let Screen::FullScreen(full) = screen else { return Ok(()) };
    loop {
        match watch.next().await? {
            WatchUpdate::Events(events) => events.iter().for_each(|event| full.show(event)),
            WatchUpdate::Quiet { driven } => full.set_driven(driven),
        }
    }
}

/// Prints events until no process drives the run.
async fn print(watch: &mut RunWatch<'_>, run: &RunId, form: Output) -> Result<(), Failure> {
    loop {
        match watch.next().await? {
            WatchUpdate::Events(events) => events.iter().try_for_each(|event| print_event(event, run, form))?,
            WatchUpdate::Quiet { driven: false } => return Ok(()),
            WatchUpdate::Quiet { driven: true } => {}
        }
    }
}
