//! Run on the whole terminal. When the terminal is restored, the previous screen gets the events, the final plan and the answer.

use std::{
    collections::VecDeque,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use aime_orchestrator::{Bounds, PublishedEvent};
use aime_progress_management::ProgressEvent;
use aime_terminal::{ActionHandler, Limits, Screen, Theme, View};

use super::{
    head, line_of,
    live::{is_logged, last, size},
    phrases,
};
use crate::{
    i18n::{msg, print},
    output::{self, BOLD, count},
};

/// Largest number of lines that are left on the previous screen.
const MAX_UPDATES: usize = 2_000;

/// View, with the lines to leave behind.
pub(crate) struct FullScreen {
    view: View,
    log: Mutex<ScreenLog>,
}

#[derive(Default)]
struct ScreenLog {
    lines: VecDeque<String>,
    left_out: usize,
    state: ScreenState,
}

/// State of the screen.
#[derive(Default, PartialEq, Eq)]
enum ScreenState {
    #[default]
    FullScreen,
    /// The view failed before the end, so events are printed as lines.
    Broken,
    Closed,
}

/// Returns the bounds that a screen shows.
pub(crate) const fn limits_of(bounds: &Bounds) -> Limits {
    Limits { tokens: bounds.max_tokens, cost_usd: bounds.max_cost_usd, seconds: bounds.max_seconds }
}

impl FullScreen {
    /// Takes over the terminal; `None` in the background.
    pub(crate) fn open(screen: Screen, on_action: ActionHandler) -> io::Result<Option<Self>> {
        let screen = screen.with_always(aime_tools::offers_always).with_words(phrases::phrase_text);
        let view = View::open(screen, Theme::new(output::has_colors()), || Box::new(io::stderr()), on_action)?;
        Ok(view.map(|view| Self { view, log: Mutex::default() }))
    }

    fn log(&self) -> MutexGuard<'_, ScreenLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn show(&self, published: &PublishedEvent) {
        let line = line_of(published);
        if let Some(line) = &line {
            let mut log = self.log();
            match log.state {
                ScreenState::FullScreen if is_logged(&published.event) => log.keep(line.clone()),
                ScreenState::Broken => output::note(line),
                ScreenState::FullScreen | ScreenState::Closed => {}
            }
        }
        self.view.observe(published.at, published.event.clone(), words_of(&published.event, line.as_deref()));
    }

    pub(crate) fn note(&self, text: &str) {
        let mut log = self.log();
        if log.state == ScreenState::FullScreen {
            log.keep(text.to_owned());
            self.view.log(&output::bare(text));
        } else {
            output::note(text);
        }
    }

    /// Sets whether a process drives the run.
    pub(crate) fn set_driven(&self, driven: bool) {
        self.view.set_driven(driven);
    }

    /// Prints every later event as a line, because the screen is gone.
    pub(crate) fn switch_to_lines(&self) {
        let mut log = self.log();
        if log.state != ScreenState::FullScreen {
            return;
        }
        log.state = ScreenState::Broken;
        log.leave_behind();
        output::note(&msg!("view-lost"));
    }

    /// Restores the terminal once, and leaves the important lines behind.
    pub(crate) fn close(&self) {
        let mut log = self.log();
        log.state = ScreenState::Closed;
        let screen = self.view.close();
        log.leave_behind();
        let Some(screen) = screen else { return };
        if let Some(state) = screen.state().filter(|state| !state.tasks.is_empty()) {
            output::note(&format!("{}\n", last(state, size().1)));
        }
    }
}

impl ScreenLog {
    /// Prints the kept lines on the previous screen.
    fn leave_behind(&mut self) {
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            output::note(&msg!("view-lines-before", lines = count(left_out, "line")));
        }
        self.lines.drain(..).for_each(|line| output::note(&line));
    }

    fn keep(&mut self, line: String) {
        if self.lines.len() >= MAX_UPDATES {
            self.lines.pop_front();
            self.left_out += 1;
        }
        self.lines.push_back(line);
    }
}

/// Returns the log text of an event that the screen does not show otherwise.
pub(super) fn words_of(event: &ProgressEvent, line: Option<&str>) -> Option<String> {
    use ProgressEvent as E;
    match event {
        E::PlanCreated { plan, repairs, fallback } if line.is_some() => {
            let mut words = format!("{}v1: {}", head(BOLD, "head-plan"), count(plan.tasks.len(), "task"));
            repairs.iter().for_each(|repair| words.push_str(&format!("\n  {}", msg!("line-repaired", repair = print(repair)))));
            fallback.iter().for_each(|why| words.push_str(&format!("\n  {}", msg!("line-fallback", why = print(why)))));
            Some(output::bare(&words))
        }
        E::ToolCallStarted { .. } | E::ActorCreated { .. } | E::TaskConcluded { .. } | E::QuestionAsked { .. } => None,
        _ => line.map(output::bare),
    }
}
