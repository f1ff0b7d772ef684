//! `cargo xtask profiles`: builds the release with several profiles, one after the other, each from an empty target folder, and prints what
//! each costs and gives. The table is in the book's page on benchmarks.

use std::fs;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::instructions::costs;
use xtask::workspace::{build, root};

/// Settings of a release build that differ from `Cargo.toml`.
struct Profile {
    name: &'static str,
    /// Members of `profile.release`, as TOML.
    settings: &'static [&'static str],
    /// `opt-level` of the crates of aime that have none of their own.
    own_level: Option<&'static str>,
}

/// `z` for the packages of a step of a run too.
const SMALL_STEP: [&str; 7] = [
    "package.aime-durable.opt-level='z'",
    "package.aime-progress-management.opt-level='z'",
    "package.aime-orchestrator.opt-level='z'",
    "package.aime-messages.opt-level='z'",
    "package.aime-redact.opt-level='z'",
    "package.serde_json.opt-level='z'",
    "package.libsqlite3-sys.opt-level='z'",
];

const PROFILES: [Profile; 5] = [
    Profile { name: "in use: fat, `z`, 1 unit; a step of a run for speed", settings: &[], own_level: None },
    Profile { name: "fat, `z`, 1 unit, a step too", settings: &SMALL_STEP, own_level: None },
    Profile { name: "thin, 1 unit, otherwise as in use", settings: &["lto='thin'"], own_level: None },
    Profile { name: "thin, 1 unit, `2` for the crates of aime", settings: &["lto='thin'"], own_level: Some("2") },
    Profile { name: "thin, 1 unit, `3` for the crates of aime", settings: &["lto='thin'"], own_level: Some("3") },
];

/// Selection of profiles.
#[derive(Args)]
pub(crate) struct ProfilesArguments {
    /// Build only the profiles whose names contain this text, or one of several
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
}

/// Builds every profile and prints a table. Only one build runs at a time; other work on the machine changes the minutes.
pub(crate) fn profiles(arguments: &ProfilesArguments) -> Result<()> {
    let own = own_packages()?;
    let chosen = chosen(&arguments.only)?;
    println!(
        "| link-time optimisation, `opt-level`, units | minutes of processor time | bytes | task | chain | round | over HTTP | actor |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for profile in chosen {
        println!("{}", row(profile, &own)?);
    }
    Ok(())
}

/// Returns the profiles whose names contain one of these texts, or all of them if there is no text.
fn chosen(texts: &[String]) -> Result<Vec<&'static Profile>> {
    let has = |text: &String| PROFILES.iter().any(|profile| profile.name.contains(text.as_str()));
    if let Some(text) = texts.iter().find(|text| !has(text)) {
        bail!("no profile has `{text}` in its name; there are: {}", PROFILES.map(|profile| profile.name).join("; "));
    }
    let is_chosen = |profile: &&Profile| texts.is_empty() || texts.iter().any(|text| profile.name.contains(text.as_str()));
    Ok(PROFILES.iter().filter(is_chosen).collect())
}

/// Builds with one profile and returns its row.
fn row(profile: &Profile, own: &[String]) -> Result<String> {
    let parent = root().join("target");
    fs::create_dir_all(&parent).with_context(|| format!("could not create {}", parent.display()))?;
    let folder = tempfile::tempdir_in(&parent).context("there is no temporary folder")?;
    let options = options(profile, own, &folder.path().display().to_string());
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let before = children_seconds()?;
    let program = build("aime", &options)?;
    let minutes = (children_seconds()? - before) / 60.0;
    let bytes = fs::metadata(&program).with_context(|| format!("could not look at {}", program.display()))?.len();
    let costs = costs(&build("aime-bench", &options)?)?.map(|cost| format!("{cost:.0}")).join(" | ");
    Ok(format!("| {} | {minutes:.1} | {bytes} | {costs} |", profile.name))
}

