//! `cargo xtask packages`: checks that every crate can be published, and that none breaks its public interface.
//!
//! It runs on demand and is not part of `ci`: each crate is built from its package, and each public interface is documented twice.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Deserialize;
use toml::{Table, Value};

use xtask::workspace::{cargo, program_on_path, root, run, target_folder};

/// Version of cargo-semver-checks. It reads the output of one version of rustdoc, so it goes with `rust-toolchain.toml`.
const SEMVER_CHECKS: &str = "0.51.0";

/// Choice of packages.
#[derive(Args)]
pub(crate) struct PackagesArguments {
    /// Compare public interfaces with this commit; with the last release by default
    #[arg(long, value_name = "REV")]
    since: Option<String>,
    /// Only these packages; all by default
    #[arg(long = "package", short, value_name = "NAME")]
    packages: Vec<String>,
    /// Take the folder as it is, also with changes that are in no commit
    #[arg(long)]
    allow_dirty: bool,
}

/// Packs every crate, builds it from the package, uploads nothing, and compares public interfaces.
pub(crate) fn packages(arguments: &PackagesArguments) -> Result<()> {
    let asked = cargo(["metadata", "--no-deps", "--locked", "--format-version", "1"]).output().context("could not start cargo")?;
    ensure!(asked.status.success(), "cargo tells nothing of this workspace: {}", String::from_utf8_lossy(&asked.stderr).trim());
    let metadata: Metadata = serde_json::from_slice(&asked.stdout)?;
    let chosen: Vec<String> = match arguments.packages.as_slice() {
        [] => vec!["--workspace".into()],
        packages => with_what_they_stand_on(&metadata, packages)?.into_iter().flat_map(|name| ["--package".into(), name]).collect(),
    };
    let mut publish = cargo(["publish", "--dry-run", "--locked", "--config"]);
    publish.arg(profile()?).args(&chosen);
    if arguments.allow_dirty {
        publish.arg("--allow-dirty");
    }
    run(&mut publish)?;

    let Some(since) = arguments.since.clone().or_else(last_release) else {
        eprintln!("There is no release yet: no public interface is promised. `--since REV` compares with a commit.");
        return Ok(());
    };
    let (promised, new) = promised(&metadata, &arguments.packages, &packages_of(&since)?);
    if !new.is_empty() {
        eprintln!("Not there at {since}, so nothing was promised of it: {}", new.join(", "));
    }
    if promised.is_empty() {
        return Ok(());
    }
    let mut checks = Command::new(semver_checks()?);
    checks.current_dir(root()).args(["semver-checks", "--baseline-rev", &since]);
    run(checks.args(promised.iter().flat_map(|name| ["--package", name])))
}

/// Returns these packages and their dependencies in the workspace. Dependencies that no registry has can only be built together with them.
fn with_what_they_stand_on(metadata: &Metadata, wanted: &[String]) -> Result<BTreeSet<String>> {
    let mut chosen = BTreeSet::new();
    let mut open: Vec<&str> = wanted.iter().map(String::as_str).collect();
    while let Some(name) = open.pop() {
        let package = metadata.packages.iter().find(|package| package.name == name);
        let package = package.with_context(|| format!("there is no package {name} in this workspace"))?;
        if chosen.insert(name.to_owned()) {
            // Packaging drops dependencies without a version.
            let own = package.dependencies.iter().filter(|dependency| dependency.path.is_some() && dependency.req != "*");
            open.extend(own.map(|dependency| dependency.name.as_str()));
        }
    }
    Ok(chosen)
}

/// Returns the published libraries, split into those that existed `before` and those that did not. Only the `wanted` ones count, or all if
/// that is empty.
fn promised(metadata: &Metadata, wanted: &[String], before: &BTreeSet<String>) -> (Vec<String>, Vec<String>) {
    let is_library = |package: &&Package| package.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "lib"));
    let is_wanted = |package: &&Package| wanted.is_empty() || wanted.contains(&package.name);
    let is_published = |package: &&Package| package.publish.as_ref().is_none_or(|places| !places.is_empty());
    let meant = metadata.packages.iter().filter(is_library).filter(is_wanted).filter(is_published);
    meant.map(|package| package.name.clone()).partition(|name| before.contains(name))
}

/// Output of cargo on the workspace.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    /// Registries to which it may be published; any if absent.
    publish: Option<Vec<String>>,
    targets: Vec<Target>,
    #[serde(default)]
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// Version requirement; `*` if there is none.
    req: String,
    /// Path, for a package in the workspace.
    path: Option<String>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

/// Returns the names of the packages in a commit. cargo-semver-checks fails for a package that the commit lacks.
fn packages_of(commit: &str) -> Result<BTreeSet<String>> {
    let git = |arguments: &[&str]| -> Result<String> {
        let asked = Command::new("git").current_dir(root()).args(arguments).output().context("could not start git")?;
        ensure!(asked.status.success(), "git knows no {commit}: {}", String::from_utf8_lossy(&asked.stderr).trim());
        Ok(String::from_utf8(asked.stdout)?)
    };
    let mut names = BTreeSet::new();
    for path in git(&["ls-tree", "-r", "--name-only", commit])?.lines().filter(|path| path.ends_with("/Cargo.toml")) {
        let manifest: Table = toml::from_str(&git(&["show", &format!("{commit}:{path}")])?)?;
        let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
        names.extend(name.map(str::to_owned));
    }
    Ok(names)
}

