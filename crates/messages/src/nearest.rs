//! Suggestions for misspelt names.

/// Least similarity of a suggested name, from 0 to 1.
const LEAST_SIMILARITY: f64 = 0.6;
/// Least number of characters of a beginning that suggests the whole name.
const LEAST_BEGINNING: usize = 3;
/// Least number of characters of a word in common, such as `file` of `file_path` and `read_file`.
const LEAST_WORD: usize = 4;

/// Returns the known name that is most similar to `wanted`, unless none is close: one with few other letters, one that `wanted` begins, or
/// one with a word in common. The case of letters does not count.
///
/// ```
/// assert_eq!(aime_messages::nearest("max_paralel", ["max_steps", "max_parallel"]), Some("max_parallel"));
/// assert_eq!(aime_messages::nearest("launch", ["max_steps", "max_parallel"]), None);
/// ```
#[must_use]
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    scored(wanted, known).into_iter().next().filter(|(similarity, _)| *similarity >= LEAST_SIMILARITY).map(|(_, name)| name)
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
    let begins = wanted.chars().count() >= LEAST_BEGINNING && name.starts_with(wanted);
    let shares = || wanted.split('_').any(|word| word.chars().count() >= LEAST_WORD && name.split('_').any(|other| other == word));
    let least = if begins || shares() { LEAST_SIMILARITY } else { 0.0 };
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
            ("file_path", Some("read_file")),
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
        assert_eq!(nearest("max_depth", ["max_steps", "max_parallel"]), None);
    }
}
