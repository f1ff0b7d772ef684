//! Atomic writes of files, and goals that are paths.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::Path,
};

/// Writes a file completely or not at all. A path that is not a regular file, such as a pipe, is written directly. `replace` permits
/// replacing an existing file.
pub fn write_whole(path: &Path, text: &str, replace: bool) -> io::Result<()> {
    write(path, text, replace, OpenOptions::new().read(true).write(true).create_new(true))
}

/// Writes a file as [`write_whole`] does, and replaces an existing one. On Unix only its owner may read the file.
#[cfg(feature = "mcp")]
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    write(path, text, true, &options)
}

fn write(path: &Path, text: &str, replace: bool, new_file: &OpenOptions) -> io::Result<()> {
    if replace && path.metadata().is_ok_and(|found| !found.is_file()) {
        return std::fs::write(path, text);
    }
    // A link stays a link, and its target is written.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Opened here, because the errors of `tempfile` hide the system's words and name the temporary file.
    let open = |path: &Path| new_file.open(path);
    let mut file = tempfile::Builder::new().prefix(".aime-").make_in(folder, open)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    let kept = if replace { file.persist(&path) } else { file.persist_noclobber(&path) };
    kept.map(drop).map_err(|error| error.error)
}

/// Returns true if a goal is only the path of an existing file. Its writer means the content of the file.
#[must_use]
pub fn is_path_of_file(goal: &str) -> bool {
    !goal.contains(char::is_whitespace) && Path::new(goal).is_file()
}

/// Returns the error without the name of a temporary file, which is of no use to anybody.
pub(crate) fn without_path(error: io::Error) -> io::Error {
    if error.raw_os_error().is_some() { error } else { error.kind().into() }
}
