//! Colours, and their replacements on terminals without.

use ratatui_core::style::{Color, Modifier, Style};

/// Style of a screen. No information depends on colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    color: bool,
}

/// Tone of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Normal text.
    Plain,
    /// Less important text.
    Dim,
    /// More important text.
    Strong,
    /// Success.
    Good,
    /// Failure.
    Bad,
    /// Needs a person's attention.
    Warn,
    /// Activity.
    Live,
}

impl Theme {
    /// Creates a theme with colours, or with only bold and dim text.
    #[must_use]
    pub const fn new(color: bool) -> Self {
        Self { color }
    }

    /// Returns true if the theme has colours.
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
