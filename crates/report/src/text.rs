//! Prepares external texts for display: removes secrets, limits their length, and makes hidden characters visible.

use std::cell::Cell;

use aime_redact::Redactor;
use serde::Serialize;
use serde_json::{Map, Value};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::time::count;

/// Largest number of characters of all texts together.
const MAX_CHARS: usize = 6_000_000;

/// Text for display.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Text {
    /// Beginning of the text, without secrets.
    pub shown: String,
    /// Number of characters left out after it.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Text {
    /// Returns true if there is nothing to show and nothing was left out.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.shown.is_empty() && self.left_out == 0
    }

    /// Returns the shown text, followed by the number of characters left out.
    pub(crate) fn counted(self) -> String {
        match self.left_out {
            0 => self.shown,
            left_out => format!("{}… {} left out", self.shown, count(left_out, "more character")),
        }
    }
}

/// Reads texts, and limits each of them and their total.
pub(crate) struct Reader<'a> {
    redactor: &'a Redactor,
    room: Cell<usize>,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(redactor: &'a Redactor) -> Self {
        Self { redactor, room: Cell::new(MAX_CHARS) }
    }

    /// Reads a text of at most `most` characters.
    pub(crate) fn text(&self, text: &str, most: usize) -> Text {
        let clean = self.redactor.text(text);
        let most = most.min(self.room.get());
        let shown: String = clean.chars().take(most).collect();
        let left_out = if shown.len() < clean.len() { clean.chars().count() - shown.chars().count() } else { 0 };
        self.room.set(self.room.get().saturating_sub(shown.len()));
        Text { shown: visible(&shown), left_out }
    }

    /// Reads a text as one line of at most `columns` columns.
    pub(crate) fn line(&self, text: &str, columns: usize) -> String {
        let clean = self.redactor.text(text);
        let words: Vec<&str> = clean.split_whitespace().take(columns + 1).collect();
        fit(&visible(&words.join(" ")), columns)
    }

    /// Reads the whole text, for a comparison that is cut later.
    pub(crate) fn whole(&self, text: &str) -> String {
        self.redactor.text(text).into_owned()
    }

    /// Returns the parameters of a call by name: texts unchanged, everything else as JSON.
    pub(crate) fn parameters(&self, parameters: &Map<String, Value>, most: usize) -> Vec<(String, Text)> {
        let shown = |value: &Value| match value {
            Value::String(text) => self.text(text, most),
            other => self.text(&other.to_string(), most),
        };
        parameters.iter().map(|(name, value)| (self.line(name, 60), shown(value))).collect()
    }
}

/// Makes control characters and bidirectional controls visible.
pub(crate) fn visible(text: &str) -> String {
    let hidden = |character: char| {
        let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        turns || (character.is_control() && !matches!(character, '\n' | '\t'))
    };
    let mut shown = String::with_capacity(text.len());
    for character in text.replace("\r\n", "\n").chars() {
        if hidden(character) { shown.extend(character.escape_unicode()) } else { shown.push(character) }
    }
    shown
}

/// Cuts a line to `columns` columns, with an ellipsis if something is missing.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let (mut fitting, mut used) = (String::new(), 1);
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > columns {
            break;
        }
        fitting.push(character);
    }
    format!("{}…", fitting.trim_end())
}

/// Wraps a line into at most `most` lines of `columns` columns. It breaks between words, or within a word that is too long or in a script
/// without spaces, such as Chinese.
pub(crate) fn wrap(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && lines.len() + 1 < most && rest.width() > columns {
        let at = break_at(rest, columns);
        let (line, after) = rest.split_at(at);
        lines.push(line.trim_end().to_owned());
        rest = after.trim_start();
    }
    if !rest.is_empty() {
        lines.push(fit(rest, columns));
    }
    lines
}

/// Returns the position at which to break a line that is too long: the last space in the second half of `columns`, or the first
/// character that does not fit.
fn break_at(text: &str, columns: usize) -> usize {
    let (mut used, mut full, mut space) = (0, 0, None);
    for (at, character) in text.char_indices() {
        used += character.width().unwrap_or(0);
        if character == ' ' && used > columns / 2 && used <= columns + 1 {
            space = Some(at);
        }
        if used > columns && full == 0 {
            full = at.max(character.len_utf8());
        }
        if used > columns {
            break;
        }
    }
    space.unwrap_or(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_and_says_so() {
        let redactor = Redactor::new(["hunter22"]);
        let reader = Reader::new(&redactor);
        assert_eq!(reader.text("数字四五", 2), Text { shown: "数字".into(), left_out: 2 });
        assert_eq!(reader.text("abc", 3), Text { shown: "abc".into(), left_out: 0 });
        // Secrets are removed before the cut, so that no half of one remains.
        assert_eq!(reader.text("x hunter22", 6).shown, "x [red");
        assert_eq!(reader.line("a\n b\tc", 10), "a b c");
    }

    #[test]
    fn all_texts_together_are_bounded() {
        let redactor = Redactor::default();
        let reader = Reader::new(&redactor);
        let long = "word ".repeat(500_000);
        let shown: usize = (0..5).map(|_| reader.text(&long, usize::MAX).shown.len()).sum();
        assert_eq!(shown, MAX_CHARS);
        assert_eq!(reader.text("more", 9), Text { shown: String::new(), left_out: 4 });
    }

    #[test]
    fn nothing_is_hidden() {
        assert_eq!(visible("a\tb\nc\r\nd"), "a\tb\nc\nd");
        assert_eq!(visible("x\u{202e}txt.exe\u{0}\u{1b}[31m"), "x\\u{202e}txt.exe\\u{0}\\u{1b}[31m");
        assert_eq!(visible("שלום \u{200f}مرحبا"), "שלום \u{200f}مرحبا", "languages that are written from right to left");
    }

    #[test]
    fn lines_are_broken_where_they_may_be() {
        for (text, lines) in [
            ("short", vec!["short"]),
            ("Write the report of it", vec!["Write the", "report of…"]),
            ("Writethereportofit", vec!["Writethere", "portofit"]),
            ("写一份关于大海的报告吧", vec!["写一份关于", "大海的报…"]),
            ("", vec![]),
        ] {
            assert_eq!(wrap(text, 10, 2), lines, "{text:?}");
        }
    }
}
