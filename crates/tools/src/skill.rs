//! Skills: written instructions for a kind of work in the open Agent Skills format (<https://agentskills.io/specification>).
//!
//! A skill is a folder with a `SKILL.md`. Prompts always contain its name and description; the model reads the rest on demand. A skill is
//! text and grants no rights: commands that it recommends run through the usual tools and need the usual consent.

mod load;
mod parse;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

pub use load::{LOAD_SKILL, load_skill};
pub use parse::SkillError;

/// Parsed `SKILL.md` of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Name, equal to the name of its folder: 1 to 64 characters of `a-z 0-9 -`, without a hyphen at either end or two in a row.
    pub name: String,
    /// Purpose and occasions of use; at most 1,024 characters.
    pub description: String,
    /// Name of the licence, or of the file that contains it.
    pub license: Option<String>,
    /// Requirements on the environment; at most 500 characters.
    pub compatibility: Option<String>,
    /// Other keys of its author.
    pub metadata: BTreeMap<String, String>,
    /// Tools that the author suggests to allow without asking. Shown to people; grants nothing.
    pub allowed_tools: Vec<String>,
    /// Instructions in Markdown.
    pub body: String,
}

impl Skill {
    /// Parses a `SKILL.md`. `source` is its path, for errors; the folder that contains it must have the skill's name. Ignores keys that the
    /// format does not define.
    ///
    /// # Errors
    /// [`SkillError`] with the file, the line and the correction.
    pub fn parse(source: &Path, text: &str) -> Result<Self, SkillError> {
        parse::parse(source, text)
    }
}

/// A skill and its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledSkill {
    /// The parsed skill.
    pub skill: Skill,
    /// Folder that contains `SKILL.md`.
    pub folder: PathBuf,
    /// Other files of the folder, as sorted relative paths.
    pub files: Vec<String>,
}

/// Installed skills by name. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkillCatalog {
    skills: BTreeMap<String, Arc<InstalledSkill>>,
}

impl SkillCatalog {
    /// Adds a skill. Replaces a skill of the same name, and returns the replaced one.
    pub fn add(&mut self, skill: InstalledSkill) -> Option<Arc<InstalledSkill>> {
        self.skills.insert(skill.skill.name.clone(), Arc::new(skill))
    }

    /// Returns the skill with a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&InstalledSkill> {
        self.skills.get(name).map(AsRef::as_ref)
    }

    /// Iterates over all skills, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &InstalledSkill> {
        self.skills.values().map(AsRef::as_ref)
    }

    /// Returns true if there are no skills.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }
}
