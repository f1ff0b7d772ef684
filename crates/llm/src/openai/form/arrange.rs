//! Conversations in the order of roles that a server takes, and with calls as text where it has no tools.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::openai::dialect::{ImagesForm, MessageForm};
use crate::{ChatRequest, Image, Message, ToolCall, ToolDefinition};

/// Number of images in one request up to which Claude takes those with a side of more than 2,000 pixels.
const MAX_LARGE_IMAGES: usize = 20;
/// Number of images that are left out together.
const LEFT_OUT_AT_ONCE: usize = 10;

/// Returns the messages of a request as they are to be written. The same messages always become the same ones, so
/// that requests of a conversation still grow at their end alone.
pub(in crate::openai) fn arranged<'a>(request: &'a ChatRequest, form: &MessageForm) -> Cow<'a, [Arc<Message>]> {
    let tools = request.tool_choice.of(&request.tools);
    let messages = match (form.images, form.few_images) {
        (ImagesForm::InWords, _) | (ImagesForm::Anywhere, false) => Cow::Borrowed(request.messages.as_slice()),
        (ImagesForm::Anywhere, true) => with_few_images(&request.messages),
        (ImagesForm::InUserTurns, false) => images_in_user_turns(&request.messages),
        (ImagesForm::InUserTurns, true) => Cow::Owned(images_in_user_turns(&with_few_images(&request.messages)).into_owned()),
    };
    match (form.calls_as_text, form.alternate) {
        (true, _) => Cow::Owned(joined(with_tools(messages.iter().map(in_words), &tools))),
        (false, true) => Cow::Owned(joined(messages.iter().cloned())),
        (false, false) => messages,
    }
}

/// Replaces all but the last images by sentences. It leaves out [`LEFT_OUT_AT_ONCE`] more at a time, so that the beginning of a growing
/// conversation stays the same for many requests.
fn with_few_images(messages: &[Arc<Message>]) -> Cow<'_, [Arc<Message>]> {
    let count: usize = messages.iter().map(|message| message.images().len()).sum();
    let mut surplus = count.saturating_sub(MAX_LARGE_IMAGES).div_ceil(LEFT_OUT_AT_ONCE) * LEFT_OUT_AT_ONCE;
    if surplus == 0 {
        return Cow::Borrowed(messages);
    }
    let shortened = messages.iter().map(|message| {
        let left_out = message.images().len().min(surplus);
        surplus -= left_out;
        if left_out == 0 { Arc::clone(message) } else { Arc::new(without_first_images(message, left_out)) }
    });
    Cow::Owned(shortened.collect())
}

/// Returns a message with sentences in place of its first images.
fn without_first_images(message: &Message, count: usize) -> Message {
    let mut shortened = message.clone();
    if let Message::User { content, images } | Message::Tool { content, images, .. } = &mut shortened {
        let notes = images.drain(..count.min(images.len())).map(|image| image.surplus_note());
        let lines = Some(std::mem::take(content)).filter(|text| !text.is_empty()).into_iter().chain(notes);
        *content = lines.collect::<Vec<_>>().join("\n");
    }
    shortened
}

/// Moves the images of results into a turn of the user behind these results, for servers whose results are text.
fn images_in_user_turns(messages: &[Arc<Message>]) -> Cow<'_, [Arc<Message>]> {
    let is_result = |message: &Message| matches!(message, Message::Tool { .. });
    if !messages.iter().any(|message| is_result(message) && !message.images().is_empty()) {
        return Cow::Borrowed(messages);
    }
    let (mut out, mut moved): (Vec<Arc<Message>>, Vec<Image>) = (Vec::new(), Vec::new());
    for message in messages {
        if !is_result(message) {
            out.extend(user_turn_of(&mut moved));
        }
        match message.as_ref() {
            Message::Tool { call_id, name, content, is_error, images } if !images.is_empty() => {
                moved.extend(images.iter().cloned());
                let (call_id, name, content) = (call_id.clone(), name.clone(), content.clone());
                out.push(Arc::new(Message::Tool { call_id, name, content, is_error: *is_error, images: Vec::new() }));
            }
            _ => out.push(Arc::clone(message)),
        }
    }
    out.extend(user_turn_of(&mut moved));
    Cow::Owned(out)
}

