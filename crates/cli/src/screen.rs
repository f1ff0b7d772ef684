//! What a person sees while a run goes on. Each screen is a view of the events.

mod diff;
mod lines;
mod live;
#[cfg(test)]
mod tests;
mod text;
mod tree;

use std::sync::Arc;

use aime_orchestrator::PublishedEvent;
use aime_progress::{ProgressState, RunId};

use crate::{args::Output, failure::Failure, output};

pub(crate) use diff::describe_file_change;
pub(crate) use lines::{describe_change, line_of};
pub(crate) use live::Live;
pub(crate) use text::{first_line, fit, moment, rfc3339, span};
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
    Live(Arc<Live>),
    /// Each event as JSON on standard output.
    Events(RunId),
}

impl Screen {
    /// The screen for an output form. `live` says whether a view that moves can be drawn.
    pub(crate) fn new(output: Output, quiet: bool, live: bool, run: &RunId) -> Self {
        match output {
            Output::Jsonl => Self::Events(run.clone()),
            _ if quiet => Self::Quiet,
            Output::Text if live => Self::Live(Arc::new(Live::new(run))),
            Output::Text | Output::Json => Self::Lines,
        }
    }

    /// The view that moves, if it is one.
    pub(crate) const fn live(&self) -> Option<&Arc<Live>> {
        match self {
            Self::Live(live) => Some(live),
            _ => None,
        }
    }

    /// What keeps it still.
    pub(crate) fn pause(&self) -> Arc<dyn Pause> {
        match self {
            Self::Live(live) => Arc::clone(live) as Arc<dyn Pause>,
            _ => Arc::new(NothingMoves),
        }
    }

    /// Takes up a run where it stood.
    pub(crate) fn begin_with(&self, state: &ProgressState) {
        if let Self::Live(live) = self {
            live.begin_with(state);
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

    /// Says something beside the events, without tearing what is drawn.
    pub(crate) fn say(&self, text: &str) {
        match self {
            Self::Live(live) => live.say(text),
            _ => output::note(text),
        }
    }

    /// Ends the moving part; the plan as it stands stays on the screen.
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
