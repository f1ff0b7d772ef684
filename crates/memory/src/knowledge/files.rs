//! The files of a folder, and what is in them.

use std::{
    fs::{File, Metadata},
    io::Read,
    path::{Component, Path, PathBuf},
    time::UNIX_EPOCH,
};

use aime_redact::is_credential_file;
use ignore::WalkBuilder;

use super::{SkipReason, SkippedFile};

/// Number of bytes that are read of a file before the rest.
const BEGINNING: u64 = 8_192;

/// A file as the folder lists it.
pub(super) struct Found {
    /// Path for reading the file.
    pub(super) place: PathBuf,
    /// Relative to the folder, with `/`.
    pub(super) path: String,
    pub(super) bytes: u64,
    /// When it was last changed, in nanoseconds since 1970.
    pub(super) modified: i64,
}

/// Walks the files beneath a folder, in order of their paths. Ignore files above the folder and the user's own have
/// no effect.
pub(super) fn walk(folder: &Path) -> impl Iterator<Item = Result<Found, SkippedFile>> {
    let mut builder = WalkBuilder::new(folder);
    builder.parents(false).git_global(false).require_git(false).follow_links(false).sort_by_file_name(Ord::cmp);
    let folder = folder.to_owned();
    builder.build().filter_map(move |entry| match entry {
        Ok(entry) => {
            let kind = entry.file_type()?;
            let path = name(&folder, entry.path());
            if kind.is_symlink() {
                return Some(Err(SkippedFile { path: display_path(&folder, entry.path()), reason: SkipReason::Link }));
            }
            if !kind.is_file() {
                return None;
            }
            let Some(path) = path else {
                return Some(Err(SkippedFile { path: display_path(&folder, entry.path()), reason: SkipReason::Name }));
            };
            if is_credential_file(&path) {
                return Some(Err(SkippedFile { path, reason: SkipReason::Keys }));
            }
            match entry.metadata() {
                Ok(metadata) => {
                    let (bytes, modified) = (metadata.len(), modified(&metadata));
                    Some(Ok(Found { place: entry.into_path(), path, bytes, modified }))
                }
                Err(error) => Some(Err(SkippedFile { path, reason: SkipReason::Unreadable { error: error.to_string() } })),
            }
        }
        Err(error) => {
            let path = at(&error).map(|path| display_path(&folder, path)).unwrap_or_default();
            let error = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
            Some(Err(SkippedFile { path, reason: SkipReason::Unreadable { error } }))
        }
    })
}

/// Returns the text of a file.
pub(super) fn read(file: &Found, max_bytes: u64) -> Result<String, SkipReason> {
    let unreadable = |error: std::io::Error| SkipReason::Unreadable { error: error.to_string() };
    let mut open = File::open(&file.place).map_err(unreadable)?;
    let mut content = Vec::new();
    // The beginning identifies most binary files, images above all, so their rest need not be read.
    open.by_ref().take(BEGINNING).read_to_end(&mut content).map_err(unreadable)?;
    if content.contains(&0) {
        return Err(SkipReason::Binary);
    }
    // It may have grown since it was listed.
    let rest = max_bytes.saturating_add(1).saturating_sub(content.len() as u64);
    open.take(rest).read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > max_bytes {
        return Err(SkipReason::TooLarge { bytes: content.len() as u64 });
    }
    if content.contains(&0) {
        return Err(SkipReason::Binary);
    }
    let text = String::from_utf8(content).map_err(|_| SkipReason::NotUtf8)?;
    // A mark of byte order is no text.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn modified(metadata: &Metadata) -> i64 {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default()
}

/// Returns a path in the folder as it is kept.
fn name(folder: &Path, path: &Path) -> Option<String> {
    let parts = path.strip_prefix(folder).ok()?.components().filter_map(|component| match component {
        Component::Normal(part) => Some(part.to_str()),
        _ => None,
    });
    Some(parts.collect::<Option<Vec<_>>>()?.join("/"))
}

/// Returns a path in the folder as it is shown.
fn display_path(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}

/// Returns the path that an error of the walk is about.
fn at(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => at(err),
        _ => None,
    }
}
