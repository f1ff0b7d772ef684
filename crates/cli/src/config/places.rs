//! Where configuration comes from. The only reader of the environment.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The environment, read once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// The environment of this process.
    #[expect(clippy::disallowed_methods, reason = "this is the one place where the command reads the environment")]
    pub(crate) fn of_process() -> Self {
        Self::as_the_system_has_it(std::env::vars_os(), cfg!(windows))
    }

    /// On Windows the names of variables have no case, and the home folder has another name.
    fn as_the_system_has_it(variables: impl Iterator<Item = (OsString, OsString)>, windows: bool) -> Self {
        if !windows {
            return Self { variables: variables.collect() };
        }
        let mut variables: BTreeMap<OsString, OsString> = variables.map(|(name, value)| (name.to_ascii_uppercase(), value)).collect();
        if let Some(home) = variables.get(std::ffi::OsStr::new("USERPROFILE")).cloned() {
            variables.entry("HOME".into()).or_insert(home);
        }
        Self { variables }
    }

    /// An environment of these variables alone.
    #[cfg(test)]
    pub(crate) fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self { variables: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// A variable that is set, not empty, and text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(std::ffi::OsStr::new(name)).and_then(|value| value.to_str()).filter(|value| !value.trim().is_empty())
    }

    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.variables.get(std::ffi::OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// Whether a variable says yes: anything but nothing, `0`, `false`, `no` and `off`.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| !["0", "false", "no", "off"].contains(&value.trim().to_lowercase().as_str()))
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> + '_ {
        self.variables.iter().map(|(name, value)| (name.clone(), value.clone()))
    }

    /// `AIME__SECTION__KEY` and its value; one that is empty sets nothing.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let text = self.variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        text.filter(|(name, value)| name.starts_with("AIME__") && !value.trim().is_empty())
    }

    /// `~/x` in the home folder, if that is known.
    pub(crate) fn expand_home(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.path("HOME")) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }
}

/// The files that are read, lowest first.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// `$XDG_CONFIG_HOME/aime/config.toml`.
    pub(crate) user: Option<PathBuf>,
    /// `aime.toml` in the working folder.
    pub(crate) project: PathBuf,
    /// What `--config` names.
    pub(crate) flag: Option<PathBuf>,
    /// `$XDG_STATE_HOME/aime`.
    state: Option<PathBuf>,
}

impl Places {
    pub(crate) fn new(environment: &Environment, folder: &Path, flag: Option<PathBuf>) -> Self {
        let base = environment.path("XDG_CONFIG_HOME").or_else(|| environment.path("HOME").map(|home| home.join(".config")));
        let user = base.map(|base| first_of(&base.join("aime"), "config"));
        let state = environment.path("XDG_STATE_HOME").or_else(|| environment.path("HOME").map(|home| home.join(".local/state")));
        Self { user, project: first_of(folder, "aime"), flag, state: state.map(|state| state.join("aime")) }
    }

    /// The folder that keeps logins.
    pub(crate) fn state_folder(&self) -> Option<&Path> {
        self.state.as_deref()
    }

    /// The folder of the user's own profiles, prompts and categories.
    pub(crate) fn user_folder(&self) -> Option<&Path> {
        self.user.as_deref().and_then(Path::parent)
    }
}

/// The files that can hold the settings of a project: one of them does.
pub(crate) fn project_files(folder: &Path) -> [PathBuf; 4] {
    forms(&folder.join("aime"))
}

/// Another file that is there beside a file of settings, with the same name in another form.
pub(super) fn beside(path: &Path) -> Option<PathBuf> {
    forms(path).into_iter().find(|other| other != path && other.exists())
}

/// The file of this name that is there, TOML before YAML before JSON.
fn first_of(folder: &Path, stem: &str) -> PathBuf {
    let [usual, others @ ..] = forms(&folder.join(stem));
    if usual.exists() { usual } else { others.into_iter().find(|path| path.exists()).unwrap_or(usual) }
}

fn forms(path: &Path) -> [PathBuf; 4] {
    ["toml", "yaml", "yml", "json"].map(|ending| path.with_extension(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_windows_are_found_by_their_usual_names() {
        let given =
            || [("Path", "C:\\bin"), ("UserProfile", "C:\\me"), ("Aime_Model", "m")].map(|(name, value)| (name.into(), value.into()));
        let windows = Environment::as_the_system_has_it(given().into_iter(), true);
        for (name, value) in [("PATH", "C:\\bin"), ("HOME", "C:\\me"), ("USERPROFILE", "C:\\me"), ("AIME_MODEL", "m")] {
            assert_eq!(windows.text(name), Some(value), "{name}");
        }
        let elsewhere = Environment::as_the_system_has_it(given().into_iter(), false);
        assert_eq!((elsewhere.text("PATH"), elsewhere.text("Path"), elsewhere.text("HOME")), (None, Some("C:\\bin"), None));
        let own = [("Home", "D:\\own"), ("UserProfile", "C:\\me")].map(|(name, value)| (name.into(), value.into()));
        assert_eq!(Environment::as_the_system_has_it(own.into_iter(), true).text("HOME"), Some("D:\\own"));
    }
}
