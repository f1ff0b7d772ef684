//! Finding what looks like JSON in a text, without reading it.

use std::collections::BTreeSet;

use super::cursor::{Cursor, opens_string, pass_string};

/// The deepest nesting that is followed; a strict reader stops there too.
const DEPTH: usize = 128;
/// How many brackets of one text are tried as a beginning.
const STARTS: usize = 4_000;
/// How many spans of one text are kept.
const SPANS: usize = 256;

/// How far is looked for the beginning of a value behind its bracket, in bytes.
const WINDOW: usize = 4096;

/// How something that looks like JSON ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Every bracket is closed.
    Whole,
    /// The last value is complete, and only closing brackets are missing.
    Brackets,
    /// It ends inside a value.
    Cut,
}

/// What is unlike strict JSON in a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Oddity {
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
    pub(super) ending: Ending,
    pub(super) oddities: BTreeSet<Oddity>,
    /// It begins a code fence.
    pub(super) fenced: bool,
    /// It lies inside a span that is not closed.
    pub(super) inner: bool,
    /// 0: objects and arrays of objects; 1: other arrays; 2: empty ones.
    pub(super) rank: u8,
    /// What is to be written in place of something, outside of strings, in the order of the text.
    pub(super) edits: Vec<Edit>,
    /// Where a member begins, in bytes from the span's start, whose value never came: it ends inside the key or behind it.
    pub(super) dangling: Option<usize>,
}

/// Something to be written in another way.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    /// Where it stands, in bytes from the span's start.
    pub(super) at: usize,
    /// What stands there.
    pub(super) old: char,
    /// What is meant.
    pub(super) new: &'static str,
}

impl Span {
    /// Its text.
    pub(super) fn of<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start..self.end).unwrap_or_default()
    }

    /// Whether the model left a part out.
    pub(super) fn elided(&self) -> bool {
        self.oddities.contains(&Oddity::Ellipsis)
    }
}

/// Every span of the text, in its order. Linear in the text, but for text made to be slow, where it stops early.
pub(super) fn spans(text: &str) -> Vec<Span> {
    let mut found: Vec<Span> = Vec::new();
    let mut budget = text.len().saturating_mul(4).saturating_add(65_536);
    let mut unclosed = false;
    let mut at = 0;
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
        let mut span = match span_at(text, start) {
            Ok(span) => span,
            Err(TooDeep { at }) => {
                budget = budget.saturating_sub(at - start);
                if budget == 0 {
                    break;
                }
                continue;
            }
        };
        budget = budget.saturating_sub(span.end - start);
        span.fenced = fenced;
        span.inner = unclosed;
        span.rank = rank;
        if span.ending == Ending::Whole {
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

/// How the object or array ends with which the text begins; none where it begins with something else.
pub(crate) fn whole_text_ending(text: &str) -> Option<Ending> {
    text.starts_with(['{', '[', '｛', '［']).then_some(())?;
    Some(span_at(text, 0).map_or(Ending::Cut, |span| span.ending))
}

/// Whether the text before ends with the opening line of a code fence.
fn begins_fence(before: &str) -> bool {
    let before = before.trim_end();
    let bare = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+'));
    // A closing fence and an opening one look alike; at most it gives a span more trust.
    (bare.ends_with("```") || bare.ends_with("~~~")) && before.len() - bare.len() <= 16
}

/// `- [ ] open` and `see [1]` are prose, unless the array stands alone.
fn is_footnote(text: &str, start: usize, rank: u8) -> bool {
    let rest = text.get(start + 1..).unwrap_or_default().trim_start();
    if rank == 2 {
        return true;
    }
    let before = text.get(text.floor_char_boundary(start.saturating_sub(200))..start).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default().trim();
    rank == 1 && rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') && !(line.is_empty() || line.ends_with([':', '=', '>']))
}

/// How much a bracket promises, or none if what follows is not like JSON.
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

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '-')
}

/// The brackets nest too deep to be followed further.
struct TooDeep {
    at: usize,
}

