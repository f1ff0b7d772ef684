//! Reads closing brackets that come too early, too often or in the wrong order.
//!
//! One closing bracket is ambiguous: `}}}` may close three objects, or two with one bracket too many. So the scanner
//! reads a run of closing brackets together with the text after it. A member needs an open object and an item needs
//! an open list, so the next part shows which brackets are still open. If the run contradicts that, the reading with
//! the fewest repairs wins.

use super::{
    cursor::{Cursor, opens_string, pass_string},
    scan::JsonDeviation,
    signs::{ascii, comment, is_word},
};

/// The most that the reader looks at to find the end of a run and the part behind it, in bytes.
const WINDOW: usize = 4_096;
/// The longest run of closing brackets.
const MAX_RUN: usize = 256;
/// The price of reading a text among members as a key without its value, in repairs.
const KEY_WITHOUT_VALUE: u64 = 2;

/// An object or list that is open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level {
    /// The bracket that closes it.
    pub(super) closer: char,
    /// True if a child of the same kind was closed and more parts followed. A surplus bracket behind them may belong to that child.
    pub(super) continued: bool,
}

impl Level {
    pub(super) fn of(opener: char) -> Self {
        Self { closer: if matches!(opener, '{' | '｛') { '}' } else { ']' }, continued: false }
    }
}

/// The part of a value that follows a run of closing brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A key with its colon.
    Member { quoted: bool, comma: bool },
    /// A value without a colon behind it. A text may also be a key that lost its value.
    Item { text: bool, comma: bool },
    /// The end, or something that is no JSON.
    Other,
}

impl Next {
    /// Returns true if it can be a part of a value with this closing bracket.
    fn fits(self, closer: char) -> bool {
        match self {
            Self::Member { .. } => closer == '}',
            Self::Item { .. } => closer == ']',
            Self::Other => true,
        }
    }

    fn has_comma(self) -> bool {
        matches!(self, Self::Member { comma: true, .. } | Self::Item { comma: true, .. })
    }
}

/// Closing brackets with nothing but white space, comments and commas between them.
#[derive(Debug)]
pub(super) struct Run {
    /// Each bracket with the place of its end in the text.
    pub(super) closers: Vec<(char, usize)>,
    /// The deviations between the brackets, each with the number of brackets before it.
    between: Vec<(usize, JsonDeviation)>,
    pub(super) next: Next,
}

impl Run {
    /// Reads the run whose first bracket is at `start`.
    pub(super) fn at(text: &str, start: usize) -> Self {
        let window = text.get(..text.floor_char_boundary(start.saturating_add(WINDOW))).unwrap_or(text);
        let mut cursor = Cursor { text: window, at: start };
        let mut run = Self { closers: Vec::new(), between: Vec::new(), next: Next::Other };
        let mut comma = false;
        // Comments and commas behind the last bracket are no part of the run.
        let mut gap = Vec::new();
        loop {
            skip_blank(&mut cursor, &mut gap);
            let place = cursor.at;
            match cursor.next().map(ascii) {
                Some(c @ ('}' | ']')) if run.closers.len() < MAX_RUN => {
                    let behind = run.closers.len();
                    run.between.extend(gap.drain(..).map(|deviation| (behind, deviation)));
                    run.closers.push((c, cursor.at));
                    comma = false;
                }
                Some(',') => {
                    gap.push(if comma { JsonDeviation::Surplus } else { JsonDeviation::TrailingComma });
                    comma = true;
                }
                _ => {
                    cursor.at = place;
                    run.next = next_part(cursor, comma, window.len() < text.len());
                    return run;
                }
            }
        }
    }

    fn kinds(&self) -> impl Iterator<Item = char> {
        self.closers.iter().map(|(kind, _)| *kind)
    }

    /// Returns the deviations between the first `used` brackets.
    pub(super) fn deviations(&self, used: usize) -> impl Iterator<Item = JsonDeviation> {
        self.between.iter().filter(move |(behind, _)| *behind < used).map(|(_, deviation)| *deviation)
    }
}

/// Moves past white space and comments.
fn skip_blank(cursor: &mut Cursor<'_>, gap: &mut Vec<JsonDeviation>) {
    loop {
        let rest = cursor.rest();
        cursor.at += rest.len() - rest.trim_start().len();
        let rest = cursor.rest();
        let end = match rest {
            _ if rest.starts_with("//") || rest.starts_with('#') => "\n",
            _ if rest.starts_with("/*") => "*/",
            _ => return,
        };
        gap.extend(comment(rest.get(1..).unwrap_or_default()));
        cursor.pass(end);
    }
}

