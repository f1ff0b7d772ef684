//! Finding what looks like JSON in a text, without reading it.

use std::{borrow::Cow, collections::BTreeSet};

use serde_json::Value;

use super::{
    closers::{BalanceCache, Doubt},
    signs::is_word,
    walk::{TooDeep, span_at},
};

/// Maximum number of brackets of one text that are tried as a beginning.
const STARTS: usize = 4_000;
/// Maximum number of spans that are kept for one text.
const SPANS: usize = 256;

/// Distance after a bracket within which the beginning of a value is searched, in bytes.
const WINDOW: usize = 4096;

/// End of a text that looks like JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Every bracket is closed.
    Whole,
    /// The last value is complete, and only closing brackets are missing.
    Brackets,
    /// The text ends inside a value.
    Cut,
}

/// Deviation of a span from strict JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum JsonDeviation {
    SingleQuotes,
    CurlyQuotes,
    Backticks,
    TripleQuotes,
    Comment,
    TrailingComma,
    Surplus,
    PythonLiteral,
    NotANumber,
    Unquoted,
    Ellipsis,
    Bracket,
}

/// A part of a text that looks like an object or array.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The place up to which the scanner read, which may be behind the end.
    pub(super) scanned: usize,
    pub(super) ending: Ending,
    pub(super) deviations: BTreeSet<JsonDeviation>,
    /// True if the span begins a code fence.
    pub(super) fenced: bool,
    /// True if the span is inside another span that is not closed.
    pub(super) inner: bool,
    /// Rank: 0 for objects and arrays of objects; 1 for other arrays; 2 for empty ones.
    pub(super) rank: u8,
    /// Replacements outside of strings, in the order of the text.
    pub(super) edits: Vec<Edit>,
    /// Start of a member without a value, in bytes from the start of the span: the text ends inside its key or after
    /// it.
    pub(super) dangling: Option<usize>,
    /// The doubt about its closing brackets.
    pub(super) doubt: Doubt,
    /// The parts that its value must have if closing brackets are misplaced. The reader refuses a repair that loses some.
    pub(super) parts: Option<Parts>,
}

/// Something to be written in another way.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    /// Beginning of the edit, in bytes from the span's start.
    pub(super) at: usize,
    /// Length in bytes.
    pub(super) len: usize,
    /// The text in its place.
    pub(super) new: Cow<'static, str>,
    /// True if it is full-width punctuation.
    pub(super) full_width: bool,
}

/// The number of parts of a text or a value, nested ones included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// Objects and lists.
    pub(super) containers: usize,
    /// Keys and texts.
    pub(super) texts: usize,
}

impl Parts {
    fn of(value: &Value) -> Self {
        let mut parts = Self::default();
        let mut left = vec![value];
        while let Some(value) = left.pop() {
            match value {
                Value::Object(members) => {
                    parts.containers += 1;
                    parts.texts += members.len();
                    left.extend(members.values());
                }
                Value::Array(items) => {
                    parts.containers += 1;
                    left.extend(items);
                }
                Value::String(_) => parts.texts += 1,
                _ => {}
            }
        }
        parts
    }
}

impl Span {
    /// Returns its text.
    pub(super) fn of<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns true if the value has all parts of the text, or no closing bracket is misplaced.
    pub(super) fn keeps_parts(&self, value: &Value) -> bool {
        self.parts.is_none_or(|parts| {
            let found = Parts::of(value);
            found.containers >= parts.containers && found.texts >= parts.texts
        })
    }

    /// Returns true if the model left a part out.
    pub(super) fn elided(&self) -> bool {
        self.deviations.contains(&JsonDeviation::Ellipsis)
    }
}

