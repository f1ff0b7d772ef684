//! What a person sees while a run goes on. Each screen is a view of the events.

mod lines;
mod live;
mod tree;

use std::sync::Arc;

use aime_orchestrator::PublishedEvent;
use aime_progress::RunId;
use jiff::Timestamp as Instant;

use crate::{args::Output, failure::Failure, output};

pub(crate) use lines::{describe_change, line_of};
pub(crate) use tree::{describe_plan, describe_tasks};

/// Keeps the screen still while a person types.
pub(crate) trait Pause: Send + Sync {
    /// Runs `work` while nothing is drawn.
    fn still(&self, work: &mut dyn FnMut());
}

/// The screen of one run.
pub(crate) enum Screen {
    /// Nothing.
    Quiet,
    /// A line for each thing that happens.
    Lines,
    /// The plan as a checklist that moves.
    Live(Arc<live::Live>),
    /// Each event as JSON on standard output.
    Events(RunId),
}

impl Screen {
    /// The screen for an output form, on what standard error is.
    pub(crate) fn new(output: Output, quiet: bool, run: &RunId) -> Self {
        match output {
            Output::Jsonl => Self::Events(run.clone()),
            _ if quiet => Self::Quiet,
            Output::Text if output::is_watched() => Self::Live(Arc::new(live::Live::new(run))),
            Output::Text | Output::Json => Self::Lines,
        }
    }

    /// What keeps it still.
    pub(crate) fn pause(&self) -> Arc<dyn Pause> {
        match self {
            Self::Live(live) => Arc::clone(live) as Arc<dyn Pause>,
            _ => Arc::new(NothingMoves),
        }
    }

    /// Shows one event.
    pub(crate) fn show(&self, event: &PublishedEvent) -> Result<(), Failure> {
        match self {
            Self::Quiet => {}
            Self::Lines => {
                if let Some(line) = line_of(event) {
                    output::note(&line);
                }
            }
            Self::Live(live) => live.show(event),
            Self::Events(run) => output::json(&event.document(run, &rfc3339(event.at.as_millis())), false)?,
        }
        Ok(())
    }

    /// Takes the moving part away.
    pub(crate) fn close(&self) {
        if let Self::Live(live) = self {
            live.close();
        }
    }
}

struct NothingMoves;

impl Pause for NothingMoves {
    fn still(&self, work: &mut dyn FnMut()) {
        work();
    }
}

/// A time as RFC 3339, UTC, with milliseconds.
pub(crate) fn rfc3339(millis: i64) -> String {
    Instant::from_millisecond(millis).map(|time| format!("{time:.3}")).unwrap_or_default()
}

/// `850 ms`, `12.3 s`, `4 m 05 s`, `2 h 10 m`.
pub(crate) fn span(millis: u64) -> String {
    let seconds = millis / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) => format!("{millis} ms"),
        (0, 0, _) => format!("{}.{} s", seconds, millis % 1_000 / 100),
        (0, minutes, seconds) => format!("{minutes} m {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} m"),
    }
}

/// The first line of a text, cut to `limit` characters.
pub(crate) fn first_line(text: &str, limit: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= limit {
        return line.to_owned();
    }
    let cut: String = line.chars().take(limit.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}
