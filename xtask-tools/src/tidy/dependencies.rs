//! Rules for dependencies: versions in one place, and a documented reason for each. Also rules for the other files of a package.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::Fault;
use super::codebase::{Codebase, Package};

/// File with the reasons: one table row for each dependency, beginning with its name in backticks.
const REASONS: &str = "docs/dependencies.md";

/// Returns the faults in the dependencies of the packages.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let mut faults = Vec::new();
    let shared = codebase.manifest.get("workspace").and_then(|workspace| workspace.get("dependencies")).and_then(Value::as_table);
    let reasons = codebase.file(REASONS).map(|file| file.text.as_str()).unwrap_or_default();
    let manifest_line = |name: &str| codebase.file("Cargo.toml").map_or(1, |file| file.line_starting(&format!("{name} ")));
    for (name, value) in shared.into_iter().flatten() {
        let used =
            codebase.packages.iter().any(|package| kinds().any(|kind| package.dependencies(kind).iter().any(|(used, _)| used == name)));
        if !used {
            faults.push(Fault::new("Cargo.toml", manifest_line(name), format!("no package uses {name}"), "remove it"));
        }
        let own = value.as_table().is_some_and(|table| table.contains_key("path"));
        if !own && !rows(reasons).any(|(_, row)| row == name) {
            let hint = format!("say in {REASONS} what it does, why this one, and what was passed over");
            faults.push(Fault::new("Cargo.toml", manifest_line(name), format!("no reason for {name}"), hint));
        }
    }
    let mut seen = BTreeSet::new();
    for (line, row) in rows(reasons) {
        if !seen.insert(row) {
            faults.push(Fault::new(REASONS, line, format!("{row} has two rows"), "join them"));
        }
        if !shared.is_some_and(|shared| shared.contains_key(row)) {
            faults.push(Fault::new(REASONS, line, format!("{row} is no dependency of the workspace"), "remove its row"));
        }
    }
    for package in &codebase.packages {
        let path = package.manifest_path();
        for (name, value) in kinds().flat_map(|kind| package.dependencies(kind)) {
            let inherited = value.as_table().and_then(|table: &Table| table.get("workspace")).and_then(Value::as_bool) == Some(true);
            if !inherited {
                let line = codebase.file(&path).map_or(1, |file| file.line_starting(name));
                let hint = "write `workspace = true`, and its version in the workspace's manifest";
                faults.push(Fault::new(&path, line, format!("{name} has a version of its own"), hint));
            }
        }
        if codebase.file(&format!("{}/README.md", package.folder)).is_none() {
            let hint = "write one: what it is for, an example that runs, what it never does";
            faults.push(Fault::new(&path, 1, format!("{} has no README.md", package.name), hint));
        }
        faults.extend(licences(codebase, package));
    }
    faults
}

/// Checks that each published package contains the workspace's licence texts, each under its name.
fn licences<'a>(codebase: &'a Codebase, package: &'a Package) -> impl Iterator<Item = Fault> + 'a {
    let published = package.manifest.get("package").and_then(|package| package.get("publish")).and_then(Value::as_bool) != Some(false);
    let texts = codebase.files.iter().filter(move |file| published && file.path.starts_with("LICENSE"));
    let missing = texts.filter(|file| {
        let own = codebase.file(&format!("{}/{}", package.folder, file.path));
        own.is_none_or(|own| own.text != file.text)
    });
    missing.map(|file| {
        let what = format!("{} is published without the text of {}", package.name, file.path);
        Fault::new(&package.manifest_path(), 1, what, format!("link it: ln -s ../../{0} {1}/{0}", file.path, package.folder))
    })
}

fn kinds() -> impl Iterator<Item = &'static str> {
    ["dependencies", "build-dependencies", "dev-dependencies"].into_iter()
}

/// Returns the names at the beginning of table rows, with their lines.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let (name, _) = line.strip_prefix("| `")?.split_once('`')?;
        Some((index + 1, name))
    })
}
