//! Rule for crates that are in the tree in more than one version: the list of them says who holds which back.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::Fault;
use super::codebase::Codebase;

/// File with the list.
const LIST: &str = "docs/dependencies.md";

/// First line of the list: a table whose first column names crates, divided by commas.
const HEAD: &str = "| crates of more than one version | held back by |";

/// Prefix of crates for Windows alone, which a build for another system does not compile.
const WINDOWS: &str = "windows";

/// Returns the crates that the lock file has in more than one version and that are not in the list, and those that are in the list only.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let (Some(lock), Some(list)) = (codebase.file("Cargo.lock"), codebase.file(LIST)) else { return Vec::new() };
    let line = list.line_starting(HEAD);
    let (twice, listed) = (twice(&lock.text), listed(&list.text));
    let fault = |name: &str, what: &str, hint: &str| Fault::new(LIST, line, format!("{name} {what}"), hint);
    let missing = twice.difference(&listed).map(|name| fault(name, "has more than one version", "remove one of them, or list it"));
    let gone = listed.difference(&twice).map(|name| fault(name, "has one version", "remove it from the list"));
    missing.chain(gone).collect()
}

/// Returns the names with more than one version in a lock file.
fn twice(lock: &str) -> BTreeSet<String> {
    let lock: Table = lock.parse().unwrap_or_default();
    let packages = lock.get("package").and_then(Value::as_array).into_iter().flatten();
    let mut versions: BTreeMap<&str, u32> = BTreeMap::new();
    for name in packages.filter_map(|package| package.get("name")?.as_str()) {
        *versions.entry(name).or_default() += 1;
    }
    versions.into_iter().filter(|(name, count)| *count > 1 && !name.starts_with(WINDOWS)).map(|(name, _)| name.to_owned()).collect()
}

/// Returns the names in the list.
fn listed(text: &str) -> BTreeSet<String> {
    let rows = text.lines().skip_while(|line| *line != HEAD).skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split(',')).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_counted() {
        let package = |name: &str, version: &str| format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\n");
        let lock = [
            package("a", "1.0.0"),
            package("a", "2.0.0"),
            package("b", "1.0.0"),
            package("windows-sys", "0.1.0"),
            package("windows-sys", "0.2.0"),
        ];
        assert_eq!(twice(&lock.concat()), BTreeSet::from(["a".to_owned()]));
        assert_eq!(twice("no lock file"), BTreeSet::new());
    }

    #[test]
    fn the_list_is_the_table_below_its_head() {
        let text = format!("| x, y | z |\n\n{HEAD}\n|---|---|\n| a, b | `c` 1 |\n| d | e |\n\n| f | g |\n");
        assert_eq!(listed(&text), BTreeSet::from(["a", "b", "d"].map(str::to_owned)));
        assert_eq!(listed("no table"), BTreeSet::new());
    }
}
