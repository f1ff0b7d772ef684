//! Settings that are compared: how finely a plan divides its goal, how many examples its prompt has, what actors of a small model are told, and which
//! goals are planned.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

const PROMPT: &str = include_str!("../../../crates/dynamic-planner/prompts/plan_simple.md");
/// What stands in the arguments of a [part](super::parts::Part) for their folder.
pub(super) const FOLDER: &str = "SETTINGS";
const PROFILE: &str = include_str!("../../../crates/actor-factory/data/profiles/sisyphus.toml");
const EXAMPLES: &str = "Examples\n";
const USER_MARK: &str = "<!-- user -->";
/// An example is a goal, and the plan of it below.
const LINES_OF_ONE: usize = 2;

/// Writes them into a folder: `three-tasks.toml`, `one-example.toml`, `no-examples.toml`, `as-large.toml`, `no-length.toml`.
pub(super) fn write(folder: &Path) -> Result<()> {
    let settings = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let mut files = vec![
        settings("three-tasks.toml", "[planning.limits]\nmax_tasks = 3\n"),
        settings("no-length.toml", "[planning.bypass]\nmax_input_length = 0\nclear_category = false\n"),
    ];
    let prompt = |count| with_examples(PROMPT, count).context("the prompt has no examples");
    for (name, file, text) in [
        ("one-example", "prompts/plan_simple.md", prompt(1)?),
        ("no-examples", "prompts/plan_simple.md", prompt(0)?),
        ("as-large", "profiles/sisyphus.toml", as_large(PROFILE)?),
    ] {
        files.push((format!("{name}.toml"), format!("[extensions]\nfolders = [\"{name}\"]\n")));
        files.push((format!("{name}/{file}"), text));
    }
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, text).with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}

/// The prompt with the first of its examples.
fn with_examples(prompt: &str, count: usize) -> Option<String> {
    let (before, rest) = prompt.split_once(EXAMPLES)?;
    let (examples, after) = rest.split_once(USER_MARK)?;
    let kept: String = examples.split_inclusive('\n').take(count * LINES_OF_ONE).collect();
    let head = if kept.is_empty() { "" } else { EXAMPLES };
    Some(format!("{before}{head}{kept}{USER_MARK}{after}"))
}

/// The profile as actors of larger models have it.
fn as_large(profile: &str) -> Result<String> {
    let mut profile: toml::Table = profile.parse()?;
    profile.remove("small_model").context("the profile has no part for small models")?;
    Ok(profile.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_examples_are_left_as_are_wanted() {
        let goals = |prompt: &str| prompt.split_once(USER_MARK).unwrap().0.matches("\nGoal: ").count();
        assert_eq!((with_examples(PROMPT, 2).as_deref(), goals(PROMPT)), (Some(PROMPT), 2));
        let [one, none] = [1, 0].map(|count| with_examples(PROMPT, count).unwrap());
        assert_eq!((goals(&one), goals(&none), none.contains(EXAMPLES)), (1, 0, false));
        assert!(none.ends_with(PROMPT.split_once(USER_MARK).unwrap().1));
    }

    #[test]
    fn the_profile_of_larger_models_tells_small_ones_nothing_of_their_own() {
        let profile: toml::Table = as_large(PROFILE).unwrap().parse().unwrap();
        assert_eq!(profile["name"].as_str(), Some("sisyphus"));
        assert!(profile.contains_key("prompt") && !profile.contains_key("small_model"), "{profile}");
        assert!(as_large("name = \"other\"").is_err());
    }
}