/// Reads as much of the next part as is needed to classify it. `is_window` is true if the text continues after the
/// end of the cursor's text.
fn next_part(mut cursor: Cursor<'_>, comma: bool, is_window: bool) -> Next {
    let item = |text| Next::Item { text, comma };
    let Some(c) = cursor.next() else { return Next::Other };
    let quoted = opens_string(c, if comma { ',' } else { '}' });
    match ascii(c) {
        '{' | '[' => return item(false),
        _ if quoted => {
            if !pass_string(&mut cursor, c) {
                // No key is that long.
                return if is_window && comma { item(true) } else { Next::Other };
            }
        }
        _ if is_word(c) => {
            let rest = cursor.rest();
            cursor.at += rest.len() - rest.trim_start_matches(|c| is_word(c) || matches!(c, '.' | '+')).len();
        }
        _ => return Next::Other,
    }
    let is_value = quoted || c.is_ascii_digit() || c == '-' || matches!(c, 't' | 'f' | 'n' | 'T' | 'F' | 'N');
    skip_blank(&mut cursor, &mut Vec::new());
    match cursor.next().map(ascii) {
        Some(':' | '=') => Next::Member { quoted, comma },
        Some(',' | '}' | ']') if is_value => item(quoted),
        _ => Next::Other,
    }
}

/// Doubt about the reading of a run of brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doubt {
    /// No other reading makes sense.
    None,
    /// Another reading keeps the same parts and puts some elsewhere.
    Slight,
    /// Other readings are as good.
    Serious,
}

/// The meaning of a run of closing brackets.
#[derive(Debug)]
pub(super) struct Meaning {
    /// The number of brackets of the run that belong to the value.
    pub(super) used: usize,
    /// The number of levels that stay open.
    pub(super) depth: usize,
    /// True if the brackets need no repair.
    pub(super) exact: bool,
    /// True if the next part does not fit at this depth.
    pub(super) misfit: bool,
    pub(super) doubt: Doubt,
}

/// Reads a run bracket by bracket: each closes the innermost level that it fits, or nothing.
pub(super) fn read_literally(open: &[Level], run: &Run) -> Meaning {
    let mut meaning = Meaning { used: 0, depth: open.len(), exact: true, misfit: false, doubt: Doubt::None };
    for kind in run.kinds() {
        let levels = open.get(..meaning.depth).unwrap_or_default();
        let level = levels.iter().rposition(|level| level.closer == kind);
        meaning.exact &= level.is_some_and(|level| level + 1 == meaning.depth);
        meaning.depth = level.unwrap_or(meaning.depth);
        meaning.used += 1;
        if meaning.depth == 0 {
            break;
        }
    }
    let inner = meaning.depth.checked_sub(1).and_then(|at| open.get(at));
    meaning.misfit = inner.is_some_and(|level| !run.next.fits(level.closer));
    meaning
}

/// Returns true if a value that ends with the run may continue after it. `rest` is the balance of the text after the
/// run.
pub(super) fn may_go_on(run: &Run, rest: BracketBalance) -> bool {
    match run.next {
        Next::Member { quoted, comma } => quoted || comma,
        // A balanced rest is another value.
        Next::Item { comma, .. } => rest.both() > 0 || (comma && rest.both() < 0),
        Next::Other => false,
    }
}

/// Returns true if the part behind a complete value belongs to a value that closes further on and that nothing opens.
pub(super) fn lacks_its_beginning(run: &Run, rest: BracketBalance) -> bool {
    match run.next {
        Next::Member { comma, .. } => comma && rest.braces > 0,
        Next::Item { comma, .. } => comma && rest.brackets > 0,
        Next::Other => false,
    }
}

/// Returns true if a value that continues after the run may lack its end.
pub(super) fn reaches_end(run: &Run) -> bool {
    run.next.has_comma()
}

/// Reads a run so that the next part fits, with the fewest repairs here and further on.
///
/// Returns none if the next part fits at no level, or is rather a key without its value.
pub(super) fn read_with_repairs(open: &[Level], run: &Run, rest: BracketBalance, literal: &Meaning) -> Option<Meaning> {
    let score = |depth: usize, cost: u64| cost + rest.both().abs_diff(i64::try_from(depth).unwrap_or(i64::MAX));
    let fits = |depth: usize| depth.checked_sub(1).and_then(|at| open.get(at)).is_some_and(|level| run.next.fits(level.closer));
    let readings = (1..=open.len()).rev().zip(edit_distances(open, run)).filter(|(depth, _)| fits(*depth));
    let readings: Vec<_> = readings.map(|(depth, cost)| ((score(depth, cost), cost), depth)).collect();
    // Of two readings with as many repairs, that with the fewer repairs in this run is better: the others are only expected.
    let (least, depth) = readings.iter().copied().min_by_key(|(price, _)| *price)?;
    let literal_score = score(literal.depth, KEY_WITHOUT_VALUE);
    if matches!(run.next, Next::Item { text: true, .. }) && literal.exact && literal.depth > 0 && literal_score <= least.0 {
        return None;
    }
    let tied = readings.iter().filter(|(price, _)| *price == least).count() > 1;
    let doubt = if tied { Doubt::Serious } else { doubt(open, run, rest, depth) };
    Some(Meaning { used: run.closers.len(), depth, exact: false, misfit: false, doubt })
}

