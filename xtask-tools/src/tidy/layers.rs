//! Rule for layers: a crate depends only on lower layers.
//!
//! Each manifest has `[package.metadata.aime] layer = N`. A dependency that does not go down is refused unless the manifest gives a reason:
//! `[package.metadata.aime.allow] aime-other = "why"`.

use toml::{Table, Value};

use super::Fault;
use super::codebase::{Codebase, Package};

/// Package that any other may use in its tests, whatever its layer.
const FOR_TESTS: &str = "aime-scripted-server";

/// Returns the faults in the dependencies between the packages.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let mut faults = Vec::new();
    for package in &codebase.packages {
        let path = package.manifest_path();
        let Some(own) = layer(package) else {
            faults.push(Fault::new(&path, 1, "no layer", "say `[package.metadata.aime] layer = N`"));
            continue;
        };
        let mut upward = Vec::new();
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            for (name, _) in package.dependencies(kind) {
                let Some(other) = codebase.packages.iter().find(|other| other.name == name) else { continue };
                let down = layer(other).is_some_and(|layer| layer < own);
                if down || (kind == "dev-dependencies" && name == FOR_TESTS) {
                    continue;
                }
                upward.push(name);
                if reason(package, name).is_none() {
                    let what = format!("{} (layer {own}) depends on {name} (layer {})", package.name, layer(other).unwrap_or(0));
                    let hint = format!("move what is needed down, or give a reason: `[package.metadata.aime.allow] {name} = \"…\"`");
                    faults.push(Fault::new(&path, line(codebase, package, name), what, hint));
                }
            }
        }
        for name in allowed(package).into_iter().flat_map(Table::keys) {
            if !upward.contains(&name.as_str()) {
                let what = format!("the layers allow {name} already");
                faults.push(Fault::new(&path, line(codebase, package, name), what, "remove it from `package.metadata.aime.allow`"));
            }
        }
    }
    faults
}

fn layer(package: &Package) -> Option<i64> {
    metadata(package)?.get("layer")?.as_integer()
}

fn metadata(package: &Package) -> Option<&Table> {
    package.manifest.get("package")?.get("metadata")?.get("aime")?.as_table()
}

fn allowed(package: &Package) -> Option<&Table> {
    metadata(package)?.get("allow")?.as_table()
}

fn reason<'a>(package: &'a Package, name: &str) -> Option<&'a str> {
    allowed(package)?.get(name).and_then(Value::as_str).filter(|reason| !reason.trim().is_empty())
}

fn line(codebase: &Codebase, package: &Package, start: &str) -> usize {
    codebase.file(&package.manifest_path()).map_or(1, |file| file.line_starting(start))
}
