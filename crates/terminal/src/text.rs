//! Text, times and widths for a terminal.

use std::borrow::Cow;

/// Returns true if a character controls a terminal or the reading order. Line feed and tab do not count.
#[must_use]
pub fn steers(character: char) -> bool {
    // Unicode's Bidi_Control.
    let turns = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (character.is_control() && !matches!(character, '\n' | '\t'))
}

/// Prepares an external text (of a model, a tool, a file) for a terminal: characters that [`steers`] matches are spelt out.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if steers(character) { shown.extend(character.escape_unicode()) } else { shown.push(character) }
    }
    Cow::Owned(shown)
}

/// Escapes characters that would control a terminal (RFC 8259, section 7). In JSON they occur only within strings, and each has one escape.
#[must_use]
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    if !json.contains(steers) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if steers(character) { escaped.push_str(&format!("\\u{:04x}", u32::from(character))) } else { escaped.push(character) }
    }
    Cow::Owned(escaped)
}

/// Keeps the colours of a text and escapes all other control sequences, since models, tools and servers contribute to it.
#[must_use]
pub fn with_colors(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return plain(text);
    }
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, escaped)) = rest.split_once(ESCAPE) {
        shown.push_str(&plain(before));
        rest = match color(escaped) {
            Some((codes, behind)) => {
                shown.extend([ESCAPE, "[", codes, "m"]);
                behind
            }
            None => {
                shown.push_str(&plain(ESCAPE));
                escaped
            }
        };
    }
    shown.push_str(&plain(rest));
    Cow::Owned(shown)
}

/// First character of a sequence that controls a terminal.
const ESCAPE: &str = "\u{1b}";

/// Splits off a colour sequence (SGR of ECMA-48): its codes, and the rest of the text.
fn color(escaped: &str) -> Option<(&str, &str)> {
    let (codes, behind) = escaped.strip_prefix('[')?.split_once('m')?;
    codes.bytes().all(|code| code.is_ascii_digit() || code == b';').then_some((codes, behind))
}

/// Returns the first line of an external text, cut to `limit` columns.
#[must_use]
pub fn first_line(text: &str, limit: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = plain(line).replace('\t', " ");
    let cut = console::truncate_str(&line, limit, "…");
    if cut == line { line } else { format!("{}…", cut.trim_end_matches('…').trim_end()) }
}

/// Returns the line of a text that tells most about it: of a script the first one that does something, else the first one.
#[must_use]
pub fn summary_line(text: &str) -> &str {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines().map(after_options).find(|line| !is_preamble(line)).or_else(|| lines().next()).unwrap_or_default()
}

/// Returns a line of a script without the shell options at its beginning.
fn after_options(line: &str) -> &str {
    let after = line.strip_prefix("set -").and_then(|options| options.split_once([';', '&']));
    after.map(|(_, after)| after.trim_start_matches(['&', ';', ' '])).filter(|after| !after.is_empty()).unwrap_or(line)
}

/// Returns true for a line of a script that does nothing by itself: a comment, an option, an import, a change of the folder.
fn is_preamble(line: &str) -> bool {
    let is_alone = !line.contains([';', '&', '|']);
    let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    begins(&["#", "//"]) || (is_alone && begins(&["set -", "set +", "cd ", "import ", "from ", "export "]))
}

/// Cuts a coloured line to `columns`.
#[must_use]
pub fn fit(line: &str, columns: usize) -> String {
    console::truncate_str(line, columns, "…").into_owned()
}

/// Formats a duration for people: `850 ms`, `12.3 s`, `4 m 05 s`, `2 h 10 m`.
#[must_use]
pub fn span(millis: u64) -> String {
    let seconds = millis / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) => format!("{millis} ms"),
        (0, 0, _) => format!("{}.{} s", seconds, millis % 1_000 / 100),
        (0, minutes, seconds) => format!("{minutes} m {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} m"),
    }
}