/// Returns the options of cargo.
fn options(profile: &Profile, own: &[String], folder: &str) -> Vec<String> {
    let mut options = vec!["--release".to_owned(), "--target-dir".to_owned(), folder.to_owned()];
    let mut set = |setting: String| options.extend(["--config".to_owned(), format!("profile.release.{setting}")]);
    profile.settings.iter().for_each(|setting| set((*setting).to_owned()));
    if let Some(level) = profile.own_level {
        own.iter().for_each(|package| set(format!("package.{package}.opt-level={level}")));
    }
    options
}

/// Returns the packages of aime without a level of their own in `Cargo.toml`.
fn own_packages() -> Result<Vec<String>> {
    let read = |path: std::path::PathBuf| -> Result<toml::Table> {
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        text.parse().with_context(|| format!("{} is no TOML", path.display()))
    };
    let workspace = read(root().join("Cargo.toml"))?;
    let levels = member(&workspace, &["profile", "release", "package"]).and_then(toml::Value::as_table);
    let mut own = Vec::new();
    for folder in fs::read_dir(root().join("crates")).context("could not list the crates")? {
        let manifest = read(folder.context("could not list the crates")?.path().join("Cargo.toml"))?;
        let name = member(&manifest, &["package", "name"]).and_then(toml::Value::as_str).context("a package has no name")?;
        if !levels.is_some_and(|levels| levels.contains_key(name)) {
            own.push(name.to_owned());
        }
    }
    own.sort_unstable();
    Ok(own)
}

fn member<'a>(table: &'a toml::Table, path: &[&str]) -> Option<&'a toml::Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, name| value.get(name))
}

/// Returns the processor time of all ended children of this process, user and system, in seconds.
fn children_seconds() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").context("this system does not tell the processor time of children")?;
    // The name of the program, in parentheses, may contain spaces. Linux counts 100 ticks a second for programs.
    let ticks =
        stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().skip(13).take(2).filter_map(|ticks| ticks.parse::<u32>().ok()));
    Ok(f64::from(ticks.context("/proc/self/stat has another form")?.sum::<u32>()) / 100.0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{PROFILES, SMALL_STEP, children_seconds, chosen, options, own_packages};
    use xtask::workspace::root;

    #[test]
    fn profiles_are_chosen_by_parts_of_their_names() {
        let number = |texts: &[&str]| chosen(&texts.iter().map(ToString::to_string).collect::<Vec<_>>()).map(|found| found.len());
        assert_eq!(number(&[]).unwrap(), PROFILES.len());
        assert_eq!(number(&["in use", "thin"]).unwrap(), 4);
        assert!(number(&["thin", "slow"]).unwrap_err().to_string().starts_with("no profile has `slow` in its name; there are: in use"));
    }

    #[test]
    fn a_level_is_set_for_each_crate_of_aime_without_its_own() {
        let own = own_packages().unwrap();
        assert!(own.contains(&"aime".to_owned()) && own.contains(&"aime-tools".to_owned()), "{own:?}");
        assert!(!own.contains(&"aime-local-model".to_owned()), "it has a level of its own");
        let set = options(&PROFILES[3], &own, "folder").join(" ");
        assert!(set.starts_with("--release --target-dir folder --config profile.release.lto='thin'"), "{set}");
        assert!(set.contains("--config profile.release.package.aime-tools.opt-level=2"), "{set}");
        assert_eq!(options(&PROFILES[0], &own, "folder"), ["--release", "--target-dir", "folder"]);
    }

    #[test]
    fn the_packages_of_a_step_have_a_level_in_the_manifest() {
        let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
        for setting in SMALL_STEP {
            let package = setting.strip_suffix(".opt-level='z'").unwrap();
            assert!(manifest.contains(&format!("[profile.release.{package}]")), "{package}");
        }
    }

    #[test]
    fn ended_children_count() {
        let before = children_seconds().unwrap();
        let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", spin]).status().unwrap().success());
        assert!(children_seconds().unwrap() > before);
    }
}
