//! User extensions of the built-in profiles, categories and prompts.

mod names;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use aime_actor_factory::{ProfileCatalog, Prompts as ActorPrompts};
use aime_dynamic_planner::{Prompts, default_categories, read_categories};
use aime_messages::{Message, message};
use aime_orchestrator::AnswerPrompt;

use self::names::Named;
use super::Setup;
use crate::{
    error::{ErrorKind, RunsError},
    models,
};

/// Prompts, with the user's replacements.
pub struct PromptOverrides {
    /// Prompts of the planner.
    pub planning: Prompts,
    /// Prompts of actors.
    pub acting: ActorPrompts,
    /// The prompt of the final answer.
    pub answer: AnswerPrompt,
}

impl Setup {
    /// Returns the built-in and the user's profiles.
    pub fn profiles(&self) -> Result<ProfileCatalog, RunsError> {
        let mut catalog = ProfileCatalog::builtin();
        for (source, text) in self.own_files("profiles", "toml")? {
            catalog.add_toml(&text, &source).map_err(|error| RunsError::caused(ErrorKind::Usage, error))?;
            self.check_models(&source, &text)?;
        }
        #[cfg(feature = "acp")]
        for profile in self.agent_profiles() {
            let source = format!("profiles.{}", profile.name);
            catalog.add(profile, &source).map_err(|error| RunsError::caused(ErrorKind::Usage, error))?;
        }
        #[cfg(not(feature = "acp"))]
        for name in self.config.profiles.keys() {
            self.note(format!("without the profile {name}: this aime was built without ACP"));
        }
        Ok(catalog)
    }

    /// Returns the built-in and the user's categories.
    pub fn categories(&self) -> Result<Vec<aime_dynamic_planner::Category>, RunsError> {
        let mut categories = default_categories();
        // Faults in profiles are reported by the code that uses them.
        let profiles = self.profiles().ok();
        let known: Option<Vec<&str>> = profiles.as_ref().map(|profiles| profiles.iter().map(|profile| profile.name.as_str()).collect());
        for (source, text) in self.own_files("categories", "toml")? {
            for category in read_categories(&source, &text).map_err(|error| RunsError::caused(ErrorKind::Usage, error))? {
                categories.retain(|known| known.name != category.name);
                categories.push(category);
            }
            let unknown = known.as_deref().map(|known| names::unknown((&source, &text), Named::Profile, known));
            first(unknown.unwrap_or_default())?;
            self.check_models(&source, &text)?;
        }
        Ok(categories)
    }

    /// Refuses a file that names a model which is neither a role nor configured: `default` would silently replace it.
    fn check_models(&self, source: &str, text: &str) -> Result<(), RunsError> {
        let known: Vec<&str> = models::ROLES.into_iter().chain(self.config.models.keys().map(String::as_str)).collect();
        first(names::unknown((source, text), Named::Model, &known))
    }

    /// Returns a fault for each missing skill that profiles and categories name. Runs still start, since a project may bring its own
    /// skills, and actors can work without.
    pub fn missing_skills(&self) -> Result<Vec<RunsError>, RunsError> {
        let known: Vec<&str> = self.skills().catalog.iter().map(|known| known.skill.name.as_str()).collect();
        let files = [self.own_files("profiles", "toml")?, self.own_files("categories", "toml")?].concat();
        let missing = |(source, text): &(String, String)| names::unknown((source, text), Named::Skills, &known);
        Ok(files.iter().flat_map(missing).collect())
    }

    /// Returns the prompts in force.
    pub fn prompts(&self) -> Result<PromptOverrides, RunsError> {
        let hint = |source: &str| message!("hint-or-remove", file = source);
        let acting = ActorPrompts::builtin().map_err(RunsError::internal)?;
        let mut prompts = PromptOverrides { planning: Prompts::default(), acting, answer: AnswerPrompt::default() };
        let mut planning = BTreeMap::new();
        let planner_names: Vec<&str> = Prompts::built_in().iter().map(|(name, _)| *name).collect();
        for (source, text) in self.own_files("prompts", "md")? {
            let name = Path::new(&source).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            if planner_names.contains(&name.as_str()) {
                planning.insert(name, text);
            } else if name == AnswerPrompt::NAME {
                prompts.answer =
                    AnswerPrompt::new(&text).map_err(|error| RunsError::caused(ErrorKind::Usage, error).hint(hint(&source)))?;
            } else {
                prompts.acting.replace(&name, text).map_err(|error| RunsError::caused(ErrorKind::Usage, error).hint(hint(&source)))?;
            }
        }
        prompts.planning = Prompts::with_overrides(&planning).map_err(|error| RunsError::caused(ErrorKind::Usage, error))?;
        Ok(prompts)
    }

    /// Returns the user's files of a kind, such as `profiles/*.toml` or `prompts/*.md`. The user's own folder comes first, then the folders
    /// of `extensions.folders`; a later file replaces an earlier one of the same name.
    fn own_files(&self, kind: &str, ending: &str) -> Result<Vec<(String, String)>, RunsError> {
        let unreadable = |path: &Path, error: std::io::Error| {
            RunsError::usage(message!("unreadable", what = path.display(), reason = Message::text(error))).hint(message!("file-rights"))
        };
        let named = self.config.extensions.folders.iter().map(|folder| self.environment.expand_home(folder));
        let mut folders = Vec::new();
        for folder in named {
            if !folder.is_dir() {
                return Err(RunsError::usage(message!("extensions", folder = folder.display())).hint(message!("extensions-hint")));
            }
            folders.push(folder);
        }
        let mut found = Vec::new();
        for folder in self.places.user_folder().map(Path::to_owned).into_iter().chain(folders).map(|folder| folder.join(kind)) {
            let entries = match std::fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(unreadable(&folder, error)),
            };
            let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            paths.retain(|path| path.extension().is_some_and(|found| found == ending));
            paths.sort();
            for path in paths {
                let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
                found.push((path.display().to_string(), text));
            }
        }
        Ok(found)
    }
}

fn first(failures: Vec<RunsError>) -> Result<(), RunsError> {
    failures.into_iter().next().map_or(Ok(()), Err)
}
