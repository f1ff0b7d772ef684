//! Formatting of times and columns.

use jiff::Timestamp as Instant;

/// Formats a time for people: `2026-11-22 00:31:53Z`.
pub(crate) fn moment(millis: i64) -> String {
    Instant::from_millisecond(millis).map(|time| format!("{time:.0}").replace('T', " ")).unwrap_or_default()
}

/// Pads a coloured text to `columns`, with at least one space behind it.
pub(crate) fn column(text: &str, columns: usize) -> String {
    let room = columns.saturating_sub(console::measure_text_width(text)).max(1);
    format!("{text}{:room$}", "")
}
