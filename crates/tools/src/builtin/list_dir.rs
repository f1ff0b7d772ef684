//! `list_dir`.

use aime_sandbox::{EntryKind, FileError, FolderEntry, RESERVED_FOLDER};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::files::{blocking, counted, name};
use crate::{Tool, ToolContext, ToolError, ToolOutput, ToolScope, TypedTool};

/// Maximum number of entries that are listed; the count covers all.
const MAX_ENTRIES: usize = 1_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListDir {
    /// Folder to list; . is the working folder
    path: String,
}

pub(super) fn tool() -> impl Tool {
    TypedTool::new("list_dir", "List a folder.", |parameters: ListDir, context: ToolContext| blocking(move || call(&parameters, &context)))
        .read_only()
        .touches(ToolScope::Files)
        .alternatives(&["glob", "bash"])
}

fn call(parameters: &ListDir, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let path = name(context, &parameters.path)?;
    let mut entries = context.folder.read_dir(&parameters.path).map_err(|error| {
        let file = matches!(error, FileError::NotAFolder { .. });
        ToolError::from(error).map_text(|text| if file { text + "; use `read_file` for a file" } else { text })
    })?;
    // The runtime's own folder is not part of the work.
    entries.retain(|entry| !(path == "." && entry.name == RESERVED_FOLDER));
    let count = entries.len();
    let listed = entries.get(..count.min(MAX_ENTRIES)).unwrap_or_default();
    let mut lines: Vec<_> = listed.iter().map(line).collect();
    if listed.is_empty() {
        lines.push(format!("`{path}` is empty."));
    } else if listed.len() < count {
        lines.push(format!("[{} more; use `glob` for some of them]", counted(count - listed.len(), "entry")));
    }
    let value: Vec<Value> =
        listed.iter().map(|entry| json!({"name": entry.name.to_string_lossy(), "kind": entry.kind.name(), "size": entry.size})).collect();
    Ok(ToolOutput { text: lines.join("\n"), value: json!({"path": path, "count": count, "entries": value}), ..ToolOutput::default() })
}

fn line(entry: &FolderEntry) -> String {
    let name = entry.name.to_string_lossy();
    match entry.kind {
        EntryKind::Folder => format!("{name}/"),
        EntryKind::File => format!("{name} ({})", counted(usize::try_from(entry.size).unwrap_or(usize::MAX), "byte")),
        EntryKind::Link | EntryKind::Other => format!("{name} ({})", entry.kind.name()),
    }
}
