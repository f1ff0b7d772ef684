//! `read_file`.

mod lines;

use aime_llm::{Image, ImageError, ImageFormat};
use schemars::JsonSchema;
use serde::Deserialize;

use self::lines::{Excerpt, Style};
use super::files::{IN_ITS_ENCODING, blocking, counted, is_in_other_encoding, name, no_text, read};
use crate::{
    Tool, ToolContext, ToolError, ToolOutput, ToolScope, TypedTool,
    pdf::{is_pdf, read_pages},
};

/// Number of characters reserved for the note on omitted lines.
const ROOM_FOR_NOTE: usize = 200;
/// Default number of PDF pages that one call reads.
const USUAL_PAGES: usize = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    /// File to read
    path: Option<String>,
    /// Several files, instead of `path`, each from its first line; long ones are cut
    paths: Option<Vec<String>>,
    /// First line to read, from 1
    #[schemars(range(min = 1))]
    offset: Option<usize>,
    /// Most lines to read
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

pub(super) fn tool() -> impl Tool {
    let description = "Read files: text with its lines numbered, images, PDF.";
    TypedTool::new("read_file", description, |parameters: ReadFile, context: ToolContext| blocking(move || call(&parameters, &context)))
        .needs_one_of(&["path", "paths"])
        .for_small_models("Read a text file.", &["path", "offset?", "limit?"])
        .read_only()
        .touches(ToolScope::Files)
        .alternatives(&["list_dir", "glob", "grep", "bash"])
}

/// The requested part of a file, and the maximum number of characters; unlimited if `None`.
struct Part<'a> {
    path: &'a str,
    first: usize,
    limit: Option<usize>,
    room: Option<usize>,
}

fn call(parameters: &ReadFile, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let ReadFile { path, paths, offset, limit } = parameters;
    let paths: Vec<&str> = path.iter().chain(paths.iter().flatten()).map(String::as_str).collect();
    let room = context.limit_of("read_file");
    match paths.as_slice() {
        [] => Err(ToolError::InvalidParameters("paths is empty; name a file in it, or in path".to_owned())),
        [path] => part(&Part { path, first: offset.unwrap_or(1).max(1) - 1, limit: *limit, room }, context),
        _ if offset.is_some() || limit.is_some() => {
            Err(ToolError::InvalidParameters("offset and limit are for one file; read the others in a call of their own".to_owned()))
        }
        several => all(several, room, context),
    }
}

/// Returns several files, each under its name. A short file leaves its unused characters to those after it.
fn all(paths: &[&str], room: Option<usize>, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let (mut output, mut left, mut failed) = (ToolOutput::default(), room, 0);
    for (number, path) in paths.iter().enumerate() {
        let room = left.map(|left| left / (paths.len() - number));
        let text = match part(&Part { path, first: 0, limit: None, room }, context) {
            Ok(read) => {
                output.images.extend(read.images);
                output.seen.extend(read.seen);
                read.text
            }
            Err(ToolError::Cancelled) => return Err(ToolError::Cancelled),
            Err(error) => {
                failed += 1;
                format!("Error: {error}")
            }
        };
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let text = format!("==> {path} <==\n{text}{end}");
        left = left.map(|left| left.saturating_sub(text.chars().count()));
        output.text.push_str(&text);
    }
    if failed == paths.len() { Err(ToolError::Failed(format!("no file could be read:\n{}", output.text.trim_end()))) } else { Ok(output) }
}

fn part(part: &Part<'_>, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let path = name(context, part.path)?;
    let bytes = read(context, part.path)?;
    let output = render(part, &path, &bytes, context)?;
    Ok(ToolOutput { seen: context.record_seen(&path, &bytes), ..output })
}

/// Returns the requested part of a file.
fn render(part: &Part<'_>, path: &str, bytes: &[u8], context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let room = part.room.map(|room| room.saturating_sub(ROOM_FOR_NOTE));
    if is_pdf(bytes) {
        // For PDF, `offset` and `limit` count pages.
        let pages = read_pages(bytes, part.first, part.limit.unwrap_or(USUAL_PAGES));
        let pages = pages.map_err(|error| ToolError::Failed(format!("`{path}` {error}")))?;
        let text = pages.render(room, |page| format!("offset and limit count pages here: go on with offset {page}"));
        return Ok(ToolOutput::text(text));
    }
    if let Some(format) = ImageFormat::of(bytes) {
        return image(path, bytes, format);
    }
    if let Some(kind) = no_text(bytes) {
        return Err(ToolError::Failed(format!(
            "`{path}` is {kind} of {} bytes; read_file reads text, images and PDF only; `bash` or `python` may look into it",
            bytes.len()
        )));
    }
    let text = String::from_utf8_lossy(bytes);
    let excerpt = Excerpt::new(&text, part.first, part.limit);
    let Some(excerpt) = excerpt else {
        let lines = counted(text.split_inclusive('\n').count(), "line");
        return Err(ToolError::Failed(format!("`{path}` has {lines}; offset {} is behind its end", part.first + 1)));
    };
    let warning = is_in_other_encoding(bytes)
        .then(|| format!("the file is not UTF-8, and {} replaces its other bytes: {IN_ITS_ENCODING}", char::REPLACEMENT_CHARACTER));
    let excerpt = excerpt.with_warning(warning);
    Ok(ToolOutput::text(match room {
        Some(room) => excerpt.render(path, room, if context.line_numbers { Style::Numbered } else { Style::Plain }),
        None => excerpt.whole(),
    }))
}

/// Returns an image, and a line that describes it.
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
