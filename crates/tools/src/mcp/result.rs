//! What a server answered, as a tool's result.

use rmcp::model::{CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, ResourceContents};
use serde_json::Value;

use super::{McpError, McpServerSettings, call::CallError, listed::one_line};
use crate::{ToolError, ToolOutput};

/// The most bytes of text that are taken from one answer.
const MOST_TEXT: usize = 4 * 1024 * 1024;

/// The result of a tool: its text, and its structure where it has one.
pub(super) fn of_tool(result: CallToolResult) -> Result<ToolOutput, ToolError> {
    let CallToolResult { content, structured_content, is_error, .. } = result;
    let mut references = Vec::new();
    let parts: Vec<String> = content.iter().map(|block| of_block(block, &mut references)).collect();
    let mut text = parts.join("\n");
    let value = structured_content.unwrap_or(Value::Null);
    if text.trim().is_empty() && !value.is_null() {
        text = serde_json::to_string_pretty(&value).unwrap_or_default();
    }
    let text = cut(text);
    if is_error == Some(true) {
        return Err(ToolError::Failed(if text.is_empty() { "it failed and says nothing".to_owned() } else { text }));
    }
    Ok(ToolOutput { text, value, references })
}

fn of_block(block: &ContentBlock, references: &mut Vec<String>) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => {
            format!("[an image, {}, {} characters in base64, not shown]", one_line(&image.mime_type), image.data.len())
        }
        ContentBlock::Audio(audio) => {
            format!("[a sound, {}, {} characters in base64, not shown]", one_line(&audio.mime_type), audio.data.len())
        }
        ContentBlock::Resource(embedded) => of_contents(&embedded.resource),
        ContentBlock::ResourceLink(link) => {
            references.push(link.uri.clone());
            format!("[the resource {}: {}]", one_line(&link.name), one_line(&link.uri))
        }
        _ => "[something that aime cannot show]".to_owned(),
    }
}

fn of_contents(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => text.clone(),
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let kind = mime_type.as_deref().unwrap_or("of no known kind");
            format!("[{}, {}, {} characters in base64, not shown]", one_line(uri), one_line(kind), blob.len())
        }
        _ => "[something that aime cannot show]".to_owned(),
    }
}

/// The contents of a resource.
pub(super) fn of_resource(result: &ReadResourceResult) -> ToolOutput {
    let text = cut(result.contents.iter().map(of_contents).collect::<Vec<_>>().join("\n"));
    ToolOutput { text, value: Value::Null, references: Vec::new() }
}

/// The messages of a prompt, each under who says it.
pub(super) fn of_prompt(result: &GetPromptResult) -> ToolOutput {
    let mut references = Vec::new();
    let messages = result.messages.iter().map(|message| {
        let who = serde_json::to_value(&message.role).ok().and_then(|role| role.as_str().map(str::to_owned)).unwrap_or_default();
        format!("{who}: {}", of_block(&message.content, &mut references))
    });
    let text = cut(messages.collect::<Vec<_>>().join("\n\n"));
    ToolOutput { text, value: Value::Null, references }
}

fn cut(mut text: String) -> String {
    if text.len() > MOST_TEXT {
        let end = (0..=MOST_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str("\n[the server sent more than is taken]");
    }
    text
}

/// Why a call gave nothing, for a model.
pub(super) fn error(error: CallError, settings: &McpServerSettings) -> ToolError {
    let server = &settings.name;
    match error {
        CallError::Refused(words) => ToolError::Failed(format!("the MCP server `{server}` says: {words}")),
        CallError::Slow(limit) => ToolError::TimedOut(format!(
            "the MCP server `{server}` told of no progress for {} s; the call was cancelled",
            limit.as_secs_f32()
        )),
        CallError::Long(limit) => {
            ToolError::TimedOut(format!("the MCP server `{server}` took longer than {} s; the call was cancelled", limit.as_secs_f32()))
        }
        CallError::Cancelled => ToolError::Cancelled,
        CallError::Gone => ToolError::Failed(format!(
            "the MCP server `{server}` ended, or was lost, in the middle of the call: whether it did what it was asked is not known; check before \
             you repeat it. It is started again for the next call"
        )),
        CallError::Unauthorized => ToolError::Failed(McpError::Unauthorized { server: server.clone() }.to_string()),
        CallError::Odd(what) => ToolError::Failed(format!("the MCP server `{server}` answered with {what}")),
    }
}
