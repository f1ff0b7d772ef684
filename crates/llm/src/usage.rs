//! Counting tokens.

use std::ops::{Add, AddAssign};

use crate::Usage;

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_input_tokens = self.cached_input_tokens.saturating_add(other.cached_input_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

/// Estimates the number of tokens of a text: one for four bytes of Latin text, one for each Chinese, Japanese or
/// Korean character, one for two bytes of other scripts.
///
/// Budgets use this estimate if the server counts nothing. Real tokenizers differ by a third either way, and more on
/// code, digits and unusual words.
///
/// ```
/// assert_eq!(aime_llm::estimate_tokens("four words of text!!"), 5);
/// assert_eq!(aime_llm::estimate_tokens("统计文件"), 4);
/// assert_eq!(aime_llm::estimate_tokens(""), 0);
/// ```
#[must_use]
pub fn estimate_tokens(text: &str) -> u64 {
    // In quarters of a token. A byte of ASCII is one.
    if text.is_ascii() {
        return (text.len() as u64).div_ceil(4);
    }
    let quarters: u64 = text
        .chars()
        .map(|c| match c {
            '\0'..='\u{24f}' => c.len_utf8() as u64,
            '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' => 4,
            '\u{20000}'..='\u{3ffff}' => 4,
            _ => 2 * c.len_utf8() as u64,
        })
        .sum();
    quarters.div_ceil(4)
}
