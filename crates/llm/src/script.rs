//! In which letters a text is written.

/// Whether a text has letters beyond ASCII, such as Chinese ones: prompts are English, so a model that reads such a text among them may have to be
/// told in which language to answer. Signs and emoji are no letters.
#[must_use]
pub fn in_another_script(text: &str) -> bool {
    text.chars().any(|character| character.is_alphabetic() && !character.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_count_and_signs_do_not() {
        for (text, expected) in [
            ("Count the TODOs", false),
            ("", false),
            ("Write “quotes” — and 🎉 to a.txt", false),
            ("统计 TODO", true),
            ("写一首诗", true),
            ("Zähle die Wörter", true),
            ("подсчитай", true),
        ] {
            assert_eq!(in_another_script(text), expected, "{text}");
        }
    }
}