/// Returns, for each number of levels, how many brackets to add, leave out or exchange so that the run closes that many.
///
/// This is the Levenshtein distance from the run to the closing brackets of the levels.
fn edit_distances(open: &[Level], run: &Run) -> Vec<u64> {
    let mut row: Vec<u64> = (0..).take(open.len()).collect();
    for kind in run.kinds() {
        let mut diagonal = row.first().copied().unwrap_or_default();
        let mut left = diagonal + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, level) in row.iter_mut().skip(1).zip(open.iter().rev()) {
            let exchanged = diagonal + u64::from(level.closer != kind);
            diagonal = *cell;
            left = exchanged.min(left + 1).min(diagonal + 1);
            *cell = left;
        }
    }
    row
}

/// Returns how sure the reading is that leaves `depth` levels open.
fn doubt(open: &[Level], run: &Run, rest: BracketBalance, depth: usize) -> Doubt {
    let closed: Vec<char> = closers_down_to(open, depth).collect();
    let count = |kind| run.kinds().filter(|c| *c == kind).count() > closed.iter().filter(|c| **c == kind).count();
    let left_out = |kind| run.closers.len() > closed.len() && count(kind);
    let continued = |kind| open.iter().skip(depth.saturating_sub(1)).any(|level| level.closer == kind && level.continued);
    let mut kinds = run.kinds();
    let only_left_out = closed.iter().all(|closer| kinds.any(|kind| kind == *closer));
    // The opening bracket may be what is missing: `{"a": [1]], "b": 2}`. A list of a list of objects is unlikely.
    let lacks_opener = matches!(run.next, Next::Member { .. }) && run.kinds().next() == Some(']');
    if left_out(']') && (lacks_opener || continued(']')) {
        Doubt::Serious
    } else if (left_out('}') && continued('}')) || (!only_left_out && usize::try_from(rest.both()) != Ok(depth)) {
        Doubt::Slight
    } else {
        Doubt::None
    }
}

/// Returns the brackets that close the levels down to this depth, in their order.
pub(super) fn closers_down_to(open: &[Level], depth: usize) -> impl Iterator<Item = char> {
    open.iter().skip(depth).rev().map(|level| level.closer)
}

/// The closing brackets of a text less its opening brackets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BracketBalance {
    /// `}` less `{`.
    braces: i64,
    /// `]` less `[`.
    brackets: i64,
}

impl BracketBalance {
    fn both(self) -> i64 {
        self.braces + self.brackets
    }

    fn plus(self, other: Self, times: i64) -> Self {
        Self { braces: self.braces + times * other.braces, brackets: self.brackets + times * other.brackets }
    }

    /// Counts the brackets outside of strings and comments.
    fn of(text: &str) -> Self {
        let mut cursor = Cursor { text, at: 0 };
        let mut balance = Self::default();
        let mut before = '}';
        loop {
            skip_blank(&mut cursor, &mut Vec::new());
            let Some(c) = cursor.next() else { return balance };
            if opens_string(c, before) {
                pass_string(&mut cursor, c);
                before = '"';
                continue;
            }
            before = ascii(c);
            match before {
                '{' => balance.braces -= 1,
                '}' => balance.braces += 1,
                '[' => balance.brackets -= 1,
                ']' => balance.brackets += 1,
                _ => {}
            }
        }
    }
}

/// The balance of the rest of one text. After the first call it reads only the text between the last place and the next.
#[derive(Debug, Default)]
pub(super) struct BalanceCache {
    known: Option<(usize, BracketBalance)>,
}

impl BalanceCache {
    pub(super) fn behind(&mut self, text: &str, at: usize) -> BracketBalance {
        let between = |from: usize, to: usize| BracketBalance::of(text.get(from..to).unwrap_or_default());
        let balance = match self.known {
            Some((last, balance)) if last <= at => balance.plus(between(last, at), -1),
            Some((last, balance)) => balance.plus(between(at, last), 1),
            None => between(at, text.len()),
        };
        self.known = Some((at, balance));
        balance
    }
}
