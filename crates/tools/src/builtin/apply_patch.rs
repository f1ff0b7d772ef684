//! `apply_patch`: changes several files, all or none.

mod git;
mod parse;
mod place;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use aime_sandbox::{ConfinedFolder, FileError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::{
    parse::{Hunk, Section},
    place::{Applied, Counts},
};
use super::{
    files::{IN_ITS_ENCODING, blocking, counted, editing, name, no_text, read},
    tolerant::{BYTE_ORDER_MARK, Ignored},
};
use crate::{SeenFile, Tool, ToolContext, ToolError, ToolOutput, ToolScope, TypedTool, secrets::admit};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApplyPatch {
    /// From `*** Begin Patch` to `*** End Patch`. A file: `*** Update File: PATH` (then perhaps `*** Move to: PATH`), `@@`, and lines with ` `, `-` or `+` before them; `*** Add File: PATH` and lines with `+`; `*** Delete File: PATH`. A unified diff will do
    patch: String,
}

pub(super) fn tool() -> impl Tool {
    let description = "Change several files at once, or none if a part does not fit.";
    TypedTool::new("apply_patch", description, |parameters: ApplyPatch, context: ToolContext| {
        blocking(move || call(&parameters.patch, &context))
    })
    .touches(ToolScope::Files)
    .alternatives(&["edit_file", "write_file"])
}

fn call(patch: &str, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let sections = parse::parse(patch).map_err(ToolError::InvalidParameters)?;
    let _one_at_a_time = editing();
    let (files, done) = plan(&sections, context)?;
    let others: Vec<String> = files.iter().filter_map(|(path, file)| context.note_of_other_change(path, file.before.as_ref()?)).collect();
    write(&context.folder, &files)?;
    let seen = done.iter().flat_map(|done| done.record_seen(&files, context)).collect();
    let lines: Vec<String> = done.iter().map(FileResult::line).chain(others).collect();
    let value = json!({"files": done.iter().map(FileResult::value).collect::<Vec<_>>()});
    let references = done.iter().filter(|done| done.did != "deleted").map(|done| done.path.clone()).collect();
    Ok(ToolOutput {
        text: format!("Changed {}:\n{}", counted(done.len(), "file"), lines.join("\n")),
        value,
        references,
        seen,
        ..ToolOutput::default()
    })
}

/// A path that a patch names.
pub(crate) struct PatchPath {
    /// Path as written in the patch.
    pub(crate) path: String,
    /// True if an error may show the file's content because the patch does not match.
    pub(crate) reads: bool,
}

/// Returns every path that a patch names. All of them count as written. Empty for an invalid patch, which changes nothing.
pub(crate) fn patch_paths(patch: &str) -> Vec<PatchPath> {
    let of_section = |section: Section| match section {
        Section::Add { path, .. } => vec![PatchPath { path, reads: false }],
        Section::Delete { path, hunks } => vec![PatchPath { path, reads: !hunks.is_empty() }],
        Section::Update { path, to, .. } => {
            let to = to.map(|path| PatchPath { path, reads: false });
            std::iter::once(PatchPath { path, reads: true }).chain(to).collect()
        }
    };
    parse::parse(patch).unwrap_or_default().into_iter().flat_map(of_section).collect()
}

/// Content of a file before and after the patch.
#[derive(Debug, Clone, Default)]
struct Versions {
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    /// Former mode of the file.
    was: Option<u32>,
    /// Mode of the file, if it is not the usual one: that of the file that it replaces, or of a new executable file.
    mode: Option<u32>,
}

/// Mode of a new executable file, as git has it.
const EXECUTABLE: u32 = 0o755;

/// Result for one file.
#[derive(Default)]
struct FileResult {
    did: &'static str,
    path: String,
    /// Former path, if it was renamed.
    from: Option<String>,
    counts: Counts,
    ignored: Ignored,
    /// True if added lines got the line end `\r\n` of the file.
    windows: bool,
    /// True if the patch creates the file as an executable one.
    executable: bool,
}

impl FileResult {
    fn line(&self) -> String {
        let from = self.from.as_ref().map(|from| format!(" (was `{from}`)")).unwrap_or_default();
        let Counts { added, removed } = self.counts;
        let counts = if self.did == "deleted" { String::new() } else { format!(", +{added} -{removed}") };
        let ignored = self.ignored.note().map(|note| format!(" {note}")).unwrap_or_default();
        let windows = if self.windows { " [written with CRLF line ends, as the file has them]" } else { "" };
        let executable = match self.executable {
            false => "",
            true if cfg!(unix) => " [executable]",
            true => " [not executable: files have no mode here]",
        };
        format!("{} `{}`{from}{counts}{ignored}{windows}{executable}", self.did, self.path)
    }

