//! Estimates the number of tokens of a text.

/// Returns the estimate for a character in quarters of a token. The rule is that of `aime_llm::estimate_tokens`,
/// which a test compares. This crate does not depend on `aime_llm`, which with its dependencies is twice the size of
/// everything that this crate needs.
pub(crate) fn quarters(c: char) -> u64 {
    match c {
        '\0'..='\u{24f}' => c.len_utf8() as u64,
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' => 4,
        '\u{20000}'..='\u{3ffff}' => 4,
        _ => 2 * c.len_utf8() as u64,
    }
}

/// Tokens of a text, rounded up: about four letters of English, or one Chinese character, are one.
pub(crate) fn estimate_tokens(text: &str) -> u64 {
    text.chars().map(quarters).sum::<u64>().div_ceil(4)
}

/// Returns the length in bytes of the longest beginning of a text with at most `limit` tokens: up to the end of a
/// line if that keeps at least half of it, else of a sentence, else of a word, else within a word. Zero only for an
/// empty text.
pub(crate) fn fitting(text: &str, limit: u64) -> usize {
    let (mut spent, mut end) = (0, 0);
    // Ends of a line, of a sentence, of a word.
    let mut ends = [0; 3];
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        spent += quarters(c);
        if spent > limit.saturating_mul(4) && at > 0 {
            return ends.into_iter().find(|natural| *natural > end / 2).unwrap_or(end);
        }
        end = at + c.len_utf8();
        let [line, sentence, word] = &mut ends;
        if c == '\n' {
            *line = end;
        }
        if matches!(c, '。' | '！' | '？' | '；') || (c.is_whitespace() && matches!(before, '.' | '!' | '?' | ';')) {
            *sentence = end;
        }
        if c.is_whitespace() {
            *word = end;
        }
        before = c;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cut_is_made_where_people_would() {
        let cases = [
            ("", 5, ""),
            ("short", 5, "short"),
            ("one line\nanother line", 4, "one line\n"),
            ("A sentence. Another one", 5, "A sentence. "),
            ("three words here", 3, "three words "),
            ("unbreakable", 1, "unbr"),
            ("第一句。第二句很长", 6, "第一句。"),
            ("没有句号的一段话", 3, "没有句"),
            ("字", 0, "字"),
        ];
        for (text, limit, expected) in cases {
            assert_eq!(&text[..fitting(text, limit)], expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_estimate_is_that_of_the_model_crate(text in "\\PC*|[a-z一-龥🦀é ]*") {
            prop_assert_eq!(estimate_tokens(&text), aime_llm::estimate_tokens(&text));
        }

        #[test]
        fn a_cut_fits_and_goes_on(text in "[a-z一-龥🦀。. \n]{1,200}", limit in 4_u64..50) {
            let end = fitting(&text, limit);
            prop_assert!(end > 0 && text.is_char_boundary(end));
            prop_assert!(estimate_tokens(&text[..end]) <= limit);
        }
    }
}
