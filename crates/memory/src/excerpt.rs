//! The place in a text that answers a question, for people to see why it was found.

use std::collections::BTreeSet;

use crate::tokenizer::Term;

/// The most characters of an excerpt, without the marks of omission.
const LENGTH: usize = 200;
/// Characters that are shown before the first word that was found.
const BEFORE: usize = 40;
/// Endings that English words may differ in, about.
const ENDING: usize = 3;

/// Returns about 200 characters of a text, on one line, from the part with the most words of a question.
pub(crate) fn excerpt(text: &str, terms: &[Term]) -> String {
    let text: Vec<char> = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    // One for one, so that places in it are places in the text.
    let small: Vec<char> = text.iter().map(|c| c.to_lowercase().next().unwrap_or(*c)).collect();
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (number, term) in terms.iter().enumerate() {
        let word: Vec<char> = stem(&term.word).chars().collect();
        places.extend(small.windows(word.len().max(1)).enumerate().filter(|(_, part)| *part == word).map(|(at, _)| (at, number)));
    }
    places.sort_unstable();
    let kinds = |at: usize| {
        let within = places.iter().skip_while(|(place, _)| *place < at).take_while(|(place, _)| *place < at + LENGTH - BEFORE);
        within.map(|(_, number)| number).collect::<BTreeSet<_>>().len()
    };
    // The first of the best.
    let best =
        places.iter().take(500).map(|(at, _)| (kinds(*at), *at)).fold((0, 0), |best, next| if next.0 > best.0 { next } else { best });
    let begin = if text.len() <= LENGTH { 0 } else { best.1.saturating_sub(BEFORE).min(text.len() - LENGTH) };
    let shown: String = text.iter().skip(begin).take(LENGTH).collect();
    let (before, after) = (if begin > 0 { "…" } else { "" }, if begin + LENGTH < text.len() { "…" } else { "" });
    format!("{before}{}{after}", shown.trim())
}

/// Returns the approximate common beginning of an English word's forms; other words are left whole.
fn stem(word: &str) -> &str {
    if word.is_ascii() && word.len() > 5 { word.get(..word.len() - ENDING).unwrap_or(word) } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::parse_question;

    #[test]
    fn the_place_is_shown_where_the_most_words_stand() {
        let far = format!("{} the parser was rewritten and its tests were fixed {}", "filler text ".repeat(40), "more filler ".repeat(40));
        let chinese = format!("{}最后修复了登录页面的错误。{}", "无关的内容，".repeat(60), "其他内容，".repeat(60));
        let cases = [
            (far.as_str(), "rewriting the parser tests", "the parser was rewritten and its tests were fixed"),
            (chinese.as_str(), "登录页面", "修复了登录页面的错误"),
            ("short\n\n  text", "nothing", "short text"),
            ("", "nothing", ""),
            ("İstanbul 🦀 crab", "🦀", "İstanbul 🦀 crab"),
        ];
        for (text, question, expected) in cases {
            let excerpt = excerpt(text, &parse_question(question).terms);
            assert!(excerpt.contains(expected), "{question}: {excerpt}");
            assert!(excerpt.chars().count() <= LENGTH + 2, "{excerpt}");
            assert_eq!(excerpt.starts_with('…') && excerpt.ends_with('…'), text.chars().count() > LENGTH, "{excerpt}");
        }
    }
}
