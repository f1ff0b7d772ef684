//! The keys.

use ratatui_core::text::{Line, Span};

use super::Eye;
use crate::{Screen, screen::Part, text::wrapped, theme::Tone};

/// Each key with what it does.
pub(super) const KEYS: [(&str, &str); 18] = [
    ("t", "tell the run something"),
    ("T", "tell the actor of the task at the pointer"),
    ("y n a", "answer an approval: yes, no, always"),
    ("Enter, a", "answer a question"),
    ("x", "cancel the task at the pointer; it asks first"),
    ("X", "end the run for good; it asks first"),
    ("p", "pause: stop the run so that it can be resumed; it asks first"),
    ("Ctrl-C", "stop the run so that it can be resumed; again to stop at once"),
    ("Up Down", "move the pointer; also k and j"),
    ("Enter, d", "all about the task at the pointer, and back"),
    ("g", "what waits for what, and back"),
    ("l", "what happened"),
    ("Tab", "the next of these three"),
    ("PgUp PgDn", "scroll"),
    ("Esc", "back; the pointer follows what moves again"),
    ("Ctrl-L", "draw anew. Ctrl-Z: to the background"),
    ("?", "this, and back"),
    ("", "[ ] waits  [>] runs  [x] done  [!] failed  [?] blocked  [-] skipped  [<] undone"),
];

/// The columns of the keys.
const KEY: usize = 11;

pub(super) fn lines(screen: &Screen, eye: Eye, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (key, words) in KEYS {
        let words = match (key, screen.part) {
            ("Ctrl-C", Part::Watches) => "close this; the run goes on. Also q",
            _ => words,
        };
        for (at, text) in wrapped(words, width.saturating_sub(KEY + 1), "").into_iter().enumerate() {
            let key = if at == 0 { key } else { "" };
            lines.push(Line::from(vec![eye.span(Tone::Strong, format!(" {key:<KEY$}")), Span::raw(text)]));
        }
    }
    lines
}
