//! Mending what is nearly JSON.

use jsonrepair_rs::jsonrepair;
use serde_json::Value;

use super::{
    scan::{Ending, Oddity, Span, ascii},
    strict,
};

/// The longest Windows path that is looked for, in bytes.
const LONGEST_PATH: usize = 1_024;

/// Reads a span that is not strict JSON. None where it cannot be understood as the object or array it begins as.
///
/// Backslashes are cared for first, because the repair library drops those it does not know, and a path or a pattern that
/// lost them is worse than no answer.
pub(super) fn mend(text: &str, span: &Span) -> Option<(Value, Vec<String>)> {
    let mut repairs: Vec<String> = span.oddities.iter().map(|oddity| words(*oddity).to_owned()).collect();
    if span.ending == Ending::Cut {
        repairs.push("closed what was cut off".to_owned());
    }
    let mut text = text.trim_end().to_owned();
    if !span.wide.is_empty() {
        repairs.push("replaced full-width punctuation".to_owned());
        text = ascii_punctuation(&text, &span.wide);
    }
    if span.oddities.contains(&Oddity::TripleQuotes) {
        text = triple_quotes_as_strings(&text);
    }
    let (doubled, count) = double_lone_backslashes(&text);
    if count > 0 {
        repairs.push(format!("doubled {count} backslash{}", if count == 1 { "" } else { "es" }));
        text = doubled;
    }
    let value = match strict(&text) {
        Ok(value) => value,
        Err(_) => strict(&jsonrepair(&text).ok()?).ok()?,
    };
    let same_kind = if text.starts_with('{') { value.is_object() } else { value.is_array() };
    if repairs.is_empty() {
        repairs.push("mended quotes and punctuation".to_owned());
    }
    same_kind.then_some((value, repairs))
}

fn words(oddity: Oddity) -> &'static str {
    match oddity {
        Oddity::SingleQuotes => "replaced single quotes",
        Oddity::CurlyQuotes => "replaced curly quotes",
        Oddity::Backticks => "replaced backticks",
        Oddity::TripleQuotes => "replaced triple quotes",
        Oddity::Comment => "left out comments",
        Oddity::TrailingComma => "left out trailing commas",
        Oddity::PythonLiteral => "read Python's True, False and None",
        Oddity::NotANumber => "read NaN, Infinity and undefined as null",
        Oddity::Unquoted => "quoted what was not quoted",
        Oddity::Ellipsis => "left out an ellipsis",
        Oddity::Bracket => "mended brackets",
    }
}

/// Doubles each backslash that begins no JSON escape, and returns how many there were.
fn double_lone_backslashes(text: &str) -> (String, usize) {
    let mut out = String::with_capacity(text.len() + 16);
    let mut count = 0;
    let mut rest = text;
    let mut path_until = usize::MAX;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        let in_path = path_until != usize::MAX && rest.len() > path_until;
        if c != '\\' {
            // Inside a Windows path `\n` and `\t` are names, not line ends and tabs.
            if !in_path && begins_windows_path(&out, rest) {
                path_until = after.len().saturating_sub(path_length(after));
            }
            out.push(c);
            rest = after;
            continue;
        }
        let keep = escape_length(after, out.ends_with('\''));
        if after.starts_with('\\') || (keep > 0 && (!in_path || after.starts_with('"'))) {
            let keep = keep.max(1);
            out.push('\\');
            out.push_str(after.get(..keep).unwrap_or_default());
            rest = after.get(keep..).unwrap_or_default();
        } else {
            out.push_str("\\\\");
            count += 1;
            rest = after;
        }
    }
    (out, count)
}

/// How many bytes after a backslash belong to an escape that JSON, or the repair library, knows; 0 for none.
fn escape_length(after: &str, behind_quote: bool) -> usize {
    match after.chars().next() {
        Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => 1,
        // `'\''` is how a shell writes a quote inside quotes; elsewhere an escaped single quote is a single quote.
        Some('\'') if !(behind_quote && after.starts_with("''")) => 1,
        Some('u') if after.len() > 4 && after.bytes().skip(1).take(4).all(|b| b.is_ascii_hexdigit()) => 5,
        _ => 0,
    }
}

/// Whether `rest` is `X:\…` at the beginning of a word, with a backslash further on that begins no escape.
fn begins_windows_path(before: &str, rest: &str) -> bool {
    let mut chars = rest.chars();
    if !chars.next().is_some_and(|c| c.is_ascii_alphabetic()) || !chars.as_str().starts_with(":\\") || chars.as_str().starts_with(":\\\\") {
        return false;
    }
    if before.ends_with(|c: char| c.is_alphanumeric()) {
        return false;
    }
    let path = chars.as_str();
    let path = path.get(..path_length(path)).unwrap_or_default();
    let mut rest = path;
    while let Some((_, after)) = rest.split_once('\\') {
        match escape_length(after, false) {
            // The last one escapes the quote at which the path was cut.
            0 => return !after.is_empty(),
            length => rest = after.get(length..).unwrap_or_default(),
        }
    }
    false
}

fn path_length(text: &str) -> usize {
    let text = text.get(..text.floor_char_boundary(LONGEST_PATH)).unwrap_or_default();
    text.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '|' | ',' | ';')).unwrap_or(text.len())
}

/// Python's `"""text"""` as a JSON string.
fn triple_quotes_as_strings(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\'']) {
        let (head, tail) = rest.split_at(at);
        let Some(mark) = ["\"\"\"", "'''"].into_iter().find(|mark| tail.starts_with(mark)) else {
            let (quote, after) = tail.split_at(1);
            out.push_str(head);
            out.push_str(quote);
            rest = after;
            continue;
        };
        let body = tail.get(mark.len()..).unwrap_or_default();
        let Some(end) = body.find(mark) else { break };
        out.push_str(head);
        out.push('"');
        let mut escaped = false;
        for c in body.get(..end).unwrap_or_default().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => {}
                '"' if !escaped => out.push_str("\\\""),
                _ => out.push(c),
            }
            escaped = c == '\\' && !escaped;
        }
        out.push('"');
        rest = body.get(end + mark.len()..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Full-width punctuation outside of strings as ASCII.
fn ascii_punctuation(text: &str, wide: &[usize]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for at in wide {
        out.push_str(text.get(done..*at).unwrap_or_default());
        done = *at;
        if let Some(c) = text.get(done..).and_then(|rest| rest.chars().next()) {
            out.push(ascii(c));
            done += c.len_utf8();
        }
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}
