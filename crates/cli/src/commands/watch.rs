//! `aime runs watch`: a run as it happens, whoever carries it out.

use std::{sync::Arc, time::Duration};

use aime_durable::{EventRecord, Journal};
use aime_orchestrator::{PublishedEvent, RunResult, standing};
use aime_progress::{ProgressEvent, RunId, RunStatus, Timestamp};
use aime_terminal::Part;
use tokio::sync::Notify;

use super::{
    resume::find_run,
    run::{failure_of, interrupted, summary},
    runs::{output_of, read},
    showing::sight,
    steering::is_driven,
    viewing::{Hearing, acts},
};
use crate::{
    args::{Global, Output},
    failure::{Failure, code},
    output,
    screen::{Form, Screen, Whole, limits_of, line_of, rfc3339},
    wiring::Setup,
};

/// How often it is looked for more: another process writes the journal.
const LOOK: Duration = Duration::from_millis(300);
/// At each so manieth look at which nothing was new it is looked whether anybody carries the run out.
const PATIENCE: u32 = 7;
/// The most events that are read at once.
const MOST: usize = 500;

/// Shows a run: on the whole terminal until somebody leaves it; elsewhere line by line until nobody carries it out.
pub(super) async fn watch(run: &str, form: Output, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    let run = find_run(run, setup)?;
    let journal = setup.journal()?;
    let stops = Arc::new(Notify::new());
    let mut watched = Watched { run: run.clone(), journal, setup, seen: 0, quiet: 0, over: false };
    if Form::of(form, sight(global, setup, output::can_type())) == Form::Whole {
        let bounds = standing(&watched.journal, &run).map_err(|error| failure_of(&error))?.bounds;
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
    let (run, seen) = read(run.as_str(), setup)?;
    tell_end(&RunResult::new(run.clone(), &seen.state, &output_of(&run, &seen)), form)?;
    Ok(0)
}

/// Prints an event for somebody who watches.
pub(super) fn tell_event(event: &PublishedEvent, run: &RunId, form: Output) -> Result<(), Failure> {
    match form {
        Output::Text => line_of(event).iter().for_each(|line| output::result(line)),
        Output::Json => {}
        Output::Jsonl => output::json(&event.document(run, &rfc3339(event.at.as_millis())), false)?,
    }
    Ok(())
}

/// Prints what a run came to, or how it stands, for somebody who has watched.
pub(super) fn tell_end(result: &RunResult, form: Output) -> Result<(), Failure> {
    match form {
        Output::Text => output::note(&summary(result)),
        Output::Json => output::json(result, true)?,
        Output::Jsonl => output::json(result, false)?,
    }
    Ok(())
}

/// A run that is looked at.
struct Watched<'a> {
    run: RunId,
    journal: Journal,
    setup: &'a Setup,
    /// The number of the last event.
    seen: u64,
    /// Looks at which nothing was new.
    quiet: u32,
    /// It has ended for good.
    over: bool,
}

impl Watched<'_> {
    /// The events that came since the last look.
    fn more(&mut self) -> Result<Vec<PublishedEvent>, Failure> {
        let found = self.journal.events(self.run.as_str(), self.seen.saturating_add(1), MOST);
        let found = found.map_err(|error| Failure::caused(code::USAGE, &error))?;
        let mut events = Vec::with_capacity(found.len());
        // A gap would be passed over for ever: what comes after one waits.
        for record in found {
            if record.seq != self.seen + 1 {
                break;
            }
            self.seen = record.seq;
            let event = self.event(&record)?;
            if let ProgressEvent::RunStatusChanged { to, .. } = &event.event {
                self.over = matches!(to, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled);
            }
            events.push(event);
        }
        self.quiet = if events.is_empty() { self.quiet.saturating_add(1) } else { 0 };
        Ok(events)
    }

    fn event(&self, record: &EventRecord) -> Result<PublishedEvent, Failure> {
        let mut event = serde_json::from_str(&record.body).map_err(Failure::internal)?;
        self.setup.redactor().document(&mut event);
        let event = serde_json::from_value(event).map_err(Failure::internal)?;
        Ok(PublishedEvent { seq: record.seq, at: Timestamp::from_millis(record.at), event })
    }

    /// Whether a process carries the run out, where it is worth a look; none where it is not.
    fn driven(&self) -> Option<bool> {
        if self.over {
            return Some(false);
        }
        (self.quiet % PATIENCE == 1).then(|| is_driven(&self.run, self.setup))
    }

    /// Shows events for ever: a run that was left may go on.
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

    /// Prints events until nobody carries the run out.
    async fn print(&mut self, form: Output) -> Result<(), Failure> {
        loop {
            // Before the last look: what was written until then is seen by it.
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
