//! Log of events, the latest at the bottom.

use aime_progress_management::Timestamp;
use ratatui_core::text::Line;

use super::{DrawContext, reach, title};
use crate::{
    Phrase, Screen, clock,
    screen::{Entry, Panel},
    text::{width as columns, wrapped},
    theme::Tone,
};

/// Smallest width at which entries show their times, in columns.
const TIMED: usize = 50;

/// Draws a title and the entries that fit below it.
pub(super) fn lines(screen: &mut Screen, cx: DrawContext, width: usize, height: usize) -> Vec<Line<'static>> {
    let room = height.saturating_sub(1);
    let began = screen.state.as_ref().map(|state| state.started_at);
    let wanted = screen.scroll.at + room;
    // Only the visible entries are formatted, from the end.
    let mut found: Vec<Line<'static>> = Vec::new();
    let mut seen_all = true;
    for entry in screen.log.entries.iter().rev() {
        if found.len() > wanted {
            seen_all = false;
            break;
        }
        found.extend(entry_lines(entry, began, cx, width).into_iter().rev());
    }
    if screen.panel == Panel::Log {
        let at = screen.scroll.at;
        reach(&mut screen.scroll, found.len(), room);
        // Entries that were not formatted may have any number of lines.
        if !seen_all {
            screen.scroll = crate::screen::Scroll { at, most: usize::MAX / 2, page: room };
        }
    }
    let at = if screen.panel == Panel::Log { screen.scroll.at } else { 0 };
    let more = if at > 0 { screen.phrase(Phrase::MoreBelow(at)) } else { String::new() };
    let mut lines = vec![title(cx, &screen.phrase(Phrase::TitleLog), &more, width)];
    let mut shown: Vec<Line<'static>> = found.into_iter().skip(at).take(room).collect();
    shown.reverse();
    lines.extend(shown);
    lines.truncate(height);
    lines
}

/// Formats an entry: its time, its coloured first word, and the rest indented.
fn entry_lines(entry: &Entry, began: Option<Timestamp>, cx: DrawContext, width: usize) -> Vec<Line<'static>> {
    let time = if width >= TIMED { format!("{:>6} ", clock(entry.at.millis_since(began.unwrap_or(entry.at)))) } else { String::new() };
    let lead = " ".repeat(columns(&time));
    let texts = wrapped(&entry.text, width.saturating_sub(columns(&time)), "  ");
    let of_line = |(at, text): (usize, String)| {
        let mut spans = vec![cx.span(Tone::Dim, if at == 0 { time.clone() } else { lead.clone() })];
        let end = text.find(char::is_whitespace).filter(|_| at == 0);
        let (first, rest) = end.map_or(("", text.as_str()), |end| text.split_at(end));
        spans.push(cx.span(entry.tone, first));
        spans.push(cx.span(diff_tone(rest, at), rest));
        Line::from(spans)
    };
    texts.into_iter().enumerate().map(of_line).collect()
}

/// Returns the tone of a diff line. Lines of a changed file are indented by four columns and begin with their sign.
fn diff_tone(text: &str, at: usize) -> Tone {
    match text.strip_prefix("    ").filter(|_| at > 0).and_then(|text| text.chars().next()) {
        Some('+') => Tone::Good,
        Some('-') => Tone::Bad,
        Some('@') => Tone::Live,
        _ => Tone::Plain,
    }
}