/// Formats a running time: `0:07`, `12:05`, `1:02:03`.
#[must_use]
pub fn clock(millis: u64) -> String {
    let seconds = millis / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Formats a number as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the width of a text, in columns.
pub(crate) fn width(text: &str) -> usize {
    console::measure_text_width(text)
}

/// Wraps an external text into lines of at most `columns`; continuation lines are indented by `indent`.
pub(crate) fn wrapped(text: &str, columns: usize, indent: &str) -> Vec<String> {
    let indent = if columns > 2 * indent.len() + 8 { indent } else { "" };
    let options = textwrap::Options::new(columns.max(2)).subsequent_indent(indent);
    let text = plain(text).replace('\t', "    ");
    text.lines().flat_map(|line| textwrap::wrap(line, &options).into_iter().map(Cow::into_owned).collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_would_steer_a_terminal_is_spelt_out() {
        for (text, shown) in [
            ("a\tb\nc 好", "a\tb\nc 好"),
            ("a\r\nb", "a\nb"),
            ("red \u{1b}[31m", "red \\u{1b}[31m"),
            ("over\rwritten \u{7}", "over\\u{d}written \\u{7}"),
            ("turned \u{202e}dnuora", "turned \\u{202e}dnuora"),
            ("marked \u{61c}12", "marked \\u{61c}12"),
            ("\u{9b}2J", "\\u{9b}2J"),
        ] {
            assert_eq!(plain(text), shown, "{text:?}");
        }
    }

    #[test]
    fn nothing_but_colours_reaches_a_terminal() {
        for (text, shown) in [
            ("plain\ttext\n好", "plain\ttext\n好"),
            ("\u{1b}[31mred\u{1b}[0m and \u{1b}[1mbold\u{1b}[0m", "\u{1b}[31mred\u{1b}[0m and \u{1b}[1mbold\u{1b}[0m"),
            ("\u{1b}[38;5;9mred\u{1b}[m", "\u{1b}[38;5;9mred\u{1b}[m"),
            // These sequences control the screen, the clipboard, the title, and the reading order.
            ("\u{1b}[2m\u{1b}[2Jgone\u{1b}[0m", "\u{1b}[2m\\u{1b}[2Jgone\u{1b}[0m"),
            ("\u{1b}]52;c;bWU=\u{7}", "\\u{1b}]52;c;bWU=\\u{7}"),
            ("\u{1b}[?25lm \u{1b}[1 m \u{1b}\u{1b}[1m", "\\u{1b}[?25lm \\u{1b}[1 m \\u{1b}\u{1b}[1m"),
            ("over\rwritten \u{9b}2J \u{202e}dna \u{1b}", "over\\u{d}written \\u{9b}2J \\u{202e}dna \\u{1b}"),
        ] {
            assert_eq!(with_colors(text), shown);
        }
    }

    #[test]
    fn json_stays_json_and_steers_nothing() {
        for (text, written) in [
            ("plain\ttext\n好", r#"["plain\ttext\n好"]"#),
            ("a\u{202e}b \u{200f}c \u{9b}2J \u{7f}d \u{1b}[2J", r#"["a\u202eb \u200fc \u009b2J \u007fd \u001b[2J"]"#),
            ("\\\u{202e}", r#"["\\\u202e"]"#),
        ] {
            let json = json!([text]);
            assert_eq!(escaped_json(&json.to_string()), written);
            let pretty = serde_json::to_string_pretty(&json).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&escaped_json(&pretty)).unwrap(), json);
        }
    }

    #[test]
    fn texts_are_cut_by_the_columns_that_they_take() {
        for (text, limit, cut) in [
            ("short", 10, "short"),
            ("  \n second line ", 20, "second line"),
            ("exactly ten", 11, "exactly ten"),
            ("one too many", 11, "one too ma…"),
            ("ends in a space here", 11, "ends in a…"),
            ("春眠不觉晓", 10, "春眠不觉晓"),
            ("春眠不觉晓", 9, "春眠不觉…"),
            ("春眠不觉晓", 8, "春眠不…"),
            ("e\u{301}te\u{301}", 3, "e\u{301}te\u{301}"),
            ("a\tb", 5, "a b"),
            ("", 5, ""),
        ] {
            let found = first_line(text, limit);
            assert_eq!(found, cut, "{text:?} at {limit}");
            assert!(width(&found) <= limit);
        }
        assert_eq!(fit("\u{1b}[31mred and long\u{1b}[0m", 4), "\u{1b}[31mred…\u{1b}[0m", "colours do not count, and are ended");
    }

    #[test]
    fn times_are_told_as_people_do() {
        let table = [
            (0, "0 ms", "0:00"),
            (999, "999 ms", "0:00"),
            (1_000, "1.0 s", "0:01"),
            (59_999, "59.9 s", "0:59"),
            (60_000, "1 m 00 s", "1:00"),
            (3_599_000, "59 m 59 s", "59:59"),
            (3_600_000, "1 h 00 m", "1:00:00"),
            (90_061_000, "25 h 01 m", "25:01:01"),
        ];
        for (millis, expected, running) in table {
            assert_eq!((span(millis).as_str(), clock(millis).as_str()), (expected, running));
        }
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_script_is_told_by_what_it_does() {
        for (text, line) in [
            ("ls -l", "ls -l"),
            ("\n  ls\nrm x", "ls"),
            ("#!/bin/bash\nset -euo pipefail\n\n# Test it.\ncd src\nexport A=1\ncargo test\n", "cargo test"),
            ("set -e; cargo test", "cargo test"),
            ("set -e && cargo test", "cargo test"),
            ("cd src && make", "cd src && make"),
            ("import os\nfrom sys import argv\n\nprint(1)", "print(1)"),
            ("// A comment.\nrun();", "run();"),
            // Of any other text the beginning is shown.
            ("# Title\n\n# Another", "# Title"),
            ("set -e", "set -e"),
            ("\n \n", ""),
        ] {
            assert_eq!(summary_line(text), line, "{text:?}");
        }
    }

    // Requirement: 12.14
    #[test]
    fn lines_are_broken_by_the_columns_that_they_take() {
        for (text, columns, lines) in [
            ("one two three", 8, vec!["one two", "three"]),
            ("one two three", 20, vec!["one two three"]),
            ("first\n\nthird", 20, vec!["first", "", "third"]),
            ("春眠不觉晓处处闻啼鸟", 8, vec!["春眠不觉", "晓处处闻", "啼鸟"]),
            // No line begins with closing punctuation or ends with opening punctuation.
            ("春眠不觉，处处闻啼鸟。", 8, vec!["春眠不", "觉，处处", "闻啼鸟。"]),
            ("花落（知多少）", 6, vec!["花落", "（知多", "少）"]),
            ("运行`ls`吧", 6, vec!["运行", "`ls`吧"]),
            ("unbreakable", 4, vec!["unbr", "eaka", "ble"]),
            ("\u{1b}[2J", 20, vec!["\\u{1b}[2J"]),
            ("", 20, vec![]),
        ] {
            assert_eq!(wrapped(text, columns, ""), lines, "{text:?} at {columns}");
        }
        assert_eq!(wrapped("one two three four", 13, "  "), ["one two three", "  four"]);
    }
}
