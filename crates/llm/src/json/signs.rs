//! The signs of JSON and the signs that models write in their place.

use super::scan::JsonDeviation;

/// Returns the deviations of a comment. With `// ... more tasks` a model leaves a part out.
pub(super) fn comment(rest: &str) -> impl Iterator<Item = JsonDeviation> + use<> {
    let words = rest.trim_start_matches(['/', '*', '#', ' ']);
    let elides = words.starts_with("...") || words.starts_with('…');
    std::iter::once(JsonDeviation::Comment).chain(elides.then_some(JsonDeviation::Ellipsis))
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '-')
}

/// Returns the signs that a character outside of strings means, if they are others.
pub(super) fn meant(c: char) -> Option<&'static str> {
    Some(match c {
        '｛' => "{",
        '｝' => "}",
        '［' => "[",
        '］' => "]",
        '：' => ":",
        '，' | '、' => ",",
        '＂' => "\"",
        '…' => "...",
        _ => return None,
    })
}

/// Returns full-width punctuation as ASCII.
pub(super) fn ascii(c: char) -> char {
    meant(c).and_then(|meant| meant.chars().next()).unwrap_or(c)
}

/// Returns the deviation of a quote that is not a plain double quote.
pub(super) fn quote_deviation(quote: char, rest: &str) -> Option<JsonDeviation> {
    match quote {
        '"' if rest.starts_with("\"\"") => Some(JsonDeviation::TripleQuotes),
        '\'' if rest.starts_with("''") => Some(JsonDeviation::TripleQuotes),
        '\'' => Some(JsonDeviation::SingleQuotes),
        '“' | '”' | '‘' => Some(JsonDeviation::CurlyQuotes),
        '`' => Some(JsonDeviation::Backticks),
        _ => None,
    }
}

/// Returns the deviation of a word outside of strings.
pub(super) fn word_deviation(word: &str) -> Option<JsonDeviation> {
    match word {
        "true" | "false" | "null" | "e" | "E" => None,
        "True" | "False" | "None" => Some(JsonDeviation::PythonLiteral),
        "NaN" | "Infinity" | "undefined" => Some(JsonDeviation::NotANumber),
        _ => Some(JsonDeviation::Unquoted),
    }
}