/// Writes the workspace's profile to a settings file. Packages are built outside of the workspace, so without the profile all dependencies
/// would be rebuilt with other options.
fn profile() -> Result<PathBuf> {
    let manifest = root().join("Cargo.toml");
    let read = fs::read_to_string(&manifest).with_context(|| format!("could not read {}", manifest.display()))?;
    let file = target_folder().join("packages.toml");
    fs::create_dir_all(target_folder())?;
    fs::write(&file, own_profile(&read)?).with_context(|| format!("could not write {}", file.display()))?;
    Ok(file)
}

/// Returns only the profile `dev` of a manifest.
fn own_profile(manifest: &str) -> Result<String> {
    let manifest: Table = toml::from_str(manifest)?;
    let dev = manifest.get("profile").and_then(|profiles| profiles.get("dev")).cloned().unwrap_or_else(|| Value::Table(Table::new()));
    let profiles = Table::from_iter([("dev".to_owned(), dev)]);
    Ok(toml::to_string(&Table::from_iter([("profile".to_owned(), Value::Table(profiles))]))?)
}

/// Returns the tag of the last release before this commit.
fn last_release() -> Option<String> {
    let asked =
        Command::new("git").current_dir(root()).args(["describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"]).output().ok()?;
    let tag = String::from_utf8(asked.stdout).ok()?.trim().to_owned();
    (asked.status.success() && !tag.is_empty()).then_some(tag)
}

/// Returns cargo-semver-checks from this machine, or builds it once in the target folder.
fn semver_checks() -> Result<PathBuf> {
    let name = "cargo-semver-checks";
    let is_pinned = |program: &PathBuf| {
        let output = Command::new(program).args(["semver-checks", "--version"]).output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).split_whitespace().any(|word| word == SEMVER_CHECKS))
    };
    let folder = target_folder().join("tools");
    let own = folder.join("bin").join(name);
    if let Some(program) = [Some(own.clone()), program_on_path(name)].into_iter().flatten().find(is_pinned) {
        return Ok(program);
    }
    let version = format!("={SEMVER_CHECKS}");
    run(cargo(["install", name, "--locked", "--version", &version, "--root"]).arg(&folder))?;
    Ok(own)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Metadata, own_profile, promised, with_what_they_stand_on};

    #[test]
    fn libraries_that_were_there_are_compared_and_new_ones_are_named() {
        let package = |name: &str, kind: &str, publish| json!({"name": name, "publish": publish, "targets": [{"kind": [kind]}]});
        let packages = [
            package("old", "lib", json!(null)),
            package("new", "lib", json!(null)),
            package("inner", "lib", json!([])),
            package("command", "bin", json!(null)),
        ];
        let metadata = serde_json::from_value(json!({"packages": packages})).unwrap();
        let before = ["old", "inner", "command", "gone"].map(str::to_owned).into();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(promised(&metadata, &[], &before), (names(&["old"]), names(&["new"])));
        assert_eq!(promised(&metadata, &names(&["old", "command"]), &before), (names(&["old"]), names(&[])));
    }

    // Requirement: 19.8
    #[test]
    fn what_a_package_stands_on_is_packed_with_it() {
        let on = |name: &str, req: &str| json!({"name": name, "req": req, "path": "somewhere"});
        let package = |name: &str, dependencies| json!({"name": name, "publish": null, "targets": [], "dependencies": dependencies});
        let metadata: Metadata = serde_json::from_value(json!({"packages": [
            package("top", json!([on("middle", "^0.1.0"), on("for-tests", "*"), {"name": "serde", "req": "^1", "path": null}])),
            package("middle", json!([on("low", "^0.1.0")])),
            package("low", json!([on("middle", "^0.1.0")])),
            package("for-tests", json!([])),
            package("other", json!([])),
        ]}))
        .unwrap();
        let chosen =
            |wanted: &str| with_what_they_stand_on(&metadata, &[wanted.to_owned()]).map(|chosen| chosen.into_iter().collect::<Vec<_>>());
        assert_eq!(chosen("top").unwrap(), ["low", "middle", "top"]);
        assert_eq!(chosen("other").unwrap(), ["other"]);
        assert!(chosen("serde").unwrap_err().to_string().contains("no package serde"));
    }

    #[test]
    fn what_is_packed_is_built_as_the_workspace_is() {
        let manifest = "[workspace]\nmembers = []\n[profile.dev]\ndebug = 1\n[profile.dev.package.\"*\"]\ndebug = false\n[profile.release]\nlto = true\n";
        let settings: toml::Table = toml::from_str(&own_profile(manifest).unwrap()).unwrap();
        let wanted: toml::Table = toml::from_str("[profile.dev]\ndebug = 1\n[profile.dev.package.\"*\"]\ndebug = false\n").unwrap();
        assert_eq!(settings, wanted);
        assert!(toml::from_str::<toml::Table>(&own_profile("[workspace]\n").unwrap()).unwrap().contains_key("profile"));
    }
}
