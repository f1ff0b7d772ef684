//! Environment of the process, read once. No other module of the crate reads it.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Environment variables, read once.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Reads the environment of this process.
    #[expect(clippy::disallowed_methods, reason = "this is the one place where the command reads the environment")]
    pub fn of_process() -> Self {
        Self::as_the_system_has_it(std::env::vars_os(), cfg!(windows))
    }

    /// Normalizes variables. On Windows their names are case-insensitive, and the home folder has another name.
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

    /// Creates an environment of only these variables.
    pub fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self { variables: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// Returns the value of a variable that is set, not empty, and valid text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(std::ffi::OsStr::new(name)).and_then(|value| value.to_str()).filter(|value| !value.trim().is_empty())
    }

    /// Returns the value of a variable that is set and not empty, as a path.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.variables.get(std::ffi::OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// Returns the folder of aime's state, `$XDG_STATE_HOME/aime`. There is none if the user has no state folder, or if it is in this
    /// working folder, where runs write.
    pub(crate) fn state_outside(&self, folder: &Path) -> Option<PathBuf> {
        let base = self.path("XDG_STATE_HOME").or_else(|| self.path("HOME").map(|home| home.join(".local").join("state")))?;
        let folder = folder.canonicalize().ok()?;
        let within = |path: &Path| path.ancestors().find_map(|part| part.canonicalize().ok()).is_some_and(|real| real.starts_with(&folder));
        let place = base.join("aime");
        // If the state folder does not exist yet, its nearest existing ancestor decides where it would be created.
        (base.is_absolute() && !within(&place)).then_some(place)
    }

    /// Returns true unless the variable is unset, empty, `0`, `false`, `no` or `off`.
    pub fn is_set(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| !["0", "false", "no", "off"].contains(&value.trim().to_lowercase().as_str()))
    }

    /// Iterates over all variables.
    pub fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> + '_ {
        self.variables.iter().map(|(name, value)| (name.clone(), value.clone()))
    }

    /// Iterates over the non-empty variables `AIME__SECTION__KEY` with their values.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let text = self.variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        text.filter(|(name, value)| name.starts_with("AIME__") && !value.trim().is_empty())
    }

    /// Expands `~/x` to the home folder, if that is known.
    pub fn expand_home(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.path("HOME")) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: 19.9
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
