//! Reads JSON as models write it.
//!
//! The reader tries, from the most to the least reliable: the whole text as strict JSON; the same without reasoning
//! tags; every object or array found in it as strict JSON (those in code fences first, later ones before earlier
//! ones); the same with repairs. Each repair is described in words. The result also reports a missing end, because a
//! caller may refuse a text that is cut off.

mod closers;
mod cursor;
#[cfg(test)]
pub(crate) mod json_text;
mod outside;
mod reasoning;
mod repair;
mod scan;
mod signs;
mod walk;

#[cfg(test)]
mod tests;

use serde_json::Value;

use self::{
    closers::Doubt,
    outside::{are_members_before, are_parts_behind},
    reasoning::without_reasoning,
    scan::{Span, spans},
};

pub(crate) use self::scan::{Ending, whole_text_ending};

/// The longest text that is read, in bytes.
const LIMIT: usize = 4 * 1024 * 1024;
/// Maximum number of JSON strings in which JSON may be wrapped.
const WRAPPINGS: usize = 3;
/// Maximum number of spans of one text, and of their bytes, that are repaired; a repair costs more than reading.
const MAX_REPAIRED: usize = 16;
const MAX_REPAIRED_BYTES: usize = LIMIT + LIMIT / 2;

/// JSON as it was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadJson {
    /// The value.
    pub value: Value,
    /// Descriptions of what was repaired or skipped; empty for strict JSON.
    pub repairs: Vec<String>,
    /// True if something is missing: the text ended inside a value, or an ellipsis replaces a part. A single missing
    /// bracket at the end is a repair and does not count.
    pub cut: bool,
}

/// A reason why a value may not be all that a text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concern {
    /// The text holds several values.
    Several {
        /// Their number.
        count: usize,
    },
    /// The text around the value looks like parts of it.
    Outside,
    /// Its closing brackets are ambiguous.
    Ambiguous,
}

/// A value, with the reason why it may not be all that the text says.
#[derive(Debug, Clone)]
struct ParsedValue {
    json: ReadJson,
    concern: Option<Concern>,
}

/// Reason why no JSON could be read from a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableJson {
    /// The text is longer than what is read.
    #[error("the text has {bytes} bytes, more than the {limit} that are read")]
    TooLong {
        /// Length of the text.
        bytes: usize,
        /// The most that is read.
        limit: usize,
    },
    /// There is no text.
    #[error("the text is empty")]
    Empty,
    /// There is reasoning and no answer after it.
    #[error("there is only reasoning, and no answer after it")]
    OnlyReasoning,
    /// The text holds nothing that looks like JSON.
    #[error("there is no JSON object or array in the text, which begins {start:?}")]
    NoJson {
        /// First characters of the text.
        start: String,
    },
    /// There is something like JSON, and it cannot be understood.
    #[error("the JSON is broken: {reason}")]
    Broken {
        /// Message of the strict reader, with line and column counted from the beginning of the JSON.
        reason: String,
    },
}

/// Reads the JSON that a model's answer holds.
///
/// Accepts what models write: code fences, prose around the JSON, `<think>` blocks (a draft inside them is never taken), JSON
/// inside a JSON string, Python literals, single and curly quotes, comments, trailing commas, unquoted keys, backslashes that
/// should have been doubled, and a missing end. Never panics; reads at most 4 MiB and 128 levels.
///
/// ```
/// let read = aime_llm::read_json("Here you are:\n```json\n{'done': True,}\n```").unwrap();
/// assert_eq!(read.value, serde_json::json!({"done": true}));
/// assert!(!read.repairs.is_empty());
/// ```
///
/// # Errors
/// [`UnreadableJson`] says why there is nothing to read.
pub fn read_json(text: &str) -> Result<ReadJson, UnreadableJson> {
    read_json_where(text, |_| true)
}

/// Like [`read_json`], but if a text holds several values, prefers the first that satisfies `fits`, in the order of
/// reliability.
///
/// If none fits, the most reliable value is returned, so that its faults can be reported.
///
/// # Errors
/// [`UnreadableJson`] gives the reason why nothing could be read.
pub(crate) fn read_json_where(text: &str, fits: impl Fn(&Value) -> bool) -> Result<ReadJson, UnreadableJson> {
    read(text, &fits, WRAPPINGS).map(|reading| reading.json)
}

