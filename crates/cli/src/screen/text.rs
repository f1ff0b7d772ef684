//! Words, times and widths.

use jiff::Timestamp as Instant;

use crate::output::plain;

/// A time as RFC 3339, UTC, with milliseconds.
pub(crate) fn rfc3339(millis: i64) -> String {
    Instant::from_millisecond(millis).map(|time| format!("{time:.3}")).unwrap_or_default()
}

/// A time for people: `2026-11-22 00:31:53Z`.
pub(crate) fn moment(millis: i64) -> String {
    Instant::from_millisecond(millis).map(|time| format!("{time:.0}").replace('T', " ")).unwrap_or_default()
}

/// `850 ms`, `12.3 s`, `4 m 05 s`, `2 h 10 m`.
pub(crate) fn span(millis: u64) -> String {
    let seconds = millis / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) => format!("{millis} ms"),
        (0, 0, _) => format!("{}.{} s", seconds, millis % 1_000 / 100),
        (0, minutes, seconds) => format!("{minutes} m {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} m"),
    }
}

/// The first line of a text from outside, cut to `limit` columns of a terminal.
pub(crate) fn first_line(text: &str, limit: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = plain(line).replace('\t', " ");
    let cut = console::truncate_str(&line, limit, "…");
    if cut == line { line } else { format!("{}…", cut.trim_end_matches('…').trim_end()) }
}

/// A line with its colours, cut to `columns`.
pub(crate) fn fit(line: &str, columns: usize) -> String {
    console::truncate_str(line, columns, "…").into_owned()
}
