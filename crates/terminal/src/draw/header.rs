//! Head of the screen: activity, progress and cost of the run.

use aime_progress_management::{ProgressState, RunStatus, TaskStatus};
use ratatui_core::text::{Line, Span};

use super::DrawContext;
use crate::{
    Phrase, Screen, clock, first_line,
    screen::ProcessRole,
    text::{grouped, width as columns},
    theme::Tone,
};

/// Width of the progress bar, in columns.
const BAR: usize = 20;

/// Draws at most `most` lines.
pub(super) fn lines(screen: &Screen, cx: DrawContext, width: usize, most: usize) -> Vec<Line<'static>> {
    let Some(state) = &screen.state else {
        return vec![cx.line(Tone::Strong, screen.phrase(Phrase::Beginning))].into_iter().take(most).collect();
    };
    let (doing, tone) = doing(screen, state);
    let doing = screen.phrase(doing);
    let goal = first_line(&state.goal, width.saturating_sub(columns(&doing) + 2));
    let mut lines = vec![Line::from(vec![cx.span(tone, doing), Span::raw("  "), Span::raw(goal)])];
    let (how_far, spent) = (how_far(screen, state, cx, width), spent(screen, state, cx));
    // Progress and cost share a line if they fit.
    let gap = width.saturating_sub(how_far.width() + spent.width());
    if gap >= 3 {
        let mut both = how_far;
        both.push_span(Span::raw(" ".repeat(gap)));
        spent.spans.into_iter().for_each(|span| both.push_span(span));
        lines.push(both);
    } else {
        lines.extend([how_far, spent]);
    }
    lines.truncate(most);
    lines
}

fn doing(screen: &Screen, state: &ProgressState) -> (Phrase<'static>, Tone) {
    match state.status {
        RunStatus::Completed => (Phrase::Done, Tone::Good),
        RunStatus::Failed => (Phrase::Failed, Tone::Bad),
        RunStatus::Cancelled => (Phrase::Cancelled, Tone::Warn),
        _ if screen.question().is_some() => (Phrase::WaitingForYou, Tone::Warn),
        _ if screen.part == ProcessRole::Watcher && !screen.driven => (Phrase::NotUnderWay, Tone::Warn),
        RunStatus::WaitingForHuman => (Phrase::WaitingForYou, Tone::Warn),
        RunStatus::Interrupted => (Phrase::NotUnderWay, Tone::Warn),
        RunStatus::Planning => (Phrase::Planning, Tone::Live),
        RunStatus::Executing => (Phrase::Working, Tone::Live),
        RunStatus::Replanning => (Phrase::Replanning, Tone::Live),
    }
}

/// Formats the progress: `plan v2 [#####-----] 3 of 5 tasks done, 1 failed`.
fn how_far(screen: &Screen, state: &ProgressState, cx: DrawContext, width: usize) -> Line<'static> {
    if state.version == 0 {
        return cx.line(Tone::Dim, screen.phrase(Phrase::NoPlanYet));
    }
    let count = |status: TaskStatus| state.tasks.values().filter(|task| task.status == status).count();
    let (all, done, failed) = (state.tasks.len(), count(TaskStatus::Completed), count(TaskStatus::Failed));
    let mut spans = vec![Span::raw(screen.phrase(Phrase::Version(state.version)))];
    if width >= 60 && all > 0 {
        let full = done * BAR / all;
        spans.extend([Span::raw(" ["), cx.span(Tone::Good, "#".repeat(full)), cx.span(Tone::Dim, "-".repeat(BAR - full)), Span::raw("]")]);
    } else {
        spans.push(Span::raw(" ·"));
    }
    spans.push(Span::raw(format!(" {}", screen.phrase(Phrase::DoneOf { done, tasks: all }))));
    if failed > 0 {
        let failed = format!("{}{}", screen.phrase(Phrase::Comma), screen.phrase(Phrase::Failures(failed)));
        spans.push(cx.span(Tone::Bad, failed));
    }
    Line::from(spans)
}

/// Formats the usage: `1:15 of 10:00 · 12,345 of 100,000 tokens · $0.0123 of $0.50`. Values close to their bounds are highlighted.
fn spent(screen: &Screen, state: &ProgressState, cx: DrawContext) -> Line<'static> {
    let until = if screen.is_over() { state.last_progress_at } else { cx.now };
    let millis = until.millis_since(state.started_at);
    let tokens = state.spent.input_tokens.saturating_add(state.spent.output_tokens);
    let (limits, cost) = (&screen.limits, state.spent.cost_usd);
    let of = |used: &str, most: &str| screen.phrase(Phrase::Of { used, most });
    let near = |used: f64, most: f64| if used >= 0.8 * most { Tone::Warn } else { Tone::Dim };
    let time = limits.seconds.map_or_else(
        || (Tone::Dim, clock(millis)),
        |most| (near(millis as f64 / 1_000.0, most as f64), of(&clock(millis), &clock(most.saturating_mul(1_000)))),
    );
    let tokens_used = grouped(tokens);
    let tokens = limits.tokens.map_or_else(
        || (Tone::Dim, screen.phrase(Phrase::Tokens(&tokens_used))),
        |most| (near(tokens as f64, most as f64), screen.phrase(Phrase::TokensOf { used: &tokens_used, most: &grouped(most) })),
    );
    let cost = match limits.cost_usd {
        Some(most) => Some((near(cost, most), of(&format!("${cost:.4}"), &format!("${most:.2}")))),
        None => (cost > 0.0).then(|| (Tone::Dim, format!("${cost:.4}"))),
    };
    let mut spans = Vec::new();
    for (tone, text) in [Some(time), Some(tokens), cost].into_iter().flatten() {
        if !spans.is_empty() {
            spans.push(cx.span(Tone::Dim, " · "));
        }
        spans.push(cx.span(tone, text));
    }
    Line::from(spans)
}
