//! `edit_file`.

use aime_sandbox::FileError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{
    files::{blocking, counted, editing, name, no_text, read},
    near_miss::{difference, near_miss},
};
use crate::{Tool, ToolContext, ToolError, ToolOutput, Touches, TypedTool};

/// The most places named where a text is not unique.
const MAX_PLACES: usize = 10;
/// The most characters shown of each.
const MAX_SHOWN: usize = 120;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditFile {
    /// File to change
    path: String,
    /// Text to replace, exactly as in the file; must occur once. Empty: add at the end, or make the file
    old_text: String,
    /// Text to put in its place
    new_text: String,
    /// Replace every occurrence
    #[serde(default)]
    replace_all: bool,
}

pub(super) fn tool() -> impl Tool {
    TypedTool::new("edit_file", "Replace text in a file.", |parameters: EditFile, context: ToolContext| {
        blocking(move || call(&parameters, &context))
    })
    .touches(Touches::Files)
    .alternatives(&["read_file", "write_file", "bash"])
}

fn call(parameters: &EditFile, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let path = name(context, &parameters.path)?;
    let invalid = |text: &str| Err(ToolError::InvalidParameters(text.to_owned()));
    if parameters.old_text == parameters.new_text {
        return invalid("old_text and new_text are the same; nothing would change");
    }
    if parameters.new_text.contains('\0') {
        return invalid("new_text holds a NUL byte; edit_file changes text only");
    }
    let _one_at_a_time = editing();
    // To put text at the end of no file is to make one.
    let is_new = parameters.old_text.is_empty() && matches!(context.folder.read(&parameters.path), Err(FileError::NotFound { .. }));
    let bytes = if is_new { Vec::new() } else { read(context, &parameters.path)? };
    if let Some(kind) = no_text(&bytes) {
        return Err(ToolError::Failed(format!("`{path}` is {kind}; edit_file changes text only")));
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(ToolError::Failed(format!("`{path}` is no UTF-8 text; edit_file cannot change it")));
    };
    if parameters.old_text.is_empty() {
        let line = text.lines().count() + 1;
        context.folder.write(&parameters.path, added(text, &parameters.new_text).as_bytes())?;
        return Ok(ToolOutput {
            text: if is_new { format!("Created `{path}`.") } else { format!("Added at the end of `{path}`, from line {line}.") },
            value: json!({"path": path, "replacements": 0, "added": true}),
            references: vec![path],
            ..ToolOutput::default()
        });
    }
    let (old, new) = with_endings_of(&text, parameters);
    let places: Vec<_> = text.match_indices(&old).map(|(at, _)| line_of(&text, at)).collect();
    match places.len() {
        0 => return missing(&path, &text, parameters),
        1 => {}
        _ if parameters.replace_all => {}
        count => {
            let shown = |line: &usize| {
                format!("{line}: {}", text.lines().nth(line - 1).unwrap_or_default().chars().take(MAX_SHOWN).collect::<String>())
            };
            let lines: Vec<_> = places.iter().take(MAX_PLACES).map(shown).collect();
            let more = if count > MAX_PLACES { "\n…" } else { "" };
            return Err(ToolError::Failed(format!(
                "old_text occurs {count} times in `{path}`:\n{}{more}\nAdd the lines around the one you mean, or set replace_all",
                lines.join("\n")
            )));
        }
    }
    let changed = text.replace(&old, &new);
    context.folder.write(&parameters.path, changed.as_bytes())?;
    let line = places.first().copied().unwrap_or_default();
    Ok(ToolOutput {
        text: format!("Changed `{path}`: {}, first at line {line}.\n{}", counted(places.len(), "replacement"), difference(&text, &changed)),
        value: json!({"path": path, "replacements": places.len()}),
        references: vec![path],
        ..ToolOutput::default()
    })
}

/// What is said where there is nothing to replace. Small models make a change twice, and undo it in their despair if the second is an error:
/// where the new text stands as lines of its own, the change is taken as made.
fn missing(path: &str, text: &str, parameters: &EditFile) -> Result<ToolOutput, ToolError> {
    let new: Vec<&str> = parameters.new_text.trim().lines().map(str::trim).collect();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let made = lines.windows(new.len().max(1)).position(|window| window.iter().zip(&new).all(|(line, new)| line == new));
    match made {
        Some(at) if !new.is_empty() => Ok(ToolOutput {
            text: format!("`{path}` has new_text already, at line {}, and old_text nowhere: the change is made.", at + 1),
            value: json!({"path": path, "replacements": 0, "made": true}),
            references: vec![path.to_owned()],
            ..ToolOutput::default()
        }),
        _ => Err(ToolError::Failed(format!("old_text is not in `{path}`. {}", near_miss(text, &parameters.old_text)))),
    }
}

/// A text with another after it, on lines of its own and with the line endings that are there.
fn added(mut text: String, new: &str) -> String {
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(ending);
    }
    let new = new.replace("\r\n", "\n");
    text.push_str(&new.replace('\n', ending));
    if !new.ends_with('\n') {
        text.push_str(ending);
    }
    text
}

/// The texts with the file's line endings: models write `\n` whatever the file has.
fn with_endings_of(text: &str, parameters: &EditFile) -> (String, String) {
    let EditFile { old_text, new_text, .. } = parameters;
    let plain = |text: &str| text.replace("\r\n", "\n");
    if text.contains("\r\n") && !text.contains(old_text.as_str()) {
        return (plain(old_text).replace('\n', "\r\n"), plain(new_text).replace('\n', "\r\n"));
    }
    let windows = old_text.contains("\r\n") || (text.contains("\r\n") && !old_text.contains('\n') && !has_bare_newline(text));
    let new = if windows { plain(new_text).replace('\n', "\r\n") } else { new_text.clone() };
    (old_text.clone(), new)
}

fn has_bare_newline(text: &str) -> bool {
    text.matches('\n').count() > text.matches("\r\n").count()
}

/// The number of the line, from 1, in which a byte stands.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.get(..at).unwrap_or_default().matches('\n').count()
}
