//! Facts about the place where an actor works, for its prompt.

mod folder;
mod programs;

use std::{fmt::Write, time::SystemTime};

pub use self::programs::Programs;
use crate::ToolContext;

/// Maximum number of changed files that are listed.
const MAX_CHANGES: usize = 20;

/// Facts about the place where an actor works. They are read once before the actor begins, and are part of its input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Date, such as `2026-11-25`.
    pub date: String,
    /// Operating system and processor architecture.
    pub system: String,
    /// Places that commands may write and reach, in the words of a denial.
    pub commands: String,
    /// Installed programs with their versions.
    pub programs: Vec<String>,
    /// Programs that projects of this kind use and that are not on `PATH`.
    pub missing: Vec<String>,
    /// State of the git repository, if there is one.
    pub git: Option<GitState>,
    /// Paths of files with instructions for agents.
    pub instructions: Vec<String>,
    /// Two levels of the folder, and the entries of folders that the goal names, one line per entry; folders end in `/`.
    pub tree: String,
}

/// State of a git repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitState {
    /// Name of the branch, or a phrase if there is none.
    pub branch: String,
    /// Changed and new files, as `git status --short` lists them.
    pub changes: Vec<String>,
}

impl Surroundings {
    /// Reads the facts about the folder and the machine, or returns those in the context. Omits facts that cannot be determined. The
    /// tree also shows the folders that `work` names, and if there are many instruction files, theirs come first.
    pub async fn read(context: &ToolContext, work: &str, date: String, programs: Programs) -> Self {
        if let Some(given) = &context.surroundings {
            return given.as_ref().clone();
        }
        let (git, (tree, instructions)) = futures::join!(programs::git_state(context), folder::describe(context, work));
        let missing = programs.missing(context);
        let mut commands = context.confinement.in_words();
        if context.read_only {
            commands.push_str(" Nothing may be changed in this run.");
        }
        if context.working_folder().join(".aime").is_dir() {
            commands.push_str(" `.aime/` holds aime's own records: leave it out of `find` and `grep -r`.");
        }
        let user = if programs::is_root() { ", user root" } else { "" };
        let system = format!("{} ({}){user}", std::env::consts::OS, std::env::consts::ARCH);
        Self { date, system, commands, programs: programs.into_versions(), missing, git, instructions, tree }
    }

    /// Returns a sentence on the files of the folder that were changed at `since` or later. If the context contains the facts about the
    /// folder, the sentence says that this is unknown.
    pub async fn changed_since(context: &ToolContext, since: SystemTime) -> String {
        if context.surroundings.is_some() {
            return "Nobody looked which files were changed since".to_owned();
        }
        let (changed, more) = folder::changed_since(context, since, MAX_CHANGES).await;
        let names: Vec<String> = changed.iter().map(|path| format!("`{path}`")).collect();
        match (names.is_empty(), more) {
            (true, _) => "No file of the working folder was changed since".to_owned(),
            (false, 0) => format!("Files changed since: {}", names.join(", ")),
            (false, more) => format!("Files changed since: {} and {more} more", names.join(", ")),
        }
    }

    /// Formats the facts as Markdown.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = format!("- System: {}. Today is {}.\n- {}\n", self.system, self.date, self.commands);
        if !self.programs.is_empty() {
            let _ = writeln!(text, "- Programs: {}.", self.programs.join(", "));
        }
        if !self.missing.is_empty() {
            let _ = writeln!(text, "- Not on PATH: {}.", self.missing.join(", "));
        }
        if let Some(git) = &self.git {
            let _ = writeln!(text, "- Git: {}", git.in_words());
        }
        if !self.instructions.is_empty() {
            let names: Vec<String> = self.instructions.iter().map(|path| format!("`{path}`")).collect();
            let _ = writeln!(text, "- Instructions: {}. Read those of the folders that you work in.", names.join(", "));
        }
        if self.tree.is_empty() {
            text.push_str("- The working folder is empty.");
        } else {
            let _ = write!(text, "\nThe working folder:\n```\n{}\n```", self.tree.trim_end());
        }
        text
    }
}

impl GitState {
    fn in_words(&self) -> String {
        let branch = &self.branch;
        let shown = self.changes.iter().take(MAX_CHANGES).map(|change| format!("`{change}`")).collect::<Vec<_>>().join(", ");
        match self.changes.len() {
            0 => format!("{branch}, nothing changed."),
            1 => format!("{branch}, 1 changed file: {shown}."),
            all if all <= MAX_CHANGES => format!("{branch}, {all} changed files: {shown}."),
            all => format!("{branch}, {all} changed files, among them {shown}."),
        }
    }
}

#[cfg(test)]
mod tests;
