//! Secrets in tool calls: collects the secrets of files before a call, and removes them from its result.

use std::path::Path;

use aime_redact::{REDACTED, REDACTED_WORD, Redactor, is_credential_file, is_kept_copy, private_keys_in, secrets_in};
use aime_sandbox::ConfinedFolder;
use ignore::{DirEntry, WalkBuilder};
use serde_json::{Map, Value};

use crate::{ToolContext, ToolError, ToolOutput, ToolSpec, permission::CommandText};

/// Maximum depth of the search for credential files before a run, and maximum number of entries.
const DEPTH: usize = 4;
const ENTRIES: usize = 20_000;
/// Maximum size in bytes of a credential file that is read.
const MAX_FILE_BYTES: u64 = 256 * 1024;
/// Maximum length in bytes of a word in a call that is treated as a path, and maximum number of such words.
const MAX_NAME: usize = 1_000;
const MAX_NAMED: usize = 50;
/// The tool that calls other tools of MCP servers.
const CALL_TOOL: &str = "mcp_call_tool";
/// Folders that the search skips, because they hold generated or third-party files.
const PASSED_OVER: &[&str] = &[".git", ".aime", "node_modules", "target", ".venv", "venv", "__pycache__"];

/// Collects the secrets in the credential files of a folder, so that no result shows them. Blocks. The search stops at a depth of 4 folders
/// and at 20,000 entries. Secrets of other files are collected when a call names the file.
pub fn learn_secrets_of(folder: &ConfinedFolder, redactor: &Redactor) {
    for entry in walk(folder, Some(DEPTH)).take(ENTRIES) {
        let relative = entry.path().strip_prefix(folder.path()).unwrap_or_else(|_| entry.path());
        if entry.file_type().is_some_and(|kind| kind.is_file()) && is_credential_file(&relative.to_string_lossy()) {
            learn(folder, relative, redactor);
        }
    }
}

/// Returns the entries of a folder down to a depth, without generated and third-party files.
fn walk(folder: &ConfinedFolder, depth: Option<usize>) -> impl Iterator<Item = DirEntry> {
    let mut walk = WalkBuilder::new(folder.path());
    walk.standard_filters(false).max_depth(depth).follow_links(false);
    walk.filter_entry(|entry| entry.depth() == 0 || !entry.file_name().to_str().is_some_and(|name| PASSED_OVER.contains(&name)));
    walk.build().filter_map(Result::ok)
}

/// Collects the secrets in a credential file.
pub(crate) fn learn(folder: &ConfinedFolder, path: &Path, redactor: &Redactor) {
    // A kept copy may be a copy of any file, so not every named value in it is a secret.
    if !is_kept_copy(&path.to_string_lossy())
        && folder.facts(path).is_ok_and(|facts| facts.size <= MAX_FILE_BYTES)
        && let Ok(bytes) = folder.read(path)
    {
        redactor.learn(secrets_in(&String::from_utf8_lossy(&bytes)));
    }
}

/// Collects the secrets in the files that a call names: as a parameter, or as a word of a command or of code. A tool that calls another one
/// has that tool's parameters in a parameter of its own.
pub(crate) fn learn_named(parameters: &Map<String, Value>, context: &ToolContext) {
    let all = || std::iter::once(parameters).chain(inner(parameters));
    let texts = all().flat_map(|given| given.values()).flat_map(texts_of);
    let whole = texts.filter(|text| text.len() < MAX_NAME && is_credential_file(text));
    let words = all().flat_map(key_files_named).filter(|word| word.len() < MAX_NAME);
    for path in whole.chain(words).take(MAX_NAMED) {
        learn(&context.folder, Path::new(path.trim()), &context.redactor);
    }
}

/// Returns the names of the credential files in a folder, in lower case and without duplicates; of a name with blanks its last word.
/// `None` if the folder has too many entries, so that any file may exist. Blocks.
#[must_use]
pub fn credential_files_in(folder: &ConfinedFolder) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for (count, entry) in walk(folder, None).enumerate() {
        if count >= ENTRIES {
            return None;
        }
        let relative = entry.path().strip_prefix(folder.path()).unwrap_or_else(|_| entry.path());
        if is_credential_file(&relative.to_string_lossy()) {
            let name = entry.file_name().to_string_lossy().to_lowercase();
            names.extend(name.split_whitespace().last().map(str::to_owned));
        }
    }
    names.sort();
    names.dedup();
    Some(names)
}

/// Returns the credential files that a call names: in a path, or as a word of a command or of code. Paths that a command computes are not
/// found here; known secrets are still removed from its output.
fn key_files_named(parameters: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let texts = ["path", "paths", "pattern", "glob", "command", "code", "uri"]
        .into_iter()
        .filter_map(|name| parameters.get(name))
        .flat_map(texts_of);
    texts.flat_map(key_files_in)
}

/// Returns the parameters of the tool that a call of another tool hands on.
fn inner(parameters: &Map<String, Value>) -> Option<&Map<String, Value>> {
    parameters.get("parameters").and_then(Value::as_object)
}

/// Returns the words of a text that look like credential files.
fn key_files_in(text: &str) -> impl Iterator<Item = &str> {
    let parts = |c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '\'' | '`' | '=' | '<' | '>' | '|' | ';' | '&' | '(' | ')' | ',' | '{' | '}' | '[' | ']' | ':')
    };
    text.split(parts).filter(|word| word.contains(['.', '/', '_']) && is_credential_file(word))
}

