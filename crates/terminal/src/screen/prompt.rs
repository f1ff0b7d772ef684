//! What a person is in the middle of: typing, or being asked whether something is meant.

use aime_progress::{QuestionId, TaskId};
use tui_input::{Input, InputRequest};

use super::Act;
use crate::Key;

/// The longest text, in bytes; what is typed beyond is dropped.
const LONGEST: usize = 16_000;

/// What keys go to.
#[derive(Debug, Default)]
pub(crate) enum Prompt {
    /// To the screen.
    #[default]
    None,
    /// To a line.
    Typing {
        /// What becomes of it.
        to: Said,
        /// As it stands.
        line: Input,
    },
    /// To the question whether this is meant.
    Sure(Act),
}

/// What becomes of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// It is told to the run, or to the actor of a task.
    Told(Option<TaskId>),
    /// It answers this question.
    Answers(QuestionId),
}

impl Said {
    /// What is done with these words.
    pub(super) fn act(self, text: String) -> Act {
        match self {
            Self::Told(task) => Act::Tell { task, text },
            Self::Answers(question) => Act::Answer { question, text },
        }
    }
}

/// Changes a line as a key says.
pub(super) fn edit(line: &mut Input, key: Key) {
    use InputRequest as R;
    let request = match key {
        Key::Char(letter) if line.value().len() + letter.len_utf8() <= LONGEST => R::InsertChar(letter),
        Key::Paste(text) => {
            let room = LONGEST.saturating_sub(line.value().len());
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
