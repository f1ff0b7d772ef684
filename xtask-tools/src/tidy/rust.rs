//! Minimal Rust parser for tidy: tokens, paths, string literals, and test code.

mod lexer;

use lexer::{Kind, Token, tokens};

/// Parsed Rust file.
pub(super) struct Source {
    tokens: Vec<Token>,
    /// Modules in separate files that are compiled for tests only.
    pub(super) test_modules: Vec<String>,
    lines: usize,
    wholly_test: bool,
}

impl Source {
    /// Parses a file. Text that is not Rust gives some tokens, never an error.
    pub(super) fn read(text: &str) -> Self {
        let mut source = Self { tokens: tokens(text), test_modules: Vec::new(), lines: text.lines().count(), wholly_test: false };
        source.mark_test_items();
        source
    }

    /// Marks the whole file as test code.
    pub(super) fn mark_all_test(&mut self) {
        self.wholly_test = true;
        for token in &mut self.tokens {
            token.test = true;
        }
    }

    /// Returns true if the whole file is test code.
    pub(super) fn is_test(&self) -> bool {
        self.wholly_test
    }

    /// Returns the number of lines.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Returns true if a line, counted from 1, is test code. A line without tokens belongs to the next line with tokens.
    pub(super) fn is_test_line(&self, line: usize) -> bool {
        self.wholly_test || self.tokens.iter().find(|token| token.line >= line).is_some_and(|token| token.test)
    }

    /// Returns the number of lines that are no test code.
    pub(super) fn lines_without_tests(&self) -> usize {
        let mut tokens = self.tokens.iter().peekable();
        let is_test = |line| {
            while tokens.next_if(|token| token.line < line).is_some() {}
            tokens.peek().is_some_and(|token| token.test)
        };
        if self.wholly_test { 0 } else { self.lines - (1..=self.lines).map(is_test).filter(|test| *test).count() }
    }

    /// Iterates over the string literals outside of test code, with their lines.
    pub(super) fn literals(&self) -> impl Iterator<Item = (usize, &str)> {
        let literals = self.tokens.iter().filter(|token| token.kind == Kind::Literal && !token.test);
        literals.map(|token| (token.line, token.text.as_str()))
    }

    /// Returns the name of the test function whose attributes are the first code below a line.
    pub(super) fn test_below(&self, line: usize) -> Option<&str> {
        let first = self.tokens.iter().find(|token| token.line > line)?.line;
        self.tests().into_iter().find(|(line, _)| *line == first).map(|(_, name)| name)
    }

