//! A document in pieces that fit into a prompt: cut at headings, then between paragraphs, then wherever people would.

mod blocks;

use blocks::{Block, blocks};

use crate::tokens::{estimate_tokens, fitting};

/// Between the headings of a path.
const INTO: &str = " › ";
/// The most characters of one heading that are kept.
const HEADING: usize = 120;

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The headings above it, the outermost first.
    pub(crate) heading: String,
    /// Number of its first line, from 1.
    pub(crate) line: usize,
    /// Text as it is in the document.
    pub(crate) text: String,
}

/// Splits a document into pieces of at most `limit` tokens, in order. Only empty lines and headings are left out of
/// the text; each piece carries the headings above it. `markdown` is true if the document may have headings.
pub(crate) fn split(text: &str, markdown: bool, limit: u64) -> Vec<Piece> {
    let mut splitter = Splitter { text, limit, pieces: Vec::new(), above: Vec::new(), open: None, empty: None };
    for block in blocks(text, markdown) {
        match block {
            Block::Heading { level, title, line } => splitter.heading(level, title, line),
            Block::Text { begin, end, line } => splitter.text(begin, end, line),
        }
    }
    splitter.flush();
    splitter.flush_heading();
    splitter.pieces
}

struct Splitter<'a> {
    text: &'a str,
    limit: u64,
    pieces: Vec<Piece>,
    /// Levels and titles of the headings above.
    above: Vec<(usize, String)>,
    /// The piece that is being filled.
    open: Option<Open>,
    /// A heading that has no text yet, and its line.
    empty: Option<(String, usize)>,
}

struct Open {
    begin: usize,
    end: usize,
    line: usize,
    tokens: u64,
}

impl Splitter<'_> {
    fn heading(&mut self, level: usize, title: &str, line: usize) {
        self.flush();
        if self.above.last().is_some_and(|(above, _)| level <= *above) {
            self.flush_heading();
        }
        self.above.retain(|(above, _)| *above < level);
        let short: String = title.chars().take(HEADING).collect();
        let cut = short.len() < title.len();
        self.above.push((level, short));
        self.empty = Some((title.to_owned(), line));
        // The path of headings shows only its beginning, so its words must be found in a piece.
        if cut {
            self.flush_heading();
        }
    }

    fn text(&mut self, begin: usize, end: usize, line: usize) {
        self.empty = None;
        let tokens = estimate_tokens(self.text.get(begin..end).unwrap_or_default()) + 1;
        if let Some(open) = &mut self.open
            && open.tokens + tokens <= self.limit
        {
            open.tokens += tokens;
            open.end = end;
            return;
        }
        self.flush();
        self.open = Some(Open { begin, end, line, tokens });
    }

    /// Closes the piece that is being filled; in several if it is one paragraph that is too long.
    fn flush(&mut self) {
        let Some(Open { begin, end, line, .. }) = self.open.take() else { return };
        self.push_pieces(line, self.text.get(begin..end).unwrap_or_default());
    }

    /// Adds a text that begins in `line`, in as many pieces as the limit needs.
    fn push_pieces(&mut self, mut line: usize, mut rest: &str) {
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(fitting(rest, self.limit));
            let trimmed = piece.trim_start_matches(['\n', '\r']);
            let skipped = newlines(piece) - newlines(trimmed);
            self.push(line + skipped, trimmed.trim_end());
            line += newlines(piece);
            rest = after;
        }
    }

    /// Adds a heading without text and without headings below it as a piece of its own, because it carries
    /// information.
    fn flush_heading(&mut self) {
        if let Some((title, line)) = self.empty.take() {
            self.push_pieces(line, &title);
        }
    }

    fn push(&mut self, line: usize, text: &str) {
        if !text.trim().is_empty() {
            let heading = self.above.iter().map(|(_, title)| title.as_str()).collect::<Vec<_>>().join(INTO);
            self.pieces.push(Piece { heading, line, text: text.to_owned() });
        }
    }
}

fn newlines(text: &str) -> usize {
    text.matches('\n').count()
}

#[cfg(test)]
mod tests;
