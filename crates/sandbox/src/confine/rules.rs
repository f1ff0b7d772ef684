//! File rules of a command, derived from its settings and from the existing files.

use std::path::{Path, PathBuf};

use super::{
    ConfinementSettings,
    places::{DEVICES, ETC, SECRETS, SYSTEM, SYSTEM_SECRETS, TOOLCHAINS},
    repository::OuterRepository,
};

/// Accessible files and folders, each with its content. All others are inaccessible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Readable and executable.
    pub(crate) read: Vec<PathBuf>,
    /// Readable, executable and writable.
    pub(crate) write: Vec<PathBuf>,
    /// Readable and writable, but cannot be created or removed.
    pub(crate) devices: Vec<PathBuf>,
    /// Not readable, unless a rule names them.
    secrets: Vec<PathBuf>,
    /// Git folder of the working folder, if it is outside of it. It is readable.
    pub(super) git_folder: Option<PathBuf>,
}

/// A readable folder that contains a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExposedFolder {
    pub(crate) folder: PathBuf,
    pub(crate) secret: PathBuf,
}

impl Rules {
    /// Creates the rules, and returns the secrets that they expose because the user has named a folder around them. Default folders that
    /// contain secrets are left out instead.
    pub(crate) fn new(settings: &ConfinementSettings) -> (Self, Vec<ExposedFolder>) {
        let home = settings.home.as_deref();
        let secrets = secrets(settings);
        let holds_secret = |path: &Path| secrets.iter().any(|secret| secret.starts_with(path) || path.starts_with(secret));
        let in_home = TOOLCHAINS.iter().filter_map(|part| Some(home?.join(part)));
        let usual = SYSTEM.iter().map(PathBuf::from).chain(ETC.iter().map(|part| Path::new("/etc").join(part)));
        let programs = settings.program_folders.iter().map(|folder| match around(folder) {
            Some(prefix) if !home.is_some_and(|home| real(home).starts_with(real(prefix))) && !holds_secret(&real(prefix)) => {
                prefix.to_owned()
            }
            _ => folder.clone(),
        });
        // If a home folder is a work tree, its git folder has files of all folders in it.
        let repository = OuterRepository::of(&settings.working_folder)
            .filter(|repository| !holds_secret(&repository.root) && !holds_secret(&repository.git_folder));
        let of_git = repository.iter().flat_map(|repository| repository.files.iter().chain([&repository.git_folder])).cloned();
        let toolchains = settings.toolchains.iter().cloned();
        let mut read: Vec<PathBuf> = usual.chain(in_home).chain(toolchains).chain(programs).chain(of_git).collect();
        // The kernel needs rules for the targets of links, so both the name and its target are checked.
        read.retain(|path| path.exists() && !holds_secret(&real(path)));
        read.extend(settings.read.iter().cloned());
        read.sort();
        read.dedup();
        let named = settings.read.iter().chain([&settings.working_folder]).chain(&settings.write);
        let exposed = named.flat_map(|folder| {
            let place = real(folder);
            let within = secrets.iter().filter(move |secret| **secret != place && secret.starts_with(&place) && secret.exists());
            within.map(|secret| ExposedFolder { folder: folder.clone(), secret: secret.clone() })
        });
        let exposed = exposed.collect();
        let folder = settings.working_folder.clone();
        let mut write = settings.write.clone();
        if settings.read_only {
            read.push(folder)
        } else {
            write.insert(0, folder)
        }
        let git_folder = repository.map(|repository| repository.git_folder);
        (Self { read, write, devices: DEVICES.iter().map(PathBuf::from).collect(), secrets, git_folder }, exposed)
    }

    /// Creates rules of these places without secrets, for the kernel, which does not need those.
    #[cfg(target_os = "linux")]
    pub(crate) const fn of_places(read: Vec<PathBuf>, write: Vec<PathBuf>, devices: Vec<PathBuf>) -> Self {
        Self { read, write, devices, secrets: Vec::new(), git_folder: None }
    }

    /// Creates rules of these places.
    #[cfg(test)]
    pub(crate) fn of(read: &[&str], write: &[&str]) -> Self {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        Self { read: paths(read), write: paths(write), devices: Vec::new(), secrets: Vec::new(), git_folder: None }
    }

    /// Adds a writable folder.
    pub(crate) fn with_written(&self, folder: &Path) -> Self {
        let mut rules = self.clone();
        rules.write.push(folder.to_owned());
        rules
    }

    pub(crate) fn may_read(&self, path: &Path) -> bool {
        within(path, &self.read) || within(path, &self.write) || within(path, &self.devices)
    }

    pub(crate) fn may_write(&self, path: &Path) -> bool {
        within(path, &self.write) || within(path, &self.devices)
    }

    pub(crate) fn is_secret(&self, path: &Path) -> bool {
        within(path, &self.secrets)
    }
}

fn within(path: &Path, places: &[PathBuf]) -> bool {
    let place = real(path);
    places.iter().any(|allowed| path.starts_with(allowed) || place.starts_with(real(allowed)))
}

/// Returns the places of keys and passwords, each by its name and by its link target.
fn secrets(settings: &ConfinementSettings) -> Vec<PathBuf> {
    let home = settings.home.as_deref();
    let in_home = SECRETS.iter().filter_map(|part| Some(home?.join(part)));
    let of_others = SYSTEM_SECRETS.iter().map(PathBuf::from);
    // The user's own home folder is not secret as a whole, because its toolchains are readable.
    let of_others =
        of_others.filter(|path| !home.is_some_and(|home| real(home).starts_with(path)) && !settings.working_folder.starts_with(path));
    let named: Vec<PathBuf> = in_home.chain(of_others).chain(settings.secrets.iter().cloned()).collect();
    let mut all: Vec<PathBuf> = named.iter().map(|path| real(path)).collect();
    all.extend(named);
    all.sort();
    all.dedup();
    all
}

/// Returns the folder around a `bin` folder: it contains the files that its programs need.
fn around(folder: &Path) -> Option<&Path> {
    let is_of_programs = ["bin", "sbin", "shims"].iter().any(|name| folder.ends_with(name));
    folder.parent().filter(|prefix| is_of_programs && prefix.parent().is_some())
}

/// Resolves the links of a path. For a missing path, resolves the nearest existing folder above it.
fn real(path: &Path) -> PathBuf {
    if let Ok(place) = path.canonicalize() {
        return place;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}
