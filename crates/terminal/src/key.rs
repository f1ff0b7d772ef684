//! Keys, as far as the screen knows any.

use ratatui_crossterm::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a person did at the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A letter with Ctrl, in lower case.
    Ctrl(char),
    /// Text that was pasted.
    Paste(String),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Tab.
    Tab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// An arrow.
    Up,
    /// An arrow.
    Down,
    /// An arrow.
    Left,
    /// An arrow.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
}

impl Key {
    /// The key of a terminal's event; none for what no key of the screen is.
    pub(crate) fn of(event: Event) -> Option<Self> {
        match event {
            Event::Paste(text) => Some(Self::Paste(text)),
            Event::Key(KeyEvent { kind: KeyEventKind::Release, .. }) => None,
            Event::Key(KeyEvent { code, modifiers, .. }) => Self::of_code(code, modifiers),
            _ => None,
        }
    }

    fn of_code(code: KeyCode, modifiers: KeyModifiers) -> Option<Self> {
        Some(match code {
            KeyCode::Char(letter) if modifiers.contains(KeyModifiers::CONTROL) => Self::Ctrl(letter.to_ascii_lowercase()),
            KeyCode::Char(_) if modifiers.contains(KeyModifiers::ALT) => return None,
            KeyCode::Char(letter) => Self::Char(letter),
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Escape,
            KeyCode::Tab => Self::Tab,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Delete => Self::Delete,
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::F(1) => Self::Char('?'),
            _ => return None,
        })
    }
}
