//! A run of aime on a goal, in a folder whose new files are shown at the end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

/// Run of aime on a goal.
#[derive(Debug, PartialEq, Eq)]
pub struct GoalRun {
    /// The goal.
    pub goal: String,
    /// Folder to work in; a new one by default.
    pub folder: Option<PathBuf>,
    /// Further arguments of `aime run`.
    pub rest: Vec<String>,
}

impl GoalRun {
    /// Runs `aime` on the goal, names the new files, and returns its exit code.
    ///
    /// # Errors
    ///
    /// The folder cannot be created, or aime does not start.
    pub fn start(&self, aime: Command) -> Result<ExitCode> {
        let folder = self.folder.clone().map_or_else(|| fresh_folder("aime"), Ok)?;
        let before = files(&folder);
        let code = self.start_in(&folder, aime)?;
        let new: Vec<String> = files(&folder).into_iter().filter(|file| !before.contains(file)).collect();
        eprintln!("\nfolder: {}", folder.display());
        if !new.is_empty() {
            eprintln!("new in it: {}", new.join(", "));
        }
        eprintln!("to use `aime` there: `cargo install --locked --path crates/cli`, then `cd {}`", folder.display());
        Ok(ExitCode::from(code))
    }

    /// Runs `aime` on the goal in `folder`, and returns its exit code.
    ///
    /// # Errors
    ///
    /// The folder cannot be created, or aime does not start.
    pub fn start_in(&self, folder: &Path, mut aime: Command) -> Result<u8> {
        fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
        aime.arg("-C").arg(folder).arg("run").arg(&self.goal).args(&self.rest);
        eprintln!("$ aime run {:?}", self.goal);
        let status = aime.status().context("could not start aime")?;
        Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(130))
    }
}

/// Makes aime use a local model whatever the environment names.
pub fn use_local_model(aime: &mut Command, alias: &str) {
    // Variables override all files, and the name cannot be mistaken for a server's.
    aime.envs([("AIME__MODELS__DEFAULT__PROVIDER", "local"), ("AIME__MODELS__DEFAULT__MODEL", alias)]).env_remove("AIME_MODEL");
}

/// Creates a new temporary folder.
///
/// # Errors
///
/// The folder cannot be created.
pub fn fresh_folder(name: &str) -> Result<PathBuf> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let folder = std::env::temp_dir().join(format!("{name}-{now}"));
    fs::create_dir(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    Ok(folder)
}

/// Returns the names in a folder, sorted, without hidden ones.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}
