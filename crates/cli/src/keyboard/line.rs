//! A line on its way: from the bytes that a terminal gives to text.

/// The longest line, in bytes; what is typed beyond is dropped.
const LONGEST: usize = 16_000;

/// What was typed since the last Enter.
#[derive(Debug, Default)]
pub(super) struct Line {
    text: String,
    /// The beginning of a character of several bytes.
    begun: Vec<u8>,
    key: Key,
}

/// Whether a key is under way that gives several bytes, such as an arrow.
#[derive(Debug, Default, PartialEq, Eq)]
enum Key {
    #[default]
    None,
    /// After Escape.
    Escape,
    /// After Escape and `[` or `O`, until its last byte.
    Sequence,
}

impl Line {
    /// The text as it stands.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Nothing followed for a while: an Escape was the key of that name.
    pub(super) fn pause(&mut self) {
        self.key = Key::None;
    }

    /// Takes one byte in. Gives the line when it is whole; an empty one is none.
    pub(super) fn take(&mut self, byte: u8) -> Option<String> {
        match (&self.key, byte) {
            (Key::Escape, b'[' | b'O') => self.key = Key::Sequence,
            (Key::Escape, _) | (Key::Sequence, 0x40..=0x7e) => self.key = Key::None,
            (Key::Sequence, _) => {}
            (Key::None, 0x1b) => self.key = Key::Escape,
            (Key::None, b'\r' | b'\n') => {
                self.begun.clear();
                let line = std::mem::take(&mut self.text);
                return Some(line.trim().to_owned()).filter(|line| !line.is_empty());
            }
            // Backspace and Delete.
            (Key::None, 0x08 | 0x7f) => drop(self.text.pop()),
            // Ctrl-U: the whole line.
            (Key::None, 0x15) => self.text.clear(),
            // Ctrl-W: the last word.
            (Key::None, 0x17) => {
                let before = self.text.trim_end().rfind(char::is_whitespace);
                let kept = before.map_or("", |at| self.text.get(..=at).unwrap_or_default()).to_owned();
                self.text = kept;
            }
            (Key::None, b'\t') => self.put(b' '),
            (Key::None, 0x00..=0x1f) => {}
            (Key::None, _) => self.put(byte),
        }
        None
    }

    fn put(&mut self, byte: u8) {
        self.begun.push(byte);
        match std::str::from_utf8(&self.begun) {
            Ok(text) if self.text.len() + text.len() <= LONGEST => {
                self.text.push_str(text);
                self.begun.clear();
            }
            Err(error) if error.error_len().is_none() => {}
            // What was begun is no character; what ended it may be one.
            Err(_) if self.begun.len() > 1 && byte.is_ascii() => {
                self.begun.clear();
                self.put(byte);
            }
            _ => self.begun.clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole lines, and what is left.
    fn typed(bytes: &[u8]) -> (Vec<String>, String) {
        let mut line = Line::default();
        let whole = bytes.iter().filter_map(|byte| line.take(*byte)).collect();
        (whole, line.text().to_owned())
    }

    #[test]
    fn keys_make_lines() {
        for (bytes, lines, left) in [
            ("not by train\nslow", vec!["not by train"], "slow"),
            ("a\r\nb\r", vec!["a", "b"], ""),
            ("\n  \n", vec![], ""),
            ("慢\u{7f}慢点\n", vec!["慢点"], ""),
            ("abc\u{8}\u{8}d\n", vec!["ad"], ""),
            ("\u{7f}a\n", vec!["a"], ""),
            ("never mind\u{15}go\n", vec!["go"], ""),
            ("go by train \u{17}car\n", vec!["go by car"], ""),
            ("train\u{17}car\n", vec!["car"], ""),
            ("a\u{1b}[A\u{1b}[1;5Db\u{1b}OPc\n", vec!["abc"], ""),
            ("a\u{4}\u{0}b\tc\n", vec!["ab c"], ""),
        ] {
            let lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
            assert_eq!(typed(bytes.as_bytes()), (lines, left.to_owned()), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_text_is_left_out() {
        assert_eq!(typed(b"a\xffb\xe6\x85z\n").0, ["abz"]);
    }

    #[test]
    fn an_escape_alone_swallows_nothing_that_comes_later() {
        let mut line = Line::default();
        line.take(0x1b);
        line.pause();
        line.take(b'[');
        assert_eq!(line.text(), "[");
    }

    #[test]
    fn a_line_has_a_limit() {
        let (_, left) = typed("慢".repeat(10_000).as_bytes());
        assert!(left.len() <= LONGEST && left.len() > LONGEST - 3, "{}", left.len());
    }
}
