//! Showing lines of a text to a model. Pure.

use std::fmt::Write;

use serde_json::json;

use crate::builtin::tolerant::{BYTE_ORDER_MARK, has_windows_line_ends};

/// How lines are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// As they are in the file.
    Plain,
    /// Each after its number and a tab; what the eye cannot see, such as a byte order mark, is named at the end.
    Numbered,
}

/// Lines of a text that are to be shown.
pub(super) struct Excerpt<'a> {
    text: &'a str,
    lines: Vec<&'a str>,
    /// How many lines come before them.
    first: usize,
    /// How many lines the text has.
    total: usize,
}

impl<'a> Excerpt<'a> {
    /// The lines behind the `first` ones, at most `limit`; nothing where the text has no line there.
    pub(super) fn new(text: &'a str, first: usize, limit: Option<usize>) -> Option<Self> {
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        let end = limit.map_or(all.len(), |limit| all.len().min(first.saturating_add(limit)));
        let lines = all.get(first..end)?.to_vec();
        let behind_the_end = first > 0 && first >= all.len();
        (!behind_the_end).then_some(Self { text, lines, first, total: all.len() })
    }

    pub(super) fn whole(&self) -> String {
        self.lines.concat()
    }

    /// As many whole lines as there is room for, and how to go on.
    pub(super) fn shown(&self, path: &str, room: usize, style: Style) -> String {
        let mut shown = String::new();
        let (mut used, mut count) = (0, 0);
        for line in &self.lines {
            let line = self.line(line, self.first + count, style);
            used += line.chars().count();
            if used > room {
                break;
            }
            shown.push_str(&line);
            count += 1;
        }
        let last = self.first + count;
        let mut notes = Vec::new();
        match self.lines.get(count).filter(|_| count == 0) {
            Some(long) => {
                shown = long.chars().take(room).collect();
                let mut note = format!(
                    "line {} of {} has {} characters, {room} of them here; use `grep` or `bash` to see into it",
                    last + 1,
                    self.total,
                    long.chars().count()
                );
                if last + 1 < self.total {
                    let _never_fails = write!(note, "; {}", go_on(path, last + 2));
                }
                notes.push(note);
            }
            None if last < self.total => {
                notes.push(format!("lines {} to {last} of {}; {}", self.first + 1, self.total, go_on(path, last + 1)));
            }
            None => {}
        }
        if style == Style::Numbered {
            notes.extend(self.text.starts_with(BYTE_ORDER_MARK).then(|| "the file begins with a byte order mark".to_owned()));
            notes.extend(has_windows_line_ends(self.text).then(|| "its lines end in CRLF".to_owned()));
        }
        if !notes.is_empty() {
            let gap = if shown.is_empty() || shown.ends_with('\n') { "" } else { "\n" };
            let _never_fails = write!(shown, "{gap}[{}]", notes.join("; "));
        }
        shown
    }

    fn line(&self, line: &str, before: usize, style: Style) -> String {
        match style {
            Style::Plain => line.to_owned(),
            Style::Numbered => {
                let line = if before == 0 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
                let line = line.strip_suffix("\r\n").map_or_else(|| line.to_owned(), |line| format!("{line}\n"));
                format!("{}\t{line}", before + 1)
            }
        }
    }
}

/// The call that reads on.
fn go_on(path: &str, offset: usize) -> String {
    format!("go on with read_file {}", json!({"path": path, "offset": offset}))
}
