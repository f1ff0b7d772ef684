//! Images in requests.

use serde_json::{Value, json};

use super::{Service, user};
use crate::provider::Provider;
use crate::view::Protocol;

const PNG: &str = "iVBORw0KGgoAAAANSUhEUg==";

#[test]
fn chat_completions_take_images_from_users() {
    let part = json!([{"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PNG}")}}]);
    let asking = |model: &str, message: Value| json!({"model": model, "messages": [user("go"), message]});
    let shown = |role: &str| json!({"role": role, "content": part});
    let only_users =
        "Image URLs are only allowed for messages with role 'user', but this message with role 'system' contains an image URL.";
    let cases = [
        (Provider::OpenAi, "gpt-4.1", "user", ""),
        (Provider::OpenAi, "gpt-4.1", "system", only_users),
        (Provider::DeepSeek, "deepseek-v4", "user", "messages[1]: unknown variant `image_url`, expected `text`"),
        (Provider::OpenRouter, "deepseek/deepseek-v4-pro", "user", "No endpoints found that support image input"),
        (Provider::OpenRouter, "openai/gpt-5.6-terra", "user", ""),
    ];
    for (provider, model, role, expected) in cases {
        Service::new(provider, Protocol::Chat).check(model, &asking(model, shown(role)), expected);
    }
}

#[test]
fn claude_compares_bytes_with_the_named_type() {
    let asking = |media_type: &str, data: &str| {
        let block = json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}});
        json!({"model": "claude-opus-5", "max_tokens": 100, "messages": [{"role": "user", "content": [block]}]})
    };
    let wrong = "messages.0.content.0.image.source.base64: The image was specified using the image/jpeg media type, but the image appears to be \
                 a image/png image";
    let cases = [
        ("image/png", PNG, ""),
        ("image/jpeg", PNG, wrong),
        ("image/png", "JVBERi0xLjc=", "messages.0.content.0.image.source.base64.data: Could not process image"),
    ];
    for (media_type, data, expected) in cases {
        Service::new(Provider::Anthropic, Protocol::Messages).check(media_type, &asking(media_type, data), expected);
    }
}
