//! Images in requests.

use serde_json::{Value, json};

use super::anthropic::refuse;
use super::{Refusal, RuleContext, openai_error};
use crate::view::{list, role, text};

/// OpenAI's chat completions accept images only in user messages.
///
/// Words: <https://github.com/OpenHands/OpenHands/issues/7700>. GPT-5.2 accepts others, but does not see them
/// (<https://github.com/openai/openai-openapi/issues/523>).
pub(super) fn of_users_alone(asked: &RuleContext<'_>) -> Option<Refusal> {
    let (place, message) = with_image(asked).find(|(_, message)| role(message) != "user")?;
    let message = format!(
        "Invalid 'messages[{place}]'. Image URLs are only allowed for messages with role 'user', but this message with role '{}' contains \
         an image URL.",
        role(message)
    );
    Some(openai_error(400, message, Some(&format!("messages[{place}]")), Some("invalid_value")))
}

/// DeepSeek's models do not see images.
///
/// Words and form: <https://github.com/1jehuang/jcode/issues/310>.
pub(super) fn none_at_deepseek(asked: &RuleContext<'_>) -> Option<Refusal> {
    let (place, _) = with_image(asked).next()?;
    let message = format!(
        "Failed to deserialize the JSON body into the target type: messages[{place}]: unknown variant `image_url`, expected `text` at line 1 \
         column 114708"
    );
    Some(openai_error(400, message, None, Some("invalid_request_error")))
}

/// OpenRouter finds no endpoint with images for a model of DeepSeek's.
///
/// Words and status: <https://github.com/aaif-goose/goose/issues/5396>.
pub(super) fn none_at_endpoints(asked: &RuleContext<'_>) -> Option<Refusal> {
    with_image(asked).next()?;
    let body = json!({"error": {"message": "No endpoints found that support image input", "code": 404}});
    asked.request.model().starts_with("deepseek/").then_some(Refusal { status: 404, body })
}

/// Anthropic requires that the bytes of an image have the declared media type.
///
/// Words: <https://github.com/vybestack/llxprt-code/issues/2130>.
pub(super) fn of_named_type(asked: &RuleContext<'_>) -> Option<Refusal> {
    asked.request.entries().iter().enumerate().find_map(|(place, message)| {
        list(message.get("content")).iter().enumerate().find_map(|(index, block)| {
            let at = format!("messages.{place}.content.{index}");
            let inner = list(block.get("content")).iter().enumerate();
            let inner = inner.map(|(part, block)| (format!("{at}.tool_result.content.{part}"), block));
            [(at.clone(), block)].into_iter().chain(inner).find_map(|(at, block)| image_fault(&at, block))
        })
    })
}

fn image_fault(at: &str, block: &Value) -> Option<Refusal> {
    let source = (text(block, "type") == Some("image")).then(|| block.get("source")).flatten()?;
    let (named, data) = (text(source, "media_type").unwrap_or_default(), text(source, "data").unwrap_or_default());
    // The first bytes of each format, in base64.
    let types = [("iVBORw0KGgo", "image/png"), ("/9j/", "image/jpeg"), ("R0lGOD", "image/gif"), ("UklGR", "image/webp")];
    let found = types.iter().find(|(begin, _)| data.starts_with(begin)).map(|(_, media_type)| *media_type);
    let message = match found {
        Some(found) if found == named => return None,
        Some(found) => format!(
            "{at}.image.source.base64: The image was specified using the {named} media type, but the image appears to be a {found} image"
        ),
        None => format!("{at}.image.source.base64.data: Could not process image"),
    };
    Some(refuse(message))
}

/// Returns the messages of chat completions with an image, and their indices.
fn with_image<'a>(asked: &'a RuleContext<'_>) -> impl Iterator<Item = (usize, &'a Value)> {
    let holds = |message: &Value| list(message.get("content")).iter().any(|part| text(part, "type") == Some("image_url"));
    asked.request.entries().iter().enumerate().filter(move |(_, message)| holds(message))
}
