//! Mending what is nearly JSON.

use jsonrepair_rs::jsonrepair;
use serde_json::Value;

use super::{
    cursor::{Cursor, opens_string, pass_string},
    scan::{Edit, Ending, JsonDeviation, Span},
    strict,
};

/// The longest Windows path that is looked for, in bytes.
const MAX_PATH: usize = 1_024;

/// Maximum length of a text that is tried a second time, with its inner quotes escaped, in bytes. The caller asks the
/// model again for a longer text: an answer made to be slow must not cost twice as much.
pub(super) const MAX_SECOND_TRY: usize = 64 * 1_024;

/// Reads a span that is not strict JSON. None where it cannot be understood as the object or array it begins as.
///
/// Backslashes are cared for first, because the repair library drops those it does not know, and a path or a pattern that
/// lost them is worse than no answer.
pub(super) fn repair(text: &str, span: &Span) -> Option<(Value, Vec<String>)> {
    let mut repairs: Vec<String> = span.deviations.iter().map(|deviation| words(*deviation).to_owned()).collect();
    if span.ending == Ending::Cut {
        repairs.push("closed what was cut off".to_owned());
    }
    let mut text = text.trim_end();
    if span.ending == Ending::Cut {
        text = without_half_an_escape(text.get(..span.dangling.unwrap_or(text.len())).unwrap_or(text));
    }
    let mut text = with_edits(text, &span.edits);
    if span.edits.iter().any(|edit| edit.full_width) {
        repairs.push("replaced full-width punctuation".to_owned());
    }
    if span.deviations.contains(&JsonDeviation::TripleQuotes) {
        text = triple_quotes_as_strings(&text);
    }
    let escaped = with_whole_escapes(&text);
    if escaped.doubled > 0 {
        repairs.push(format!("doubled {} backslash{}", escaped.doubled, if escaped.doubled == 1 { "" } else { "es" }));
    }
    if escaped.replaced > 0 {
        repairs.push("replaced what is no letter in a text".to_owned());
    }
    let text = escaped.text;
    let value = match strict(&text) {
        Ok(value) => value,
        Err(_) => match jsonrepair(&text).ok().and_then(|repaired| strict(&repaired).ok()) {
            Some(value) => value,
            None if text.len() > MAX_SECOND_TRY => return None,
            None => strict(&jsonrepair(&with_inner_quotes_escaped(&text)).ok()?).ok()?,
        },
    };
    let same_kind = if text.starts_with('{') { value.is_object() } else { value.is_array() };
    if repairs.is_empty() {
        repairs.push("repaired quotes and punctuation".to_owned());
    }
    (same_kind && span.keeps_parts(&value)).then_some((value, repairs))
}

fn words(deviation: JsonDeviation) -> &'static str {
    match deviation {
        JsonDeviation::SingleQuotes => "replaced single quotes",
        JsonDeviation::CurlyQuotes => "replaced curly quotes",
        JsonDeviation::Backticks => "replaced backticks",
        JsonDeviation::TripleQuotes => "replaced triple quotes",
        JsonDeviation::Comment => "left out comments",
        JsonDeviation::TrailingComma => "left out trailing commas",
        JsonDeviation::Surplus => "left out what stood twice",
        JsonDeviation::PythonLiteral => "read Python's True, False and None",
        JsonDeviation::NotANumber => "read NaN, Infinity and undefined as null",
        JsonDeviation::Unquoted => "quoted what was not quoted",
        JsonDeviation::Ellipsis => "left out an ellipsis",
        JsonDeviation::Bracket => "repaired brackets",
    }
}

/// A text whose escapes are all whole.
struct Escaped {
    text: String,
    /// Number of lone backslashes that were doubled.
    doubled: usize,
    /// Number of control characters and lone surrogates that were replaced by something that JSON may hold.
    replaced: usize,
}

