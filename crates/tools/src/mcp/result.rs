//! Conversion of a server's response to a tool's result.
//!
//! A response is read as raw JSON, so that an unknown part only loses that part.

use aime_llm::Image;
use rmcp::model::ElicitRequestParams;
use serde_json::Value;

use super::{McpServerSettings, call::CallError, elicit::page_note, listed::one_line};
use crate::{ToolError, ToolOutput};

/// Maximum bytes of text that are taken from one response.
const MAX_TEXT: usize = 4 * 1024 * 1024;
/// Maximum number of images that are taken from one response.
const MAX_IMAGES: usize = 20;
/// Maximum characters of a structured content that is shown in addition to texts.
const MAX_STRUCTURE: usize = 20_000;
/// Number of characters from which texts replace a larger structured content.
const MIN_TEXT: usize = 200;
/// Maximum characters of an unknown part's type that are shown.
const MAX_TYPE: usize = 40;

/// Returns true if a response is the result of a tool.
pub(super) fn is_of_tool(answer: &Value) -> bool {
    let complete = answer.get("resultType").is_none_or(|kind| kind.is_null() || kind == "complete");
    complete && ["content", "structuredContent", "isError"].iter().any(|member| answer.get(member).is_some())
}

/// Converts the result of a tool: its text, and its structured content if no text shows it, unless it is much larger than they are.
pub(super) fn of_tool(mut answer: Value) -> Result<ToolOutput, ToolError> {
    let value = answer.get_mut("structuredContent").map(Value::take).unwrap_or_default();
    let is_error = answer.get("isError") == Some(&Value::Bool(true));
    let mut beside = Attachments { takes_images: !is_error, ..Attachments::default() };
    let parts: Vec<Result<String, String>> = match answer.get("content") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(parts)) => parts.iter().map(|part| of_part(part, &mut beside)).collect(),
        Some(_) => vec![Err("[left out: content that is no list of parts]".to_owned())],
    };
    let length: usize = parts.iter().flatten().map(|text| text.chars().count()).sum();
    let mut texts: Vec<String> = parts.into_iter().map(either).collect();
    if !value.is_null() && !shows(&texts, &value) {
        let json = value.to_string();
        if length < MIN_TEXT || json.chars().count() <= MAX_STRUCTURE {
            texts.retain(|text| !text.trim().is_empty());
            texts.push(json);
        }
    }
    let text = cut(texts.join("\n"));
    if is_error {
        return Err(ToolError::Failed(if text.is_empty() { "it failed and says nothing".to_owned() } else { text }));
    }
    Ok(ToolOutput { text, value, references: beside.references, images: beside.images, seen: Vec::new() })
}

/// Returns true if texts show all of a structured content: one of them is its JSON. `FastMCP` wraps a value that is no object as
/// `{"result": value}`, and shows the value, or each of its items, as a text.
fn shows(texts: &[String], value: &Value) -> bool {
    let is = |text: &String, value: &Value| {
        value.as_str() == Some(text) || serde_json::from_str::<Value>(text).is_ok_and(|parsed| is_equal(&parsed, value))
    };
    let wrapped = value.as_object().filter(|members| members.len() == 1).and_then(|members| members.get("result"));
    let items = wrapped.and_then(Value::as_array).filter(|items| !items.is_empty() && items.len() == texts.len());
    texts.iter().any(|text| is(text, value) || wrapped.is_some_and(|wrapped| is(text, wrapped)))
        || items.is_some_and(|items| texts.iter().zip(items).all(|(text, item)| is(text, item)))
}

/// Returns true if two values are equal, where numbers are compared by value: 1 is 1.0.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || ((one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64()),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len() && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| is_equal(one, other)))
        }
        _ => one == other,
    }
}

/// Content of a response besides its text.
#[derive(Default)]
struct Attachments {
    references: Vec<String>,
    images: Vec<Image>,
    /// True if images are accepted; an error consists of text only.
    takes_images: bool,
}

impl Attachments {
    /// Adds a valid image and returns the line that represents it in the text.
    fn image(&mut self, name: Option<&str>, data: &str) -> Option<String> {
        if !self.takes_images || self.images.len() >= MAX_IMAGES {
            return None;
        }
        let name = name.map_or_else(|| format!("no. {}", self.images.len() + 1), one_line);
        let image = Image::from_base64(name, data).ok()?;
        let line = format!("[image {}]", image.described());
        self.images.push(image);
        Some(line)
    }
}

