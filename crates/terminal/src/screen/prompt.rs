//! Input of a person: a line of text, or a confirmation.

use aime_progress_management::{QuestionId, TaskId};
use tui_input::{Input, InputRequest};

use super::UserAction;
use crate::Key;

/// Longest text, in bytes; further input is dropped.
const MAX_INPUT_BYTES: usize = 16_000;

/// Receiver of the keys.
#[derive(Debug, Default)]
pub(crate) enum Prompt {
    /// The screen.
    #[default]
    None,
    /// An input line.
    Typing {
        /// Purpose of the line.
        to: InputPurpose,
        /// Present content.
        line: Input,
    },
    /// The confirmation of this act.
    Sure(UserAction),
}

/// Purpose of an input line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InputPurpose {
    /// A message to the run, or to the actor of a task.
    Message(Option<TaskId>),
    /// The answer to this question.
    Answer(QuestionId),
}

impl InputPurpose {
    /// Returns the act for this text.
    pub(super) fn act(self, text: String) -> UserAction {
        match self {
            Self::Message(task) => UserAction::Tell { task, text },
            Self::Answer(question) => UserAction::Answer { question, text },
        }
    }
}

/// Edits a line by a key.
pub(super) fn edit(line: &mut Input, key: Key) {
    use InputRequest as R;
    let request = match key {
        Key::Char(letter) if line.value().len() + letter.len_utf8() <= MAX_INPUT_BYTES => R::InsertChar(letter),
        Key::Paste(text) => {
            let room = MAX_INPUT_BYTES.saturating_sub(line.value().len());
            let mut taken = 0;
            for letter in text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }) {
                taken += letter.len_utf8();
                if taken > room {
                    break;
                }
                line.handle(R::InsertChar(letter));
            }
            return;
        }
        Key::Tab => R::InsertChar(' '),
        Key::Backspace | Key::Ctrl('h') => R::DeletePrevChar,
        Key::Delete | Key::Ctrl('d') => R::DeleteNextChar,
        Key::Left | Key::Ctrl('b') => R::GoToPrevChar,
        Key::Right | Key::Ctrl('f') => R::GoToNextChar,
        Key::Home | Key::Ctrl('a') => R::GoToStart,
        Key::End | Key::Ctrl('e') => R::GoToEnd,
        Key::Ctrl('w') => R::DeletePrevWord,
        Key::Ctrl('u') => R::DeleteLine,
        Key::Ctrl('k') => R::DeleteTillEnd,
        _ => return,
    };
    line.handle(request);
}
