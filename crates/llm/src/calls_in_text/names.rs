//! The names of tools as models write them.

/// Namespaces that models put before a name.
const NAMESPACES: [&str; 8] = ["functions", "function", "default_api", "tools", "tool", "assistant", "api", "to=functions"];
/// Words of the harmony format that stick to the end of a name when a server drops its special tokens.
const STUCK: [&str; 2] = ["assistantcommentary", "commentary"];
/// The longest text that is read as a name, in bytes.
pub(super) const MAX_NAME_BYTES: usize = 200;

/// Returns the offered tool that a garbled name means, or `None` where none or more than one could be meant.
///
/// An exact match always wins. Else special tokens (`write_file<|channel|>commentary`), namespaces (`functions.bash`, `default_api.bash`), a
/// call number (`functions.bash:0`), brackets (`bash()`), quotes and white space are left out; at last case and hyphens do not count.
///
/// `functions.bash:0` means `bash`; `write-file` means none of `write_file` and `write-File`.
#[must_use]
pub(crate) fn clean_tool_name<'a>(name: &str, offered: &[&'a str]) -> Option<&'a str> {
    let exact = |name: &str| offered.iter().copied().find(|tool| *tool == name);
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    exact(name).or_else(|| {
        let bare = bare(name);
        let unstuck = || STUCK.iter().find_map(|word| exact(bare.strip_suffix(word)?));
        exact(bare).or_else(unstuck).or_else(|| alike(bare, offered))
    })
}

/// Returns true if a text could be the name of a tool or its beginning, with a namespace or a number.
pub(super) fn is_tool_like(name: &str) -> bool {
    let name = name.split('<').next().unwrap_or_default().trim_matches(is_around).trim_end_matches(['(', ')']);
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    name.len() <= MAX_NAME_BYTES && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_part)
}

fn is_around(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`')
}

/// Returns the name without what models put around it.
fn bare(name: &str) -> &str {
    let mut bare = name.split(['<', '[']).next().unwrap_or_default().trim_matches(is_around);
    bare = bare.strip_suffix("()").or_else(|| bare.strip_suffix('(')).unwrap_or(bare).trim_matches(is_around);
    if let Some((before, number)) = bare.rsplit_once(':')
        && number.chars().all(|c| c.is_ascii_digit())
    {
        bare = before;
    }
    while let Some((namespace, rest)) = bare.split_once(['.', ':'])
        && NAMESPACES.contains(&namespace)
    {
        bare = rest.trim_start_matches(':');
    }
    bare.trim_matches(is_around)
}

/// Returns the only offered name that differs from `name` in case and hyphens alone.
fn alike<'a>(name: &str, offered: &[&'a str]) -> Option<&'a str> {
    let folded = |name: &str| name.to_ascii_lowercase().replace('-', "_");
    let wanted = folded(name);
    let mut found = offered.iter().copied().filter(|tool| folded(tool) == wanted);
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_garbled_name_means_one_offered_tool() {
        let offered = ["bash", "write_file", "functions.odd", "Read", "read", "mcp__a__find", "commentary_on"];
        for (name, expected) in [
            ("bash", Some("bash")),
            (" bash ", Some("bash")),
            ("\"bash\"", Some("bash")),
            ("bash()", Some("bash")),
            ("bash(", Some("bash")),
            ("bash(ls)", None),
            ("functions.bash", Some("bash")),
            ("functions.bash:0", Some("bash")),
            ("functions.functions.bash:12", Some("bash")),
            ("functions::bash", Some("bash")),
            ("default_api.bash", Some("bash")),
            ("default_api:bash", Some("bash")),
            ("tools.bash", Some("bash")),
            ("bash<|channel|>commentary", Some("bash")),
            ("write_file<|constrain|>json", Some("write_file")),
            ("functions.write_file<|channel|>commentary", Some("write_file")),
            ("write_file<｜tool▁sep｜>", Some("write_file")),
            ("write_file[ARGS]", Some("write_file")),
            ("write_filecommentary", Some("write_file")),
            ("Write-File", Some("write_file")),
            ("BASH", Some("bash")),
            ("functions.odd", Some("functions.odd")),
            ("Read", Some("Read")),
            ("READ", None),
            ("mcp__a__find", Some("mcp__a__find")),
            ("github.bash", None),
            ("find", None),
            ("commentary", None),
            ("rm_rf", None),
            ("functions.", None),
            ("", None),
            ("<|channel|>", None),
        ] {
            assert_eq!(clean_tool_name(name, &offered), expected, "{name:?}");
        }
    }

    #[test]
    fn words_are_no_names_of_tools() {
        for (name, expected) in [("rm_rf", true), ("functions.fly:0", true), ("a.b-c", true), ("", false), ("the tag", false), ("…", false)]
        {
            assert_eq!(is_tool_like(name), expected, "{name:?}");
        }
    }
}
