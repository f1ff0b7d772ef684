//! Suggestions for misspelt names.

/// Least similarity of a suggested name, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.6;
/// Similarity of names that have a word in common.
const SHARED_WORD: f64 = 0.55;
/// Least similarity of two words that count as one, such as `wriet` and `write`.
const MIN_WORD_SIMILARITY: f64 = 0.8;
/// Least number of characters of a word in common, such as `old` of `old_str` and `old_text`, and of a beginning that suggests the whole
/// name.
const MIN_BEGINNING: usize = 3;

/// Returns the known name that is most similar to `wanted`, unless none is close: one with few other letters, one that `wanted` begins, or
/// the only one with a word in common. The case of letters does not count.
///
/// ```
/// assert_eq!(aime_messages::nearest("max_paralel", ["max_steps", "max_parallel"]), Some("max_parallel"));
/// assert_eq!(aime_messages::nearest("launch", ["max_steps", "max_parallel"]), None);
/// ```
#[must_use]
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = scored(wanted, known);
    let (similarity, name) = *scored.first()?;
    let is_only = || scored.get(1).is_none_or(|(other, _)| *other < SHARED_WORD);
    (similarity >= MIN_SIMILARITY || (similarity >= SHARED_WORD && is_only())).then_some(name)
}

/// Sorts names by similarity to `wanted`. Equally similar names keep their order.
#[must_use]
pub fn nearest_first<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    scored(wanted, names).into_iter().map(|(_, name)| name).collect()
}

fn scored<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<(f64, &'a str)> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<_> = names.into_iter().map(|name| (similarity(&wanted, &name.to_lowercase()), name)).collect();
    scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    scored
}

fn similarity(wanted: &str, name: &str) -> f64 {
    let begins = wanted.chars().count() >= MIN_BEGINNING && name.starts_with(wanted);
    let alike = |word: &str, other: &str| strsim::normalized_damerau_levenshtein(word, other) >= MIN_WORD_SIMILARITY;
    let shares = || wanted.split('_').any(|word| word.chars().count() >= MIN_BEGINNING && name.split('_').any(|other| alike(word, other)));
    let least = if begins {
        MIN_SIMILARITY
    } else if shares() {
        SHARED_WORD
    } else {
        0.0
    };
    strsim::normalized_damerau_levenshtein(wanted, name).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_names_that_are_near() {
        let names = ["sisyphus", "oracle", "read_file", "write_file", "grep", "qwen3-0.6b"];
        for (wanted, expected) in [
            ("sysiphus", Some("sisyphus")),
            ("Oracel", Some("oracle")),
            ("gerp", Some("grep")),
            ("writefile", Some("write_file")),
            ("qwen3", Some("qwen3-0.6b")),
            ("GREP", Some("grep")),
            ("write", Some("write_file")),
            ("file_path", None),
            ("launch", None),
            ("launch_rocket", None),
            ("somebody else", None),
            ("or", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(wanted, names), expected, "{wanted}");
        }
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn the_most_similar_names_come_first() {
        let names = ["read_file", "write_file", "grep", "bash"];
        assert_eq!(nearest_first("writefile", names), ["write_file", "read_file", "grep", "bash"]);
        assert_eq!(nearest("file_path", ["pattern", "path"]), Some("path"));
        assert_eq!(nearest("wriet_*", names), Some("write_file"));
        assert_eq!(nearest("old_str", ["path", "old_text", "new_text"]), Some("old_text"));
        assert_eq!(nearest("max_depth", ["max_steps", "max_parallel"]), None);
    }
}
