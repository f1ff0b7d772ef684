//! User extensions of the built-in profiles, categories and prompts.

mod names;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use aime_actor_factory::{ProfileCatalog, Prompts as ActorPrompts};
use aime_dynamic_planner::{Category, Prompts, default_categories, read_categories};
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
        all_right(|faults| self.collect_profiles(faults))
    }

    /// Returns the built-in and the user's categories.
    pub fn categories(&self) -> Result<Vec<Category>, RunsError> {
        all_right(|faults| self.collect_categories(faults))
    }

    /// Returns the prompts in force.
    pub fn prompts(&self) -> Result<PromptOverrides, RunsError> {
        let mut faults = Vec::new();
        let prompts = self.collect_prompts(&mut faults)?;
        faults.into_iter().next().map_or(Ok(prompts), Err)
    }

    /// Returns every fault of the user's profiles, categories and prompts.
    pub fn faults_of_own_files(&self) -> Vec<RunsError> {
        let mut faults = Vec::new();
        self.collect_profiles(&mut faults);
        self.collect_categories(&mut faults);
        if let Err(fault) = self.collect_prompts(&mut faults) {
            faults.push(fault);
        }
        // A missing folder is a fault of each kind.
        let mut seen = BTreeSet::new();
        faults.retain(|fault| seen.insert(fault.to_string()));
        faults
    }

    fn collect_profiles(&self, faults: &mut Vec<RunsError>) -> ProfileCatalog {
        let mut catalog = ProfileCatalog::builtin();
        for (source, text) in self.files_or_fault("profiles", "toml", faults) {
            let added = catalog.add_toml(&text, &source).map_err(|error| RunsError::caused(ErrorKind::Usage, error));
            faults.extend(added.err());
            faults.extend(self.unknown_models(&source, &text));
        }
        #[cfg(feature = "acp")]
        for profile in self.agent_profiles() {
            let source = format!("profiles.{}", profile.name);
            faults.extend(catalog.add(profile, &source).map_err(|error| RunsError::caused(ErrorKind::Usage, error)).err());
        }
        #[cfg(not(feature = "acp"))]
        for name in self.config.profiles.keys() {
            self.note(format!("without the profile {name}: this aime was built without ACP"));
        }
        catalog
    }

    fn collect_categories(&self, faults: &mut Vec<RunsError>) -> Vec<Category> {
        let mut categories = default_categories();
        // Faults in profiles are reported by the code that uses them.
        let profiles = self.profiles().ok();
        let known: Option<Vec<&str>> = profiles.as_ref().map(|profiles| profiles.iter().map(|profile| profile.name.as_str()).collect());
        for (source, text) in self.files_or_fault("categories", "toml", faults) {
            let read = read_categories(&source, &text).map_err(|error| faults.push(RunsError::caused(ErrorKind::Usage, error)));
            for category in read.into_iter().flatten() {
                categories.retain(|known| known.name != category.name);
                categories.push(category);
            }
            let unknown = known.as_deref().map(|known| names::unknown((&source, &text), Named::Profile, known));
            faults.extend(unknown.unwrap_or_default());
            faults.extend(self.unknown_models(&source, &text));
        }
        categories
    }

    /// Returns a fault for each model of a file that is neither a role nor configured: `default` would silently replace it.
    fn unknown_models(&self, source: &str, text: &str) -> Vec<RunsError> {
        let known: Vec<&str> = models::ROLES.into_iter().chain(self.config.models.keys().map(String::as_str)).collect();
        names::unknown((source, text), Named::Model, &known)
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
    ///
    /// # Errors
    /// Faults that concern no single file. The other faults go to `faults`.
    fn collect_prompts(&self, faults: &mut Vec<RunsError>) -> Result<PromptOverrides, RunsError> {
        let acting = ActorPrompts::builtin().map_err(RunsError::internal)?;
        let mut prompts = PromptOverrides { planning: Prompts::default(), acting, answer: AnswerPrompt::default() };
        let mut planning = BTreeMap::new();
        let planner_names: Vec<&str> = Prompts::built_in().iter().map(|(name, _)| *name).collect();
        for (source, text) in self.files_or_fault("prompts", "md", faults) {
            let hint = message!("hint-or-remove", file = source);
            let name = Path::new(&source).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            if planner_names.contains(&name.as_str()) {
                planning.insert(name, text);
            } else if name == AnswerPrompt::NAME {
                match AnswerPrompt::new(&text) {
                    Ok(answer) => prompts.answer = answer,
                    Err(error) => faults.push(RunsError::caused(ErrorKind::Usage, error).hint(hint)),
                }
            } else if let Err(error) = prompts.acting.replace(&name, text) {
                faults.push(RunsError::caused(ErrorKind::Usage, error).hint(hint));
            }
        }
        prompts.planning = Prompts::with_overrides(&planning).map_err(|error| RunsError::caused(ErrorKind::Usage, error))?;
        Ok(prompts)
    }

    /// Returns the user's files of a kind. If they cannot be read, adds the fault and returns none.
    fn files_or_fault(&self, kind: &str, ending: &str, faults: &mut Vec<RunsError>) -> Vec<(String, String)> {
        self.own_files(kind, ending).unwrap_or_else(|fault| {
            faults.push(fault);
            Vec::new()
        })
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

/// Returns what `collect` returns, or the first fault that it adds.
fn all_right<T>(collect: impl FnOnce(&mut Vec<RunsError>) -> T) -> Result<T, RunsError> {
    let mut faults = Vec::new();
    let collected = collect(&mut faults);
    faults.into_iter().next().map_or(Ok(collected), Err)
}
