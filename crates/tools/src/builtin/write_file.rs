//! `write_file`.

use std::borrow::Cow;

use aime_sandbox::FileError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{
    files::{IN_ITS_ENCODING, blocking, counted, editing, explained, is_in_other_encoding, name},
    tolerant::{BYTE_ORDER_MARK, has_windows_line_ends, with_windows_line_ends},
};
use crate::{Tool, ToolContext, ToolError, ToolOutput, ToolScope, TypedTool};

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
    .touches(ToolScope::Files)
    .alternatives(&["edit_file", "bash"])
}

fn call(parameters: &WriteFile, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let WriteFile { path, content } = parameters;
    if content.contains('\0') {
        return Err(ToolError::InvalidParameters("content contains a NUL byte; write_file writes text only".to_owned()));
    }
    let _one_at_a_time = editing();
    let there = match context.folder.read(path) {
        Ok(bytes) => Some(bytes),
        // No actor has seen content of this size, and no record has the hash of an empty one.
        Err(FileError::TooLarge { .. }) => Some(Vec::new()),
        Err(_) => None,
    };
    if content.contains(char::REPLACEMENT_CHARACTER) && there.as_deref().is_some_and(is_in_other_encoding) {
        return Err(ToolError::Failed(format!(
            "not written: `{}` is not UTF-8, and each {} in content would replace bytes of it; {IN_ITS_ENCODING}",
            name(context, path)?,
            char::REPLACEMENT_CHARACTER
        )));
    }
    let before = there.clone().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let (content, kept) = in_the_form_of(&before, content);
    if let Some(there) = there.filter(|there| there != content.as_bytes()) {
        context.must_have_seen(&name(context, path)?, &there, "written")?;
    }
    let written = context.folder.write(path, content.as_bytes()).map_err(|error| explained(context, path, error))?;
    let path = written.path.to_string_lossy().into_owned();
    let verb = if written.created { "Created" } else { "Wrote" };
    let instead = if before.is_empty() { String::new() } else { format!(", in the place of {}", counted(before.lines().count(), "line")) };
    let kept = if kept.is_empty() { String::new() } else { format!("\n[kept of the file that was there: {}]", kept.join(", ")) };
    Ok(ToolOutput {
        text: format!("{verb} `{path}`: {}, {}{instead}.{kept}", counted(content.lines().count(), "line"), counted(content.len(), "byte")),
        value: json!({"path": path, "bytes": content.len(), "created": written.created}),
        seen: context.record_seen(&path, content.as_bytes()),
        references: vec![path],
        ..ToolOutput::default()
    })
}

/// Returns the content with the byte order mark and the line breaks of the text that it replaces, and notes on what was kept. Models see
/// neither.
fn in_the_form_of<'a>(before: &str, content: &'a str) -> (Cow<'a, str>, Vec<&'static str>) {
    let (mut content, mut kept) = (Cow::Borrowed(content), Vec::new());
    if has_windows_line_ends(before) && content.contains('\n') && !content.contains("\r\n") {
        content = Cow::Owned(with_windows_line_ends(&content));
        kept.push("CRLF line ends");
    }
    if before.starts_with(BYTE_ORDER_MARK) && !content.is_empty() && !content.starts_with(BYTE_ORDER_MARK) {
        content.to_mut().insert(0, BYTE_ORDER_MARK);
        kept.push("byte order mark");
    }
    (content, kept)
}
