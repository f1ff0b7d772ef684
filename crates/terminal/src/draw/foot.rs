//! Foot of the screen: the input or confirmation line, and the most useful keys.

use ratatui_core::text::Line;
use tui_input::Input;

use super::DrawContext;
use crate::{
    Hint, Phrase, Screen, plain,
    screen::{InputPurpose, Panel, ProcessRole, Prompt, UserAction},
    text::width as columns,
    theme::Tone,
};

/// Draws the input line, the confirmation, or the notice on the last key. Returns it with the column of the cursor, if the person types.
pub(super) fn prompt(screen: &Screen, cx: DrawContext, width: usize) -> Option<(Line<'static>, Option<usize>)> {
    match &screen.prompt {
        Prompt::Typing { to, line } => Some(typing(screen, to, line, cx, width)),
        Prompt::Sure(act) => {
            let asked = match act {
                UserAction::Pause => Phrase::SurePause,
                UserAction::Cancel { task: Some(task) } => Phrase::SureCancel(task),
                _ => Phrase::SureEnd,
            };
            Some((cx.line(Tone::Warn, format!("{} y / n", screen.phrase(asked))), None))
        }
        Prompt::None if !screen.notice.is_empty() => Some((cx.line(Tone::Warn, screen.notice.clone()), None)),
        Prompt::None => None,
    }
}

fn typing(screen: &Screen, to: &InputPurpose, line: &Input, cx: DrawContext, width: usize) -> (Line<'static>, Option<usize>) {
    let label = match to {
        InputPurpose::Message(task) => Phrase::Tells(task.as_ref()),
        InputPurpose::Answer(_) => Phrase::AnswersWith,
    };
    let label = format!("{} > ", screen.phrase(label));
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
    let mut spans = cx.line(Tone::Strong, label);
    spans.push_span(cx.span(Tone::Plain, plain(&shown).into_owned()));
    (spans, Some(at))
}

/// Draws as many keys as fit, the most useful ones first.
pub(super) fn keys(screen: &Screen, cx: DrawContext, width: usize) -> Line<'static> {
    use Hint as H;
    let hints: &[Hint] = match (&screen.prompt, screen.panel) {
        (Prompt::Typing { .. }, _) => &[H::Sends, H::GivesUp, H::Empties],
        (Prompt::Sure(_), _) => &[H::Yes, H::No],
        (Prompt::None, Panel::Help | Panel::Graph) => &[H::Back, H::Scroll, H::Help, H::Tell],
        (Prompt::None, Panel::Task) => &[H::Back, H::Help, H::OtherTask, H::CancelIt, H::TellIt, H::Graph, H::ScrollPage],
        (Prompt::None, Panel::Log) if screen.part == ProcessRole::Watcher => {
            &[H::Help, H::Leave, H::Tell, H::Task, H::Graph, H::Pause, H::Cancel]
        }
        (Prompt::None, Panel::Log) => &[H::Help, H::Tell, H::Task, H::Graph, H::Pause, H::Cancel, H::Stop],
    };
    let mut text = String::new();
    for hint in hints {
        let word = screen.phrase(Phrase::Hint(*hint));
        let more = if text.is_empty() { word } else { format!("{text} · {word}") };
        if columns(&more) > width {
            break;
        }
        text = more;
    }
    cx.line(Tone::Dim, text)
}
