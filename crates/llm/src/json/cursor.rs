//! Walking over a text that is nearly JSON, and over the strings in it.

/// A reader's place in a text.
#[derive(Clone)]
pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Moves past the mark, or to the end. Returns true if the mark was found.
    pub(super) fn pass(&mut self, mark: &str) -> bool {
        match self.rest().find(mark) {
            Some(offset) => {
                self.at += offset + mark.len();
                true
            }
            None => {
                self.at = self.text.len();
                false
            }
        }
    }
}

/// Returns true if a character after `before` begins a string.
pub(super) fn opens_string(c: char, before: char) -> bool {
    match c {
        '"' | '“' | '”' | '＂' => true,
        '\'' | '‘' | '`' => matches!(before, '{' | '[' | ',' | ':' | '(' | '=' | '\0'),
        _ => false,
    }
}

/// Moves past a string whose opening quote was read; false where it never ends.
///
/// A quote closes only before `, : } ]`, a comment or the end: a model forgets to escape quotes inside its text.
pub(super) fn pass_string(cursor: &mut Cursor<'_>, quote: char) -> bool {
    let triple = match quote {
        '"' => "\"\"\"",
        _ => "'''",
    };
    if matches!(quote, '"' | '\'') && cursor.rest().starts_with(triple.get(1..).unwrap_or_default()) {
        cursor.at += 2;
        return cursor.pass(triple);
    }
    while let Some(c) = cursor.next() {
        if c == '\\' {
            cursor.next();
        } else if closes(c, quote) && ends_value(cursor.rest()) {
            return true;
        }
    }
    false
}

fn closes(c: char, quote: char) -> bool {
    match quote {
        '“' | '”' => matches!(c, '”' | '“' | '"'),
        '‘' => matches!(c, '’' | '\''),
        _ => c == quote,
    }
}

fn ends_value(rest: &str) -> bool {
    let next = rest.trim_start();
    let spaced = next.len() != rest.len();
    match next.chars().next() {
        None | Some(',' | ':' | '}' | ']' | '，' | '：' | '、' | '｝' | '］' | '+' | ')') => true,
        Some('/' | '#' | '"' | '\'' | '“' | '=' | '`') => spaced,
        Some(c) => rest.starts_with([' ', '\t']) && c.is_ascii_digit(),
    }
}
