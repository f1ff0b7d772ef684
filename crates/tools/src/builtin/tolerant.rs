//! Tolerant text search: ignores different line breaks, blanks at line ends, and Unicode normalization forms. Pure.

use std::ops::Range;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Byte order mark, which some editors put at the beginning of a file.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Differences that a comparison ignores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ignored {
    /// Treats `\r\n` as `\n`.
    pub(super) line_ends: bool,
    /// Ignores white space at line ends.
    pub(super) blanks: bool,
    /// Ignores the Unicode normalization form of letters, such as `é` in one character or in two.
    pub(super) unicode: bool,
    /// Ignores a byte order mark before the wanted text.
    pub(super) mark: bool,
}

impl Ignored {
    /// Comparisons to try after the exact one, strictest first.
    const LADDER: [Self; 4] = [
        Self { line_ends: true, blanks: false, unicode: false, mark: false },
        Self { line_ends: true, blanks: true, unicode: false, mark: false },
        Self { line_ends: true, blanks: false, unicode: true, mark: false },
        Self { line_ends: true, blanks: true, unicode: true, mark: false },
    ];

    /// Returns the union of the ignored differences.
    pub(super) const fn or(self, other: Self) -> Self {
        Self {
            line_ends: self.line_ends || other.line_ends,
            blanks: self.blanks || other.blanks,
            unicode: self.unicode || other.unicode,
            mark: self.mark || other.mark,
        }
    }

    /// Returns a note for a model on the ignored differences; `None` if there were none.
    pub(super) fn note(self) -> Option<String> {
        let words = [
            (self.mark, "the byte order mark"),
            (self.line_ends, "line ends"),
            (self.blanks, "blanks at line ends"),
            (self.unicode, "the Unicode form of letters"),
        ];
        let words: Vec<&str> = words.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word).collect();
        let (last, others) = words.split_last()?;
        let others = if others.is_empty() { String::new() } else { format!("{} and ", others.join(", ")) };
        Some(format!("[matched although it differs in {others}{last}]"))
    }
}

/// Places of a text in a file, and the differences that were ignored to find them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) ranges: Vec<Range<usize>>,
    pub(super) ignored: Ignored,
}

/// Finds every occurrence of `wanted` in `text` with the strictest comparison that finds one.
pub(super) fn find(text: &str, wanted: &str) -> Places {
    let exact: Vec<_> = text.match_indices(wanted).map(|(at, found)| at..at + found.len()).collect();
    if !exact.is_empty() {
        return Places { ranges: exact, ignored: Ignored::default() };
    }
    let bare = wanted.strip_prefix(BYTE_ORDER_MARK).unwrap_or(wanted);
    for ignored in [Ignored::default()].into_iter().filter(|_| bare.len() < wanted.len()).chain(Ignored::LADDER) {
        let (even, wanted_here) = (NormalizedText::new(text, ignored), NormalizedText::new(bare, ignored).text);
        if wanted_here.trim().is_empty() {
            break;
        }
        let found = even.text.match_indices(&wanted_here);
        let ranges: Vec<_> = found.filter_map(|(at, found)| even.original(at..at + found.len(), text)).collect();
        if !ranges.is_empty() {
            let part = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
            let only_line_ends = ignored.line_ends && !ignored.blanks && !ignored.unicode;
            let line_ends = only_line_ends || ranges.iter().any(|range| !same_line_ends(part(range), bare));
            let has_mark = |range: &Range<usize>| text.get(..range.start).unwrap_or_default().ends_with(BYTE_ORDER_MARK);
            let mark = bare.len() < wanted.len() && !ranges.iter().all(has_mark);
            return Places { ranges, ignored: Ignored { line_ends, mark, ..ignored } };
        }
    }
    Places::default()
}

/// Returns true if two texts of the same lines have the same line breaks.
fn same_line_ends(text: &str, other: &str) -> bool {
    let breaks = |text: &str| (text.matches("\r\n").count(), text.matches('\n').count());
    let ((windows, all), (other_windows, other_all)) = (breaks(text), breaks(other));
    (windows == other_windows && all == other_all) || all.min(other_all) == 0 || (windows == all && other_windows == other_all)
}

/// Returns a line without the ignored features.
pub(super) fn even_line(line: &str, ignored: Ignored) -> String {
    NormalizedText::new(line, ignored).text
}

/// A text without the ignored features.
struct NormalizedText {
    text: String,
    /// For each byte, the offset of its letter in the original.
    offsets: Vec<usize>,
}

