//! Screens that show a run. Each screen is a view of the events.

mod diff;
mod form;
mod full_screen;
mod lines;
mod live;
mod phrases;
#[cfg(test)]
mod tests;
mod text;
mod tree;

use std::sync::Arc;

use aime_orchestrator::PublishedEvent;
use aime_progress_management::{ProgressState, RunId};

use crate::{failure::Failure, output};

pub(crate) use self::{
    diff::describe_file_change,
    form::{DisplayOptions, Form},
    full_screen::{FullScreen, limits_of},
    lines::{conflict_line, describe_change, head, line_of, plan_notes, why_changed},
    live::Live,
    text::{column, moment},
    tree::{describe_plan, describe_tasks},
};
pub(crate) use aime_runs::rfc3339;
use aime_terminal::summary_line;
pub(crate) use aime_terminal::{first_line, fit, span};

/// Pauses the screen while a person types.
pub(crate) trait Pause: Send + Sync {
    /// Runs `work` while nothing is drawn.
    fn still(&self, work: &mut dyn FnMut());
}

/// Screen of one run.
pub(crate) enum Screen {
    /// Shows nothing.
    Quiet,
    /// Prints a line for each event.
    Lines,
    /// Shows the plan as a live checklist.
    Live(Arc<Live>),
    /// Uses the full screen.
    FullScreen(FullScreen),
    /// Prints each event as JSON on standard output.
    Events(RunId),
}

impl Screen {
    /// Creates the screen of a form that does not use the full screen.
    pub(crate) fn new(form: Form, run: &RunId) -> Self {
        match form {
            Form::Events => Self::Events(run.clone()),
            Form::Quiet => Self::Quiet,
            Form::Checklist | Form::FullScreen => Self::Live(Arc::new(Live::new(run))),
            Form::Lines => Self::Lines,
        }
    }

    /// Returns the handle that pauses the screen.
    pub(crate) fn pause(&self) -> Arc<dyn Pause> {
        match self {
            Self::Live(live) => Arc::clone(live) as Arc<dyn Pause>,
            _ => Arc::new(NoPause),
        }
    }

    /// Starts from the given state of a run.
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
            Self::FullScreen(full) => full.show(event),
            Self::Events(run) => output::json(&event.document(run, &rfc3339(event.at.as_millis())), false)?,
        }
        Ok(())
    }

    /// Shows a text beside the events, without garbling the drawing.
    pub(crate) fn note(&self, text: &str) {
        match self {
            Self::Live(live) => live.note(text),
            Self::FullScreen(full) => full.note(text),
            _ => output::note(text),
        }
    }

    /// Falls back to lines when the live display fails.
    pub(crate) fn switch_to_lines(&self) {
        if let Self::FullScreen(full) = self {
            full.switch_to_lines();
        }
    }

    /// Ends the live part; the final plan stays on the screen.
    pub(crate) fn close(&self) {
        match self {
            Self::Live(live) => live.close(),
            Self::FullScreen(full) => full.close(),
            _ => {}
        }
    }
}

/// A screen that need not be paused.
pub(crate) struct NoPause;

impl Pause for NoPause {
    fn still(&self, work: &mut dyn FnMut()) {
        work();
    }
}
