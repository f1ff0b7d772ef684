//! Skills: what somebody wrote down of how a kind of work is done, in the open Agent Skills format (<https://agentskills.io/specification>).
//!
//! A skill is a folder with a `SKILL.md`. Its name and description are always told; the rest is read when it is wanted. It is text that a
//! model reads and grants nothing: what it says is to be run, runs by the tools and with the consent that the run asks for anyway.

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

/// A skill as its `SKILL.md` tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// 1 to 64 of `a-z 0-9 -`, no hyphen at an end and no two in a row; the name of its folder.
    pub name: String,
    /// What it does and when to use it; at most 1,024 characters.
    pub description: String,
    /// Under which licence it stands, or the file that says so.
    pub license: Option<String>,
    /// What it needs around it; at most 500 characters.
    pub compatibility: Option<String>,
    /// Whatever else its writer noted.
    pub metadata: BTreeMap<String, String>,
    /// The tools that its writer would allow without asking. It is told to people and grants nothing.
    pub allowed_tools: Vec<String>,
    /// What it says, in Markdown.
    pub body: String,
}

impl Skill {
    /// Reads a `SKILL.md`. `source` names it in errors; the folder that it lies in must have the skill's name. Keys that the format does
    /// not know are passed over.
    ///
    /// # Errors
    /// [`SkillError`] with the file, the line and the mend.
    pub fn parse(source: &Path, text: &str) -> Result<Self, SkillError> {
        parse::parse(source, text)
    }
}

/// A skill and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledSkill {
    /// What it says.
    pub skill: Skill,
    /// The folder of its `SKILL.md`.
    pub folder: PathBuf,
    /// The other files of the folder, relative to it and in order.
    pub files: Vec<String>,
}

/// The skills that there are, by name. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkillCatalog {
    skills: BTreeMap<String, Arc<InstalledSkill>>,
}

impl SkillCatalog {
    /// Adds a skill. One of the same name gives up its place to it, and is returned.
    pub fn add(&mut self, skill: InstalledSkill) -> Option<Arc<InstalledSkill>> {
        self.skills.insert(skill.skill.name.clone(), Arc::new(skill))
    }

    /// The skill of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&InstalledSkill> {
        self.skills.get(name).map(AsRef::as_ref)
    }

    /// All skills, by name.
    pub fn iter(&self) -> impl Iterator<Item = &InstalledSkill> {
        self.skills.values().map(AsRef::as_ref)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }
}
