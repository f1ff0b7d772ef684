//! `aime runs watch`: shows a run as it happens, whichever process drives it.

use std::{sync::Arc, time::Duration};

use aime_durable::Journal;
use aime_orchestrator::{PublishedEvent, RunResult, run_status};
use aime_progress_management::{ProgressEvent, RunId, RunStatus};
use aime_runs::{Runs, RunsError};
use aime_terminal::Part;
use tokio::sync::Notify;

use super::{
    outcome::summary,
    showing::sight,
    viewing::{Hearing, acts},
};
use crate::{
    args::{Global, Output},
    failure::Failure,
    hints::with_commands,
    output,
    screen::{Form, Screen, Whole, limits_of, line_of, rfc3339},
    signals::interrupted,
};

/// Polling interval: another process writes the journal.
const LOOK: Duration = Duration::from_millis(300);
/// Number of consecutive polls without news after which the lock is checked for a driving process.
const PATIENCE: u32 = 7;
/// Largest number of events that are read at once.
const MOST: usize = 500;

/// Shows a run: on the whole terminal until the person leaves it, otherwise line by line until no process drives it.
pub(super) async fn watch(run: &str, form: Output, global: &Global, runs: &Runs) -> Result<u8, Failure> {
    let setup = runs.setup();
    let run = runs.find(run)?;
    let journal = setup.journal()?;
    let stops = Arc::new(Notify::new());
    let mut watched = Watched { run: run.clone(), journal, runs, seen: 0, quiet: 0, over: false };
    if Form::of(form, sight(global, setup, output::can_type())) == Form::Whole {
        let bounds = run_status(&watched.journal, &run).map_err(RunsError::from)?.bounds;
        let (heard, acts) = acts();
        let screen = aime_terminal::Screen::new(run.clone(), Part::Watches, limits_of(&bounds));
        if let Ok(Some(whole)) = Whole::open(screen, heard) {
            let screen = Arc::new(Screen::Whole(whole));
            let hearing = tokio::spawn(Hearing::new(&run, &screen, setup, None, &stops)?.hear(acts));
            let ended = tokio::select! {
                ended = watched.follow(&screen) => ended,
                () = stops.notified() => Ok(()),
                () = interrupted() => Ok(()),
            };
            hearing.abort();
            screen.close();
            return ended.map(|()| 0);
        }
    }
    tokio::select! {
        ended = watched.print(form) => ended?,
        () = interrupted() => return Ok(0),
    }
    tell_end(&runs.result(&run)?, form)?;
    Ok(0)
}

/// Prints an event for a watcher.
pub(super) fn tell_event(event: &PublishedEvent, run: &RunId, form: Output) -> Result<(), Failure> {
    match form {
        Output::Text => line_of(event).iter().for_each(|line| output::result(line)),
        Output::Json => {}
        Output::Jsonl => output::json(&event.document(run, &rfc3339(event.at.as_millis())), false)?,
    }
    Ok(())
}

/// Prints the result of a run, or its state, for a watcher.
pub(super) fn tell_end(result: &RunResult, form: Output) -> Result<(), Failure> {
    match form {
        Output::Text => output::note(&summary(result)),
        Output::Json => output::json(&with_commands(result), true)?,
        Output::Jsonl => output::json(&with_commands(result), false)?,
    }
    Ok(())
}

/// Run that is watched.
struct Watched<'a> {
    run: RunId,
    journal: Journal,
    runs: &'a Runs,
    /// Sequence number of the last event.
    seen: u64,
    /// Number of consecutive polls without news.
    quiet: u32,
    /// True if it has ended for good.
    over: bool,
}

impl Watched<'_> {
    /// Returns the events since the last poll.
    fn more(&mut self) -> Result<Vec<PublishedEvent>, Failure> {
        let events = self.runs.events_in(&self.journal, &self.run, self.seen, MOST)?;
        for event in &events {
            self.seen = event.seq;
            if let ProgressEvent::RunStatusChanged { to, .. } = &event.event {
                self.over = matches!(to, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled);
            }
        }
        self.quiet = if events.is_empty() { self.quiet.saturating_add(1) } else { 0 };
        Ok(events)
    }

    /// Returns whether a process drives the run, or none if it is not time for that check.
    fn driven(&self) -> Option<bool> {
        if self.over {
            return Some(false);
        }
        (self.quiet % PATIENCE == 1).then(|| self.runs.is_driven(&self.run))
    }

    /// Shows events without end, since a left run may be resumed.
    async fn follow(&mut self, screen: &Screen) -> Result<(), Failure> {
        let Screen::Whole(whole) = screen else { return Ok(()) };
        loop {
            let events = self.more()?;
            events.iter().for_each(|event| whole.show(event));
            if events.is_empty() {
                self.driven().into_iter().for_each(|driven| whole.set_driven(driven));
                tokio::time::sleep(LOOK).await;
            }
        }
    }

    /// Prints events until no process drives the run.
    async fn print(&mut self, form: Output) -> Result<(), Failure> {
        loop {
            // The check comes before the last read, so that the read sees everything written until then.
            let abandoned = self.driven() == Some(false);
            let events = self.more()?;
            for event in &events {
                tell_event(event, &self.run, form)?;
            }
            if events.is_empty() {
                if abandoned {
                    return Ok(());
                }
                tokio::time::sleep(LOOK).await;
            }
        }
    }
}