    /// Returns records of the file versions that the actor of the call has seen through the patch.
    fn record_seen(&self, files: &BTreeMap<String, Versions>, context: &ToolContext) -> Vec<SeenFile> {
        let from = self.from.as_ref().unwrap_or(&self.path);
        let before = files.get(from).and_then(|versions| versions.before.as_deref());
        let after = files.get(&self.path).and_then(|versions| versions.after.as_deref());
        let gone = (self.did == "deleted" || self.from.is_some()).then(|| context.deleted(from)).into_iter().flatten();
        let made = match (before, after) {
            (_, None) => Vec::new(),
            (None, Some(after)) => context.record_seen(&self.path, after),
            (Some(before), Some(after)) => context.edited(from, before, &self.path, after),
        };
        gone.chain(made).collect()
    }

    fn value(&self) -> Value {
        json!({"path": self.path, "did": self.did, "from": self.from, "added": self.counts.added, "removed": self.counts.removed})
    }
}

/// Computes the result of the patch before any write. Reports all faults together.
fn plan(sections: &[Section], context: &ToolContext) -> Result<(BTreeMap<String, Versions>, Vec<FileResult>), ToolError> {
    let mut planned = Planned { context, files: BTreeMap::new() };
    let (mut done, mut faults) = (Vec::new(), Vec::new());
    for section in sections {
        match planned.take(section) {
            Ok(made) => done.push(made),
            Err(ToolError::Denied(why)) => return Err(ToolError::Denied(why)),
            Err(error) => {
                let text = error.to_string();
                let named = format!("`{}`", section.path());
                faults.push(if text.contains(&named) { text } else { format!("{named}: {text}") });
            }
        }
    }
    match faults.as_slice() {
        [] => Ok((planned.files, done)),
        [one] if sections.len() == 1 => Err(ToolError::Failed(one.clone())),
        _ => Err(ToolError::Failed(format!("nothing was changed, since a part does not fit:\n{}", faults.join("\n")))),
    }
}

/// State of the files after the sections so far.
struct Planned<'a> {
    context: &'a ToolContext,
    files: BTreeMap<String, Versions>,
}

