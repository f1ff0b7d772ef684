//! Question that waits for the person.

use ratatui_core::text::Line;

use super::{DrawContext, reach, title};
use crate::{Phrase, Screen, text::wrapped, theme::Tone};

/// Draws a title, as much of the question as fits, and the keys that answer it. It takes at most two thirds of `height`, and nothing if no
/// question is open.
pub(super) fn lines(screen: &mut Screen, cx: DrawContext, width: usize, height: usize) -> Vec<Line<'static>> {
    let Some((question, open)) = screen.question() else { return Vec::new() };
    let id = Some(question.id.clone());
    let who = question.task.as_ref().map(|task| format!(" ({task})")).unwrap_or_default();
    let name = format!("{}{who}", screen.phrase(Phrase::Kind(&question.kind)));
    let text = wrapped(&screen.phrase(Phrase::Question(&question.question)), width.saturating_sub(2), "  ");
    let keys = match question.kind.as_str() {
        "approval" => Phrase::Approves { always: (screen.offers_always)(&question.question.to_string()) },
        _ => Phrase::Answers,
    };
    let keys = screen.phrase(keys);
    let room = (height * 2 / 3).saturating_sub(2).max(1);
    let page = text.len().min(room);
    reach(&mut screen.question_scroll, text.len(), page);
    let at = screen.question_scroll.at;
    let left = text.len() - at - page;
    let more = if open > 1 { screen.phrase(Phrase::FirstOf(open)) } else { String::new() };
    let mut lines = vec![title(cx, &name, &more, width)];
    lines.extend(text.into_iter().skip(at).take(page).map(|line| cx.line(Tone::Plain, format!(" {line}"))));
    let mut last = cx.line(Tone::Warn, format!(" {keys}"));
    if left > 0 {
        last.push_span(cx.span(Tone::Bad, format!(" · {}", screen.phrase(Phrase::MoreToRead(left)))));
    }
    lines.push(last);
    lines.truncate(height);
    // The question counts as seen only if some of its text was drawn, not just the title.
    screen.shown_question = id.filter(|_| lines.len() > 1);
    lines
}
