//! Locations of the settings files.

use std::path::{Path, PathBuf};

use crate::Environment;

/// Settings files, lowest precedence first.
#[derive(Debug, Clone)]
pub struct Places {
    /// `$XDG_CONFIG_HOME/aime/config.toml`.
    pub user: Option<PathBuf>,
    /// `aime.toml` in the working folder.
    pub project: PathBuf,
    /// File that `--config` names.
    pub flag: Option<PathBuf>,
    /// `$XDG_STATE_HOME/aime`.
    state: Option<PathBuf>,
}

impl Places {
    /// Returns the locations for a folder; `flag` is an additional file that is read last.
    pub fn new(environment: &Environment, folder: &Path, flag: Option<PathBuf>) -> Self {
        let base = environment.path("XDG_CONFIG_HOME").or_else(|| environment.path("HOME").map(|home| home.join(".config")));
        let user = base.map(|base| first_of(&base.join("aime"), "config"));
        let state = environment.path("XDG_STATE_HOME").or_else(|| environment.path("HOME").map(|home| home.join(".local/state")));
        Self { user, project: first_of(folder, "aime"), flag, state: state.map(|state| state.join("aime")) }
    }

    /// Returns the folder that keeps logins.
    pub fn state_folder(&self) -> Option<&Path> {
        self.state.as_deref()
    }

    /// Returns the folder of the user's own profiles, prompts and categories.
    pub fn user_folder(&self) -> Option<&Path> {
        self.user.as_deref().and_then(Path::parent)
    }
}

/// Returns the files that can hold a project's settings; only one of them may exist.
pub fn project_files(folder: &Path) -> [PathBuf; 4] {
    forms(&folder.join("aime"))
}

/// Returns another existing file with the same name in another format.
pub(super) fn beside(path: &Path) -> Option<PathBuf> {
    forms(path).into_iter().find(|other| other != path && other.exists())
}

/// Returns the existing file with this name, preferring TOML to YAML to JSON.
fn first_of(folder: &Path, stem: &str) -> PathBuf {
    let [usual, others @ ..] = forms(&folder.join(stem));
    if usual.exists() { usual } else { others.into_iter().find(|path| path.exists()).unwrap_or(usual) }
}

fn forms(path: &Path) -> [PathBuf; 4] {
    ["toml", "yaml", "yml", "json"].map(|ending| path.with_extension(ending))
}
