//! Keys that the screen understands.

use ratatui_crossterm::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Key press of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A letter with Ctrl, in lower case.
    Ctrl(char),
    /// Text that was pasted.
    Paste(String),
    /// Enter key.
    Enter,
    /// Escape key.
    Escape,
    /// Tab key.
    Tab,
    /// Backspace key.
    Backspace,
    /// Delete key.
    Delete,
    /// Up arrow.
    Up,
    /// Down arrow.
    Down,
    /// Left arrow.
    Left,
    /// Right arrow.
    Right,
    /// Home key.
    Home,
    /// End key.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
}

impl Key {
    /// Converts a terminal event; none if the screen has no such key.
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