fn user_turn_of(images: &mut Vec<Image>) -> Option<Arc<Message>> {
    let names: Vec<String> = images.iter().map(Image::described).collect();
    let content = format!("Images of the results above: {}.", names.join(", "));
    (!images.is_empty()).then(|| Arc::new(Message::User { content, images: std::mem::take(images) }))
}

/// Joins what follows one another in a way that templates refuse: words of the user after results or after other words of the user, and two
/// answers in a row.
fn joined(messages: impl IntoIterator<Item = Arc<Message>>) -> Vec<Arc<Message>> {
    let mut out: Vec<Arc<Message>> = Vec::new();
    for message in messages {
        let joined = match (out.last().map(AsRef::as_ref), message.as_ref()) {
            (Some(Message::User { content: before, images: first }), Message::User { content, images }) => {
                Some(Message::User { content: format!("{before}\n\n{content}"), images: [first.as_slice(), images].concat() })
            }
            (Some(Message::Tool { call_id, name, content: before, is_error, images: first }), Message::User { content, images }) => {
                Some(Message::Tool {
                    call_id: call_id.clone(),
                    name: name.clone(),
                    content: format!("{before}\n\n{content}"),
                    is_error: *is_error,
                    images: [first.as_slice(), images].concat(),
                })
            }
            (Some(Message::Assistant { content: before, tool_calls: none, .. }), Message::Assistant { content, tool_calls, .. })
                if none.is_empty() =>
            {
                Some(Message::assistant(format!("{before}\n\n{content}"), tool_calls.clone()))
            }
            _ => None,
        };
        match (joined, out.last_mut()) {
            (Some(joined), Some(last)) => *last = Arc::new(joined),
            _ => out.push(message),
        }
    }
    out
}

/// Returns the tools, described at the end of the standing instructions.
fn with_tools(messages: impl Iterator<Item = Arc<Message>>, tools: &[ToolDefinition]) -> Vec<Arc<Message>> {
    let mut messages: Vec<Arc<Message>> = messages.collect();
    if tools.is_empty() {
        return messages;
    }
    let mut text = "You can call tools. To call one, write a block of this form, and nothing after it:\n<tool_call>\n{\"name\": \"TOOL\", \
                    \"arguments\": {\"PARAMETER\": \"VALUE\"}}\n</tool_call>\nThe result comes with the next message. The tools, with the JSON \
                    Schema of their parameters:\n"
        .to_owned();
    for tool in tools {
        let described = json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
        let _ = writeln!(text, "{described}");
    }
    match messages.first_mut() {
        Some(first) if matches!(first.as_ref(), Message::System { .. }) => {
            if let Message::System { content } = first.as_ref() {
                *first = Arc::new(Message::system(format!("{content}\n\n{text}")));
            }
        }
        _ => messages.insert(0, Arc::new(Message::system(text))),
    }
    messages
}

