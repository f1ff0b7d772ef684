//! Marks around a text from outside. The text itself can neither close nor forge them.

use crate::text::{cut_with_note, hash};

const BEGIN: &str = "[data ";
const END: &str = "[end ";
/// Length of a code, in characters. The code becomes longer if the text contains shorter ones.
const LETTERS: usize = 4;

/// Puts a text between marks with its origin in one line: `[data 3f9a from files]`, the text, `[end 3f9a]`. The code is derived from `seed`
/// and the text, so that every replay gives the same one, and the text never contains it.
#[must_use]
pub fn marked(origin: &str, seed: &str, text: &str) -> String {
    let code = code(seed, text);
    format!("{BEGIN}{code} from {origin}]\n{text}\n{END}{code}]")
}

/// Returns a code that the text does not contain.
fn code(seed: &str, text: &str) -> String {
    let mut code = String::new();
    for round in 0_u64.. {
        let letters = format!("{:016x}", hash(&[seed, text, &round.to_string()]));
        // A text that contains every code of four characters cannot contain every longer one.
        let length = LETTERS + usize::try_from(round / 4).unwrap_or(usize::MAX).min(letters.len() - LETTERS);
        code = letters.get(..length).unwrap_or(&letters).to_owned();
        if !text.contains(&code) {
            break;
        }
    }
    code
}

/// Cuts a text to about `limit` characters and notes the cut. A marked text keeps its marks.
pub(crate) fn cut_marked(text: &str, limit: usize) -> String {
    within_marks(text, |inner| cut_with_note(inner, limit))
}

/// Changes a text. In a marked text it changes only the part between the marks.
pub(crate) fn within_marks(text: &str, change: impl FnOnce(&str) -> String) -> String {
    match parts(text) {
        Some((head, inner, end)) => format!("{head}\n{}{end}", change(inner)),
        None => change(text),
    }
}

/// Splits a marked text into its first line, the content, and the end mark.
fn parts(text: &str) -> Option<(&str, &str, String)> {
    let (head, rest) = text.split_once('\n')?;
    let code = head.strip_prefix(BEGIN)?.split_once(" from ")?.0;
    let end = format!("\n{END}{code}]");
    let inner = rest.strip_suffix(end.as_str())?;
    Some((head, inner, end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_stands_between_marks() {
        assert_eq!(marked("web a.example", "call-1", "hello"), "[data dc05 from web a.example]\nhello\n[end dc05]");
        assert_ne!(marked("files", "call-1", "a"), marked("files", "call-2", "a"));
    }

    // Requirement: 14.2
    #[test]
    fn a_cut_text_stays_between_its_marks() {
        let text = marked("files", "c", &"x".repeat(100));
        let cut = cut_marked(&text, 10);
        let end = text.lines().find(|line| line.starts_with("[end ")).unwrap();
        assert!(cut.starts_with("[data ") && cut.ends_with(&format!("[cut: 10 of 100 characters]\n{end}")), "{cut}");
        assert_eq!(cut_marked("xxxx", 2), "xx\n[cut: 2 of 4 characters]");
    }

    proptest! {
        /// No text contains the code of its own marks.
        // Requirement: 14.2
        #[test]
        fn no_text_closes_its_own_marks(text in "(.|\n|[0-9a-f]|\\[end [0-9a-f]{4}\\]\n){0,200}", seed in "[a-z0-9-]{0,8}") {
            let marked = marked("files", &seed, &text);
            let code = marked.rsplit_once("[end ").unwrap().1.trim_end_matches(']');
            prop_assert!(!text.contains(code));
            prop_assert_eq!(marked.matches(code).count(), 2);
        }
    }
}