/// Doubles each backslash that begins no JSON escape, escapes control characters, and replaces the halves of letters that JSON writes in two escapes.
fn with_whole_escapes(text: &str) -> Escaped {
    let mut out = String::with_capacity(text.len() + 16);
    let (mut doubled, mut replaced) = (0, 0);
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
            if c < ' ' && !matches!(c, '\n' | '\r' | '\t') {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
                replaced += 1;
            } else {
                out.push(c);
            }
            rest = after;
            continue;
        }
        let keep = escape_length(after, out.ends_with('\''));
        if after.starts_with('\\') || (keep > 0 && (!in_path || after.starts_with('"'))) {
            let mut keep = keep.max(1);
            match surrogate(rest) {
                Some(Surrogate::First) if matches!(after.get(5..).and_then(surrogate), Some(Surrogate::Second)) => keep = 11,
                Some(_) => {
                    out.push('\u{fffd}');
                    replaced += 1;
                    rest = after.get(keep..).unwrap_or_default();
                    continue;
                }
                None => {}
            }
            out.push('\\');
            out.push_str(after.get(..keep).unwrap_or_default());
            rest = after.get(keep..).unwrap_or_default();
        } else {
            out.push_str("\\\\");
            doubled += 1;
            rest = after;
        }
    }
    Escaped { text: out, doubled, replaced }
}

/// One of the two escapes in which JSON writes a letter beyond the basic plane of Unicode.
enum Surrogate {
    First,
    Second,
}

fn surrogate(text: &str) -> Option<Surrogate> {
    match u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()? {
        0xD800..=0xDBFF => Some(Surrogate::First),
        0xDC00..=0xDFFF => Some(Surrogate::Second),
        _ => None,
    }
}

/// Returns a text that was cut inside an escape, or between the two escapes of one letter, without that.
fn without_half_an_escape(text: &str) -> &str {
    let is_open = |head: &str| (head.len() - head.trim_end_matches('\\').len()) % 2 == 1;
    let tail = text.get(text.floor_char_boundary(text.len().saturating_sub(6))..).unwrap_or_default();
    let mut whole = text;
    if let Some(at) = tail.rfind('\\') {
        let (head, escape) = (text.get(..text.len() - tail.len() + at).unwrap_or_default(), tail.get(at + 1..).unwrap_or_default());
        let half =
            escape.is_empty() || (escape.starts_with('u') && escape.len() < 5 && escape.bytes().skip(1).all(|b| b.is_ascii_hexdigit()));
        if half && !is_open(head) {
            whole = head;
        }
    }
    let letter = whole.get(whole.floor_char_boundary(whole.len().saturating_sub(6))..).unwrap_or_default();
    let head = whole.get(..whole.len() - letter.len()).unwrap_or_default();
    if matches!(surrogate(letter), Some(Surrogate::First)) && !is_open(head) { head } else { whole }
}

/// Returns the text with every quote escaped that the scanner sees inside a string.
fn with_inner_quotes_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut cursor = Cursor { text, at: 0 };
    let mut before = '\0';
    while let Some(c) = cursor.next() {
        let start = cursor.at;
        out.push(c);
        if c != '"' || !opens_string(c, before) || !pass_string(&mut cursor, c) {
            out.push_str(text.get(start..cursor.at).unwrap_or_default());
        } else {
            let mut escaped = false;
            for inner in text.get(start..cursor.at - 1).unwrap_or_default().chars() {
                if inner == '"' && !escaped {
                    out.push('\\');
                }
                escaped = inner == '\\' && !escaped;
                out.push(inner);
            }
            out.push('"');
        }
        if !c.is_whitespace() {
            before = c;
        }
    }
    out
}

/// Returns the number of bytes after a backslash that belong to an escape that JSON or the repair library supports; 0
/// if there is none.
fn escape_length(after: &str, behind_quote: bool) -> usize {
    match after.chars().next() {
        Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => 1,
        // `'\''` is how a shell writes a quote inside quotes; elsewhere an escaped single quote is a single quote.
        Some('\'') if !(behind_quote && after.starts_with("''")) => 1,
        Some('u') if after.len() > 4 && after.bytes().skip(1).take(4).all(|b| b.is_ascii_hexdigit()) => 5,
        _ => 0,
    }
}

/// Returns true if `rest` is `X:\…` at the beginning of a word, with a later backslash that begins no escape.
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
    let text = text.get(..text.floor_char_boundary(MAX_PATH)).unwrap_or_default();
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

/// Returns the text as it is meant; it may end before the last of the edits.
fn with_edits(text: &str, edits: &[Edit]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for edit in edits.iter().filter(|edit| edit.at < text.len()) {
        out.push_str(text.get(done..edit.at).unwrap_or_default());
        out.push_str(&edit.new);
        done = edit.at + edit.len;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}
