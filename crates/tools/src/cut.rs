//! Cutting long results for a model.

use std::borrow::Cow;

/// Default limit of characters of a result that a model sees.
pub(crate) const MAX_SHOWN_CHARS: usize = 10_000;

/// Text in the note of a cut that precedes the path of the whole result.
const WHOLE_IN: &str = " characters left out; the whole is in ";

/// Cuts a long text in the middle to `limit` characters. Two thirds come from the beginning and one third from the end, where commands
/// report how they ended. A note gives the number of omitted characters, and `whole`, the file that holds the complete text.
#[must_use]
pub fn cut_output<'a>(text: &'a str, limit: usize, whole: Option<&str>) -> Cow<'a, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let total = text.chars().count();
    if total <= limit {
        return Cow::Borrowed(text);
    }
    let tail_chars = limit / 3;
    let head = text.get(..byte_of(text, limit - tail_chars)).unwrap_or_default();
    let tail = text.get(byte_of(text, total - tail_chars)..).unwrap_or_default();
    // Cut at line ends, unless that would lose more than half of a part.
    let head = head.rfind('\n').filter(|end| *end > head.len() / 2).and_then(|end| head.get(..end)).unwrap_or(head);
    let tail = tail.find('\n').filter(|start| *start < tail.len() / 2).and_then(|start| tail.get(start + 1..)).unwrap_or(tail);
    let left_out = total - head.chars().count() - tail.chars().count();
    let note = match whole {
        Some(place) => format!("{left_out} of {total}{WHOLE_IN}{place}"),
        None => format!("{left_out} of {total} characters left out; ask for less at once"),
    };
    Cow::Owned(format!("{head}\n[{note}]\n{tail}"))
}

/// Returns the note of [`cut_output`] in its brackets, if the text was cut and the note names the file with the whole text.
#[must_use]
pub fn note_of_whole(text: &str) -> Option<&str> {
    text.lines().find(|line| line.starts_with('[') && line.ends_with(']') && line.contains(WHOLE_IN))
}

/// Returns the byte offset of the character with this index.
fn byte_of(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(byte, _)| byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cuts_the_middle_and_says_so() {
        let table = [
            ("short", 9, None, "short"),
            ("äöüäöüäöü", 9, None, "äöüäöüäöü"),
            ("abcdefghijkl", 9, None, "abcdef\n[3 of 12 characters left out; ask for less at once]\njkl"),
            ("äbcdefghijkö", 9, Some("x.txt"), "äbcdef\n[3 of 12 characters left out; the whole is in x.txt]\njkö"),
            (
                "first\nsecond\nthird\nexit code 1",
                24,
                None,
                "first\nsecond\n[10 of 30 characters left out; ask for less at once]\nt code 1",
            ),
        ];
        for (text, limit, whole, expected) in table {
            let got = cut_output(text, limit, whole);
            assert_eq!(got, expected, "{text:?}");
            let note = whole.map(|place| format!("[3 of 12 characters left out; the whole is in {place}]"));
            assert_eq!(note_of_whole(&got), note.as_deref(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn is_bounded_and_keeps_both_ends(text in "\\PC{0,60}(\n\\PC{0,10}){0,5}", limit in 6_usize..40) {
            let cut = cut_output(&text, limit, None);
            if text.chars().count() <= limit {
                prop_assert_eq!(cut.as_ref(), text.as_str());
            } else {
                let (head, rest) = cut.split_once("\n[").unwrap();
                let tail = rest.rsplit_once("]\n").unwrap().1;
                prop_assert!(text.starts_with(head) || head.contains("\n["));
                prop_assert!(text.ends_with(tail));
                prop_assert!(cut.chars().count() <= limit + 70);
            }
        }
    }
}
