//! In which letters a text is written.

/// Returns true if a text has letters beyond ASCII, such as Chinese ones. Prompts are English, so a model that reads
/// such a text among them may need an instruction on the language of its answer. Symbols and emoji are not letters.
#[must_use]
pub fn in_another_script(text: &str) -> bool {
    text.chars().any(|character| character.is_alphabetic() && !character.is_ascii())
}

/// Returns true if a text is Chinese: it has Chinese characters, and none of the scripts that Japanese and Korean mix
/// with them.
#[must_use]
pub fn in_chinese(text: &str) -> bool {
    let is_han = |character| matches!(character, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{323af}');
    let is_other = |character| matches!(character, '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}');
    text.chars().any(is_han) && !text.chars().any(is_other)
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

    #[test]
    fn chinese_is_told_from_its_neighbours() {
        for (text, expected) in
            [("统计所有 TODO", true), ("寫一首詩", true), ("海についての俳句", false), ("바다", false), ("Größe", false), ("", false)]
        {
            assert_eq!(in_chinese(text), expected, "{text}");
        }
    }
}
