//! Lexical conversion of a path to one relative to its folder.

use std::{
    ffi::{OsStr, OsString},
    path::{Component, Path, PathBuf},
};

use super::{EntryKind, FileError, RESERVED_FOLDER};

/// A path that is lexically inside the folder. Links are checked elsewhere.
#[derive(Debug)]
pub(super) struct InnerPath {
    /// Relative path of plain names only; `.` for the folder itself.
    pub(super) path: PathBuf,
    /// Path as requested.
    pub(super) requested: PathBuf,
}

impl InnerPath {
    /// Converts a path. `folder` is the absolute path of the folder, `aliases` are others that lead to it. A path must begin with an alias
    /// literally, so that the permission rules, which see paths lexically, see the same file.
    pub(super) fn new(path: &Path, folder: &Path, aliases: &[PathBuf]) -> Result<Self, FileError> {
        let shown = path.to_path_buf();
        if path.as_os_str().is_empty() {
            return Err(FileError::Empty);
        }
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(FileError::NulByte { path: shown });
        }
        if let Some(error) = foreign(path) {
            return Err(error);
        }
        let outside = || FileError::Outside { path: shown.clone(), folder: folder.to_path_buf() };
        let beneath = aliases.iter().find_map(|alias| below(path, alias)).unwrap_or(path);
        let names = normalise(beneath).ok_or_else(outside)?;
        let names = if beneath.is_absolute() {
            let folder = normalise(folder).unwrap_or_default();
            names.strip_prefix(folder.as_slice()).map(<[_]>::to_vec).ok_or_else(outside)?
        } else {
            names
        };
        let path = if names.is_empty() { PathBuf::from(".") } else { names.iter().collect() };
        Ok(Self { path, requested: shown })
    }

    /// Refuses a path that ends in `/` or `.`, which names a folder.
    pub(super) fn must_name_a_file(&self) -> Result<(), FileError> {
        let bytes = self.requested.as_os_str().as_encoded_bytes();
        let folder = bytes.ends_with(b"/") || bytes.ends_with(b"/.") || bytes.ends_with(b"/..") || self.path == Path::new(".");
        if folder { Err(FileError::NotAFile { path: self.requested.clone(), kind: EntryKind::Folder }) } else { Ok(()) }
    }
}

/// Refuses a path that starts at the home folder or, except on Windows, at a drive. Only a shell or Windows gives these a meaning; here
/// each would name a file of that odd name in the working folder.
fn foreign(path: &Path) -> Option<FileError> {
    let bytes = path.as_os_str().as_encoded_bytes();
    match bytes {
        [b'~'] | [b'~', b'/', ..] => Some(FileError::Home { path: path.to_path_buf() }),
        [drive, b':', b'\\' | b'/', ..] if cfg!(unix) && drive.is_ascii_alphabetic() => Some(FileError::Drive { path: path.to_path_buf() }),
        _ => None,
    }
}

/// Strips a literal prefix from a path.
fn below<'a>(path: &'a Path, alias: &Path) -> Option<&'a Path> {
    let text = path.to_str()?;
    let rest = text.strip_prefix(alias.to_str()?)?;
    if rest.is_empty() { Some(Path::new(".")) } else { rest.strip_prefix('/').map(|rest| Path::new(rest.trim_start_matches('/'))) }
}

/// Returns the names of a path without `.` and `..`; `None` if it climbs above its beginning.
fn normalise(path: &Path) -> Option<Vec<OsString>> {
    let mut names: Vec<OsString> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_os_string()),
            // The parent of the root is the root itself, but a path that uses this is suspicious.
            Component::ParentDir => drop(names.pop()?),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Some(names)
}

/// Returns true if a relative path is inside the runtime's own folder, also on file systems that ignore case.
pub(super) fn reserved(path: &Path) -> bool {
    let first = path.components().find(|component| !matches!(component, Component::CurDir));
    first.is_some_and(|first| first.as_os_str().eq_ignore_ascii_case(OsStr::new(RESERVED_FOLDER)))
}