/// Converts a part of a response to text. `Err` is the note that replaces a part that aime cannot read.
fn of_part(part: &Value, beside: &mut Attachments) -> Result<String, String> {
    let text = |member: &str| part.get(member).and_then(Value::as_str);
    let data = |what: &str| text("data").map(|data| not_shown(what, text("mimeType"), data));
    let Some(kind) = text("type") else { return Err("[left out: a part without a type]".to_owned()) };
    let shown: String = one_line(kind).chars().take(MAX_TYPE).collect();
    let read = match kind {
        "text" => text("text").map(str::to_owned),
        "image" => text("data").and_then(|data| beside.image(None, data)).or_else(|| data("an image")),
        "audio" => data("a sound"),
        "resource" => part.get("resource").and_then(|contents| of_contents(contents, beside)),
        "resource_link" => text("uri").map(|uri| {
            beside.references.push(uri.to_owned());
            format!("[the resource {}: {}]", one_line(text("name").unwrap_or(uri)), one_line(uri))
        }),
        _ => return Err(format!("[left out: a part of type {shown:?}]")),
    };
    read.ok_or_else(|| format!("[left out: a part of type {shown:?} without its content]"))
}

fn of_contents(contents: &Value, beside: &mut Attachments) -> Option<String> {
    let text = |member: &str| contents.get(member).and_then(Value::as_str);
    let blob = || Some(not_shown(text("uri").unwrap_or("a resource"), text("mimeType"), text("blob")?));
    let is_image = text("mimeType").is_some_and(|kind| kind.starts_with("image/"));
    let image = |beside: &mut Attachments| beside.image(text("uri"), text("blob").filter(|_| is_image)?);
    text("text").map(str::to_owned).or_else(|| image(beside)).or_else(blob)
}

fn not_shown(what: &str, mime_type: Option<&str>, data: &str) -> String {
    let kind = mime_type.unwrap_or("of no known kind");
    format!("[{}, {}, {} characters in base64, not shown]", one_line(what), one_line(kind), data.len())
}

fn either(read: Result<String, String>) -> String {
    read.unwrap_or_else(|note| note)
}

/// Converts the contents of a resource; `None` if the response has no contents.
pub(super) fn of_resource(answer: &Value) -> Option<ToolOutput> {
    let contents = answer.get("contents")?.as_array()?;
    let mut beside = Attachments { takes_images: true, ..Attachments::default() };
    let texts = contents
        .iter()
        .map(|part| of_contents(part, &mut beside).unwrap_or_else(|| "[left out: contents without text or data]".to_owned()));
    let text = cut(texts.collect::<Vec<_>>().join("\n"));
    Some(ToolOutput { text, images: beside.images, ..ToolOutput::default() })
}

/// Converts the messages of a prompt, each under its role; `None` if the response has no messages.
pub(super) fn of_prompt(answer: &Value) -> Option<ToolOutput> {
    let mut beside = Attachments { takes_images: true, ..Attachments::default() };
    let messages = answer.get("messages")?.as_array()?.iter().map(|message| {
        let who = one_line(message.get("role").and_then(Value::as_str).unwrap_or_default());
        format!("{who}: {}", either(of_part(message.get("content").unwrap_or(&Value::Null), &mut beside)))
    });
    let text = cut(messages.collect::<Vec<_>>().join("\n\n"));
    Some(ToolOutput { text, references: beside.references, images: beside.images, ..ToolOutput::default() })
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let end = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str("\n[the server sent more than is taken]");
    }
    text
}

/// Converts the failure of a call to an error for a model.
pub(super) fn error(error: CallError, settings: &McpServerSettings) -> ToolError {
    let server = &settings.name;
    match error {
        CallError::Refused { message, pages } => {
            let notes = pages.iter().map(|page| match page {
                ElicitRequestParams::UrlElicitationParams { message, url, .. } => page_note(message, url),
                _ => String::new(),
            });
            ToolError::Failed(format!("the MCP server `{server}` says: {message}{}", notes.collect::<String>()))
        }
        CallError::Slow(limit) => ToolError::TimedOut(format!(
            "the MCP server `{server}` told of no progress for {} s; the call was cancelled",
            limit.as_secs_f32()
        )),
        CallError::Long(limit) => {
            ToolError::TimedOut(format!("the MCP server `{server}` took longer than {} s; the call was cancelled", limit.as_secs_f32()))
        }
        CallError::Cancelled => ToolError::Cancelled,
        CallError::Rejected(rejection) => ToolError::Failed(rejection.describe(server)),
        CallError::ConnectionLost => ToolError::Failed(format!(
            "the MCP server `{server}` ended, or was lost, in the middle of the call: whether it did what it was asked is not known; check before \
             you repeat it. It is started again for the next call"
        )),
        CallError::Unauthorized(challenge) => ToolError::Failed(challenge.into_error(settings).to_string()),
        CallError::UnexpectedResponse(what) => ToolError::Failed(format!("the MCP server `{server}` answered with {what}")),
    }
}
