//! Following the brackets of one value to its end.

use std::{borrow::Cow, collections::BTreeSet};

use super::{
    closers::{
        BalanceCache, Doubt, Level, Meaning, Next, Run, closers_down_to, lacks_its_beginning, may_go_on, reaches_end, read_literally,
        read_with_repairs,
    },
    cursor::{Cursor, opens_string, pass_string},
    scan::{Edit, Ending, JsonDeviation, Parts, Span},
    signs::{ascii, comment, is_word, meant, quote_deviation, word_deviation},
};

/// The deepest nesting that is followed; a strict reader stops there too.
const DEPTH: usize = 128;

/// The brackets nest too deep to be followed further.
pub(super) struct TooDeep {
    pub(super) at: usize,
}

/// Follows the brackets from `start`. All calls for one text share `balance`.
pub(super) fn span_at(text: &str, start: usize, balance: &mut BalanceCache) -> Result<Span, TooDeep> {
    let mut early: Option<EarlyEnd> = None;
    let mut walk = Walk::new(text, start);
    let ending = walk.walk_to_end(balance, &mut early);
    let looked = walk.cursor.at;
    match (early, ending) {
        (Some(early), Ok(ending)) if ending == Ending::Whole || (early.may_be_cut && early.words == walk.words) => Ok(walk.span(ending)),
        (Some(early), _) => Ok(Span { scanned: looked, ..early.span }),
        (None, ending) => ending.map(|ending| walk.span(ending)),
    }
}

/// End of a value according to its brackets, although the text may continue with parts of the value.
struct EarlyEnd {
    span: Span,
    /// True if the longer reading may lack its end, as long as it holds no prose.
    may_be_cut: bool,
    /// The number of words before it that are no JSON.
    words: usize,
}

#[derive(Clone)]
struct Walk<'t> {
    text: &'t str,
    start: usize,
    cursor: Cursor<'t>,
    open: Vec<Level>,
    deviations: BTreeSet<JsonDeviation>,
    edits: Vec<Edit>,
    dangling: Option<usize>,
    /// The last character outside of strings, white space and comments; a string counts as its quote.
    before: char,
    /// True if the last string was a value, not a key.
    after_value: bool,
    /// The number of words that are no JSON.
    words: usize,
    doubt: Doubt,
    parts: Parts,
    /// True if a closing bracket was misplaced.
    misplaced: bool,
}

impl<'t> Walk<'t> {
    fn new(text: &'t str, start: usize) -> Self {
        Self {
            text,
            start,
            cursor: Cursor { text, at: start },
            open: Vec::new(),
            deviations: BTreeSet::new(),
            edits: Vec::new(),
            dangling: None,
            before: '\0',
            after_value: false,
            words: 0,
            doubt: Doubt::None,
            parts: Parts::default(),
            misplaced: false,
        }
    }

    /// Follows the brackets to the end of the value or of the text.
    fn walk_to_end(&mut self, balance: &mut BalanceCache, early: &mut Option<EarlyEnd>) -> Result<Ending, TooDeep> {
        while let Some(c) = self.cursor.next() {
            if matches!(ascii(c), '}' | ']') {
                self.note(c);
                if self.close(self.cursor.at - c.len_utf8(), balance, early) {
                    return Ok(Ending::Whole);
                }
            } else if !self.step(c)? {
                return Ok(Ending::Cut);
            }
        }
        self.deviations.insert(JsonDeviation::Bracket);
        Ok(self.ending())
    }

    /// Returns the kind of end of a text that ends inside the value and outside of strings.
    fn ending(&self) -> Ending {
        let complete = matches!(self.before, '}' | ']') || (self.before == '"' && self.after_value);
        if complete { Ending::Brackets } else { Ending::Cut }
    }

    fn span(self, ending: Ending) -> Span {
        // A string that never ends reaches to the end of the text.
        let end = self.cursor.at;
        let cut = ending == Ending::Cut;
        Span {
            start: self.start,
            end,
            scanned: end,
            ending,
            deviations: self.deviations,
            edits: self.edits,
            dangling: self.dangling.filter(|_| cut),
            doubt: self.doubt,
            parts: (self.misplaced && !cut).then_some(self.parts),
            fenced: false,
            inner: false,
            rank: 0,
        }
    }

    /// Notes the beginning of a member, until its value begins.
    fn note(&mut self, c: char) {
        let in_key = matches!(self.before, '{' | ',') && self.open.last().is_some_and(|level| level.closer == '}');
        if in_key && !matches!(ascii(c), '}' | ',') && !c.is_whitespace() {
            self.dangling = Some(self.cursor.at - c.len_utf8() - self.start);
        } else if self.before == ':' && !c.is_whitespace() && !matches!(ascii(c), ':' | '-' | '+') || matches!(self.before, '-' | '+') {
            self.dangling = None;
        }
    }

