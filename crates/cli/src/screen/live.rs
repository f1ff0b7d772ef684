//! Live view: the plan as a checklist, the current activity of each actor, elapsed time, tokens and cost.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aime_orchestrator::PublishedEvent;
use aime_progress_management::{ProgressEvent, ProgressState, RunId, RunStatus};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{
    Pause, describe_tasks, fit, line_of, span,
    tree::{checklist, progress},
};
use crate::{
    i18n::{msg, word_name},
    output::{self, BOLD, DIM, by_who, count},
};

/// Interval at which the view is drawn.
const FRAME: Duration = Duration::from_millis(200);

/// Live view of a run.
pub(crate) struct Live {
    bar: ProgressBar,
    run: RunId,
    view: Mutex<View>,
}

/// Drawing state.
#[derive(Default)]
struct View {
    state: Option<ProgressState>,
    /// True while a person types. The bar's own lock is held that long, so any access to the bar would block the run too.
    still: bool,
    /// Lines that arrived while it was paused.
    waiting: Vec<String>,
    closed: bool,
}

impl Live {
    pub(super) fn new(run: &RunId) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self { bar, run: run.clone(), view: Mutex::default() }
    }

    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin_with(&self, state: &ProgressState) {
        self.view().state = Some(state.clone());
    }

    pub(super) fn show(&self, published: &PublishedEvent) {
        let mut view = self.view();
        view.observe(published);
        if let Some(line) = line_of(published).filter(|_| is_logged(&published.event)) {
            self.print(&mut view, &line);
        }
        self.draw(&view);
    }

    /// Shows a text above the checklist, or directly below the input while a person types.
    pub(super) fn note(&self, text: &str) {
        let mut view = self.view();
        if view.still {
            output::note(&format!("\n{text}"));
        } else {
            self.print(&mut view, text);
        }
    }

    /// Draws now, and again at each frame until it is closed.
    pub(crate) async fn keep_drawing(&self) {
        loop {
            {
                let view = self.view();
                if view.closed {
                    return;
                }
                self.draw(&view);
            }
            tokio::time::sleep(FRAME).await;
        }
    }

    fn print(&self, view: &mut View, text: &str) {
        match (view.closed, view.still) {
            (true, _) => output::note(text),
            (_, true) => view.waiting.push(text.to_owned()),
            _ => self.bar.println(output::painted(text)),
        }
    }

    fn draw(&self, view: &View) {
        if view.still || view.closed {
            return;
        }
        if let Some(state) = &view.state {
            let now = jiff::Timestamp::now().as_millisecond();
            let (rows, columns) = size();
            self.bar.set_message(output::painted(&render(state, &self.run, now, (columns, rows))));
        }
    }

    /// Removes the live part and leaves the final plan.
    pub(super) fn close(&self) {
        let mut view = self.view();
        if std::mem::replace(&mut view.closed, true) {
            return;
        }
        if !view.still {
            self.bar.finish_and_clear();
        }
        for text in view.waiting.drain(..) {
            output::note(&text);
        }
        if let Some(state) = view.state.take().filter(|state| !state.tasks.is_empty()) {
            output::note(&format!("{}\n", last(&state, size().1)));
        }
    }
}

impl View {
    fn observe(&mut self, published: &PublishedEvent) {
        match (&published.event, self.state.as_mut()) {
            (ProgressEvent::RunStarted { plan_id, goal, .. }, None) => {
                self.state = Some(ProgressState::new(plan_id.clone(), goal.clone(), published.at));
            }
            (event, Some(state)) => {
                // If an event does not apply, the view continues with the state it has.
                drop(state.apply(published.at, event));
            }
            _ => {}
        }
    }
}

impl Pause for Live {
    fn still(&self, work: &mut dyn FnMut()) {
        self.view().still = true;
        self.bar.suspend(work);
        let mut view = self.view();
        view.still = false;
        for text in std::mem::take(&mut view.waiting) {
            self.print(&mut view, &text);
        }
        self.draw(&view);
    }
}

/// Returns the rows and columns of the terminal.
pub(super) fn size() -> (usize, usize) {
    let (rows, columns) = console::Term::stderr().size();
    (usize::from(rows), usize::from(columns))
}

/// Returns true for events that stay on the screen above the checklist, which shows the rest.
pub(super) fn is_logged(event: &ProgressEvent) -> bool {
    use ProgressEvent as E;
    !matches!(
        event,
        E::TaskStatusChanged { .. }
            | E::TaskConcluded { .. }
            | E::ActorCreated { .. }
            | E::ToolCallStarted { .. }
            | E::ProgressReported { .. }
            | E::PlanCreated { .. }
            | E::PlanningStarted { .. }
            | E::QuestionAsked { .. }
            | E::RunStatusChanged { .. }
            | E::RunInterrupted { .. }
    )
}

/// Renders the whole view as lines that fit `columns` and `rows`.
pub(super) fn render(state: &ProgressState, run: &RunId, now: i64, (columns, rows): (usize, usize)) -> String {
    let mut lines = Vec::new();
    let doing = match state.status {
        RunStatus::Planning => msg!("view-planning"),
        RunStatus::Executing => msg!("view-working"),
        RunStatus::Replanning => msg!("view-replanning"),
        RunStatus::WaitingForHuman => msg!("view-waiting"),
        RunStatus::Interrupted => word_name("status", "interrupted"),
        RunStatus::Completed => msg!("view-run-done"),
        RunStatus::Failed => msg!("view-run-failed"),
        RunStatus::Cancelled => msg!("view-run-cancelled"),
    };
    lines.push(format!("{BOLD}{doing}{BOLD:#}{}", progress(state).map(|text| format!(" · {text}")).unwrap_or_default()));
    let by_who = by_who(&state.spent_by);
    lines.extend(checklist(state, now, columns, rows.saturating_sub(6 + usize::from(by_who.is_some())).max(3)));
    let elapsed = span(u64::try_from(now - state.started_at.as_millis()).unwrap_or(0));
    let spent = &state.spent;
    let tokens = spent.input_tokens + spent.output_tokens;
    let cost = if spent.cost_usd > 0.0 { format!(" · ${:.4}", spent.cost_usd) } else { String::new() };
    let requests = count(usize::try_from(spent.requests).unwrap_or(usize::MAX), "request");
    let foot = msg!("live-foot", elapsed, tokens, requests, cost, run);
    lines.extend(by_who.map(|text| format!("{DIM}{text}{DIM:#}")));
    lines.push(format!("{DIM}{foot}{DIM:#}"));
    // One column stays free, because some terminals wrap a full line, and so does room for the `^C`s that a terminal writes after the last
    // line.
    let width = columns.saturating_sub(1).max(1);
    let mut lines: Vec<String> = lines.iter().map(|line| fit(line, width)).collect();
    if let Some(line) = lines.last_mut() {
        *line = fit(line, columns.saturating_sub(6).max(1));
    }
    lines.join("\n")
}

/// Returns the lines that stay when the run has ended.
pub(super) fn last(state: &ProgressState, columns: usize) -> String {
    let head = format!("{BOLD}{}{BOLD:#}", progress(state).unwrap_or_default());
    let tasks = describe_tasks(state, columns);
    let lines: Vec<String> =
        [head.as_str()].into_iter().chain(tasks.lines()).map(|line| fit(line, columns.saturating_sub(1).max(1))).collect();
    lines.join("\n")
}