impl Planned<'_> {
    fn take(&mut self, section: &Section) -> Result<FileResult, ToolError> {
        let path = name(self.context, section.path())?;
        admit(self.context, Path::new(&path))?;
        let failed = |text: String| Err(ToolError::Failed(text));
        match section {
            Section::Add { content, executable, .. } => {
                if content.contains('\0') {
                    return failed(format!("`{path}` would hold a NUL byte; apply_patch writes text only"));
                }
                if self.current(&path)?.is_some() {
                    return failed(format!("`{path}` is there already; use `*** Update File`"));
                }
                let counts = Counts { added: content.lines().count(), removed: 0 };
                self.put(&path, content.clone());
                self.files.entry(path.clone()).or_default().mode = executable.then_some(EXECUTABLE);
                Ok(FileResult { did: "added", path, counts, executable: *executable, ..FileResult::default() })
            }
            Section::Delete { hunks, .. } => {
                match self.current(&path)? {
                    Some(bytes) => self.context.must_have_seen(&path, &bytes, "deleted")?,
                    // Return the error of `read`, which suggests similar names.
                    None => drop(read(self.context, section.path())?),
                }
                if !hunks.is_empty() {
                    let left = self.applied(&path, section.path(), hunks)?.text;
                    if !left.trim_start_matches(BYTE_ORDER_MARK).is_empty() {
                        return failed(format!(
                            "`{path}` has lines that the diff does not remove; use `*** Delete File` to delete it with all that it holds"
                        ));
                    }
                }
                self.remove(&path);
                Ok(FileResult { did: "deleted", path, ..FileResult::default() })
            }
            Section::Update { to, hunks, .. } => {
                let Applied { text: changed, counts, ignored, windows } = self.applied(&path, section.path(), hunks)?;
                if changed.contains('\0') {
                    return failed(format!("`{path}` would hold a NUL byte; apply_patch writes text only"));
                }
                let Some(to) = to else {
                    self.put(&path, changed);
                    return Ok(FileResult { did: "changed", path, counts, ignored, windows, ..FileResult::default() });
                };
                let to = name(self.context, to)?;
                if self.current(&to)?.is_some() {
                    return failed(format!("`{to}` is there already; `{path}` cannot be moved to it"));
                }
                let planned = self.files.get(&path).and_then(|versions| versions.mode);
                let mode = planned.or(self.context.folder.entry(&path)?.map(|facts| facts.mode));
                self.put(&to, changed);
                self.files.entry(to.clone()).or_default().mode = mode;
                self.remove(&path);
                Ok(FileResult { did: "moved", path: to, from: Some(path), counts, ignored, windows, ..FileResult::default() })
            }
        }
    }

    /// Returns the text of a file after its hunks.
    fn applied(&mut self, path: &str, asked: &str, hunks: &[Hunk]) -> Result<Applied, ToolError> {
        let text = self.text(path, asked)?;
        place::apply(&text, hunks).map_err(|why| ToolError::Failed(format!("`{path}`: {why}")))
    }

    fn put(&mut self, path: &str, content: String) {
        self.files.entry(path.to_owned()).or_default().after = Some(content.into_bytes());
    }

    fn remove(&mut self, path: &str) {
        let versions = self.files.entry(path.to_owned()).or_default();
        (versions.after, versions.mode) = (None, None);
    }

    /// Returns the content of a file after the sections so far; `None` if it does not exist.
    fn current(&mut self, path: &str) -> Result<Option<Vec<u8>>, ToolError> {
        if let Some(versions) = self.files.get(path) {
            return Ok(versions.after.clone());
        }
        let before = match self.context.folder.read(path) {
            Ok(bytes) => Some(bytes),
            Err(FileError::NotFound { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let was = self.context.folder.entry(path)?.filter(|_| before.is_some()).map(|facts| facts.mode);
        self.files.insert(path.to_owned(), Versions { before: before.clone(), after: before.clone(), was, mode: None });
        Ok(before)
    }

    fn text(&mut self, path: &str, asked: &str) -> Result<String, ToolError> {
        let bytes = match self.current(path)? {
            Some(bytes) => bytes,
            None if self.files.get(path).is_some_and(|versions| versions.before.is_some()) => {
                return Err(ToolError::Failed(format!("`{path}` is deleted or moved by a part before this one; change it before that")));
            }
            None => read(self.context, asked)?,
        };
        if let Some(kind) = no_text(&bytes) {
            return Err(ToolError::Failed(format!("`{path}` is {kind}; apply_patch changes text only")));
        }
        String::from_utf8(bytes)
            .map_err(|_| ToolError::Failed(format!("`{path}` is not UTF-8 text; apply_patch cannot change it: {IN_ITS_ENCODING}")))
    }
}

/// Writes all files. If one cannot be written, restores those before it.
fn write(folder: &ConfinedFolder, files: &BTreeMap<String, Versions>) -> Result<(), ToolError> {
    let changed: Vec<_> = files.iter().filter(|(_, versions)| versions.before != versions.after || versions.mode.is_some()).collect();
    let mut written: Vec<(&String, &Versions, Vec<PathBuf>)> = Vec::new();
    // Write before deleting, so that an interruption loses nothing.
    let (gone, new): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(_, versions)| versions.after.is_none());
    for (path, versions) in new.into_iter().chain(gone) {
        let missing = missing_folders(folder, Path::new(path));
        let Err(error) = set(folder, path, versions.after.as_deref(), versions.mode) else {
            written.push((path, versions, missing));
            continue;
        };
        // Remove the folders that were created for the failed file, if possible.
        drop(remove_folders(folder, &missing));
        let back = if written.is_empty() { "" } else { "; the files before it were put back" };
        for (path, versions, missing) in written.into_iter().rev() {
            if let Err(back) = put_back(folder, path, versions, &missing) {
                return Err(ToolError::Failed(format!("{error}; and `{path}`, which was changed before, could not be put back: {back}")));
            }
        }
        return Err(ToolError::from(error).map_text(|text| text + back));
    }
    Ok(())
}

/// Restores one file, and removes the folders that were created for it.
fn put_back(folder: &ConfinedFolder, path: &str, versions: &Versions, missing: &[PathBuf]) -> Result<(), FileError> {
    match set(folder, path, versions.before.as_deref(), versions.was) {
        // The file was never created.
        Err(FileError::NotFound { .. }) => {}
        back => back?,
    }
    remove_folders(folder, missing)
}

fn remove_folders(folder: &ConfinedFolder, made: &[PathBuf]) -> Result<(), FileError> {
    for made in made.iter().rev() {
        if folder.entry(made)?.is_some() {
            folder.remove_entry(made)?;
        }
    }
    Ok(())
}

fn set(folder: &ConfinedFolder, path: &str, content: Option<&[u8]>, mode: Option<u32>) -> Result<(), FileError> {
    match content {
        Some(content) => folder.write_as(path, content, mode).map(drop),
        None => folder.remove_file(path),
    }
}

/// Returns the missing parent folders of a path, the outermost first.
fn missing_folders(folder: &ConfinedFolder, path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    let mut missing: Vec<PathBuf> =
        above.take_while(|above| matches!(folder.facts(above), Err(FileError::NotFound { .. }))).map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}
