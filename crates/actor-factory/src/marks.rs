//! Marks around a text from outside, which the text itself can neither close nor forge.

use crate::text::{cut_with_note, hash};

const BEGIN: &str = "[data ";
const END: &str = "[end ";
/// The letters of a code. More are taken where a text holds a code of so few.
const LETTERS: usize = 4;

/// A text between marks with its origin in one line: `[data 3f9a from files]`, the text, `[end 3f9a]`. The code is made from `seed` and the text,
/// so that it is the same on every replay, and never stands in the text.
#[must_use]
pub fn marked(origin: &str, seed: &str, text: &str) -> String {
    let code = code(seed, text);
    format!("{BEGIN}{code} from {origin}]\n{text}\n{END}{code}]")
}

/// A code that the text does not hold.
fn code(seed: &str, text: &str) -> String {
    let mut code = String::new();
    for round in 0_u64.. {
        let letters = format!("{:016x}", hash(&[seed, text, &round.to_string()]));
        // A text that holds every code of four letters holds none of so many.
        let length = LETTERS + usize::try_from(round / 4).unwrap_or(usize::MAX).min(letters.len() - LETTERS);
        code = letters.get(..length).unwrap_or(&letters).to_owned();
        if !text.contains(&code) {
            break;
        }
    }
    code
}

/// A text of at most about so many characters, with a note where it was cut; one between marks stays between them.
pub(crate) fn cut_marked(text: &str, limit: usize) -> String {
    within_marks(text, |inner| cut_with_note(inner, limit))
}

/// Changes a text; of one between marks it changes what stands between them.
pub(crate) fn within_marks(text: &str, change: impl FnOnce(&str) -> String) -> String {
    match parts(text) {
        Some((head, inner, end)) => format!("{head}\n{}{end}", change(inner)),
        None => change(text),
    }
}

/// Parts a text between marks: its first line, what stands between the marks, and the mark at its end.
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
        /// Whatever a text holds, it does not hold the code of its marks.
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
