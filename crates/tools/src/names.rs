//! Fuzzy matching of names.

/// Sorts names by similarity to `wanted`. Equally similar names keep their order.
pub(crate) fn nearest_first<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<_> = names.into_iter().map(|name| (likeness(&wanted, name), name)).collect();
    scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    scored.into_iter().map(|(_, name)| name).collect()
}

/// Returns the most similar name, if it is similar enough.
pub(crate) fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let first = nearest_first(wanted, names).into_iter().next()?;
    (likeness(&wanted.to_lowercase(), first) > 0.8).then_some(first)
}

fn likeness(wanted: &str, name: &str) -> f64 {
    let name = name.to_lowercase();
    // A shared word counts more than common letters: `read` for `read_file`, `file_path` for `path`.
    let part = wanted.split('_').any(|word| word.len() > 2 && name.split('_').any(|other| other == word));
    strsim::jaro_winkler(wanted, &name).max(if part { 0.85 } else { 0.0 })
}

/// Formats names in back quotes, separated by commas.
pub(crate) fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let names = ["read_file", "write_file", "grep", "bash"];
        assert_eq!(nearest_first("writefile", names), ["write_file", "read_file", "grep", "bash"]);
        assert_eq!(nearest("GREP", names), Some("grep"));
        assert_eq!(nearest("write", names), Some("write_file"));
        assert_eq!(nearest("file_path", ["pattern", "path"]), Some("path"));
        assert_eq!(nearest("launch_rocket", names), None);
        assert_eq!(nearest("x", []), None);
    }
}