/// Returns every span of the text, in its order. Linear in the text, but for text made to be slow, where it stops
/// early.
pub(super) fn spans(text: &str) -> Vec<Span> {
    let mut found: Vec<Span> = Vec::new();
    let mut budget = text.len().saturating_mul(4).saturating_add(65_536);
    let mut unclosed = false;
    let mut at = 0;
    let mut balance = BalanceCache::default();
    for _ in 0..STARTS {
        let Some(start) = text.get(at..).and_then(|rest| rest.find(['{', '[', '｛', '［'])).map(|offset| at + offset) else { break };
        let bracket = text.get(start..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        at = start + bracket;
        let fenced = begins_fence(text.get(..start).unwrap_or_default());
        let whole_text = start == 0;
        let Some(rank) = rank(text.get(start..).unwrap_or_default()) else { continue };
        if !fenced && !whole_text && is_footnote(text, start, rank) {
            continue;
        }
        let mut span = match span_at(text, start, &mut balance) {
            Ok(span) => span,
            Err(TooDeep { at }) => {
                budget = budget.saturating_sub(at - start);
                if budget == 0 {
                    break;
                }
                continue;
            }
        };
        budget = budget.saturating_sub(span.scanned - start);
        span.fenced = fenced;
        span.inner = unclosed;
        span.rank = rank;
        if span.ending == Ending::Whole || span.doubt == Doubt::Serious {
            at = span.end;
        } else {
            unclosed = true;
            if fenced && let Some(close) = span.of(text).rfind("```") {
                span.end = start + close;
            }
        }
        found.push(span);
        if found.len() >= SPANS || budget == 0 {
            break;
        }
    }
    found
}

/// Returns the ending of the object or array at the start of the text; `None` if the text starts with something else.
pub(crate) fn whole_text_ending(text: &str) -> Option<Ending> {
    text.starts_with(['{', '[', '｛', '［']).then_some(())?;
    Some(span_at(text, 0, &mut BalanceCache::default()).map_or(Ending::Cut, |span| span.ending))
}

/// Returns true if the text before ends with the opening line of a code fence.
fn begins_fence(before: &str) -> bool {
    let before = before.trim_end();
    let bare = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+'));
    // A closing fence and an opening one look alike; at most it gives a span more trust.
    (bare.ends_with("```") || bare.ends_with("~~~")) && before.len() - bare.len() <= 16
}

/// Returns true for brackets in prose, as in `- [ ] open` and `see [1]`. An array of numbers that begins a line, or follows
/// `:`, `=` or `>`, is not prose.
fn is_footnote(text: &str, start: usize, rank: u8) -> bool {
    let rest = text.get(start + 1..).unwrap_or_default().trim_start();
    if rank == 2 {
        return true;
    }
    let before = text.get(text.floor_char_boundary(start.saturating_sub(200))..start).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default().trim();
    rank == 1 && rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') && !(line.is_empty() || line.ends_with([':', '=', '>']))
}

/// Returns the rank of a bracket as the start of JSON, 0 being the best; `None` if the text after it does not look
/// like JSON.
fn rank(text: &str) -> Option<u8> {
    let text = text.get(..text.floor_char_boundary(WINDOW)).unwrap_or_default();
    let mut chars = text.chars();
    let open = chars.next()?;
    let rest = skip_blank(chars.as_str());
    let first = rest.chars().next()?;
    match open {
        '{' | '｛' => match first {
            '"' | '\'' | '“' | '”' | '‘' | '`' | '＂' | ',' => Some(0),
            '}' | '｝' => Some(2),
            c if is_word(c) => {
                let after = rest.trim_start_matches(is_word).trim_start();
                after.starts_with([':', '=', '：']).then_some(0)
            }
            _ => None,
        },
        '[' | '［' => match first {
            '{' | '｛' => Some(0),
            ']' | '］' => Some(2),
            '"' | '\'' | '“' | '”' | '`' | '＂' | '[' | '-' => Some(1),
            c if c.is_ascii_digit() => Some(1),
            _ => {
                let word: String = rest.chars().take_while(|c| is_word(*c)).collect();
                matches!(word.as_str(), "true" | "false" | "null" | "True" | "False" | "None" | "NaN" | "Infinity").then_some(1)
            }
        },
        _ => None,
    }
}

/// Past white space and comments.
fn skip_blank(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let end = match text {
            _ if text.starts_with("//") || text.starts_with('#') => text.find('\n'),
            _ if text.starts_with("/*") => text.find("*/").map(|at| at + 2),
            _ => return text,
        };
        text = end.and_then(|end| text.get(end..)).unwrap_or_default();
    }
}
