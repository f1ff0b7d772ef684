//! Times and durations for people. All times are UTC.

use aime_progress_management::Timestamp;

/// Formats `2026-01-31 10:20:30`.
pub(crate) fn moment(at: Timestamp) -> String {
    formatted(at, "%Y-%m-%d %H:%M:%S")
}

/// Formats `10:20:30`.
pub(crate) fn clock(at: Timestamp) -> String {
    formatted(at, "%H:%M:%S")
}

/// Formats `2026-01-31T10:20:30.123Z`.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    formatted(at, "%Y-%m-%dT%H:%M:%S.%3fZ")
}

/// Formats a time; one outside the range of the calendar appears in milliseconds.
fn formatted(at: Timestamp, form: &str) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis()).map_or_else(|_| at.to_string(), |at| at.strftime(form).to_string())
}

/// Formats milliseconds in the two largest units: `350 ms`, `4.2 s`, `3 m 05 s`, `2 h 10 m`, `3 d 4 h`.
pub(crate) fn span(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0 => format!("{millis} ms"),
        1..60 => format!("{}.{} s", seconds, millis % 1000 / 100),
        60..3600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {:02} m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// Formats a number with thin spaces between thousands.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push('\u{2009}');
        }
        shown.push(digit);
    }
    shown
}

/// Formats a count: `1 task`, `2 tasks`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{} {thing}s", self::number(number as u64)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_numbers_are_read_at_a_glance() {
        for (millis, expected) in
            [(0, "0 ms"), (350, "350 ms"), (4_260, "4.2 s"), (185_000, "3 m 05 s"), (7_800_000, "2 h 10 m"), (273_600_000, "3 d 4 h")]
        {
            assert_eq!(span(millis), expected);
        }
        assert_eq!([0, 999, 1000, 1_234_567].map(number), ["0", "999", "1\u{2009}000", "1\u{2009}234\u{2009}567"]);
        assert_eq!(moment(Timestamp::from_millis(0)), "1970-01-01 00:00:00");
        assert_eq!(rfc3339(Timestamp::from_millis(1)), "1970-01-01T00:00:00.001Z");
        assert_eq!(moment(Timestamp::from_millis(i64::MAX)), "9223372036854775807 ms");
    }
}