/// Follows the brackets from `start`.
fn span_at(text: &str, start: usize) -> Result<Span, TooDeep> {
    let mut cursor = Cursor { text, at: start };
    let mut open: Vec<char> = Vec::new();
    let mut oddities = BTreeSet::new();
    let mut edits = Vec::new();
    let mut dangling = None;
    // The last character outside of strings, white space and comments; a string counts as its quote.
    let mut before = '\0';
    // Whether the last string stood where a value stands.
    let mut after_value = false;
    let span = |end, ending, oddities, edits, dangling| {
        let dangling = if ending == Ending::Cut { dangling } else { None };
        Span { start, end, ending, oddities, edits, dangling, fenced: false, inner: false, rank: 0 }
    };
    while let Some(c) = cursor.next() {
        let at = cursor.at - c.len_utf8() - start;
        let surplus = matches!((ascii(c), before), (',', ',') | (':', ':'));
        if surplus {
            oddities.insert(Oddity::Surplus);
        }
        if surplus || meant(c).is_some() {
            edits.push(Edit { at, old: c, new: meant(c).filter(|_| !surplus).unwrap_or_default() });
        }
        // A key, or the beginning of what stands behind its colon.
        let in_key = matches!(before, '{' | ',') && open.last() == Some(&'}');
        if in_key && !matches!(ascii(c), '}' | ',') && !c.is_whitespace() {
            dangling = Some(at);
        } else if before == ':' && !c.is_whitespace() && !matches!(ascii(c), ':' | '-' | '+') || matches!(before, '-' | '+') {
            dangling = None;
        }
        match c {
            '{' | '[' | '｛' | '［' => {
                open.push(closer(c));
                if open.len() > DEPTH {
                    return Err(TooDeep { at: cursor.at });
                }
            }
            '}' | ']' | '｝' | '］' => {
                let c = ascii(c);
                if before == ',' {
                    oddities.insert(Oddity::TrailingComma);
                }
                if let Some(level) = open.iter().rposition(|wanted| *wanted == c) {
                    if level + 1 != open.len() {
                        oddities.insert(Oddity::Bracket);
                    }
                    open.truncate(level);
                } else {
                    oddities.insert(Oddity::Bracket);
                }
                if open.is_empty() {
                    return Ok(span(cursor.at, Ending::Whole, oddities, edits, None));
                }
            }
            _ if opens_string(c, before) => {
                after_value = matches!(before, ':' | '[' | ',') && !(before == ',' && open.last() == Some(&'}'));
                if let Some(oddity) = quote_oddity(c, cursor.rest()) {
                    oddities.insert(oddity);
                }
                if !pass_string(&mut cursor, c) {
                    return Ok(span(text.len(), Ending::Cut, oddities, edits, dangling));
                }
                if text.get(..cursor.at).is_some_and(|read| read.ends_with('＂')) {
                    edits.push(Edit { at: cursor.at - '＂'.len_utf8() - start, old: '＂', new: "\"" });
                }
                before = '"';
                continue;
            }
            '/' if before != ':' && cursor.rest().starts_with('/') => {
                oddities.extend(comment(cursor.rest()));
                cursor.pass("\n");
                continue;
            }
            '/' if cursor.rest().starts_with('*') => {
                oddities.extend(comment(cursor.rest()));
                cursor.pass("*/");
                continue;
            }
            '#' => {
                oddities.extend(comment(cursor.rest()));
                cursor.pass("\n");
                continue;
            }
            '.' if cursor.rest().starts_with("..") => {
                oddities.insert(Oddity::Ellipsis);
                cursor.pass("..");
            }
            '…' => {
                oddities.insert(Oddity::Ellipsis);
            }
            _ if c.is_alphabetic() || c == '_' => word(&mut cursor, c, &mut oddities),
            _ if c.is_whitespace() => continue,
            _ => {}
        }
        before = ascii(c);
    }
    if !open.is_empty() {
        oddities.insert(Oddity::Bracket);
    }
    let complete = matches!(before, '}' | ']') || (before == '"' && after_value);
    Ok(span(text.len(), if complete { Ending::Brackets } else { Ending::Cut }, oddities, edits, dangling))
}

/// What a comment is: `// ... more tasks` stands for what was left out.
fn comment(rest: &str) -> impl Iterator<Item = Oddity> {
    let words = rest.trim_start_matches(['/', '*', '#', ' ']);
    let elides = words.starts_with("...") || words.starts_with('…');
    std::iter::once(Oddity::Comment).chain(elides.then_some(Oddity::Ellipsis))
}

/// Reads a word outside of strings and notes what it is.
fn word(cursor: &mut Cursor<'_>, first: char, oddities: &mut BTreeSet<Oddity>) {
    let rest = cursor.rest();
    let tail = rest.len() - rest.trim_start_matches(is_word).len();
    let mut word = String::from(first);
    word.push_str(rest.get(..tail).unwrap_or_default());
    cursor.at += tail;
    match word.as_str() {
        "true" | "false" | "null" | "e" | "E" => {}
        "True" | "False" | "None" => {
            oddities.insert(Oddity::PythonLiteral);
        }
        "NaN" | "Infinity" | "undefined" => {
            oddities.insert(Oddity::NotANumber);
        }
        _ => {
            oddities.insert(Oddity::Unquoted);
        }
    }
}

fn closer(c: char) -> char {
    match c {
        '{' | '｛' => '}',
        _ => ']',
    }
}

/// What a character outside of strings stands for, where that is another.
fn meant(c: char) -> Option<&'static str> {
    Some(match c {
        '｛' => "{",
        '｝' => "}",
        '［' => "[",
        '］' => "]",
        '：' => ":",
        '，' | '、' => ",",
        '＂' => "\"",
        '…' => "...",
        _ => return None,
    })
}

/// Full-width punctuation as its ASCII kin.
fn ascii(c: char) -> char {
    meant(c).and_then(|meant| meant.chars().next()).unwrap_or(c)
}

fn quote_oddity(quote: char, rest: &str) -> Option<Oddity> {
    match quote {
        '"' if rest.starts_with("\"\"") => Some(Oddity::TripleQuotes),
        '\'' if rest.starts_with("''") => Some(Oddity::TripleQuotes),
        '\'' => Some(Oddity::SingleQuotes),
        '“' | '”' | '‘' => Some(Oddity::CurlyQuotes),
        '`' => Some(Oddity::Backticks),
        _ => None,
    }
}