/// Returns the first credential file that a call of a tool would read, as far as it names one. A name in a pattern of a search, in a
/// comment or in text that is only printed or written opens no file. A name in code or prose counts only if it leads out of the folder, or
/// if the folder has a file of that name: `existing` has the names of [`credential_files_in`].
pub(crate) fn key_file_read(tool: &str, parameters: &Map<String, Value>, existing: Option<&[String]>) -> Option<String> {
    let text = |name: &str| parameters.get(name).and_then(Value::as_str);
    let mut named = parameters.clone();
    let mut code = Vec::new();
    match (tool, text("command"), text("code")) {
        ("grep", ..) => drop(named.remove("pattern")),
        (CALL_TOOL, ..) => named.extend(inner(parameters).cloned().into_iter().flatten()),
        ("bash", Some(command), _) => {
            let parts = CommandText::split(command);
            named.insert("command".to_owned(), parts.shell.into());
            code = parts.code;
        }
        ("python", _, Some(text)) => {
            named.remove("code");
            code.push(text);
        }
        _ => {}
    }
    let may_exist = |word: &&str| existing.is_none_or(|names| leaves_folder(word) || names.contains(&file_name(word)));
    let in_code = || code.iter().flat_map(|text| key_files_in(text)).find(may_exist);
    key_files_named(&named).next().or_else(in_code).map(str::to_owned)
}

/// Returns the last part of a path, in lower case.
fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase()
}

/// Returns true for a path that may lead out of the working folder. A single name after `/` is the end of a path that code computes.
fn leaves_folder(path: &str) -> bool {
    let from_root = path.strip_prefix('/').is_some_and(|rest| rest.contains('/'));
    from_root || path.starts_with('~') || path.split('/').any(|part| part == "..")
}

/// Returns the string, or the strings of the array.
fn texts_of(value: &Value) -> impl Iterator<Item = &str> {
    let listed = value.as_array().into_iter().flatten();
    std::iter::once(value).chain(listed).filter_map(Value::as_str)
}

/// Returns true if tools that search for files must skip this one: it looks like a credential file, which is read only if a call names it.
pub(crate) fn passed_over(path: &Path) -> bool {
    is_credential_file(&path.to_string_lossy())
}

/// Checks that a tool may open the file named in its call, after collecting the file's secrets. Every file tool calls this.
///
/// # Errors
/// [`ToolError::Denied`] for a link to a credential file if the link's own name does not look like one, since permission was decided by
/// that name. Also for the copies that aime keeps to undo tasks.
pub(crate) fn admit(context: &ToolContext, path: &Path) -> Result<(), ToolError> {
    // A missing file holds no secrets; opening an unreachable file fails later.
    let Ok(real) = context.folder.resolve(path) else { return Ok(()) };
    if is_kept_copy(&real.to_string_lossy()) {
        return Err(ToolError::Denied(format!("`{}` is a copy that is kept to undo a task; read the file itself", path.display())));
    }
    if !passed_over(&real) {
        // The name may look like a credential file while its target is another file.
        return Ok(());
    }
    if !passed_over(path) {
        return Err(ToolError::Denied(format!(
            "`{}` leads to `{}`, which looks like a file of keys or passwords; name that file itself",
            path.display(),
            real.display()
        )));
    }
    learn(&context.folder, &real, &context.redactor);
    Ok(())
}

/// Collects the private keys in an opened file of any name: a fragment of a key cannot be recognized later.
pub(crate) fn learn_private_keys(bytes: &[u8], redactor: &Redactor) {
    let text = String::from_utf8_lossy(bytes);
    if text.contains("PRIVATE KEY-----") {
        redactor.learn(private_keys_in(&text));
    }
}

/// Refuses a call that would write the redaction mark in the place of a secret: the caller has not seen the secret.
pub(crate) fn check_marks(spec: &ToolSpec, parameters: &Map<String, Value>, context: &ToolContext) -> Result<(), ToolError> {
    let held = [REDACTED, REDACTED_WORD].into_iter().find(|mark| parameters.values().any(|value| contains_mark(value, mark)));
    let Some(mark) = held.filter(|_| !spec.read_only) else { return Ok(()) };
    // Allow edits of a file that contains the mark itself, such as a text about it.
    let path = parameters.get("path").and_then(Value::as_str);
    let own = path.and_then(|path| context.folder.read(path).ok()).is_some_and(|bytes| String::from_utf8_lossy(&bytes).contains(mark));
    if own {
        return Ok(());
    }
    Err(ToolError::Denied(format!(
        "`{mark}` stands for a secret that is not shown to you, and it must not be written in the place of one. Leave that part of the text out of the call: \
         change the lines around it, or work with the name under which the secret is kept"
    )))
}

fn contains_mark(value: &Value, mark: &str) -> bool {
    match value {
        Value::String(text) => text.contains(mark),
        Value::Array(items) => items.iter().any(|item| contains_mark(item, mark)),
        Value::Object(members) => members.iter().any(|(name, member)| name.contains(mark) || contains_mark(member, mark)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Removes secrets from a result.
pub(crate) fn clean(result: Result<ToolOutput, ToolError>, redactor: &Redactor) -> Result<ToolOutput, ToolError> {
    match result {
        Ok(mut output) => {
            redactor.document(&mut output.value);
            let references = output.references.iter().map(|reference| redactor.text(reference).into_owned()).collect();
            for image in &mut output.images {
                image.name = redactor.text(&image.name).into_owned();
            }
            Ok(ToolOutput { text: redactor.text(&output.text).into_owned(), references, ..output })
        }
        Err(error) => Err(error.map_text(|text| redactor.text(&text).into_owned())),
    }
}

#[cfg(test)]
mod tests;
