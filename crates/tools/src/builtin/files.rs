//! Functions shared by the file tools.

use std::{
    ops::ControlFlow,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use aime_messages::nearest;
use aime_sandbox::{EntryKind, FileError};
use tokio::task::spawn_blocking;

use super::walk::walk;
use crate::{
    ToolContext, ToolError,
    secrets::{admit, learn_private_keys},
};

/// Maximum number of files that the search for a missing name visits, and of names that it suggests.
const MAX_VISITED: usize = 20_000;
const MAX_MEANT: usize = 3;
/// Number of bytes that are examined to distinguish text from binary files.
const SNIFFED: usize = 8 * 1024;

/// First bytes of well-known file formats, and the names of the formats.
const KNOWN: &[(&[u8], &str)] = &[
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"BM", "a bitmap image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\0", "an SQLite database"),
];

/// Locks reading, changing and writing as one step: two actors may edit one file at the same time.
pub(super) fn editing() -> MutexGuard<'static, ()> {
    static EDITING: Mutex<()> = Mutex::new(());
    EDITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs blocking work on a thread for it.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, ToolError> + Send + 'static) -> Result<T, ToolError> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(ToolError::Failed(format!("the tool itself failed: {error}"))),
    }
}

/// Returns the name of a file for results: its path relative to the working folder.
pub(super) fn name(context: &ToolContext, path: &str) -> Result<String, ToolError> {
    Ok(context.folder.relative(path)?.to_string_lossy().into_owned())
}

/// Reads a file. The error for a missing file suggests similar names.
pub(super) fn read(context: &ToolContext, path: &str) -> Result<Vec<u8>, ToolError> {
    admit(context, &context.folder.relative(path)?)?;
    let bytes = context.folder.read(path).map_err(|error| {
        let repair = match &error {
            FileError::NotFound { .. } => meant(context, path),
            FileError::NotAFile { kind: EntryKind::Folder, .. } => Some("; use `list_dir`".to_owned()),
            FileError::TooLarge { .. } => Some("; use `grep`, or `bash` with head, tail or sed".to_owned()),
            _ => return explained(context, path, error),
        };
        ToolError::from(error).map_text(|text| text + repair.as_deref().unwrap_or_default())
    })?;
    learn_private_keys(&bytes, &context.redactor);
    Ok(bytes)
}

/// Extends the error if a part of the path is a file instead of a folder.
pub(super) fn explained(context: &ToolContext, path: &str, error: FileError) -> ToolError {
    let is_file = |part: &&Path| context.folder.read(part).is_ok();
    let file = match (&error, context.folder.relative(path)) {
        (FileError::NotAFolder { .. }, Ok(relative)) => relative.ancestors().skip(1).find(is_file).map(Path::to_path_buf),
        _ => None,
    };
    match file {
        Some(file) => {
            ToolError::Failed(format!("`{path}` cannot be: `{0}` is a file. Delete `{0}` to have a folder in its place", file.display()))
        }
        None => ToolError::from(error),
    }
}

/// Suggests files for a missing path: one with a similar name in the same folder, or else those with the same name in other folders.
fn meant(context: &ToolContext, path: &str) -> Option<String> {
    let files = like(context, path).map_or_else(|| of_that_name(context, path), |like| vec![like]);
    let files: Vec<_> = files.iter().map(|file| format!("`{file}`")).collect();
    (!files.is_empty()).then(|| format!("; did you mean {}?", files.join(" or ")))
}

/// Returns a few files of the same name in other folders, those nearest to the working folder first.
fn of_that_name(context: &ToolContext, path: &str) -> Vec<String> {
    let relative = context.folder.relative(path).unwrap_or_default();
    let Some(name) = relative.file_name() else { return Vec::new() };
    let (mut seen, mut found) = (0, Vec::new());
    let walked = walk(context, Path::new(""), |file| {
        seen += 1;
        if file.file_name() == Some(name) {
            found.push(file.to_path_buf());
        }
        Ok(if seen < MAX_VISITED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    });
    if walked.is_err() {
        return Vec::new();
    }
    found.sort_by_key(|file| file.components().count());
    found.iter().take(MAX_MEANT).map(|file| file.to_string_lossy().into_owned()).collect()
}

/// Returns a file in the same folder with a similar name. Skips names of one or two letters, which are all similar: `b.txt` does not mean
/// `a.txt`.
fn like(context: &ToolContext, path: &str) -> Option<String> {
    let relative = context.folder.relative(path).ok()?;
    let parent = relative.parent()?;
    let listed = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let entries = context.folder.read_dir(listed).ok()?;
    let stem = relative.file_stem()?;
    let says_much = |name: &&str| stem.len() > 2 || Path::new(name).file_stem() == Some(stem);
    let names: Vec<_> = entries.iter().filter_map(|entry| entry.name.to_str()).filter(says_much).collect();
    let wanted = relative.file_name()?.to_str()?;
    Some(parent.join(nearest(wanted, names)?).to_string_lossy().into_owned())
}

/// Returns a phrase on the format of a file that is not text.
pub(crate) fn no_text(bytes: &[u8]) -> Option<&'static str> {
    let beginning = bytes.get(..SNIFFED).unwrap_or(bytes);
    let known = KNOWN.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, name)| *name);
    let webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    match known {
        // The two letters of a bitmap's signature may begin a text as well.
        Some(name) if name != "a bitmap image" => Some(name),
        _ if webp => Some("a WebP image"),
        _ if beginning.contains(&0) => Some(known.unwrap_or("a binary file")),
        _ => None,
    }
}

/// How a model changes a text that is not UTF-8; the file tools write UTF-8 only.
pub(super) const IN_ITS_ENCODING: &str = "change it with `bash` or `python` in its encoding";

/// Returns true for a text in another encoding than UTF-8.
pub(super) fn is_in_other_encoding(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err() && no_text(bytes).is_none()
}

/// Formats a count: `1 line`, `2 lines`.
pub(super) fn counted(count: usize, what: &str) -> String {
    let plural = match what {
        "match" => "matches".to_owned(),
        "entry" => "entries".to_owned(),
        _ => format!("{what}s"),
    };
    if count == 1 { format!("1 {what}") } else { format!("{count} {plural}") }
}
