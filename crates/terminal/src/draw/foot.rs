//! The foot: what is typed or asked, and the keys that help most now.

use ratatui_core::text::Line;
use tui_input::Input;

use super::Eye;
use crate::{
    Screen, plain,
    screen::{Act, Panel, Part, Prompt, Said},
    text::width as columns,
    theme::Tone,
};

/// The line in which a person types, or is asked whether something is meant, or is told what came of the last key. With the column of the
/// cursor, where they type.
pub(super) fn prompt(screen: &Screen, eye: Eye, width: usize) -> Option<(Line<'static>, Option<usize>)> {
    match &screen.prompt {
        Prompt::Typing { to, line } => Some(typing(to, line, eye, width)),
        Prompt::Sure(act) => {
            let asked = match act {
                Act::Pause => "Stop the run? It can be resumed.".to_owned(),
                Act::Cancel { task: Some(task) } => format!("Cancel the task {task}?"),
                _ => "End the run for good?".to_owned(),
            };
            Some((eye.line(Tone::Warn, format!("{asked} y / n")), None))
        }
        Prompt::None if !screen.notice.is_empty() => Some((eye.line(Tone::Warn, screen.notice.clone()), None)),
        Prompt::None => None,
    }
}

fn typing(to: &Said, line: &Input, eye: Eye, width: usize) -> (Line<'static>, Option<usize>) {
    let label = match to {
        Said::Told(None) => "tell the run > ".to_owned(),
        Said::Told(Some(task)) => format!("tell {task} > "),
        Said::Answers(_) => "answer > ".to_owned(),
    };
    let label = if columns(&label) + 10 > width { "> ".to_owned() } else { label };
    let room = width.saturating_sub(columns(&label) + 1).max(1);
    let hidden = line.visual_scroll(room);
    let (mut passed, mut shown) = (0, String::new());
    for letter in line.value().chars() {
        if passed >= hidden {
            shown.push(letter);
        }
        passed += columns(letter.encode_utf8(&mut [0; 4]));
    }
    let at = columns(&label) + line.visual_cursor().saturating_sub(hidden);
    let mut spans = eye.line(Tone::Strong, label);
    spans.push_span(eye.span(Tone::Plain, plain(&shown).into_owned()));
    (spans, Some(at))
}

/// As many of the keys as fit, the most useful ones first.
pub(super) fn keys(screen: &Screen, eye: Eye, width: usize) -> Line<'static> {
    let words: &[&str] = match (&screen.prompt, screen.panel) {
        (Prompt::Typing { .. }, _) => &["Enter sends", "Esc gives up", "Ctrl-U empties"],
        (Prompt::Sure(_), _) => &["y yes", "any other key no"],
        (Prompt::None, Panel::Help | Panel::Graph) => &["Esc back", "Up Down scroll", "? help", "t tell"],
        (Prompt::None, Panel::Task) => &["Esc back", "? help", "Up Down task", "x cancel it", "T tell it", "g graph", "PgDn scroll"],
        (Prompt::None, Panel::Log) if screen.part == Part::Watches => {
            &["? help", "q leave", "t tell", "Enter task", "g graph", "p pause", "x cancel"]
        }
        (Prompt::None, Panel::Log) => &["? help", "t tell", "Enter task", "g graph", "p pause", "x cancel", "Ctrl-C stop"],
    };
    let mut text = String::new();
    for word in words {
        let more = if text.is_empty() { (*word).to_owned() } else { format!("{text} · {word}") };
        if columns(&more) > width {
            break;
        }
        text = more;
    }
    eye.line(Tone::Dim, text)
}
