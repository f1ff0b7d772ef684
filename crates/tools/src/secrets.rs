//! Secrets around a call: what is learnt of them before it, and what of them is taken out of its result.

use std::path::Path;

use aime_redact::{REDACTED, REDACTED_WORD, Redactor, is_credential_file, is_kept_copy, private_keys_in, secrets_in};
use aime_sandbox::ConfinedFolder;
use ignore::WalkBuilder;
use serde_json::{Map, Value};

use crate::{ToolContext, ToolError, ToolOutput, ToolSheet};

/// So deep, and among so many entries, files of keys and passwords are looked for before a run.
const DEPTH: usize = 4;
const ENTRIES: usize = 20_000;
/// The largest that is read, in bytes.
const LARGEST: u64 = 256 * 1024;
/// The longest path that is taken for one in a call, in bytes, and how many are looked at.
const LONGEST_NAME: usize = 1_000;
const MOST_NAMED: usize = 50;
/// Folders that hold what others have made.
const PASSED_OVER: &[&str] = &[".git", ".aime", "node_modules", "target", ".venv", "venv", "__pycache__"];

/// Learns the secrets in files of keys and passwords of a folder, so that no result shows them, whatever printed it. Blocks. Not looked for
/// are those deeper than 4 folders and those beyond 20,000 entries; they are learnt when a tool is asked for them by name, or a command runs.
pub fn learn_secrets_of(folder: &ConfinedFolder, redactor: &Redactor) {
    let mut walk = WalkBuilder::new(folder.path());
    walk.standard_filters(false).max_depth(Some(DEPTH)).follow_links(false);
    walk.filter_entry(|entry| entry.depth() == 0 || !entry.file_name().to_str().is_some_and(|name| PASSED_OVER.contains(&name)));
    for entry in walk.build().filter_map(Result::ok).take(ENTRIES) {
        let relative = entry.path().strip_prefix(folder.path()).unwrap_or_else(|_| entry.path());
        if entry.file_type().is_some_and(|kind| kind.is_file()) && is_credential_file(&relative.to_string_lossy()) {
            learn(folder, relative, redactor);
        }
    }
}

/// Learns the secrets in a file of keys or passwords.
pub(crate) fn learn(folder: &ConfinedFolder, path: &Path, redactor: &Redactor) {
    // A copy under another name may be of any file: not every value in it that has a name is a secret.
    if !is_kept_copy(&path.to_string_lossy())
        && folder.facts(path).is_ok_and(|facts| facts.size <= LARGEST)
        && let Ok(bytes) = folder.read(path)
    {
        redactor.learn(secrets_in(&String::from_utf8_lossy(&bytes)));
    }
}

/// Learns the secrets in the files that a call names: as a parameter, or as a word of a command or of code.
pub(crate) fn learn_named(parameters: &Map<String, Value>, context: &ToolContext) {
    let whole = parameters.values().flat_map(texts_of).filter(|text| text.len() < LONGEST_NAME && is_credential_file(text));
    let words = key_files_named(parameters).filter(|word| word.len() < LONGEST_NAME);
    for path in whole.chain(words).take(MOST_NAMED) {
        learn(&context.folder, Path::new(path.trim()), &context.redactor);
    }
}

/// The files of keys or passwords that a call names: in a path, or as a word of a command or of code. What a command puts together itself is
/// not seen here; its output is clean of secrets that are known.
pub(crate) fn key_files_named(parameters: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let texts = ["path", "paths", "pattern", "glob", "command", "code", "uri"]
        .into_iter()
        .filter_map(|name| parameters.get(name))
        .flat_map(texts_of);
    let parts = |c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '\'' | '`' | '=' | '<' | '>' | '|' | ';' | '&' | '(' | ')' | ',' | '{' | '}' | '[' | ']' | ':')
    };
    texts.flat_map(move |text| text.split(parts)).filter(|word| word.contains(['.', '/', '_']) && is_credential_file(word))
}

/// The text that a parameter is, or the texts that it lists.
fn texts_of(value: &Value) -> impl Iterator<Item = &str> {
    let listed = value.as_array().into_iter().flatten();
    std::iter::once(value).chain(listed).filter_map(Value::as_str)
}

/// Whether a tool that finds files by itself passes over one: it looks like a file of keys or passwords, which is read by its name alone.
pub(crate) fn passed_over(path: &Path) -> bool {
    is_credential_file(&path.to_string_lossy())
}

/// Lets a tool open the file that its call names, after its secrets are learnt: the one way for every file tool.
///
/// # Errors
/// [`ToolError::Denied`] for a link to a file of keys or passwords whose own name does not say what it is: whoever decided on the call went by
/// the name. And for the copies that aime keeps to undo tasks.
pub(crate) fn admit(context: &ToolContext, path: &Path) -> Result<(), ToolError> {
    // What does not exist holds nothing; what cannot be reached is refused where it is opened.
    let Ok(real) = context.folder.resolve(path) else { return Ok(()) };
    if is_kept_copy(&real.to_string_lossy()) {
        return Err(ToolError::Denied(format!("`{}` is a copy that is kept to undo a task; read the file itself", path.display())));
    }
    if !passed_over(&real) {
        // It may be named so and lead elsewhere.
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

/// Learns the private keys in a file that was opened, whatever its name: a part of one does not show what it is.
pub(crate) fn learn_private_keys(bytes: &[u8], redactor: &Redactor) {
    let text = String::from_utf8_lossy(bytes);
    if text.contains("PRIVATE KEY-----") {
        redactor.learn(private_keys_in(&text));
    }
}

/// Refuses a call that would write the mark of a secret in the place of one: whoever makes it has not seen what stands there.
pub(crate) fn check_marks(sheet: &ToolSheet, parameters: &Map<String, Value>, context: &ToolContext) -> Result<(), ToolError> {
    let held = [REDACTED, REDACTED_WORD].into_iter().find(|mark| parameters.values().any(|value| holds(value, mark)));
    let Some(mark) = held.filter(|_| !sheet.read_only) else { return Ok(()) };
    // A file that holds the mark itself, such as a text about it, may be worked on.
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

fn holds(value: &Value, mark: &str) -> bool {
    match value {
        Value::String(text) => text.contains(mark),
        Value::Array(items) => items.iter().any(|item| holds(item, mark)),
        Value::Object(members) => members.iter().any(|(name, member)| name.contains(mark) || holds(member, mark)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A result without secrets.
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
