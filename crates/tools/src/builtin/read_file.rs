//! `read_file`.

use aime_llm::{Image, ImageError, ImageFormat};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::files::{blocking, counted, name, no_text, read};
use crate::{
    Tool, ToolContext, ToolError, ToolOutput, Touches, TypedTool,
    pdf::{is_pdf, read_pages},
};

/// Characters kept free for the note on what is left.
const ROOM_FOR_NOTE: usize = 200;
/// Pages of a PDF that one call reads, unless it says how many.
const USUAL_PAGES: usize = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    /// File to read
    path: String,
    /// First line to read, from 1
    #[schemars(range(min = 1))]
    offset: Option<usize>,
    /// Most lines to read
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

pub(super) fn tool() -> impl Tool {
    TypedTool::new("read_file", "Read a file: text, an image or a PDF.", |parameters: ReadFile, context: ToolContext| {
        blocking(move || call(&parameters, &context))
    })
    .brief("Read a text file.")
    .read_only()
    .touches(Touches::Files)
    .alternatives(&["list_dir", "glob", "grep", "bash"])
}

fn call(parameters: &ReadFile, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let path = name(context, &parameters.path)?;
    let bytes = read(context, &parameters.path)?;
    if is_pdf(&bytes) {
        return pdf(&path, &bytes, parameters, context);
    }
    if let Some(format) = ImageFormat::of(&bytes) {
        return image(&path, &bytes, format);
    }
    if let Some(kind) = no_text(&bytes) {
        return Err(ToolError::Failed(format!(
            "`{path}` is {kind} of {} bytes; read_file reads text, images and PDF only; `bash` or `python` may look into it",
            bytes.len()
        )));
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let first = parameters.offset.unwrap_or(1).max(1) - 1;
    if first > 0 && first >= lines.len() {
        return Err(ToolError::Failed(format!("`{path}` has {}; offset {} is behind its end", counted(lines.len(), "line"), first + 1)));
    }
    let end = parameters.limit.map_or(lines.len(), |limit| lines.len().min(first.saturating_add(limit)));
    let wanted = lines.get(first..end).unwrap_or_default();
    let text = match context.text_limit {
        Some(limit) => shown(wanted, first, lines.len(), limit.saturating_sub(ROOM_FOR_NOTE)),
        None => wanted.concat(),
    };
    Ok(ToolOutput { text, value: Value::Null, ..ToolOutput::default() })
}

/// An image beside a line that says what it is.
fn image(path: &str, bytes: &[u8], format: ImageFormat) -> Result<ToolOutput, ToolError> {
    let image = Image::new(path, bytes).map_err(|error| match error {
        ImageError::Format { .. } | ImageError::Base64 { .. } => {
            ToolError::Failed(format!("`{path}` is a damaged image ({}, {})", format.media_type(), counted(bytes.len(), "byte")))
        }
        ImageError::TooLarge { .. } | ImageError::TooManyPixels { .. } => {
            ToolError::Failed(format!("{error}, with `bash` or `python`, into another file, and read that one"))
        }
    })?;
    let Image { name, width, height, .. } = &image;
    let text = format!("{name} is an image ({}, {width}x{height} pixels).", format.media_type());
    Ok(ToolOutput { text, images: vec![image], ..ToolOutput::default() })
}

/// Pages of a PDF as text: `offset` and `limit` count pages.
fn pdf(path: &str, bytes: &[u8], parameters: &ReadFile, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let first = parameters.offset.unwrap_or(1).max(1) - 1;
    let pages = read_pages(bytes, first, parameters.limit.unwrap_or(USUAL_PAGES));
    let pages = pages.map_err(|error| ToolError::Failed(format!("`{path}` {error}")))?;
    let room = context.text_limit.map(|limit| limit.saturating_sub(ROOM_FOR_NOTE));
    let text = pages.shown(room, |page| format!("offset and limit count pages here: go on with offset {page}"));
    Ok(ToolOutput { text, value: Value::Null, ..ToolOutput::default() })
}

/// As many whole lines as there is room for, and a note on how to go on.
fn shown(wanted: &[&str], first: usize, total: usize, room: usize) -> String {
    let mut used = 0;
    let fitting = wanted.iter().take_while(|line| {
        used += line.chars().count();
        used <= room
    });
    let count = fitting.count();
    let Some(long) = wanted.get(count).filter(|_| count == 0) else {
        let mut text = wanted.get(..count).unwrap_or_default().concat();
        if first + count < total {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("[lines {} to {} of {total}; go on with offset {}]", first + 1, first + count, first + count + 1));
        }
        return text;
    };
    let beginning: String = long.chars().take(room).collect();
    let length = long.chars().count();
    let rest = if first + 1 < total { format!("; go on with offset {}", first + 2) } else { String::new() };
    format!(
        "{beginning}\n[line {} of {total} has {length} characters, {room} of them here; use `grep` or `bash` to see into it{rest}]",
        first + 1
    )
}
