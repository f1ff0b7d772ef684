//! `write_file`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::files::{blocking, counted, explained};
use crate::{Tool, ToolContext, ToolError, ToolOutput, Touches, TypedTool};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteFile {
    /// File to write; missing folders are made
    path: String,
    /// The whole new content
    content: String,
}

pub(super) fn tool() -> impl Tool {
    TypedTool::new("write_file", "Write a file whole, over what was there.", |parameters: WriteFile, context: ToolContext| {
        blocking(move || call(&parameters, &context))
    })
    .idempotent()
    .touches(Touches::Files)
    .alternatives(&["edit_file", "bash"])
}

fn call(parameters: &WriteFile, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let WriteFile { path, content } = parameters;
    if content.contains('\0') {
        return Err(ToolError::InvalidParameters("content holds a NUL byte; write_file writes text only".to_owned()));
    }
    let before = context.folder.read(path).map_or(0, |bytes| String::from_utf8_lossy(&bytes).lines().count());
    let written = context.folder.write(path, content.as_bytes()).map_err(|error| explained(context, path, error))?;
    let path = written.path.to_string_lossy().into_owned();
    let verb = if written.created { "Created" } else { "Wrote" };
    let instead = if before == 0 { String::new() } else { format!(", in the place of {}", counted(before, "line")) };
    Ok(ToolOutput {
        text: format!("{verb} `{path}`: {}, {}{instead}.", counted(content.lines().count(), "line"), counted(content.len(), "byte")),
        value: json!({"path": path, "bytes": content.len(), "created": written.created}),
        references: vec![path],
        ..ToolOutput::default()
    })
}
