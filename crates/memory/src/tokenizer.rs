//! Splits text into the words of the index, and questions into search terms.
//!
//! SQLite's tokenizer finds words between spaces and stems English ones. Chinese, Japanese and Korean are written
//! without spaces, so here each run of such characters becomes its overlapping pairs, as Lucene's CJK analysis has
//! it: `数据库` is `数据 据库 库`, the last character alone being there for questions of one character. Both sides go through
//! the same rule, so a word of two characters is found exactly.
//!
//! The result of [`indexed`] is stored in files: a change of it needs a migration that rebuilds the index.

mod stop;

/// Longer than any word: keys, hashes, encoded pictures.
const MAX_WORD_CHARS: usize = 64;
/// The most terms of one question.
const TERMS: usize = 128;
/// The most characters of a question that are looked at.
const QUESTION: usize = 16_000;

/// A question, taken apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Question {
    /// Search terms, each once.
    pub(crate) terms: Vec<Term>,
    /// The parts of the question that a text can cover, and how much of a word each is: a character of a script without spaces is half of one.
    pub(crate) units: Vec<f64>,
}

/// Something to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    /// Token as in the index: letters, digits and combining marks only.
    token: String,
    /// True if longer tokens with this prefix match too.
    begins: bool,
    /// Word as in texts, in lower case.
    pub(crate) word: String,
    /// The parts of the question that a text with this term covers. Several terms may cover one: `PlanPatch` and its parts, or neighbouring pairs.
    pub(crate) units: Vec<usize>,
}

impl Term {
    /// Returns the term in FTS5's language. A token has no quotes in it, so nothing of a question is ever read as
    /// syntax.
    pub(crate) fn expression(&self) -> String {
        format!("\"{}\"{}", self.token, if self.begins { " *" } else { "" })
    }
}

impl Question {
    /// Any of the terms, in FTS5's language.
    pub(crate) fn any(&self) -> String {
        self.terms.iter().map(Term::expression).collect::<Vec<_>>().join(" OR ")
    }

    /// Adds a part of the question and returns its number.
    fn unit(&mut self, share: f64) -> usize {
        self.units.push(share);
        self.units.len() - 1
    }
}

/// Returns the words of a text with spaces between them, for the index.
pub(crate) fn indexed(text: &str) -> String {
    let text = fold(text);
    let mut words = String::with_capacity(text.len() * 2);
    let mut push = |word: &str| {
        words.push_str(if words.is_empty() { "" } else { " " });
        words.push_str(word);
    };
    pieces(&text, |piece| match piece {
        Piece::Word(word) => spellings(word).iter().for_each(|word| push(word)),
        Piece::Dense(run) => {
            pairs(run).for_each(&mut push);
            let last = run.char_indices().next_back().map_or(0, |(at, _)| at);
            push(run.get(last..).unwrap_or(run));
        }
        Piece::Emoji(emoji) => push(&emoji_token(emoji)),
    });
    words
}

/// Returns the terms of a question: each once, in order, at most 128. Stop words are left out, unless there are no
/// others.
pub(crate) fn parse_question(text: &str) -> Question {
    let text = fold(&text.chars().take(QUESTION).collect::<String>());
    let (mut question, mut stops) = (Question::default(), Vec::new());
    let push = |question: &mut Question, stops: &mut Vec<Term>, token: String, begins: bool, written: &str, units: Vec<usize>| {
        let into = if stop::is_stop_word(&token) { stops } else { &mut question.terms };
        if into.len() < TERMS && !into.iter().any(|term| (&term.token, term.begins) == (&token, begins)) {
            into.push(Term { token, begins, word: written.to_owned(), units });
        }
    };
    pieces(&text, |piece| match piece {
        Piece::Word(word) => {
            let spellings = spellings(word);
            let units: Vec<usize> = (0..(spellings.len() - 1).max(1)).map(|_| question.unit(1.0)).collect();
            for (number, spelling) in spellings.into_iter().enumerate() {
                // The word covers all of its parts, each part itself.
                let covers = number.checked_sub(1).and_then(|part| units.get(part)).map_or_else(|| units.clone(), |unit| vec![*unit]);
                push(&mut question, &mut stops, spelling.clone(), false, &spelling, covers);
            }
        }
        Piece::Dense(run) if run.chars().nth(1).is_none() => {
            let unit = question.unit(0.5);
            push(&mut question, &mut stops, run.to_owned(), true, run, vec![unit]);
        }
        Piece::Dense(run) => {
            let mut before = question.unit(0.5);
            for pair in pairs(run) {
                let unit = question.unit(0.5);
                push(&mut question, &mut stops, pair.to_owned(), false, pair, vec![before, unit]);
                before = unit;
            }
        }
        Piece::Emoji(emoji) => {
            let unit = question.unit(1.0);
            push(&mut question, &mut stops, emoji_token(emoji), false, &emoji.to_string(), vec![unit]);
        }
    });
    if question.terms.is_empty() {
        question.terms = stops;
    }
    question
}

