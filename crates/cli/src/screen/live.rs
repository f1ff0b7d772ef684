//! The live view: the plan as a checklist, what each actor does now, elapsed time, tokens and cost.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aime_orchestrator::PublishedEvent;
use aime_progress::{ProgressEvent, ProgressState, RunId, RunStatus};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Pause, line_of, span, tree::checklist};
use crate::output::{self, BOLD, DIM};

/// How often the view is drawn.
const FRAME: Duration = Duration::from_millis(200);

/// A view that moves.
pub(crate) struct Live {
    bar: ProgressBar,
    run: RunId,
    state: Mutex<Option<ProgressState>>,
}

impl Live {
    pub(super) fn new(run: &RunId) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self { bar, run: run.clone(), state: Mutex::new(None) }
    }

    pub(super) fn show(&self, published: &PublishedEvent) {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match (&published.event, state.as_mut()) {
                (ProgressEvent::RunStarted { plan_id, goal }, None) => {
                    *state = Some(ProgressState::new(plan_id.clone(), goal.clone(), published.at));
                }
                (event, Some(state)) => {
                    // A view that has missed something is only a view: the next one is drawn from what it has.
                    drop(state.apply(published.at, event));
                }
                _ => {}
            }
        }
        if let Some(line) = line_of(published).filter(|_| is_news(&published.event)) {
            self.bar.println(output::painted(&line));
        }
        self.draw();
    }

    /// Draws once, and again at each frame until it is closed.
    pub(crate) async fn keep_drawing(&self) {
        while !self.bar.is_finished() {
            self.draw();
            tokio::time::sleep(FRAME).await;
        }
    }

    fn draw(&self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = state.as_ref() {
            let now = jiff::Timestamp::now().as_millisecond();
            let (rows, columns) = size();
            self.bar.set_message(output::painted(&render(state, &self.run, now, columns, rows)));
        }
    }

    pub(super) fn close(&self) {
        self.bar.finish_and_clear();
    }
}

impl Pause for Live {
    fn still(&self, work: &mut dyn FnMut()) {
        self.bar.suspend(work);
    }
}

/// Rows and columns of the terminal.
fn size() -> (usize, usize) {
    let (rows, columns) = console::Term::stderr().size();
    (usize::from(rows), usize::from(columns))
}

/// What stays on the screen above the checklist; the checklist itself shows the rest.
fn is_news(event: &ProgressEvent) -> bool {
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
    )
}

/// The whole view, as lines that fit `columns` and `rows`.
pub(super) fn render(state: &ProgressState, run: &RunId, now: i64, columns: usize, rows: usize) -> String {
    let mut lines = Vec::new();
    let doing = match state.status {
        RunStatus::Planning => "planning",
        RunStatus::Executing => "working",
        RunStatus::Replanning => "changing the plan",
        RunStatus::WaitingForHuman => "waiting for you",
        RunStatus::Completed => "done",
        RunStatus::Failed => "failed",
        RunStatus::Cancelled => "cancelled",
    };
    let version = if state.version > 0 { format!(" · plan v{}", state.version) } else { String::new() };
    lines.push(format!("{BOLD}{doing}{BOLD:#}{version}"));
    lines.extend(checklist(state, now, columns, rows.saturating_sub(6).max(3)));
    let elapsed = span(u64::try_from(now - state.started_at.as_millis()).unwrap_or(0));
    let spent = &state.spent;
    let tokens = spent.input_tokens + spent.output_tokens;
    let cost = if spent.cost_usd > 0.0 { format!(" · ${:.4}", spent.cost_usd) } else { String::new() };
    lines
        .push(format!("{DIM}{elapsed} · {tokens} tokens · {} requests{cost} · run {run} · Ctrl-C stops, resumable{DIM:#}", spent.requests));
    lines.join("\n")
}
