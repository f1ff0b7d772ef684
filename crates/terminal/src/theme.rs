//! Colours, and what stands for them where there are none.

use ratatui_core::style::{Color, Modifier, Style};

/// How a screen is painted. Nothing is told by a colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    color: bool,
}

/// What a text is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As any other.
    Plain,
    /// Less than others.
    Dim,
    /// More than others.
    Strong,
    /// What went well.
    Good,
    /// What went wrong.
    Bad,
    /// What a person should look at.
    Warn,
    /// What moves.
    Live,
}

impl Theme {
    /// With colours, or with bold and dim letters alone.
    #[must_use]
    pub const fn new(color: bool) -> Self {
        Self { color }
    }

    /// Whether there are colours.
    pub(crate) const fn has_color(self) -> bool {
        self.color
    }

    pub(crate) const fn style(self, tone: Tone) -> Style {
        let style = Style::new();
        match (tone, self.color) {
            (Tone::Plain, _) | (Tone::Good | Tone::Live, false) => style,
            (Tone::Dim, _) => style.add_modifier(Modifier::DIM),
            (Tone::Strong, _) | (Tone::Bad | Tone::Warn, false) => style.add_modifier(Modifier::BOLD),
            (Tone::Good, true) => style.fg(Color::Green),
            (Tone::Bad, true) => style.fg(Color::Red),
            (Tone::Warn, true) => style.fg(Color::Yellow),
            (Tone::Live, true) => style.fg(Color::Cyan),
        }
    }
}