/// Returns the message with its calls as text instead of calls of the protocol.
fn in_words(message: &Arc<Message>) -> Arc<Message> {
    match message.as_ref() {
        Message::Assistant { content, tool_calls, .. } if !tool_calls.is_empty() => {
            let mut text = content.clone();
            for ToolCall { name, arguments, .. } in tool_calls {
                let arguments: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
                let _ = write!(text, "\n<tool_call>\n{}\n</tool_call>", json!({"name": name, "arguments": arguments}));
            }
            Arc::new(Message::assistant(text.trim_start().to_owned(), Vec::new()))
        }
        Message::Tool { name, content, images, .. } => Arc::new(Message::User {
            content: format!("<tool_response name=\"{name}\">\n{content}\n</tool_response>"),
            images: images.clone(),
        }),
        _ => Arc::clone(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openai::dialect::Dialect;
    use crate::{Protocol, Provider};

    fn shown(messages: &[Arc<Message>]) -> Vec<String> {
        let one = |message: &Arc<Message>| match message.as_ref() {
            Message::System { content } => format!("system: {content}"),
            Message::User { content, .. } => format!("user: {content}"),
            Message::Assistant { content, tool_calls, .. } => format!("assistant: {content} +{}", tool_calls.len()),
            Message::Tool { content, .. } => format!("tool: {content}"),
        };
        messages.iter().map(one).collect()
    }

    fn request() -> ChatRequest {
        let call = |id: &str| ToolCall { id: id.into(), name: "t".into(), arguments: "{\"a\":1}".into() };
        let messages = [
            Message::system("s"),
            Message::user("one"),
            Message::user("two"),
            Message::assistant("", vec![call("1"), call("2")]),
            Message::tool("1", "t", "r1"),
            Message::tool("2", "t", "r2"),
            Message::user("note"),
            Message::assistant("a", Vec::new()),
            Message::assistant("b", Vec::new()),
        ];
        let tool = ToolDefinition { name: "t".into(), description: "d".into(), parameters: Arc::new(json!({})) };
        ChatRequest { messages: messages.map(Arc::new).to_vec(), tools: [tool].into(), ..ChatRequest::default() }
    }

    #[test]
    fn roles_alternate_for_servers_that_insist() {
        let mut form = Dialect::new(Provider::Mistral, Protocol::Chat, "m", true).form;
        let request = request();
        let expected = ["system: s", "user: one\n\ntwo", "assistant:  +2", "tool: r1", "tool: r2\n\nnote", "assistant: a\n\nb +0"];
        assert_eq!(shown(&arranged(&request, &form)), expected);
        form.alternate = false;
        assert_eq!(arranged(&request, &form).len(), request.messages.len());
    }

    #[test]
    fn only_the_last_images_are_sent_in_tens() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x0b\xb8\0\0\0\x01\x08\x06\0\0\0";
        let message = |at: usize| Message::User { content: format!("m{at}"), images: vec![Image::new("a.png", png).unwrap(); 2] };
        let mut form = Dialect::new(Provider::Anthropic, Protocol::Messages, "m", true).form;
        form.few_images = true;
        for (messages, left_out) in [(10, 0), (11, 10), (15, 10), (16, 20)] {
            let request = ChatRequest { messages: (0..messages).map(message).map(Arc::new).collect(), ..ChatRequest::default() };
            let arranged = arranged(&request, &form);
            let sent: usize = arranged.iter().map(|message| message.images().len()).sum();
            assert_eq!((sent, arranged.len()), (messages * 2 - left_out, messages));
            let first = if left_out == 0 { "user: m0".to_owned() } else { format!("user: m0\n{NOTE}\n{NOTE}") };
            assert_eq!(shown(&arranged)[0], first);
            assert_eq!(arranged.last().unwrap().images().len(), 2);
        }
    }

    const NOTE: &str = "[The image a.png (image/png, 3000x1 pixels) was left out: the conversation has too many images.]";

    #[test]
    fn calls_are_words_for_servers_without_tools() {
        let mut form = Dialect::new(Provider::Other, Protocol::Chat, "m", true).form;
        form.calls_as_text = true;
        let words = shown(&arranged(&request(), &form));
        assert_eq!(words.len(), 5);
        assert!(
            words[0].starts_with("system: s\n\nYou can call tools.")
                && words[0].contains(r#"{"name":"t","description":"d","parameters":{}}"#)
        );
        assert_eq!(words[2].matches("<tool_call>\n{\"name\":\"t\",\"arguments\":{\"a\":1}}\n</tool_call>").count(), 2);
        assert_eq!(
            words[3],
            "user: <tool_response name=\"t\">\nr1\n</tool_response>\n\n<tool_response name=\"t\">\nr2\n</tool_response>\n\nnote"
        );
    }
}
