//! Splits Rust into words, signs and string literals, without comments.

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, a keyword or a number.
    Word,
    /// One character, or `::`.
    Sign,
    /// The content of a string literal.
    Literal,
}

/// Token with its place.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// Line, from 1.
    pub(super) line: usize,
    /// True if it is test code.
    pub(super) test: bool,
}

/// Returns the tokens of a text.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { rest: text, line: 1, tokens: Vec::new() };
    while let Some(next) = lexer.rest.chars().next() {
        lexer.token(next);
    }
    lexer.tokens
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn token(&mut self, next: char) {
        if self.rest.starts_with("//") {
            self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.block_comment();
        } else if let Some(quotes) = self.string_start() {
            self.string(quotes);
        } else if next == '\'' {
            self.quote();
        } else if next.is_alphanumeric() || next == '_' {
            let length = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
            self.push(Kind::Word, length);
        } else if self.rest.starts_with("::") {
            self.push(Kind::Sign, 2);
        } else if next.is_whitespace() {
            self.skip(next.len_utf8());
        } else {
            self.push(Kind::Sign, next.len_utf8());
        }
    }

    /// If a string starts here, returns the length up to its content, and the number of `#` of a raw string.
    fn string_start(&self) -> Option<(usize, Option<usize>)> {
        let prefix = self.rest.len() - self.rest.trim_start_matches(['b', 'c']).len();
        let after = self.rest.get(prefix..).filter(|_| prefix <= 1)?;
        if after.starts_with('"') {
            return Some((prefix + 1, None));
        }
        let raw = after.strip_prefix('r')?;
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        raw.get(hashes..)?.starts_with('"').then_some((prefix + 1 + hashes + 1, Some(hashes)))
    }

    fn string(&mut self, (start, hashes): (usize, Option<usize>)) {
        let content = self.rest.get(start..).unwrap_or_default();
        let end = match hashes {
            Some(hashes) => content.find(&format!("\"{}", "#".repeat(hashes))),
            None => {
                let mut escaped = false;
                content.find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                })
            }
        }
        .unwrap_or(content.len());
        let text = content.get(..end).unwrap_or_default().to_owned();
        self.tokens.push(Token { kind: Kind::Literal, text, line: self.line, test: false });
        self.skip(start + end + 1 + hashes.unwrap_or(0));
    }

    /// Skips a character literal or a lifetime.
    fn quote(&mut self) {
        let mut after = self.rest.chars().skip(1);
        let (first, second) = (after.next(), after.next());
        let length = match (first, second) {
            // The escaped character itself may be a quote, so the end is searched after it.
            (Some('\\'), _) => self.rest.get(3..).and_then(|rest| rest.find('\'')).map_or(self.rest.len(), |end| end + 4),
            (Some(c), Some('\'')) => c.len_utf8() + 2,
            _ => 1,
        };
        self.skip(length);
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        let mut length = 0;
        while let Some(rest) = self.rest.get(length..).filter(|rest| !rest.is_empty()) {
            if rest.starts_with("/*") {
                depth += 1;
                length += 2;
            } else if rest.starts_with("*/") {
                depth -= 1;
                length += 2;
            } else {
                length += rest.chars().next().map_or(1, char::len_utf8);
            }
            if depth == 0 {
                break;
            }
        }
        self.skip(length);
    }

    fn push(&mut self, kind: Kind, length: usize) {
        let text = self.rest.get(..length).unwrap_or_default().to_owned();
        self.tokens.push(Token { kind, text, line: self.line, test: false });
        self.skip(length);
    }

    fn skip(&mut self, length: usize) {
        let (skipped, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }
}
