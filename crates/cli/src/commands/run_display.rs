//! Display of a run that is driven here, and stopping it from there.

use std::sync::Arc;

use aime_orchestrator::{Bounds, HumanChannel, Models, NoHuman};
use aime_progress_management::{ProgressState, RunId};
use aime_runs::{RunUpdate, Setup};
use tokio::{
    sync::{Notify, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::action_listener::{ActionListener, action_channel};
use crate::{
    args::{Global, Output},
    failure::Failure,
    i18n::{msg, print},
    output::{self, BOLD},
    person::{AtTerminal, ScreenPerson},
    screen::{DisplayOptions, Form, FullScreen, Screen, column, limits_of},
    signals::Interruptions,
};

/// Run with its display options.
pub(super) struct DisplayedRun {
    pub(super) run: RunId,
    pub(super) output: Output,
    pub(super) unattended: bool,
    pub(super) models: Option<Models>,
    /// Bounds of the run, for display.
    pub(super) bounds: Bounds,
    /// Interruptions since its preparation.
    pub(super) interruptions: Interruptions,
}

/// Display of a run, and the channel for questions to people.
pub(super) struct RunDisplay {
    pub(super) screen: Arc<Screen>,
    pub(super) human: Arc<dyn HumanChannel>,
    /// Task that carries out the actions of the full-screen view.
    action_task: Option<JoinHandle<()>>,
    /// Notified of Ctrl-C in that view.
    stops: Arc<Notify>,
}

impl RunDisplay {
    /// Takes over the terminal, if there is one.
    pub(super) fn begin(carry: &DisplayedRun, global: &Global, setup: &Setup, before: Option<&ProgressState>) -> Result<Self, Failure> {
        let attended = !carry.unattended && output::can_type();
        let (run, stops) = (&carry.run, Arc::new(Notify::new()));
        let form = Form::of(carry.output, display_options(global, setup, attended));
        if form == Form::FullScreen {
            let (on_action, actions) = action_channel();
            let mut screen = aime_terminal::Screen::new(run.clone(), aime_terminal::ProcessRole::Driver, limits_of(&carry.bounds));
            if let Some(before) = before {
                screen = screen.with_state(before.clone());
            }
            // If the full-screen view is unavailable, another display is used.
            if let Ok(Some(full)) = FullScreen::open(screen, on_action) {
                let (screen, asked) = (Arc::new(Screen::FullScreen(full)), Arc::new(ScreenPerson::default()));
                let listener = ActionListener::new(run, &screen, setup, Some(Arc::clone(&asked)), None, &stops)?;
                return Ok(Self { screen, human: asked, action_task: Some(tokio::spawn(listener.handle_actions(actions))), stops });
            }
        }
        let screen = Arc::new(Screen::new(form, run));
        if let Some(before) = before {
            screen.begin_with(before);
        }
        let human: Arc<dyn HumanChannel> = if attended { Arc::new(AtTerminal::new(screen.pause())) } else { Arc::new(NoHuman) };
        Ok(Self { screen, human, action_task: None, stops })
    }
}

impl Drop for RunDisplay {
    fn drop(&mut self) {
        if let Some(action_task) = self.action_task.take() {
            action_task.abort();
        }
        // The terminal must be restored however the run ends.
        self.screen.close();
    }
}

/// Explains the commands for a run to someone who has seen none here before.
pub(super) fn print_command_hints() {
    output::note(&msg!("run-first"));
    for (command, what) in [
        ("aime runs report last", msg!("run-first-report")),
        ("aime runs undo last", msg!("run-first-undo")),
        ("aime serve", msg!("run-first-serve")),
    ] {
        output::note(&format!("  {}{what}", column(&format!("{BOLD}{command}{BOLD:#}"), 24)));
    }
}

/// Describes the terminal and the options for the choice of the display.
pub(super) fn display_options(global: &Global, setup: &Setup, attended: bool) -> DisplayOptions {
    DisplayOptions {
        quiet: global.quiet,
        plain: global.plain || setup.config.run.plain,
        logs: global.verbose > 0,
        watched: output::is_watched() && setup.environment.text("TERM") != Some("dumb"),
        alone: output::is_seen(),
        attended,
    }
}

/// Shows events until the stream ends. Returns true if there was any.
pub(super) async fn show(screen: Arc<Screen>, mut updates: mpsc::UnboundedReceiver<RunUpdate>) -> Result<bool, Failure> {
    let drawing = match screen.as_ref() {
        Screen::Live(live) => {
            let live = Arc::clone(live);
            Some(tokio::spawn(async move { live.keep_drawing().await }))
        }
        _ => None,
    };
    let mut has_begun = false;
    while let Some(update) = updates.recv().await {
        match update {
            RunUpdate::Event(event) => {
                has_begun = true;
                screen.show(&event)?;
            }
            RunUpdate::Note(note) => screen.note(&print(&note)),
        }
    }
    screen.close();
    if let Some(drawing) = drawing {
        drawing.abort();
    }
    Ok(has_begun)
}

/// Waits until everything is shown. Returns true if there was any event.
pub(super) async fn finish_screen(shown: JoinHandle<Result<bool, Failure>>, screen: &Screen) -> Result<bool, Failure> {
    let shown = shown.await.map_err(Failure::internal)?;
    screen.close();
    shown
}

/// Stops the run resumably at the first Ctrl-C or TERM. The second one ends the wait for that.
pub(super) async fn stop_on_signals(stop: &CancellationToken, seen: &RunDisplay, interruptions: &mut Interruptions) {
    stopped(seen, interruptions).await;
    stop.cancel();
    seen.screen.note(&msg!("run-stopping"));
    stopped(seen, interruptions).await;
}

/// Waits for a signal, or for Ctrl-C on a screen in raw mode.
async fn stopped(seen: &RunDisplay, interruptions: &mut Interruptions) {
    tokio::select! {
        Some(_) = interruptions.recv() => {}
        () = seen.stops.notified() => {}
    }
}