/// Like [`read_json`]; also returns the reason why the value may not be all that the text says.
pub(crate) fn read_json_with_concern(text: &str) -> Result<(ReadJson, Option<Concern>), UnreadableJson> {
    read(text, &|_| true, WRAPPINGS).map(|reading| (reading.json, reading.concern))
}

fn read(text: &str, fits: &dyn Fn(&Value) -> bool, wrappings: usize) -> Result<ParsedValue, UnreadableJson> {
    if text.len() > LIMIT {
        return Err(UnreadableJson::TooLong { bytes: text.len(), limit: LIMIT });
    }
    let clean = text.trim_matches(is_blank);
    if clean.is_empty() {
        return Err(UnreadableJson::Empty);
    }
    if let Ok(value) = strict(clean) {
        return Ok(unwrapped(value, Vec::new(), fits, wrappings));
    }
    let stripped = without_reasoning(clean);
    let mut repairs = Vec::new();
    let answer = match &stripped {
        Some(rest) => {
            repairs.push("left out the reasoning".to_owned());
            rest.trim_matches(is_blank)
        }
        None => clean,
    };
    if answer.is_empty() {
        return Err(UnreadableJson::OnlyReasoning);
    }
    if stripped.is_some()
        && let Ok(value) = strict(answer)
    {
        return Ok(unwrapped(value, repairs, fits, wrappings));
    }
    if wrappings > 0
        && let Some(escaped) = unescaped(answer)
        && let Ok(mut inner) = read(&escaped.text, fits, wrappings - 1)
    {
        inner.concern = inner.concern.or(escaped.has_members_before.then_some(Concern::Outside));
        repairs.push("took away one level of escaping".to_owned());
        repairs.append(&mut inner.json.repairs);
        inner.json.repairs = repairs;
        return Ok(inner);
    }
    search(answer, repairs, fits)
}

/// Looks for the value inside the text.
fn search(answer: &str, repairs: Vec<String>, fits: &dyn Fn(&Value) -> bool) -> Result<ParsedValue, UnreadableJson> {
    let found = spans(answer);
    if found.is_empty() {
        return Err(UnreadableJson::NoJson { start: answer.chars().take(60).collect() });
    }
    let mut first: Option<ParsedValue> = None;
    for group in groups(&found) {
        // A span inside a value that was read is a part of that value, not another answer.
        if first.is_some() && group.iter().any(|span| span.inner) {
            break;
        }
        for (mut json, span) in candidates(answer, &group) {
            if group.len() > 1 {
                json.repairs.push(format!("took one of {} JSON values", group.len()));
            } else if has_other_text(answer, &group) {
                json.repairs.insert(0, "left out the text around the JSON".to_owned());
            }
            json.repairs.splice(0..0, repairs.iter().cloned());
            let candidate = ParsedValue { json, concern: concern(answer, &found, span) };
            if fits(&candidate.json.value) {
                return Ok(candidate);
            }
            first.get_or_insert(candidate);
        }
    }
    first.ok_or_else(|| broken(answer, &found))
}

/// Returns the reason why the value of a span may not be all that the answer says.
fn concern(answer: &str, found: &[Span], span: &Span) -> Option<Concern> {
    let (head, tail) = (answer.get(..span.start).unwrap_or_default(), answer.get(span.end..).unwrap_or_default());
    match found.len() {
        2.. => Some(Concern::Several { count: found.len() }),
        _ if are_members_before(head) || are_parts_behind(tail) => Some(Concern::Outside),
        _ => (span.doubt > Doubt::None).then_some(Concern::Ambiguous),
    }
}

