//! Calls in tags: Qwen3-Coder and Llama's `<function=…>`, Claude and MiniMax's `<invoke name=…>`, DeepSeek's DSML, GLM's `<arg_key>`.

use serde_json::{Map, Value};

use super::{
    Found, Place, json,
    names::{clean_tool_name, is_tool_like},
    tool_call,
};

/// One family of tags.
#[derive(Debug)]
pub(super) struct Tags {
    /// Ends the call.
    close: &'static str,
    /// Begins a parameter, before its name.
    parameter: &'static str,
    /// Ends a parameter.
    parameter_close: &'static str,
    /// True if a line break at either end of a value belongs to the tags.
    lines: bool,
}

pub(super) const FUNCTION: Tags = Tags { close: "</function>", parameter: "<parameter", parameter_close: "</parameter>", lines: true };
pub(super) const INVOKE: Tags = Tags { close: "</invoke>", ..FUNCTION };
pub(super) const DSML: Tags =
    Tags { close: "</｜DSML｜invoke>", parameter: "<｜DSML｜parameter", parameter_close: "</｜DSML｜parameter>", lines: false };
/// DSML as models write it whose tokenizer lacks the full-width bar.
pub(super) const DSML_ASCII: Tags =
    Tags { close: "</|DSML|invoke>", parameter: "<|DSML|parameter", parameter_close: "</|DSML|parameter>", lines: false };

/// Reads a call whose name follows the mark.
pub(super) fn read(place: &Place<'_>, tags: &Tags, offered: &[&str]) -> Found {
    let Some((head, body)) = place.after.split_once('>').filter(|(head, _)| !head.contains(['\n', '<'])) else {
        let name = place.after.trim_start_matches(['"', '\'']);
        let is_cut = name.is_empty() || (is_tool_like(name) && !name.contains(char::is_whitespace));
        return if is_cut && place.leads { Found::Unreadable } else { Found::WORDS };
    };
    let raw = head.trim().trim_matches(['"', '\'']);
    let begins = body.trim_start();
    let goes_on = begins.is_empty() || begins.starts_with(['<', '{']);
    let Some(name) = clean_tool_name(raw, offered) else {
        return if goes_on && place.leads && is_tool_like(raw) { Found::Unreadable } else { Found::WORDS };
    };
    let read = if begins.starts_with('{') { json::arguments(body, &[tags.close]) } else { parameters(body, tags) };
    match read {
        Some((arguments, length)) => {
            let length = place.after.len() - body.len() + length;
            Found::Calls { calls: vec![tool_call(name, arguments)], length }
        }
        None if goes_on => Found::Unreadable,
        None => Found::WORDS,
    }
}

/// Returns the parameters up to the end of the call, as a JSON object, and the length up to there. Without that end,
/// parameters may be missing.
fn parameters(body: &str, tags: &Tags) -> Option<(String, usize)> {
    let mut values = Map::new();
    let mut rest = body.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix(tags.close) {
            return Some((Value::Object(values).to_string(), body.len() - after.len()));
        }
        let (head, inner) = rest.strip_prefix(tags.parameter)?.split_once('>')?;
        let (value, after) = balanced(inner, |text| opening(text, tags.parameter), tags.parameter_close)?;
        let attributes = head.strip_prefix('=').or_else(|| head.trim_start().strip_prefix("name="))?;
        let (key, flags) = quoted(attributes.trim());
        let value = if flags.contains("string=\"false\"") {
            serde_json::from_str(value.trim()).unwrap_or_else(|_| Value::String(value.to_owned()))
        } else {
            Value::String(if tags.lines { without_outer_lines(value) } else { value }.to_owned())
        };
        if key.is_empty() || values.insert(key.to_owned(), value).is_some() {
            return None;
        }
        rest = after.trim_start();
    }
}

/// Reads GLM's form after `<tool_call>`: the name, then pairs of keys and values.
pub(super) fn read_glm(place: &Place<'_>, close: &str, offered: &[&str]) -> Option<Found> {
    const KEY: (&str, &str) = ("<arg_key>", "</arg_key>");
    const VALUE: (&str, &str) = ("<arg_value>", "</arg_value>");
    let at = place.after.find('<')?;
    let name = clean_tool_name(place.after.get(..at)?, offered)?;
    let mut values = Map::new();
    let mut rest = place.after.get(at..)?;
    while let Some(key) = rest.strip_prefix(KEY.0) {
        let (key, after) = key.split_once(KEY.1)?;
        let value = after.trim_start().strip_prefix(VALUE.0)?;
        let (value, after) = balanced(value, |text| opening(text, VALUE.0), VALUE.1)?;
        if values.insert(key.trim().to_owned(), Value::String(value.to_owned())).is_some() {
            return None;
        }
        rest = after.trim_start();
    }
    let after = rest.strip_prefix(close)?;
    let calls = vec![tool_call(name, Value::Object(values).to_string())];
    Some(Found::Calls { calls, length: place.after.len() - after.len() })
}

/// Parts a text at the `close` that ends what was opened before it. A value may hold whole pairs of the same tags, such as a document about them.
fn balanced<'t>(text: &'t str, open: impl Fn(&str) -> Option<usize>, close: &str) -> Option<(&'t str, &'t str)> {
    let mut depth = 1_usize;
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let end = rest.find(close)?;
        match open(rest).filter(|begin| *begin < end) {
            Some(begin) => {
                depth += 1;
                at += begin + 1;
            }
            None => {
                depth -= 1;
                if depth == 0 {
                    return Some((text.get(..at + end)?, text.get(at + end + close.len()..)?));
                }
                at += end + close.len();
            }
        }
    }
}

/// Returns the position of the next opening tag: its name must be followed by `=`, white space or `>`.
fn opening(text: &str, tag: &str) -> Option<usize> {
    let mut ends = text.match_indices(tag).map(|(at, _)| (at, text.get(at + tag.len()..).unwrap_or_default()));
    ends.find(|(_, after)| tag.ends_with('>') || after.starts_with(['=', ' '])).map(|(at, _)| at)
}

/// Returns a text in quotes, or the first word, and what follows it.
fn quoted(text: &str) -> (&str, &str) {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    match quote {
        Some(quote) => text.get(1..).unwrap_or_default().split_once(quote).unwrap_or_default(),
        None => text.split_once(char::is_whitespace).unwrap_or((text, "")),
    }
}

fn without_outer_lines(value: &str) -> &str {
    let value = value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n')).unwrap_or(value);
    value.strip_suffix("\r\n").or_else(|| value.strip_suffix('\n')).unwrap_or(value)
}