    /// Returns the test functions, each with its name and the line of its first attribute: those under `#[test]`, `#[tokio::test]` and
    /// similar attributes, also in macros such as `proptest!`.
    pub(super) fn tests(&self) -> Vec<(usize, &str)> {
        let mut tests = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            let mut test = false;
            let begun = at;
            while let Some(end) = self.attribute_end(at) {
                test |= self.is_test_attribute(at);
                at = end;
            }
            if at == begun {
                at += 1;
            } else if test {
                while ["pub", "async"].iter().any(|word| self.is(at, word)) {
                    at += 1;
                }
                let name = self.tokens.get(at + 1).filter(|name| self.is(at, "fn") && name.kind == Kind::Word);
                let line = self.tokens.get(begun).map_or(0, |first| first.line);
                tests.extend(name.map(|name| (line, name.text.as_str())));
            }
        }
        tests
    }

    /// Returns true if the attribute that starts here has a path that ends in `test`.
    fn is_test_attribute(&self, at: usize) -> bool {
        let mut last = at + 2;
        while self.is(last + 1, "::") {
            last += 2;
        }
        self.is(last, "test") && (self.is(last + 1, "]") || self.is(last + 1, "("))
    }

    /// Returns the lines with a sequence of tokens, including test code: `["#", "[", "ignore"]`.
    pub(super) fn places(&self, sequence: &[&str]) -> Vec<usize> {
        let matches =
            |window: &&[Token]| window.iter().zip(sequence).all(|(token, text)| token.kind != Kind::Literal && token.text == *text);
        self.tokens.windows(sequence.len()).filter(matches).filter_map(|window| Some(window.first()?.line)).collect()
    }

    /// Returns every path outside of test code, such as `std::fs::read`, with its line; `use` trees are expanded.
    pub(super) fn paths(&self) -> Vec<(usize, Vec<&str>)> {
        let mut paths = Vec::new();
        let mut at = 0;
        while let Some(token) = self.tokens.get(at) {
            if token.test || token.kind != Kind::Word {
                at += 1;
            } else if token.text == "use" {
                at = self.use_tree(at + 1, &mut Vec::new(), &mut paths);
            } else {
                let mut path = vec![token.text.as_str()];
                at += 1;
                while let (true, Some(next)) = (self.is(at, "::"), self.tokens.get(at + 1)) {
                    if next.kind != Kind::Word {
                        break;
                    }
                    path.push(&next.text);
                    at += 2;
                }
                paths.push((token.line, path));
            }
        }
        paths
    }

    /// Parses one branch of a `use` tree and returns the position after it.
    fn use_tree<'a>(&'a self, mut at: usize, prefix: &mut Vec<&'a str>, paths: &mut Vec<(usize, Vec<&'a str>)>) -> usize {
        let depth = prefix.len();
        let mut line = 0;
        while let Some(token) = self.tokens.get(at) {
            match token.text.as_str() {
                "::" => at += 1,
                "as" => at += 2,
                "{" => {
                    at += 1;
                    while self.tokens.get(at).is_some() && !self.is(at, "}") {
                        at = self.use_tree(at, prefix, paths);
                        at += usize::from(self.is(at, ","));
                    }
                    prefix.truncate(depth);
                    return at + 1;
                }
                _ if token.kind == Kind::Word => {
                    line = token.line;
                    prefix.push(&token.text);
                    at += 1;
                }
                "*" => at += 1,
                _ => break,
            }
        }
        if line > 0 {
            paths.push((line, prefix.clone()));
        } else if self.tokens.get(at).is_some() && !self.is(at, ",") && !self.is(at, "}") {
            // This is not a `use` tree after all. Skip the token to avoid an endless loop.
            at += 1;
        }
        prefix.truncate(depth);
        at
    }

    /// Finds items under `#[cfg(test)]`, and marks their tokens.
    fn mark_test_items(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            let Some(end) = self.attribute_end(at) else {
                at += 1;
                continue;
            };
            let words = || self.tokens.get(at..end).into_iter().flatten().map(|token| token.text.as_str());
            let test = words().nth(2) == Some("cfg") && words().any(|word| word == "test") && !words().any(|word| word == "not");
            if !test {
                at = end;
                continue;
            }
            let mut item = end;
            while let Some(next) = self.attribute_end(item) {
                item = next;
            }
            if self.is(item, "mod") && self.is(item + 2, ";") {
                self.test_modules.extend(self.tokens.get(item + 1).map(|token| token.text.clone()));
            }
            let last = self.item_end(item);
            for token in self.tokens.get_mut(at..last).into_iter().flatten() {
                token.test = true;
            }
            at = last;
        }
    }

    /// Returns the position after the attribute that starts here, if one does.
    fn attribute_end(&self, at: usize) -> Option<usize> {
        let opens = self.is(at, "#") && self.is(at + 1, "[");
        opens.then(|| self.closed(at + 1))
    }

    /// Returns the position after the item that starts here: after its first block, or its semicolon.
    fn item_end(&self, mut at: usize) -> usize {
        while at < self.tokens.len() {
            if self.is(at, "{") {
                return self.closed(at);
            }
            if self.is(at, ";") {
                return at + 1;
            }
            at = if self.is(at, "(") || self.is(at, "[") { self.closed(at) } else { at + 1 };
        }
        at
    }

    /// Returns the position after the bracket that closes the one here.
    fn closed(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        for (index, token) in self.tokens.iter().enumerate().skip(at) {
            if token.kind != Kind::Sign {
                continue;
            }
            match token.text.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return index + 1;
            }
        }
        self.tokens.len()
    }

    fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind != Kind::Literal && token.text == text)
    }
}
