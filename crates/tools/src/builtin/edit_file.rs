//! `edit_file`.

mod edit;

use aime_sandbox::FileError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::edit::{Edit, EditOutcome, Outcome};
use super::{
    files::{IN_ITS_ENCODING, blocking, counted, editing, explained, name, no_text, read},
    near_miss::difference,
};
use crate::{Tool, ToolContext, ToolError, ToolOutput, ToolScope, TypedTool};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditFile {
    /// File to change
    path: String,
    /// Text to replace, exactly as in the file; must occur once. Empty: add at the end, or make the file
    old_text: Option<String>,
    /// Text to put in its place
    new_text: Option<String>,
    /// Replace every occurrence
    #[serde(default)]
    replace_all: bool,
    /// Several such edits, in order, all or none
    edits: Option<Vec<Edit>>,
}

pub(super) fn tool() -> impl Tool {
    TypedTool::new("edit_file", "Replace text in a file.", |parameters: EditFile, context: ToolContext| {
        blocking(move || call(parameters, &context))
    })
    .needs_one_of(&["old_text", "edits"])
    .needs_one_of(&["new_text", "edits"])
    .for_small_models("Replace text in a file.", &["path", "old_text", "new_text", "replace_all?"])
    .touches(ToolScope::Files)
    .alternatives(&["read_file", "write_file", "bash"])
}

/// Returns the path and the edits of a call, at least one.
fn edits(parameters: EditFile) -> Result<(String, Vec<Edit>), ToolError> {
    let EditFile { path, old_text, new_text, replace_all, edits } = parameters;
    let edits = match (old_text, new_text, edits) {
        (Some(old_text), Some(new_text), None) => vec![Edit { old_text, new_text, replace_all }],
        (None, None, Some(edits)) if !edits.is_empty() => edits,
        (None, None, _) => return Err(ToolError::InvalidParameters("edits is empty; give old_text and new_text in each".to_owned())),
        _ => return Err(ToolError::InvalidParameters("give old_text and new_text, or edits, but not both".to_owned())),
    };
    for (number, edit) in edits.iter().enumerate() {
        let which = if edits.len() == 1 { String::new() } else { format!("edit {}: ", number + 1) };
        if edit.old_text == edit.new_text {
            return Err(ToolError::InvalidParameters(format!("{which}old_text and new_text are the same; nothing would change")));
        }
        if edit.new_text.contains('\0') {
            return Err(ToolError::InvalidParameters(format!("{which}new_text contains a NUL byte; edit_file changes text only")));
        }
    }
    Ok((path, edits))
}

fn call(parameters: EditFile, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let (asked, edits) = edits(parameters)?;
    let path = name(context, &asked)?;
    let _one_at_a_time = editing();
    // Appending text to a missing file creates it.
    let adds = edits.first().is_some_and(|edit| edit.old_text.is_empty());
    let is_new = adds && matches!(context.folder.read(&asked), Err(FileError::NotFound { .. }));
    let bytes = if is_new { Vec::new() } else { read(context, &asked)? };
    if let Some(kind) = no_text(&bytes) {
        return Err(ToolError::Failed(format!("`{path}` is {kind}; edit_file changes text only")));
    }
    let Ok(before) = String::from_utf8(bytes) else {
        return Err(ToolError::Failed(format!("`{path}` is not UTF-8 text; edit_file cannot change it: {IN_ITS_ENCODING}")));
    };
    let Outcome { text, made } = edit::make_all(&before, &edits, &path).map_err(ToolError::Failed)?;
    let other = context.note_of_other_change(&path, before.as_bytes());
    if text != before || is_new {
        context.folder.write(&asked, text.as_bytes()).map_err(|error| explained(context, &asked, error))?;
    }
    let mut lines = vec![headline(&path, &made, is_new)];
    let replaced = made.iter().map(|made| if let EditOutcome::Replaced { count, .. } = made { *count } else { 0 }).sum::<usize>();
    lines.extend(notes(&made));
    lines.extend(other);
    if replaced > 0 {
        lines.push(difference(&before, &text));
    }
    let added = made.iter().any(|made| matches!(made, EditOutcome::Added { .. }));
    let already = made.iter().any(|made| matches!(made, EditOutcome::Already { .. }));
    let kinds = [("added", added), ("made", already)].into_iter().filter(|(_, holds)| *holds);
    let mut value = Map::from_iter([("path".to_owned(), json!(path)), ("replacements".to_owned(), json!(replaced))]);
    value.extend(kinds.map(|(kind, holds)| (kind.to_owned(), json!(holds))));
    let seen = match is_new {
        true => context.record_seen(&path, text.as_bytes()),
        false => context.edited(&path, before.as_bytes(), &path, text.as_bytes()),
    };
    Ok(ToolOutput { text: lines.join("\n"), value: Value::Object(value), references: vec![path], seen, ..ToolOutput::default() })
}

/// Returns one line on the change of the file.
fn headline(path: &str, made: &[EditOutcome], is_new: bool) -> String {
    match made {
        [EditOutcome::Added { .. }] if is_new => format!("Created `{path}`."),
        [EditOutcome::Added { line, .. }] => format!("Added at the end of `{path}`, from line {line}."),
        [EditOutcome::Already { line }] => {
            format!("`{path}` has new_text already, at line {line}, and old_text nowhere: the change is made.")
        }
        [EditOutcome::Replaced { count, line, .. }] => {
            format!("Changed `{path}`: {}, first at line {line}.", counted(*count, "replacement"))
        }
        several => format!("Changed `{path}`: {}.", counted(several.len(), "edit")),
    }
}

/// Returns notes on ignored differences, and on edits that were already made.
fn notes(made: &[EditOutcome]) -> Vec<String> {
    let several = made.len() > 1;
    let of_edit = |(number, made): (usize, &EditOutcome)| {
        let note = match made {
            EditOutcome::Replaced { ignored, .. } => ignored.note()?,
            EditOutcome::Already { line } if several => format!("[made already, at line {line}]"),
            EditOutcome::Already { .. } | EditOutcome::Added { .. } => return None,
        };
        Some(if several { format!("edit {}: {note}", number + 1) } else { note })
    };
    let mut notes: Vec<String> = made.iter().enumerate().filter_map(of_edit).collect();
    if made.iter().any(|made| matches!(made, EditOutcome::Replaced { windows: true, .. } | EditOutcome::Added { windows: true, .. })) {
        notes.push("[written with CRLF line ends, as the file has them]".to_owned());
    }
    notes
}
