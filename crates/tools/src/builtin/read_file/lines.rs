//! Formats lines of a text for a model. Pure.

use std::fmt::Write;

use serde_json::json;

use crate::builtin::tolerant::{BYTE_ORDER_MARK, has_windows_line_ends};

/// Format of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Lines as they are in the file.
    Plain,
    /// Each line after its number and a tab. A note at the end names invisible features, such as a byte order mark.
    Numbered,
}

/// A range of lines of a text.
pub(super) struct Excerpt<'a> {
    text: &'a str,
    lines: Vec<&'a str>,
    /// Number of lines before the range.
    first: usize,
    /// Number of lines in the text.
    total: usize,
    /// Note at the end of a part that a model reads.
    warning: Option<String>,
}

impl<'a> Excerpt<'a> {
    /// Returns at most `limit` lines after the first `first` ones; `None` if the text has no line there.
    pub(super) fn new(text: &'a str, first: usize, limit: Option<usize>) -> Option<Self> {
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        let end = limit.map_or(all.len(), |limit| all.len().min(first.saturating_add(limit)));
        let lines = all.get(first..end)?.to_vec();
        let behind_the_end = first > 0 && first >= all.len();
        (!behind_the_end).then_some(Self { text, lines, first, total: all.len(), warning: None })
    }

    pub(super) fn with_warning(self, warning: Option<String>) -> Self {
        Self { warning, ..self }
    }

    pub(super) fn whole(&self) -> String {
        self.lines.concat()
    }

    /// Formats as many whole lines as fit into `room` characters, and a note on how to continue.
    pub(super) fn render(&self, path: &str, room: usize, style: Style) -> String {
        let room = room.saturating_sub(self.warning.as_ref().map_or(0, |warning| warning.chars().count()));
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
        notes.extend(self.warning.clone());
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

/// Returns the call that reads the following lines.
fn go_on(path: &str, offset: usize) -> String {
    format!("go on with read_file {}", json!({"path": path, "offset": offset}))
}
