//! Images on their way to each server.

use std::sync::Arc;

use aime_scripted_server::{Provider as Server, Reply, Script, ScriptedServer, When};
use serde_json::Value;

use super::client;
use crate::{ChatModel, ChatRequest, Image, Message, Protocol, Provider, ToolCall, ToolDefinition};

/// A PNG of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

fn image(name: &str) -> Image {
    Image::new(name, PNG).unwrap()
}

/// Returns a conversation in which the user shows one image, and two of three results hold others.
fn conversation() -> Vec<Arc<Message>> {
    let call = |id: &str| ToolCall { id: id.into(), name: "read_file".into(), arguments: format!("{{\"path\":\"{id}.png\"}}") };
    let result = |id: &str, images: Vec<Image>| Message::Tool {
        call_id: id.into(),
        name: "read_file".into(),
        content: format!("{id}.png is read"),
        is_error: false,
        images,
    };
    [
        Message::system("You look."),
        Message::User { content: "What is this?".into(), images: vec![image("given.png")] },
        Message::assistant("I look at the others.", vec![call("one"), call("two"), call("three")]),
        result("one", vec![image("one.png")]),
        result("two", Vec::new()),
        result("three", vec![image("three.png")]),
    ]
    .map(Arc::new)
    .to_vec()
}

fn tools() -> Arc<[ToolDefinition]> {
    let schema = serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    Arc::new([ToolDefinition { name: "read_file".into(), description: "Reads a file.".into(), parameters: schema.into() }])
}

/// Returns the bodies of all requests until one is answered.
async fn bodies(server: Server, name: &str, provider: Option<Provider>, protocol: Option<Protocol>, images: Option<bool>) -> Vec<Value> {
    let server = ScriptedServer::start(Script::new().provider(server).on(When::any(), [Reply::text("A dot.")])).await;
    let model = client(&server, |settings| {
        name.clone_into(&mut settings.model);
        (settings.provider, settings.protocol, settings.images) = (provider, protocol, images);
        settings.api_key = Some("key-1".into());
        settings.retry.max_retries = 0;
    });
    let request = ChatRequest { messages: conversation(), tools: tools(), ..ChatRequest::default() };
    assert_eq!(model.complete(request).await.unwrap().content, "A dot.", "{name}");
    server.requests()
}

/// Returns the value at a pointer of the last body, with image bytes replaced by their names.
fn at(bodies: &[Value], pointer: &str) -> String {
    let value = bodies.last().unwrap().pointer(pointer).cloned().unwrap_or_default();
    value.to_string().replace(&image("").data_url(), "URL").replace(image("").data.as_ref(), "BYTES")
}

// Requirement: 11.5
#[tokio::test]
async fn each_protocol_carries_them_in_its_form() {
    let responses = bodies(Server::OpenAi, "gpt-5.6-terra", Some(Provider::OpenAi), Some(Protocol::Responses), None).await;
    assert_eq!(
        at(&responses, "/input/1/content"),
        r#"[{"type":"input_text","text":"What is this?"},{"type":"input_image","image_url":"URL"}]"#
    );
    let output = bodies_of(&responses, "function_call_output");
    assert_eq!(output[0], r#"[{"type":"input_text","text":"one.png is read"},{"type":"input_image","image_url":"URL"}]"#);
    assert_eq!(output[1], r#""two.png is read""#);

    let claude = bodies(Server::Anthropic, "claude-opus-5", Some(Provider::Anthropic), None, None).await;
    let block = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"BYTES"}}"#;
    assert_eq!(at(&claude, "/messages/0/content/0"), block);
    assert_eq!(at(&claude, "/messages/2/content/0/content"), format!(r#"[{{"type":"text","text":"one.png is read"}},{block}]"#));
    assert_eq!(at(&claude, "/messages/2/content/1/content"), r#""two.png is read""#);

    let part = r#"{"inlineData":{"mimeType":"image/png","data":"BYTES"}}"#;
    let gemini = bodies(Server::Gemini, "gemini-3-pro", Some(Provider::Gemini), Some(Protocol::Gemini), None).await;
    assert_eq!(at(&gemini, "/contents/0/parts/1"), part);
    assert_eq!(at(&gemini, "/contents/2/parts/0/functionResponse/parts"), format!("[{part}]"));
    assert_eq!(at(&gemini, "/contents/2/parts/1/functionResponse/parts"), "null");

    // Before Gemini 3 and in chat completions results are text: their images follow them.
    let older = bodies(Server::Gemini, "gemini-2.5-pro", Some(Provider::Gemini), Some(Protocol::Gemini), None).await;
    assert_eq!(at(&older, "/contents/2/parts/3/text"), MOVED);
    assert_eq!(at(&older, "/contents/2/parts/4"), part);
    assert_eq!(at(&older, "/contents/2/parts/5"), part);

    let chat = bodies(Server::OpenAi, "gpt-4o", Some(Provider::OpenAi), Some(Protocol::Chat), None).await;
    let url = r#"{"type":"image_url","image_url":{"url":"URL"}}"#;
    assert_eq!(at(&chat, "/messages/1/content"), format!(r#"[{{"type":"text","text":"What is this?"}},{url}]"#));
    assert_eq!(at(&chat, "/messages/5/content"), r#""three.png is read""#);
    assert_eq!(at(&chat, "/messages/6/content"), format!(r#"[{{"type":"text","text":{MOVED}}},{url},{url}]"#));

    // Mistral takes no words of the user behind results.
    let mistral = bodies(Server::Mistral, "mistral-medium-latest", Some(Provider::Mistral), None, None).await;
    assert_eq!(at(&mistral, "/messages/3/content"), format!(r#"[{{"type":"text","text":"one.png is read"}},{url}]"#));
    assert_eq!(at(&mistral, "/messages/6"), "null");

    for all in [responses, claude, gemini, older, chat, mistral] {
        assert_eq!(all.len(), 1, "no server refused the form: {all:#?}");
    }
}

const MOVED: &str = r#""Images of the results above: one.png (image/png, 1x1 pixels), three.png (image/png, 1x1 pixels).""#;

/// Returns the outputs of all items of this type.
fn bodies_of(bodies: &[Value], kind: &str) -> Vec<String> {
    let items = bodies.last().unwrap()["input"].as_array().unwrap();
    let of_kind = items.iter().filter(|item| item["type"] == kind);
    of_kind.map(|item| item["output"].to_string().replace(&image("").data_url(), "URL")).collect()
}

// Requirement: 11.5
#[tokio::test]
async fn models_that_cannot_see_get_a_sentence() {
    let words = "[The image given.png (image/png, 1x1 pixels) was left out: the model cannot see images.]";
    let chat = Some(Protocol::Chat);
    let cases = [
        // Known from the settings.
        (Server::OpenAi, "gpt-4o", Some(Provider::OpenAi), chat, Some(false), 1),
        (Server::Generic, "qwen4", None, None, Some(false), 1),
        // Learned from a refusal.
        (Server::DeepSeek, "deepseek-v4", Some(Provider::DeepSeek), None, None, 2),
        (Server::OpenRouter, "deepseek/deepseek-v4-pro", Some(Provider::OpenRouter), None, None, 2),
    ];
    for (server, name, provider, protocol, images, requests) in cases {
        let bodies = bodies(server, name, provider, protocol, images).await;
        let last = bodies.last().unwrap().to_string();
        assert_eq!(bodies.len(), requests, "{name}");
        assert!(last.contains(words) && last.contains("The image three.png") && !last.contains(image("").data.as_ref()), "{name}: {last}");
    }
}