/// A part of a text that is indexed.
enum Piece<'a> {
    /// Word of a script with spaces.
    Word(&'a str),
    /// Run of a script without spaces.
    Dense(&'a str),
    /// A picture.
    Emoji(char),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Dense,
    Emoji,
    Mark,
    Between,
}

impl Class {
    fn of(c: char) -> Self {
        match c {
            // Skin tones say nothing of their own.
            '\u{1f3fb}'..='\u{1f3ff}' => Self::Between,
            '\u{1f000}'..='\u{1faff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' => Self::Emoji,
            '\u{300}'..='\u{36f}' => Self::Mark,
            _ if !c.is_alphanumeric() => Self::Between,
            '\u{1100}'..='\u{11ff}'
            | '\u{2e80}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7ff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ffdc}'
            | '\u{20000}'..='\u{3ffff}' => Self::Dense,
            _ => Self::Word,
        }
    }

    fn goes_on_with(self, next: Self) -> bool {
        match self {
            Self::Word => matches!(next, Self::Word | Self::Mark),
            Self::Dense => next == Self::Dense,
            _ => false,
        }
    }
}

fn pieces<'a>(text: &'a str, mut visit: impl FnMut(Piece<'a>)) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let class = Class::of(first);
        let length = rest.chars().skip(1).take_while(|c| class.goes_on_with(Class::of(*c))).map(char::len_utf8).sum::<usize>();
        let (piece, after) = rest.split_at(first.len_utf8() + length);
        match class {
            Class::Word if piece.chars().count() <= MAX_WORD_CHARS => visit(Piece::Word(piece)),
            Class::Dense => visit(Piece::Dense(piece)),
            Class::Emoji => visit(Piece::Emoji(first)),
            _ => {}
        }
        rest = after;
    }
}

/// Replaces full-width letters, digits and symbols by their plain forms.
fn fold(text: &str) -> String {
    let plain = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        _ => c,
    };
    text.chars().map(plain).collect()
}

/// Returns the pairs of neighbours in a run.
fn pairs(run: &str) -> impl Iterator<Item = &str> {
    let ends = run.char_indices().skip(1).map(|(at, c)| at + c.len_utf8());
    run.char_indices().zip(ends).filter_map(|((begin, _), end)| run.get(begin..end))
}

/// Returns a word in small letters; a name such as `PlanPatch` also as its parts.
fn spellings(word: &str) -> Vec<String> {
    let mut spellings = vec![word.to_lowercase()];
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    let mut begins = vec![0];
    for around in letters.windows(2) {
        if let [(_, before), (at, c)] = around
            && c.is_uppercase()
        {
            let after = word.get(at + c.len_utf8()..).and_then(|rest| rest.chars().next());
            // `PlanPatch`, and `HTTPServer` before its S.
            if before.is_lowercase() || (before.is_uppercase() && after.is_some_and(char::is_lowercase)) {
                begins.push(*at);
            }
        }
    }
    if begins.len() > 1 {
        let ends = begins.iter().skip(1).copied().chain([word.len()]);
        let parts = begins.iter().zip(ends).filter_map(|(begin, end)| word.get(*begin..end));
        spellings.extend(parts.filter(|part| part.chars().nth(1).is_some()).map(str::to_lowercase));
    }
    spellings
}

/// Returns a token for an emoji that is independent of SQLite's Unicode tables. It ends in a digit, so it is not
/// stemmed.
fn emoji_token(emoji: char) -> String {
    format!("emoji{}", u32::from(emoji))
}

#[cfg(test)]
mod tests;
