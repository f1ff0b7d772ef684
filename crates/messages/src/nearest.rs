//! Suggestions for misspelt names.

/// Least similarity of a suggested name, from 0 to 1.
const LEAST_SIMILARITY: f64 = 0.6;
/// Least number of characters of a beginning that suggests the whole name.
const LEAST_BEGINNING: usize = 3;

/// Returns the known name that is most similar to `wanted`, unless none is close: one with few other letters, or one that `wanted` begins.
/// The case of letters does not count.
///
/// ```
/// assert_eq!(aime_messages::nearest("max_paralel", ["max_steps", "max_parallel"]), Some("max_parallel"));
/// assert_eq!(aime_messages::nearest("launch", ["max_steps", "max_parallel"]), None);
/// ```
#[must_use]
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        let begins = wanted.chars().count() >= LEAST_BEGINNING && name.starts_with(&wanted);
        strsim::normalized_damerau_levenshtein(&wanted, &name).max(if begins { LEAST_SIMILARITY } else { 0.0 })
    };
    let scored = known.into_iter().map(|name| (similarity(name), name)).filter(|(similarity, _)| *similarity >= LEAST_SIMILARITY);
    scored.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, name)| name)
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
            ("launch", None),
            ("somebody else", None),
            ("or", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(wanted, names), expected, "{wanted}");
        }
        assert_eq!(nearest("x", []), None);
    }
}