/// Returns the spans in the order of trust: in fences, in the open, inside something unclosed. Within a group:
/// objects first, later first.
fn groups(found: &[Span]) -> Vec<Vec<Span>> {
    let pick = |wanted: &dyn Fn(&Span) -> bool| {
        let mut group: Vec<Span> = found.iter().filter(|span| wanted(span)).cloned().collect();
        group.reverse();
        group.sort_by_key(|span| span.rank);
        group
    };
    let mut groups = vec![pick(&|span| span.fenced && !span.inner), pick(&|span| !span.fenced && !span.inner), pick(&|span| span.inner)];
    groups.retain(|group| !group.is_empty());
    groups
}

/// Returns the values of a group: first all that are strict JSON, then those that can be repaired.
fn candidates<'t>(answer: &'t str, group: &'t [Span]) -> impl Iterator<Item = (ReadJson, &'t Span)> + 't {
    let strictly = group
        .iter()
        .filter(|span| span.ending == Ending::Whole)
        .filter_map(move |span| strict(span.of(answer)).ok().filter(|value| span.keeps_parts(value)).map(|value| (value, span)))
        .map(|(value, span)| (ReadJson { value, repairs: Vec::new(), cut: false }, span));
    let mut left = MAX_REPAIRED_BYTES;
    let repaired = group.iter().take(MAX_REPAIRED).filter_map(move |span| {
        if span.doubt == Doubt::Serious {
            return None;
        }
        let text = span.of(answer);
        left = left.checked_sub(text.len())?;
        if span.ending == Ending::Whole && strict(text).is_ok() {
            return None;
        }
        let (value, repairs) = repair::repair(text, span)?;
        Some((ReadJson { value, repairs, cut: span.ending == Ending::Cut || span.elided() }, span))
    });
    strictly.chain(repaired)
}

fn has_other_text(answer: &str, group: &[Span]) -> bool {
    group.iter().any(|span| span.start > 0 || span.end < answer.len())
}

fn broken(answer: &str, found: &[Span]) -> UnreadableJson {
    let span = found.iter().find(|span| !span.inner).or_else(|| found.first());
    let reason = match span.map(|span| strict(span.of(answer))) {
        Some(Err(error)) => error.to_string(),
        _ => "it cannot be understood".to_owned(),
    };
    UnreadableJson::Broken { reason }
}

/// JSON inside a JSON string is what was meant.
fn unwrapped(value: Value, mut repairs: Vec<String>, fits: &dyn Fn(&Value) -> bool, wrappings: usize) -> ParsedValue {
    if let Value::String(inner) = &value
        && wrappings > 0
        && inner.trim_start_matches(is_blank).starts_with(['{', '[', '"', '`'])
        && let Ok(mut inner) = read(inner, fits, wrappings - 1)
        && (inner.json.value.is_object() || inner.json.value.is_array())
    {
        repairs.push("read the JSON inside a JSON string".to_owned());
        repairs.append(&mut inner.json.repairs);
        inner.json.repairs = repairs;
        return inner;
    }
    ParsedValue { json: ReadJson { value, repairs, cut: false }, concern: None }
}

/// JSON as it is inside a string, without the quotes around it: `{\"a\": 1}`.
#[derive(Debug)]
pub(crate) struct EscapedJson {
    /// Text of the value without escapes.
    pub(crate) text: String,
    /// True if the text before it looks like members of it.
    pub(crate) has_members_before: bool,
}

/// Takes one level of escaping away. Returns none if the text behind the last bracket looks like parts of the value.
pub(crate) fn unescaped(answer: &str) -> Option<EscapedJson> {
    let start = ["{\\\"", "[\\\"", "{\\n", "[{\\\"", "[\\n"].iter().filter_map(|mark| answer.find(mark)).min()?;
    let head = answer.get(..start)?;
    let end = answer.rfind(['}', ']'])? + 1;
    if head.contains(['{', '[']) || are_parts_behind(answer.get(end..)?) {
        return None;
    }
    let body = answer.get(start..end)?;
    let text = serde_json::from_str(&format!("\"{}\"", body.replace(['\n', '\r', '\t'], " "))).ok()?;
    Some(EscapedJson { text, has_members_before: are_members_before(head) })
}

pub(crate) fn strict(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text)
}

/// White space, and the marks that are as good as none.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}' | '\u{0}')
}