impl NormalizedText {
    fn new(text: &str, ignored: Ignored) -> Self {
        let mut even = Self { text: String::with_capacity(text.len()), offsets: Vec::with_capacity(text.len()) };
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let open = line.strip_suffix('\n').unwrap_or(line);
            let bare = if ignored.line_ends { open.strip_suffix('\r').unwrap_or(open) } else { open };
            let kept = if ignored.blanks { bare.trim_end() } else { bare };
            even.push(kept, start, ignored.unicode);
            if open.len() < line.len() {
                even.text.push('\n');
                // Blanks before the line break belong to the preceding text.
                even.offsets.push(start + bare.len());
            }
            start += line.len();
        }
        even
    }

    fn push(&mut self, part: &str, start: usize, unicode: bool) {
        let mut rest = part;
        while let Some(first) = rest.chars().next() {
            let marks = rest.char_indices().skip(1).find(|(_, sign)| !is_combining_mark(*sign));
            let letter = rest.get(..marks.map_or(rest.len(), |(end, _)| end)).unwrap_or(rest);
            let offset = start + part.len() - rest.len();
            if unicode && !letter.is_ascii() {
                self.text.extend(letter.nfc());
            } else if unicode || letter.len() == first.len_utf8() {
                self.text.push_str(letter);
            } else {
                // Each combining mark counts as a character of its own.
                for (at, sign) in letter.char_indices() {
                    self.text.push(sign);
                    self.offsets.resize(self.text.len(), offset + at);
                }
            }
            self.offsets.resize(self.text.len(), offset);
            rest = rest.get(letter.len()..).unwrap_or_default();
        }
    }

    /// Returns the place of a range in the original; `None` if it separates a letter from its marks.
    fn original(&self, range: Range<usize>, original: &str) -> Option<Range<usize>> {
        let offset = |at: usize| self.offsets.get(at).copied();
        let parts = |at: usize| at > 0 && offset(at).is_some() && offset(at) == offset(at - 1);
        if parts(range.start) || parts(range.end) {
            return None;
        }
        Some(offset(range.start)?..offset(range.end).unwrap_or(original.len()))
    }
}

/// Returns true if the text has line breaks, and each is `\r\n`.
pub(super) fn has_windows_line_ends(text: &str) -> bool {
    let windows = text.matches("\r\n").count();
    windows > 0 && windows == text.matches('\n').count()
}

/// Returns a text with `\r\n` for every line break.
pub(super) fn with_windows_line_ends(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn finds_by_the_strictest_comparison() {
        let table = [
            // Columns: file, wanted text, matches, ignored differences.
            ("a\nb\n", "a\nb", vec!["a\nb"], ""),
            ("a\r\nb\r\n", "a\nb", vec!["a\r\nb"], "line ends"),
            ("a\nb\n", "a\r\nb\r\n", vec!["a\nb\n"], "line ends"),
            ("a  \nb\t\n", "a\nb\n", vec!["a  \nb\t\n"], "blanks at line ends"),
            ("a  \nb\t\nc", "a\nb", vec!["a  \nb\t"], "blanks at line ends"),
            ("a\nb\n", "a \nb  ", vec!["a\nb"], "blanks at line ends"),
            ("a \r\nb", "a\nb", vec!["a \r\nb"], "line ends and blanks at line ends"),
            ("caf\u{e9}\r\nb", "cafe\u{301}\nb", vec!["caf\u{e9}\r\nb"], "line ends and the Unicode form of letters"),
            ("cafe\u{301} x", "caf\u{e9} x", vec!["cafe\u{301} x"], "the Unicode form of letters"),
            ("caf\u{e9}", "cafe\u{301}", vec!["caf\u{e9}"], "the Unicode form of letters"),
            ("caf\u{e9} \nx", "cafe\u{301}\nx", vec!["caf\u{e9} \nx"], "blanks at line ends and the Unicode form of letters"),
            ("a\nx", "\u{feff}a\nx", vec!["a\nx"], "the byte order mark"),
            ("a\r\nx", "\u{feff}a\nx", vec!["a\r\nx"], "the byte order mark and line ends"),
            (
                "a \r\ncaf\u{e9}",
                "\u{feff}a\ncafe\u{301}",
                vec!["a \r\ncaf\u{e9}"],
                "the byte order mark, line ends, blanks at line ends and the Unicode form of letters",
            ),
            ("\u{feff}a\r\nx", "\u{feff}a\nx", vec!["a\r\nx"], "line ends"),
            ("x  \nx  \n", "x\nx \n", vec!["x  \nx  \n"], "blanks at line ends"),
            ("a", "b", vec![], ""),
            ("a", " \n", vec![], ""),
            ("", "b", vec![], ""),
        ];
        for (text, wanted, expected, ignored) in table {
            let places = find(text, wanted);
            let found: Vec<&str> = places.ranges.iter().map(|range| &text[range.clone()]).collect();
            assert_eq!(found, expected, "{text:?} {wanted:?}");
            let note = (!ignored.is_empty()).then(|| format!("[matched although it differs in {ignored}]"));
            assert_eq!(places.ignored.note(), note, "{text:?} {wanted:?}");
        }
    }

    proptest! {
        #[test]
        fn ranges_fit_the_text(text in "[aé\u{301} \r\n]{0,30}", wanted in "[aé\u{301} \r\n]{1,6}") {
            for range in find(&text, &wanted).ranges {
                prop_assert!(text.get(range).is_some());
            }
        }
    }
}
