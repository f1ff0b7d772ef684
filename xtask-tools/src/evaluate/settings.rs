//! Compared settings: granularity of plans, number of examples in the planner's prompt, prompt of small-model actors, and the goals that
//! are planned.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

const PROMPT: &str = include_str!("../../../crates/dynamic-planner/prompts/plan_simple.md");
/// Placeholder for the folder of the settings in the arguments of a [part](super::parts::Part).
pub(super) const FOLDER: &str = "SETTINGS";
const PROFILE: &str = include_str!("../../../crates/actor-factory/data/profiles/sisyphus.toml");
/// Text before the examples of the prompt; below, the text after them.
const EXAMPLES: &str = "Examples\n";
const USER_MARK: &str = "<!-- user -->";
/// Former second example of the prompt. Its second task led small models to add tasks that check what nobody had asked for.
const SECOND: &str = r#"Goal: Write a riddle about the moon to riddle.md
{"strategic": {"approach": "Write it, then look at it.", "success_criteria": ["riddle.md holds a riddle about the moon"]}, "tasks": [{"id": "write", "name": "Write the riddle", "description": "Make up a riddle about the moon and write it to riddle.md.", "dependencies": [], "completion_criteria": ["riddle.md exists"]}, {"id": "look", "name": "Look at the riddle", "description": "Read riddle.md. Change it if it is no riddle about the moon.", "dependencies": ["write"], "completion_criteria": ["riddle.md holds a riddle about the moon"]}]}
"#;

/// Writes the settings into a folder: `three-tasks.toml`, `two-examples.toml`, `no-examples.toml`, `as-large.toml`, `no-length.toml`.
pub(super) fn write(folder: &Path) -> Result<()> {
    let own = |name: &str| format!("[extensions]\nfolders = [\"{name}\"]\n");
    let prompt = |change: &dyn Fn(&str) -> String| with_examples(PROMPT, change).context("the prompt has no examples");
    let files = [
        // This was tried while the prompt had two examples.
        ("three-tasks.toml", own("two-examples") + "[planning.limits]\nmax_tasks = 3\n"),
        ("two-examples.toml", own("two-examples")),
        ("two-examples/prompts/plan_simple.md", prompt(&|examples| examples.to_owned() + SECOND)?),
        ("no-examples.toml", own("no-examples")),
        ("no-examples/prompts/plan_simple.md", prompt(&|_| String::new())?),
        ("as-large.toml", own("as-large")),
        ("as-large/profiles/sisyphus.toml", as_large(PROFILE)?),
        ("no-length.toml", "[planning.bypass]\nmax_input_length = 0\nclear_category = false\n".to_owned()),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, text).with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}

/// Returns the prompt with its examples changed.
fn with_examples(prompt: &str, change: impl Fn(&str) -> String) -> Option<String> {
    let (before, rest) = prompt.split_once(EXAMPLES)?;
    let (examples, after) = rest.split_once(USER_MARK)?;
    let kept = change(examples);
    let head = if kept.is_empty() { "" } else { EXAMPLES };
    Some(format!("{before}{head}{kept}{USER_MARK}{after}"))
}

/// Returns the profile for actors of larger models.
fn as_large(profile: &str) -> Result<String> {
    let mut profile: toml::Table = profile.parse()?;
    profile.remove("small_model").context("the profile has no part for small models")?;
    Ok(profile.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_examples_are_there_as_are_wanted() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        let prompt = |name: &str| fs::read_to_string(folder.path().join(name).join("prompts/plan_simple.md")).unwrap();
        let goals = |prompt: &str| prompt.split_once(USER_MARK).unwrap().0.matches("\nGoal: ").count();
        let [two, none] = ["two-examples", "no-examples"].map(prompt);
        assert_eq!((goals(&two), goals(PROMPT), goals(&none), none.contains(EXAMPLES)), (2, 1, 0, false));
        let user = PROMPT.split_once(USER_MARK).unwrap().1;
        assert!(two.ends_with(user) && none.ends_with(user));
    }

    #[test]
    fn the_profile_of_larger_models_tells_small_ones_nothing_of_their_own() {
        let profile: toml::Table = as_large(PROFILE).unwrap().parse().unwrap();
        assert_eq!(profile["name"].as_str(), Some("sisyphus"));
        assert!(profile.contains_key("prompt") && !profile.contains_key("small_model"), "{profile}");
        assert!(as_large("name = \"other\"").is_err());
    }
}
