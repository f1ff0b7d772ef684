//! Help on the keys.

use ratatui_core::text::{Line, Span};

use super::DrawContext;
use crate::{Help, Phrase, Screen, screen::ProcessRole, text::wrapped, theme::Tone};

/// Keys with their effects.
pub(super) const KEYS: [(&str, Help); 18] = [
    ("t", Help::Tell),
    ("T", Help::TellIt),
    ("y n a", Help::Approve),
    ("Enter, a", Help::Answer),
    ("x", Help::Cancel),
    ("X", Help::End),
    ("p", Help::Pause),
    ("Ctrl-C", Help::Stop),
    ("Up Down", Help::Move),
    ("Enter, d", Help::Task),
    ("g", Help::Graph),
    ("l", Help::Log),
    ("Tab", Help::Next),
    ("PgUp PgDn", Help::Scroll),
    ("Esc", Help::Back),
    ("Ctrl-L", Help::Redraw),
    ("?", Help::Help),
    ("", Help::Marks),
];

/// Width of the keys, in columns.
const KEY: usize = 11;

pub(super) fn lines(screen: &Screen, cx: DrawContext, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (key, help) in KEYS {
        let help = match (help, screen.part) {
            (Help::Stop, ProcessRole::Watcher) => Help::Leave,
            _ => help,
        };
        for (at, text) in wrapped(&screen.phrase(Phrase::Help(help)), width.saturating_sub(KEY + 1), "").into_iter().enumerate() {
            let key = if at == 0 { key } else { "" };
            lines.push(Line::from(vec![cx.span(Tone::Strong, format!(" {key:<KEY$}")), Span::raw(text)]));
        }
    }
    lines
}