    /// Takes a character that is no closing bracket, with the string, word or comment that it begins. Returns false if a string never ends.
    fn step(&mut self, c: char) -> Result<bool, TooDeep> {
        let at = self.cursor.at - c.len_utf8();
        let surplus = matches!((ascii(c), self.before), (',', ',') | (':', ':'));
        if surplus {
            self.deviations.insert(JsonDeviation::Surplus);
        }
        if surplus || meant(c).is_some() {
            let new = meant(c).filter(|_| !surplus).unwrap_or_default();
            self.edit(at, c.len_utf8(), Cow::Borrowed(new), !matches!(c, ',' | ':' | '…'));
        }
        self.note(c);
        match c {
            '{' | '[' | '｛' | '［' => {
                self.open.push(Level::of(c));
                self.parts.containers += 1;
                if self.open.len() > DEPTH {
                    return Err(TooDeep { at: self.cursor.at });
                }
            }
            _ if opens_string(c, self.before) => return Ok(self.string(c)),
            '/' if self.before != ':' && self.cursor.rest().starts_with('/') => return Ok(self.comment("\n")),
            '/' if self.cursor.rest().starts_with('*') => return Ok(self.comment("*/")),
            '#' => return Ok(self.comment("\n")),
            '.' if self.cursor.rest().starts_with("..") => {
                self.deviations.insert(JsonDeviation::Ellipsis);
                self.cursor.pass("..");
            }
            '…' => {
                self.deviations.insert(JsonDeviation::Ellipsis);
            }
            _ if c.is_alphabetic() || c == '_' => self.word(at),
            _ if c.is_whitespace() => return Ok(true),
            _ => {}
        }
        self.before = ascii(c);
        Ok(true)
    }

    fn string(&mut self, quote: char) -> bool {
        let in_object = self.open.last().is_some_and(|level| level.closer == '}');
        self.after_value = matches!(self.before, ':' | '[' | ',') && !(self.before == ',' && in_object);
        self.deviations.extend(quote_deviation(quote, self.cursor.rest()));
        self.parts.texts += 1;
        if !pass_string(&mut self.cursor, quote) {
            return false;
        }
        if self.text.get(..self.cursor.at).is_some_and(|read| read.ends_with('＂')) {
            let len = '＂'.len_utf8();
            self.edit(self.cursor.at - len, len, Cow::Borrowed("\""), true);
        }
        self.before = '"';
        true
    }

    fn comment(&mut self, end: &str) -> bool {
        self.deviations.extend(comment(self.cursor.rest()));
        self.cursor.pass(end);
        true
    }

    /// Reads a word that begins at `at`.
    fn word(&mut self, at: usize) {
        let rest = self.cursor.rest();
        self.cursor.at += rest.len() - rest.trim_start_matches(is_word).len();
        let deviation = word_deviation(self.text.get(at..self.cursor.at).unwrap_or_default());
        // A word at the end may be the beginning of a literal.
        self.words += usize::from(deviation == Some(JsonDeviation::Unquoted) && !self.cursor.rest().is_empty());
        self.deviations.extend(deviation);
    }

    fn edit(&mut self, at: usize, len: usize, new: Cow<'static, str>, full_width: bool) {
        self.edits.push(Edit { at: at - self.start, len, new, full_width });
    }

    /// Reads the run of closing brackets that begins at `at`. Returns true if the value ends with it.
    fn close(&mut self, at: usize, balance: &mut BalanceCache, early: &mut Option<EarlyEnd>) -> bool {
        let run = Run::at(self.text, at);
        let plain = read_literally(&self.open, &run);
        let fits = plain.exact && !plain.misfit && plain.depth > 0;
        if fits || run.next == Next::Other {
            return self.take(at, &run, &plain);
        }
        let rest = balance.behind(self.text, run.closers.last().map_or(at, |(_, end)| *end));
        let ends = plain.depth == 0;
        let repaired = if ends && !may_go_on(&run, rest) { None } else { read_with_repairs(&self.open, &run, rest, &plain) };
        let Some(meaning) = repaired else {
            let is_over = self.take(at, &run, &plain);
            if ends && lacks_its_beginning(&run, rest) {
                self.doubt = Doubt::Serious;
                self.cursor.at = self.text.len();
            }
            // A list has no members, even if the repair library reads some.
            if plain.misfit && matches!(run.next, Next::Member { .. }) {
                self.doubt = Doubt::Serious;
            }
            return is_over;
        };
        if ends && early.is_none() {
            let mut walk = self.clone();
            walk.take(at, &run, &plain);
            *early = Some(EarlyEnd { span: walk.span(Ending::Whole), may_be_cut: reaches_end(&run), words: self.words });
        }
        self.take(at, &run, &meaning)
    }

    /// Closes levels as the meaning says, and replaces the run by the right brackets. Returns true if the value ends with it.
    fn take(&mut self, at: usize, run: &Run, meaning: &Meaning) -> bool {
        let end = meaning.used.checked_sub(1).and_then(|last| run.closers.get(last)).map_or(self.cursor.at, |(_, end)| *end);
        let full_width = self.text.get(at..end).is_some_and(|text| text.contains(['｝', '］', '，', '、']));
        let closers: String = closers_down_to(&self.open, meaning.depth).collect();
        if self.before == ',' && !closers.is_empty() {
            self.deviations.insert(JsonDeviation::TrailingComma);
        }
        self.deviations.extend(run.deviations(meaning.used));
        self.misplaced |= !meaning.exact || meaning.misfit || meaning.used < run.closers.len();
        self.doubt = self.doubt.max(meaning.doubt);
        self.before = closers.chars().last().unwrap_or(self.before);
        if !meaning.exact {
            self.deviations.insert(JsonDeviation::Bracket);
        }
        if !meaning.exact || full_width {
            self.edit(at, end - at, Cow::Owned(closers), full_width);
        }
        let closed = self.open.get(meaning.depth).map(|level| level.closer);
        self.open.truncate(meaning.depth);
        if run.next != Next::Other
            && let Some(parent) = self.open.last_mut()
        {
            parent.continued |= closed == Some(parent.closer);
        }
        self.cursor.at = end;
        self.open.is_empty()
    }
}
