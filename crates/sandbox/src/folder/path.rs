//! Making a path relative to its folder, by its letters alone.

use std::{
    ffi::{OsStr, OsString},
    path::{Component, Path, PathBuf},
};

use super::{EntryKind, FileError, RESERVED_FOLDER};

/// A path that by its letters lies inside the folder. Links are another matter.
#[derive(Debug)]
pub(super) struct Inside {
    /// Relative, of plain names only; `.` for the folder itself.
    pub(super) path: PathBuf,
    /// As it was asked for.
    pub(super) shown: PathBuf,
}

impl Inside {
    /// `folders` are the names of the folder, absolute; the first is shown to people.
    pub(super) fn new(path: &Path, folders: &[&Path]) -> Result<Self, FileError> {
        let shown = path.to_path_buf();
        if path.as_os_str().is_empty() {
            return Err(FileError::Empty);
        }
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(FileError::NulByte { path: shown });
        }
        let outside = || FileError::Outside { path: shown.clone(), folder: folders.first().map(PathBuf::from).unwrap_or_default() };
        let names = normalise(path).ok_or_else(outside)?;
        let names = if path.is_absolute() {
            let beneath = |folder: &&Path| names.strip_prefix(normalise(folder)?.as_slice()).map(<[_]>::to_vec);
            folders.iter().find_map(beneath).ok_or_else(outside)?
        } else {
            names
        };
        let path = if names.is_empty() { PathBuf::from(".") } else { names.iter().collect() };
        Ok(Self { path, shown })
    }

    /// A path that ends in `/` or `.` names a folder.
    pub(super) fn must_name_a_file(&self) -> Result<(), FileError> {
        let bytes = self.shown.as_os_str().as_encoded_bytes();
        let folder = bytes.ends_with(b"/") || bytes.ends_with(b"/.") || bytes.ends_with(b"/..") || self.path == Path::new(".");
        if folder { Err(FileError::NotAFile { path: self.shown.clone(), kind: EntryKind::Folder }) } else { Ok(()) }
    }
}

/// The names of a path without `.` and `..`; nothing if it climbs above where it begins.
fn normalise(path: &Path) -> Option<Vec<OsString>> {
    let mut names: Vec<OsString> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_os_string()),
            // Above the root of the file system is the root again, but no honest path says so.
            Component::ParentDir => drop(names.pop()?),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Some(names)
}

/// Whether a relative path lies in the runtime's own folder, also on file systems that ignore case.
pub(super) fn reserved(path: &Path) -> bool {
    let first = path.components().find(|component| !matches!(component, Component::CurDir));
    first.is_some_and(|first| first.as_os_str().eq_ignore_ascii_case(OsStr::new(RESERVED_FOLDER)))
}
